#include "ingot/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "ingot/base/error.h"

namespace ingot::schedule {
namespace {

void require(bool good, const char* schedule, const char* rule) {
  if (!good) throw Error(std::string("schedule::") + schedule + ": " + rule);
}

// From `from` to `to` along half a cosine; `done` goes from 0 to 1.
double ease(double from, double to, double done) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * std::clamp(done, 0.0, 1.0))) / 2;
}

}  // namespace

Schedule constant() {
  return [](int64_t, int64_t) { return 1.0; };
}

Schedule step(int64_t every, double gamma) {
  require(every > 0, "step", "`every` must be 1 or more updates");
  return [=](int64_t step, int64_t) { return std::pow(gamma, static_cast<double>(step / every)); };
}

Schedule cosine(double floor) {
  require(floor >= 0 && floor <= 1, "cosine", "`floor` must be between 0 and 1");
  return [=](int64_t step, int64_t total) {
    return ease(1, floor, static_cast<double>(step) / static_cast<double>(std::max<int64_t>(total, 1)));
  };
}

Schedule warm_up(int64_t updates, Schedule after) {
  require(updates >= 0, "warm_up", "`updates` must be 0 or more");
  return [=, after = std::move(after)](int64_t step, int64_t total) {
    if (step < updates) return static_cast<double>(step + 1) / static_cast<double>(updates);
    return after(step - updates, total - updates);
  };
}

Schedule one_cycle(double rise, double begin, double end) {
  require(rise >= 0 && rise <= 1, "one_cycle", "`rise` must be between 0 and 1");
  return [=](int64_t step, int64_t total) {
    const double last = static_cast<double>(std::max<int64_t>(total - 1, 1)), at = static_cast<double>(step);
    const double top = rise * static_cast<double>(total) - 1;  // the update with the full rate, as PyTorch counts
    return at <= top ? ease(begin, 1, at / std::max(top, 1.0)) : ease(1, end, (at - top) / std::max(last - top, 1.0));
  };
}

}  // namespace ingot::schedule
