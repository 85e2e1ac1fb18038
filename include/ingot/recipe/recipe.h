// A recipe: a named, complete, repeatable training job, from its description to a folder with all that came of it.
//
//   auto run = ingot::Recipe::load("digits").set("train.epochs=5").run("runs/mine", progress);
//   std::printf("%.2f %%\n", 100 * run.best()->test.metrics[0]);
#pragma once
#include <atomic>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/progress.h"
#include "ingot/recipe/system.h"

namespace ingot::recipe {

struct RunOptions {
  /// Set it (from another thread, from a signal's handler) and training ends after the batch under way, with everything
  /// saved to go on from.
  const std::atomic<bool>* cancel = nullptr;
  std::string command = {};  // how to repeat it, for the report
};

/// What came of a run.
struct INGOT_API Run {
  Outcome outcome = Outcome::kDone;  // kDone, kFailed or kCancelled
  std::string folder;
  std::vector<nn::EpochResult> history;
  /// Of the exam of a kind that runs itself, else NaN.
  double exam = std::numeric_limits<double>::quiet_NaN();
  RunInfo info = {};
  /// The best epoch (nn::best_epoch), whose weights model.safetensors holds; nullptr if none was finished.
  const nn::EpochResult* best() const;
  /// What runs are compared by: the exam, else the score that decided which epoch is best.
  double score() const;
};

class INGOT_API Recipe {
 public:
  /// One of this library or of a system ("digits"), or a file ("mine.toml").
  static Recipe load(const std::string& recipe_or_file, Systems systems = {});
  /// A text of TOML that errors call `name`.
  static Recipe parse(const std::string& name, std::string text, Systems systems = {});

  /// Changes a key: "optimizer.lr=0.01", "model.layers.0.out=64".
  Recipe& set(const std::string& assignment);
  /// Checked and complete.
  Description description() const;

  /// Trains it into a new folder; without a name, runs/NAME, or runs/NAME-2, ….
  Run run(const std::string& folder, Progress& progress, const RunOptions& options = {}) const;
  Run run(const std::string& folder = "") const;

  /// The names of all recipes, in order.
  static std::vector<std::string> names(const Systems& systems = {});

 private:
  std::string name_, text_;
  std::vector<std::string> sets_;
  CataloguePtr catalogue_;
};

/// Goes on with the run in a folder, to the bit as if it had not been interrupted; `sets` change what may change.
INGOT_API Run resume_run(const std::string& folder, std::span<const std::string> sets, Progress& progress,
                         const RunOptions& options = {}, Systems systems = {});

}  // namespace ingot::recipe

namespace ingot {
using recipe::Recipe;
}
