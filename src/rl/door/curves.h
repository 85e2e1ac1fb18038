// What both kinds of run share: periods made of pieces, and curves of their metrics on the page.
#pragma once
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "ingot/recipe/own_run.h"

namespace ingot::rl::door {

/// A run's amount of work cut into periods and pieces, the same in every run.
class Schedule {
 public:
  Schedule(int64_t total, int64_t periods, int64_t piece) : total_(total), periods_(periods), piece_(piece) {}
  int64_t periods() const { return periods_; }
  int64_t total() const { return total_; }
  /// Where the period and the piece end in which `done` lies.
  int64_t period_of(int64_t done) const { return std::min(done * periods_ / total_, periods_ - 1); }
  int64_t period_end(int64_t period) const { return ((period + 1) * total_ + periods_ - 1) / periods_; }
  int64_t piece_end(int64_t done) const { return std::min((done / piece_ + 1) * piece_, period_end(period_of(done))); }
  recipe::OwnPiece piece(int64_t done_before, int64_t done) const {
    const int64_t period = period_of(done_before), begin = period == 0 ? 0 : period_end(period - 1);
    const int64_t pieces = (period_end(period) - begin + piece_ - 1) / piece_;
    return {period + 1, std::clamp<int64_t>((done - begin + piece_ - 1) / piece_, 1, pieces), pieces};
  }

 private:
  int64_t total_, periods_, piece_;
};

/// Seconds of training since it was last asked.
class Stopwatch {
 public:
  void go_on() { begun_ = Clock::now(); }
  void pause() { seconds_ += std::chrono::duration<double>(Clock::now() - begun_).count(); }
  double seconds() const { return seconds_; }
  void clear() { seconds_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begun_ = Clock::now();
  double seconds_ = 0;
};

/// A chart per metric, while training and of the tests, over what a period has of `unit`.
std::string curves_section(std::span<const nn::EpochResult> history, const std::vector<std::string>& metrics,
                           const std::string& loss, double per_period, const std::string& unit);

}  // namespace ingot::rl::door
