#include "ingot/rl/classic.h"

#include <algorithm>
#include <numbers>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "rl/sincos.h"

namespace ingot::rl {
namespace {

constexpr double kPi = std::numbers::pi;

// Acrobot: both links are 1 m and 1 kg, their centres in the middle, both moments of inertia 1.
constexpr double kLength = 1, kCentre = 0.5, kInertia = 1, kGravity = 9.8, kSeconds = 0.2;
using Links = std::array<double, 4>;  // two angles, their velocities

// Sutton and Barto's equations ("book"), as Gymnasium has them; masses of 1 are not written down.
Links change_of(const Links& s, double torque) {
  const auto [angle1, angle2, spin1, spin2] = s;
  const auto [sin2, cos2] = sin_cos(angle2);
  const double d1 =
      kCentre * kCentre + (kLength * kLength + kCentre * kCentre + 2 * kLength * kCentre * cos2) + kInertia + kInertia;
  const double d2 = (kCentre * kCentre + kLength * kCentre * cos2) + kInertia;
  const double phi2 = kCentre * kGravity * sin_cos(angle1 + angle2 - kPi / 2).cos;
  const double phi1 = -kLength * kCentre * (spin2 * spin2) * sin2 - 2 * kLength * kCentre * spin2 * spin1 * sin2 +
                      (kCentre + kLength) * kGravity * sin_cos(angle1 - kPi / 2).cos + phi2;
  const double change2 = (torque + d2 / d1 * phi1 - kLength * kCentre * (spin1 * spin1) * sin2 - phi2) /
                         (kCentre * kCentre + kInertia - d2 * d2 / d1);
  const double change1 = -(d2 * change2 + phi1) / d1;
  return {spin1, spin2, change1, change2};
}

Links plus(const Links& s, const Links& change, double times) {
  Links out;
  for (size_t i = 0; i < 4; i++) out[i] = s[i] + times * change[i];
  return out;
}

Links runge_kutta(const Links& s, double torque) {
  const Links k1 = change_of(s, torque), k2 = change_of(plus(s, k1, kSeconds / 2), torque);
  const Links k3 = change_of(plus(s, k2, kSeconds / 2), torque), k4 = change_of(plus(s, k3, kSeconds), torque);
  Links out;
  for (size_t i = 0; i < 4; i++) out[i] = s[i] + kSeconds / 6.0 * (k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]);
  return out;
}

double wrapped(double angle) {
  while (angle > kPi) angle -= 2 * kPi;
  while (angle < -kPi) angle += 2 * kPi;
  return angle;
}

}  // namespace

void Acrobot::reset(uint64_t seed) {
  state = uniform_four(seed);
  for (double& x : state) x = 0.2 * x - 0.1;
  steps = 0;
}

StepResult Acrobot::step(int64_t action) {
  check_action(action, 3);
  state = runge_kutta(state, static_cast<double>(action - 1));
  state[0] = wrapped(state[0]), state[1] = wrapped(state[1]);
  state[2] = std::clamp(state[2], -4 * kPi, 4 * kPi), state[3] = std::clamp(state[3], -9 * kPi, 9 * kPi);
  const bool up = -sin_cos(state[0]).cos - sin_cos(state[1] + state[0]).cos > 1;
  return {.reward = up ? 0.0F : -1.0F, .terminated = up, .truncated = ++steps >= limit && !up};
}

Acrobot::Code Acrobot::code() const {
  return {static_cast<float>(state[0]), static_cast<float>(state[1]), static_cast<float>(state[2]),
          static_cast<float>(state[3])};
}

void Acrobot::observe(const Code& code, std::span<float> out) const {
  for (size_t link = 0; link < 2; link++) {
    const auto [sin, cos] = sin_cos(code[link]);
    out[2 * link] = static_cast<float>(cos), out[2 * link + 1] = static_cast<float>(sin);
    out[4 + link] = code[2 + link];
  }
}

void MountainCar::reset(uint64_t seed) { position = 0.2 * uniform_four(seed)[0] - 0.6, velocity = 0, steps = 0; }

StepResult MountainCar::step(int64_t action) {
  check_action(action, 3);
  velocity += static_cast<double>(action - 1) * 0.001 + sin_cos(3 * position).cos * -0.0025;
  velocity = std::clamp(velocity, -0.07, 0.07);
  position = std::clamp(position + velocity, -1.2, 0.6);
  if (position == -1.2 && velocity < 0) velocity = 0;  // it stops at the wall
  const bool there = position >= 0.5 && velocity >= 0;
  return {.reward = -1, .terminated = there, .truncated = ++steps >= limit && !there};
}

double MountainCar::potential(const Code& code) const {
  const double p = code[0], v = code[1];  // the slope pulls by 0.0025 cos 3p: a height of 0.0025 / 3 sin 3p
  return (600 * v * v + sin_cos(3 * p).sin + 1) / 2;
}

uint64_t MountainCar::cell(const Code& code) const {
  const auto part = [](double at) { return static_cast<uint64_t>(std::clamp(at * 32, 0.0, 31.0)); };
  return 32 * part((code[0] + 1.2) / 1.8) + part((code[1] + 0.07) / 0.14);
}

GridWorld::GridWorld(std::vector<std::string> rows, double slip, float step_cost, int32_t limit)
    : limit_(limit), slip_(slip), step_cost_(step_cost) {
  if (rows.empty() || rows[0].empty()) throw Error("GridWorld: the map is empty");
  width_ = static_cast<int32_t>(rows[0].size());
  for (const std::string& row : rows) {
    if (row.size() != rows[0].size())
      throw Error("GridWorld: row " + in_quotes(row) + " is not as long as the first, " + in_quotes(rows[0]));
    if (const size_t bad = row.find_first_not_of("SGX#."); bad != std::string::npos)
      throw Error("GridWorld: " + in_quotes(row.substr(bad, 1)) +
                  " in the map — S is a start, G the goal, X a pit, # a wall, . free");
    cells_ += row;
  }
  for (size_t i = 0; i < cells_.size(); i++)
    if (cells_[i] == 'S') starts_.push_back(static_cast<int32_t>(i));
  if (starts_.empty()) throw Error("GridWorld: the map has no start — put an S into it");
  if (!(slip >= 0 && slip <= 1) || limit < 1) throw Error("GridWorld: slip is a probability, limit at least 1");
  at_ = starts_[0];
}

void GridWorld::reset(uint64_t seed) {
  const double start = uniform_four(seed)[0] * static_cast<double>(starts_.size());
  at_ = starts_[static_cast<size_t>(start)], steps_ = 0, seed_ = seed;
}

StepResult GridWorld::step(int64_t action) {
  check_action(action, 4);
  if (slip_ > 0) {
    const std::array<double, 4> drawn = uniform_four(seed_, 1 + static_cast<uint64_t>(steps_));
    if (drawn[0] < slip_) action = (action + (drawn[1] < 0.5 ? 1 : 3)) % 4;
  }
  const int32_t height = static_cast<int32_t>(cells_.size()) / width_;
  const int32_t row = at_ / width_ + (action == 2 ? 1 : 0) - (action == 0 ? 1 : 0);
  const int32_t column = at_ % width_ + (action == 1 ? 1 : 0) - (action == 3 ? 1 : 0);
  const bool inside = row >= 0 && row < height && column >= 0 && column < width_;
  const int32_t to = row * width_ + column;
  if (inside && cells_[static_cast<size_t>(to)] != '#') at_ = to;
  const char cell = cells_[static_cast<size_t>(at_)];
  const bool over = cell == 'G' || cell == 'X';
  return {.reward = cell == 'G'   ? 1.0F
                    : cell == 'X' ? -1.0F
                                  : -step_cost_,
          .terminated = over,
          .truncated = ++steps_ >= limit_ && !over};
}

void GridWorld::observe(const Code& code, std::span<float> out) const {
  for (size_t i = 0; i < out.size(); i++) out[i] = static_cast<int32_t>(i) == code ? 1.0F : 0.0F;
}

}  // namespace ingot::rl
