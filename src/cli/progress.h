// How a run shows its progress: a bar that redraws itself on a terminal, a line per epoch elsewhere, JSON for machines.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/trainer.h"

namespace ingot::cli {

enum class Show { kAuto, kQuiet, kJson };

class Progress {
 public:
  /// `test`: what people read before the scores of a test.
  Progress(Show show, int64_t epochs, std::vector<std::string> metrics, std::string test = "test");

  /// A sentence for people: nothing when quiet, or when a machine reads.
  void say(const std::string& text);
  /// A line for machines, under --json only.
  void event(const std::string& json);

  void batch(const nn::BatchResult& b);
  void epoch(const nn::EpochResult& e);
  /// Takes the bar away; what was said before stays.
  void clear();

  bool people() const { return show_ == Show::kAuto; }

 private:
  std::string scores(const nn::Scores& s) const;
  using Clock = std::chrono::steady_clock;

  Show show_;
  bool bar_;
  bool drawn_ = false;
  int64_t epochs_;
  std::vector<std::string> metrics_;
  std::string test_;
  Clock::time_point start_{}, last_{};
  int64_t first_ = -1;  // the first batch of this process, counted from the run's beginning
};

/// A metric as people read it: shares as percentages.
std::string metric_text(const std::string& name, double value);
/// An epoch as one line of JSON: metrics.jsonl, --json.
std::string epoch_json(const nn::EpochResult& e, const std::vector<std::string>& metrics);

}  // namespace ingot::cli
