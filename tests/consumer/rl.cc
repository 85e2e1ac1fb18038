// A stranger's environment, trained: catch what falls. Its own potential, its own counting, gone on with from what was saved.
#include <ingot/rl.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace {

using namespace ingot;

// A ball falls in one of 5 columns, 5 rows; a paddle below moves left (0), stays (1) or moves right (2).
struct Catch {
  using Code = std::array<int8_t, 3>;  // the ball's column and row, the paddle's column
  Code now{};

  int64_t observation_size() const { return 15; }
  int64_t action_count() const { return 3; }
  void reset(uint64_t seed) { now = {static_cast<int8_t>(rl::uniform_four(seed)[0] * 5), 0, 2}; }
  rl::StepResult step(int64_t action) {
    rl::check_action(action, 3);
    auto& [column, row, paddle] = now;
    paddle = static_cast<int8_t>(std::clamp<int64_t>(paddle + action - 1, 0, 4));
    row++;
    const bool over = row == 4;
    return {.reward = over ? (paddle == column ? 1.0F : -1.0F) : 0.0F, .terminated = over};
  }
  Code code() const { return now; }
  void observe(const Code& code, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    for (size_t i = 0; i < 3; i++) out[5 * i + static_cast<size_t>(code[i])] = 1;
  }
  bool valid(const Code& code) const {
    return std::all_of(code.begin(), code.end(), [](int8_t at) { return at >= 0 && at < 5; });
  }
  double potential(const Code& code) const { return -0.1 * std::abs(code[0] - code[2]); }
};

}  // namespace

int main() {
  for (const std::string& problem : rl::check_env(Catch{})) return std::printf("%s\n", problem.c_str()), 1;
  const rl::DqnOptions options{.net = {.hidden = {32}},
                               .shaping = 1,
                               .bonus = 0.01,
                               .environments = 4,
                               .batch = 32,
                               .capacity = 2'000,
                               .learning_starts = 200,
                               .total_steps = 4'000};
  rl::Dqn<Catch> whole({}, options), first({}, options), second({}, options);
  while (whole.status().steps < 4'000) whole.step();
  while (first.status().steps < 2'000) first.step();
  second.load_state(first.state());
  while (second.status().steps < 4'000) second.step();
  const double learned = whole.evaluate(100, 7).total;
  std::printf("mean return %.2f after %lld updates\n", learned, static_cast<long long>(whole.status().updates));
  return learned > 0.9 && whole.status().td_loss == second.status().td_loss ? 0 : 1;
}
