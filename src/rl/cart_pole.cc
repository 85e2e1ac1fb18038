// CartPole-v1. The equations are plain arithmetic on doubles; many environments at once go through them as columns, which
// the compiler makes vectors of, for each SIMD target. The bits are the same either way.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rl/cart_pole.cc"
#include <cmath>

#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ingot/base/dispatch.h"
#include "ingot/rl/classic.h"
#include "rl/sincos.h"

#ifndef INGOT_CART_POLE_ONCE
#define INGOT_CART_POLE_ONCE
namespace ingot::rl {

constexpr double kGravity = 9.8, kPoleMass = 0.1, kTotalMass = 1.0 + kPoleMass, kHalfLength = 0.5, kForce = 10.0;
constexpr double kPoleMassLength = kPoleMass * kHalfLength, kSeconds = 0.02;
constexpr double kFarthest = 2.4, kLargestAngle = 12 * 2 * 3.141592653589793 / 360;

// Euler's method, as Gymnasium has it: positions move with the old velocities.
inline void push(double& x, double& velocity, double& angle, double& spin, double force) {
  const auto [sin, cos] = sin_cos(angle);
  const double part = (force + kPoleMassLength * (spin * spin) * sin) / kTotalMass;
  const double spin_change =
      (kGravity * sin - cos * part) / (kHalfLength * (4.0 / 3.0 - kPoleMass * (cos * cos) / kTotalMass));
  const double velocity_change = part - kPoleMassLength * spin_change * cos / kTotalMass;
  x = x + kSeconds * velocity;
  velocity = velocity + kSeconds * velocity_change;
  angle = angle + kSeconds * spin;
  spin = spin + kSeconds * spin_change;
}

// Without branches: actions and ends are random.
inline double force_of(int64_t action) { return kForce * static_cast<double>(2 * action - 1); }

inline void judge(CartPole& env, StepResult& out) {
  const int over =
      static_cast<int>(std::fabs(env.x) > kFarthest) | static_cast<int>(std::fabs(env.angle) > kLargestAngle);
  env.steps++;
  out.reward = 1;
  out.terminated = over != 0;
  out.truncated = (static_cast<int>(env.steps >= env.limit) & (over ^ 1)) != 0;
}

}  // namespace ingot::rl
#endif  // INGOT_CART_POLE_ONCE

HWY_BEFORE_NAMESPACE();
namespace ingot::rl::HWY_NAMESPACE {

void push_many(CartPole* envs, const int64_t* actions, StepResult* results, size_t count) {
  constexpr size_t kColumn = 64;
  double x[kColumn], velocity[kColumn], angle[kColumn], spin[kColumn], force[kColumn];
  for (size_t first = 0; first < count; first += kColumn) {
    const size_t n = count - first < kColumn ? count - first : kColumn;
    for (size_t i = 0; i < n; i++) {
      const CartPole& env = envs[first + i];
      x[i] = env.x, velocity[i] = env.velocity, angle[i] = env.angle, spin[i] = env.spin;
      force[i] = force_of(actions[first + i]);
    }
    for (size_t i = 0; i < n; i++) push(x[i], velocity[i], angle[i], spin[i], force[i]);
    for (size_t i = 0; i < n; i++) {
      CartPole& env = envs[first + i];
      env.x = x[i], env.velocity = velocity[i], env.angle = angle[i], env.spin = spin[i];
      judge(env, results[first + i]);
    }
  }
}

}  // namespace ingot::rl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::rl {

void CartPole::reset(uint64_t seed) {
  const auto [a, b, c, d] = uniform_four(seed);
  x = 0.1 * a - 0.05, velocity = 0.1 * b - 0.05, angle = 0.1 * c - 0.05, spin = 0.1 * d - 0.05, steps = 0;
}

StepResult CartPole::step(int64_t action) {
  check_action(action, 2);
  push(x, velocity, angle, spin, force_of(action));
  StepResult result;
  judge(*this, result);
  return result;
}

void CartPole::step_many(std::span<CartPole> envs, const int64_t* actions, StepResult* results) {
  INGOT_DISPATCH(push_many)(envs.data(), actions, results, envs.size());
}

}  // namespace ingot::rl
#endif  // HWY_ONCE
