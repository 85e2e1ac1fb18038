// How a run tells what it does: callbacks, of which a program overrides what it wants to hear.
#pragma once
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/recipe/value.h"

namespace ingot::recipe {

/// What is known of a run before its first step.
struct RunInfo {
  int64_t epochs = 0;
  std::vector<std::string> metrics;                // names of the scores behind the loss
  std::string test_name = "test";                  // what people read before the scores of a test
  std::string period = "epoch", unit = "samples";  // what a line of scores is of, what is counted a second
  std::string axis = "epoch";                      // what curves of scores go over,
  double axis_per_period = 1;                      // and how much of that a line of scores is
};

/// Hears nothing and says nothing. All calls come from the thread that called run().
class INGOT_API Progress {
 public:
  virtual ~Progress() = default;
  virtual void begin(const RunInfo&) {}
  /// Sentences for people, a line or more.
  virtual void say(const std::string&) {}
  /// What happened, for machines: {"event": "begin", …}.
  virtual void event(const Value&) {}
  virtual void batch(const nn::BatchResult&) {}
  virtual void epoch(const nn::EpochResult&) {}
  /// Training begins, or has ended: in between a run can be cancelled and gone on with.
  virtual void training(bool) {}
};

/// Is the metric of that name a share, to be read as a percentage?
INGOT_API bool is_share(const std::string& name);
/// A metric as people read it: shares as percentages.
INGOT_API std::string metric_text(const std::string& name, double value);
/// An epoch as metrics.jsonl has it.
INGOT_API Value epoch_record(const nn::EpochResult& e, const std::vector<std::string>& metrics);

}  // namespace ingot::recipe
