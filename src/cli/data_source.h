// What [data] describes: samples to train on, samples held back, and how they are turned into batches.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "cli/keys.h"
#include "cli/model.h"
#include "ingot/boards.h"
#include "ingot/data.h"
#include "ingot/io.h"

namespace ingot::cli {

Choices data_choices();
Choices transform_choices();

/// What an automaton learns: how its circuit is examined, and what its report shows, depends on it.
struct BoardTask {
  enum class Kind { kLife, kCheckerboard, kGrow };
  Kind kind;
  Tensor picture;  // [visible, height, width]; of kLife none
  gates::Seed seed;
};

struct DataSource {
  Task task;
  std::unique_ptr<data::Dataset> whole;        // what train and test are parts of, if they are
  std::unique_ptr<data::Dataset> train, test;  // test: what is held back; may be none
  std::vector<data::TransformPtr> augment;     // of training samples only
  std::vector<data::TransformPtr> always;
  bool shuffle = true;
  std::string prompt;  // of a text: what samples of it can begin with
  std::optional<BoardTask> boards;
  std::string about;  // "1,438 samples of 1 x 8 x 8, 359 held back"
};

/// Loads what a completed [data] names. `batch`: rows that a text is laid out in. For a trained model, everything is
/// as its task says: scales, classes, columns and characters.
DataSource load_data(const Value& section, int64_t batch, Targets targets, const Task* trained = nullptr);
/// The places of these columns in a table with a header; an Error if it lacks one.
std::vector<int64_t> columns_named(const io::Csv& table, const std::vector<std::string>& names);

/// A file's bytes; "recipe:NAME" is one inside the program.
std::string read_source(const std::string& path);

/// Where `ingot data get` puts what it fetches: a folder of this user's.
std::string cache_folder(const std::string& name);

}  // namespace ingot::cli
