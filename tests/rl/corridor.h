// The smallest environment: walk right to the end of a corridor; it is cut off after `limit` steps.
#pragma once
#include <algorithm>

#include "ingot/rl/environment.h"

namespace ingot::rl {

struct Corridor {
  using Code = int32_t;
  int32_t length = 8, limit = 50, at = 0, steps = 0;

  int64_t observation_size() const { return length; }
  int64_t action_count() const { return 2; }
  void reset(uint64_t seed) { at = static_cast<int32_t>(seed % static_cast<uint64_t>(length - 1)), steps = 0; }
  StepResult step(int64_t action) {
    at = std::max(0, at + (action == 1 ? 1 : -1));
    const bool there = at == length - 1;
    return {.reward = there ? 1.0F : -0.1F, .terminated = there, .truncated = !there && ++steps == limit};
  }
  Code code() const { return at; }
  void observe(const Code& code, std::span<float> out) const {
    for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<size_t>(code) == i ? 1.0F : 0.0F;
  }
};
static_assert(Environment<Corridor> && !StepsMany<Corridor>);

}  // namespace ingot::rl
