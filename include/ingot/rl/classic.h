// The classic control tasks with Gymnasium's equations and limits, and a world of cells to walk in.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "ingot/rl/environment.h"

namespace ingot::rl {

/// Every number of a state is one, and not larger than an episode can make it.
template <size_t N>
bool within(const std::array<float, N>& code, const std::array<float, N>& largest) {
  for (size_t i = 0; i < N; i++)
    if (!(std::abs(code[i]) <= largest[i])) return false;
  return true;
}

/// CartPole-v1: keep a pole upright by pushing its cart left (0) or right (1). Reward 1 a step; over when the pole leans
/// more than 12° or the cart leaves ±2.4; cut off after 500 steps. Observes position, velocity, angle, its velocity.
struct INGOT_API CartPole {
  using Code = std::array<float, 4>;
  double x = 0, velocity = 0, angle = 0, spin = 0;
  int32_t steps = 0, limit = 500;

  int64_t observation_size() const { return 4; }
  int64_t action_count() const { return 2; }
  void reset(uint64_t seed);
  StepResult step(int64_t action);
  Code code() const {
    return {static_cast<float>(x), static_cast<float>(velocity), static_cast<float>(angle), static_cast<float>(spin)};
  }
  void observe(const Code& code, std::span<float> out) const { std::copy(code.begin(), code.end(), out.begin()); }
  void restore(const CartPole& kept) {
    x = kept.x, velocity = kept.velocity, angle = kept.angle, spin = kept.spin;
    steps = std::clamp(kept.steps, 0, limit);
  }
  bool valid(const Code& code) const { return within(code, {100, 100, 100, 100}); }
  static void step_many(std::span<CartPole> envs, const int64_t* actions, StepResult* results);
};

/// Acrobot-v1: swing two links up by a torque of -1, 0 or 1 at the joint between them. Reward -1 a step and 0 for the
/// last, when the tip is a link's length above the pivot; cut off after 500 steps. Observes both angles' cosine and
/// sine, and their velocities.
struct INGOT_API Acrobot {
  using Code = std::array<float, 4>;  // both angles, both velocities
  std::array<double, 4> state{};
  int32_t steps = 0, limit = 500;

  int64_t observation_size() const { return 6; }
  int64_t action_count() const { return 3; }
  void reset(uint64_t seed);
  StepResult step(int64_t action);
  Code code() const;
  void observe(const Code& code, std::span<float> out) const;
  void restore(const Acrobot& kept) { state = kept.state, steps = std::clamp(kept.steps, 0, limit); }
  bool valid(const Code& code) const { return within(code, {3.2F, 3.2F, 12.6F, 28.3F}); }  // π, π, 4 π, 9 π
};

/// MountainCar-v0: a car too weak for the slope must swing to reach the flag; push left (0), not (1), right (2). Reward
/// -1 a step; cut off after 200 steps. Observes position and velocity.
struct INGOT_API MountainCar {
  using Code = std::array<float, 2>;
  double position = 0, velocity = 0;
  int32_t steps = 0, limit = 200;

  int64_t observation_size() const { return 2; }
  int64_t action_count() const { return 3; }
  void reset(uint64_t seed);
  StepResult step(int64_t action);
  Code code() const { return {static_cast<float>(position), static_cast<float>(velocity)}; }
  void observe(const Code& code, std::span<float> out) const { std::copy(code.begin(), code.end(), out.begin()); }
  void restore(const MountainCar& kept) {
    position = kept.position, velocity = kept.velocity, steps = std::clamp(kept.steps, 0, limit);
  }
  bool valid(const Code& code) const { return within(code, {1.21F, 0.071F}); }
  /// For shaping: the energy, height and motion, from about 0 at rest in the valley to 1 where it is enough for the flag.
  double potential(const Code& code) const;
  /// For counting visits: one of 32 × 32.
  uint64_t cell(const Code& code) const;
};

/// Cells to walk in: up (0), right (1), down (2), left (3). In its map "S" is a start (one of several is drawn), "G" the
/// goal (reward 1, over), "X" a pit (reward -1, over), "#" a wall, "." free; a step costs `step_cost`. With probability
/// `slip` a step goes to one of the sides instead. Observes which cell it is in.
struct INGOT_API GridWorld {
  using Code = int32_t;
  /// Rows of the map, all of one length; an Error if it has no start or something unknown in it.
  explicit GridWorld(std::vector<std::string> rows, double slip = 0, float step_cost = 0.01F, int32_t limit = 100);
  GridWorld() : GridWorld({"S...", ".X.X", "...X", "X..G"}) {}

  int64_t observation_size() const { return static_cast<int64_t>(cells_.size()); }
  int64_t action_count() const { return 4; }
  void reset(uint64_t seed);
  StepResult step(int64_t action);
  Code code() const { return at_; }
  void observe(const Code& code, std::span<float> out) const;
  /// A checkpoint keeps the episode; the map is this one's own.
  struct Kept {
    uint64_t seed;
    int32_t at, steps;
  };
  Kept kept() const { return {seed_, at_, steps_}; }
  void restore(const Kept& kept) { seed_ = kept.seed, at_ = kept.at, steps_ = std::clamp(kept.steps, 0, limit_); }
  bool valid(const Code& code) const { return code >= 0 && code < observation_size(); }

 private:
  std::string cells_;
  std::vector<int32_t> starts_;
  int32_t width_ = 0, at_ = 0, steps_ = 0, limit_ = 100;
  double slip_ = 0;
  float step_cost_ = 0;
  uint64_t seed_ = 0;
};

}  // namespace ingot::rl
