// What [data] describes: samples to train on, samples held back, and how they are turned into batches.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/data.h"
#include "ingot/recipe/keys.h"
#include "ingot/recipe/task.h"

namespace ingot::recipe {

class Catalogue;

/// What a system's source wants its kind of job to know; only that system looks inside.
struct INGOT_API SourceDetails {
  virtual ~SourceDetails() = default;
};

struct DataSource {
  Task task;
  std::unique_ptr<data::Dataset> whole;        // what train and test are parts of, if they are
  std::unique_ptr<data::Dataset> train, test;  // test: what is held back; may be none
  std::vector<data::TransformPtr> augment;     // of training samples only
  std::vector<data::TransformPtr> always;
  bool shuffle = true;
  std::string prompt;  // of a text: what samples of it can begin with
  std::shared_ptr<const SourceDetails> details;
  std::string about;         // "1,438 samples of 1 x 8 x 8, 359 held back"
  std::string guessed = {};  // what was not said and had to be found out, for people
};

/// A completed [data], and what it is loaded for.
struct SourceRequest {
  const Settings& s;
  const Catalogue& catalogue;
  int64_t batch;        // rows that a text is laid out in
  Targets targets;      // what the loss takes
  const Task* trained;  // of a trained model: everything is as its task says; nullptr: there is none yet
};

/// Samples as files have them, a row each. Without a target, or without a test part, those tensors are undefined.
struct Samples {
  Tensor x, y, test_x, test_y;
  std::vector<std::string> class_names = {}, columns = {};
  std::vector<int64_t> column_numbers = {};
  int64_t table_columns = 0;
  std::string guessed = {};
};
/// What becomes of them: a part is held back, labels are checked, numbers are normalised, as [data] says.
INGOT_API DataSource source_of(const SourceRequest& request, Samples samples);

/// A type of [data].
struct SourceType {
  Choice choice;
  DataSource (*load)(const SourceRequest&);
  const char* loss = nullptr;  // the one that its targets need; nullptr: any whose targets fit
  bool any_size = false;       // a model takes samples of any height and width
};

/// Loads what a completed [data] names.
INGOT_API DataSource load_data(const Value& section, const Catalogue& catalogue, int64_t batch, Targets targets,
                               const Task* trained = nullptr);

/// A file's bytes; "recipe:NAME" is one inside the program.
INGOT_API std::string read_source(const std::string& path, const Catalogue& catalogue);

/// Where `ingot data get` puts what it fetches: a folder of this user's.
INGOT_API std::string cache_folder(const std::string& name);

}  // namespace ingot::recipe
