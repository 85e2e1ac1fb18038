// An environment of one's own in a screen: catch what falls. Checked, then played by 64 copies at once.
#include <ingot/rl.h>

#include <cstdio>
#include <cstdlib>

using namespace ingot;

// A ball falls in one of 7 columns, 9 rows; a paddle below moves left (0), stays (1) or moves right (2).
struct Catch {
  using Code = std::array<int8_t, 3>;  // the ball's column and row, the paddle's column
  Code now{};

  int64_t observation_size() const { return 3; }
  int64_t action_count() const { return 3; }
  void reset(uint64_t seed) { now = {static_cast<int8_t>(rl::uniform_four(seed)[0] * 7), 0, 3}; }
  rl::StepResult step(int64_t action) {
    rl::check_action(action, 3);
    auto& [column, row, paddle] = now;
    paddle = static_cast<int8_t>(std::clamp<int64_t>(paddle + action - 1, 0, 6));
    row++;
    const bool over = row == 8;
    return {.reward = over ? (paddle == column ? 1.0F : -1.0F) : 0.0F, .terminated = over};
  }
  Code code() const { return now; }
  void observe(const Code& code, std::span<float> out) const {
    for (size_t i = 0; i < 3; i++) out[i] = static_cast<float>(code[i]) / 8;
  }
};

int main() {
  for (const std::string& problem : rl::check_env(Catch{})) std::printf("%s\n", problem.c_str());

  constexpr int64_t kCopies = 64;
  rl::VectorEnv<Catch> envs({}, kCopies, /*seed=*/1);
  const Tensor seen = Tensor::empty({kCopies, 3}), actions = Tensor::empty({kCopies}, kI64);
  const Tensor rewards = Tensor::empty({kCopies}), terminated = Tensor::empty({kCopies}, kBool);
  const Tensor truncated = Tensor::empty({kCopies}, kBool);
  double total = 0;
  int64_t episodes = 0;
  for (int step = 0; step < 800; step++) {
    envs.observe(seen);
    for (int64_t i = 0; i < kCopies; i++) {  // towards the ball
      const float ball = seen.at<float>({i, 0}), paddle = seen.at<float>({i, 2});
      actions.at<int64_t>({i}) = ball < paddle ? 0 : ball > paddle ? 2 : 1;
    }
    envs.step(actions, rewards, terminated, truncated);
    for (int64_t i = 0; i < kCopies; i++)
      if (terminated.at<bool>({i})) total += envs.finished(i).total, episodes++;
  }
  std::printf("%lld episodes, mean return %.2f\n", static_cast<long long>(episodes),
              total / static_cast<double>(episodes));
  return episodes == kCopies * 100 && total == static_cast<double>(episodes) ? EXIT_SUCCESS : EXIT_FAILURE;
}
