// How the program shows a run: a bar that redraws itself on a terminal, a line per epoch elsewhere, JSON for machines.
#pragma once
#include <chrono>
#include <string>

#include "ingot/recipe/progress.h"

namespace ingot::cli {

enum class Show { kAuto, kQuiet, kJson };

class ProgressBar : public recipe::Progress {
 public:
  explicit ProgressBar(Show show);

  void begin(const recipe::RunInfo& info) override;
  void say(const std::string& text) override;
  void event(const recipe::Value& what) override;
  void batch(const nn::BatchResult& b) override;
  void epoch(const nn::EpochResult& e) override;
  /// Takes the bar away; what was said before stays.
  void training(bool now) override;

 private:
  void clear();
  std::string scores(const nn::Scores& s) const;
  using Clock = std::chrono::steady_clock;

  Show show_;
  bool bar_;
  bool drawn_ = false;
  recipe::RunInfo info_;
  Clock::time_point start_{}, last_{};
  int64_t first_ = -1;  // the first batch of this process, counted from the run's beginning
};

}  // namespace ingot::cli
