// Training that is not epochs over a dataset: a kind of job that runs itself, by pieces. What all runs have (folder,
// lock, metrics, checkpoints, Ctrl-C, going on to the bit, the best weights, the report) it gets from here.
#pragma once
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/progress.h"
#include "ingot/recipe/report.h"
#include "ingot/recipe/system.h"

namespace ingot::recipe {

/// A piece of work, some milliseconds of it.
struct OwnPiece {
  /// Where it stands: of what the metrics have a line for, which piece of all.
  int64_t period = 1, piece = 1, pieces = 1;
  double per_second = 0;                      // of RunInfo::unit
  nn::Scores scores = {};                     // the loss, and the metrics so far
  std::optional<nn::EpochResult> ended = {};  // the period's results, after its last piece
};

class INGOT_API OwnRun {
 public:
  virtual ~OwnRun() = default;
  /// What is trained, in a line; how many weights it has; its periods and metrics, of which the first decides (more is
  /// better).
  virtual std::string about() const = 0;
  virtual int64_t parameter_count() = 0;
  virtual RunInfo info() const = 0;

  /// The next piece, until there is none. Where pieces begin and end does not depend on the clock.
  virtual OwnPiece work() = 0;
  virtual bool done() const = 0;
  /// Everything that the next pieces depend on.
  virtual nn::TrainingState state() = 0;
  virtual void load_state(const nn::TrainingState& state) = 0;
  /// What model.safetensors holds. They look at the run's memory: the best ones are copied there.
  virtual std::vector<NamedTensor> weights() = 0;
  /// Are the weights to keep those of the period that was tested best, or the last?
  virtual bool keeps_best() const { return true; }

  /// How good the weights are that it has now; as lines for people, and for machines.
  virtual void examine() = 0;
  virtual std::string exam_text() const = 0;
  virtual Value exam_record() const = 0;
  /// The one number that runs of many seeds are compared by; more is better.
  virtual double exam_score() const = 0;
  /// Its part of the page, after examine().
  virtual void report(Report& report, std::span<const nn::EpochResult> history) = 0;
};

/// The run whose trained weights are in a file or a folder, to examine, with keys of its description changed ("train.seed=7");
/// nullptr if it is of a plain kind.
INGOT_API std::unique_ptr<OwnRun> load_own_run(const std::string& file_or_run, const Systems& systems = {},
                                               std::span<const std::string> sets = {});

}  // namespace ingot::recipe
