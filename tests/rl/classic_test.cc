// The classic tasks against an independent program's trajectories (tools/golden_control.py).
#include "ingot/rl/classic.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ingot/rl/check_env.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/vector_env.h"
#include "tests/error_of.h"
#include "tests/rl/corridor.h"
#include "tests/test_file.h"

namespace ingot::rl {
namespace {

void set_state(CartPole& env, const std::vector<double>& s) {
  env.x = s[0], env.velocity = s[1], env.angle = s[2], env.spin = s[3];
}
std::vector<double> state_of(const CartPole& env) { return {env.x, env.velocity, env.angle, env.spin}; }
void set_state(Acrobot& env, const std::vector<double>& s) { std::copy(s.begin(), s.end(), env.state.begin()); }
std::vector<double> state_of(const Acrobot& env) { return {env.state.begin(), env.state.end()}; }
void set_state(MountainCar& env, const std::vector<double>& s) { env.position = s[0], env.velocity = s[1]; }
std::vector<double> state_of(const MountainCar& env) { return {env.position, env.velocity}; }

// `again`: every step begins where the other program was, for a task that blows up the smallest difference.
template <class E>
void follows_golden(const std::string& task, size_t numbers, bool again, double tolerance) {
  std::ifstream file(test_file("goldens/control.txt"));
  E env;
  int64_t steps = 0, ends = 0;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name, action, word;
    words >> name >> action;
    if (name != task) continue;
    std::vector<double> expected;
    for (size_t i = 0; i < numbers && words >> word; i++) expected.push_back(std::strtod(word.c_str(), nullptr));
    if (action == "start") {
      env = E{};
      env.limit = 1 << 30;
      set_state(env, expected);
      continue;
    }
    double reward = 0;
    int over = 0;
    words >> reward >> over;
    const StepResult r = env.step(std::stoi(action));
    const std::vector<double> actual = state_of(env);
    for (size_t i = 0; i < numbers; i++) ASSERT_NEAR(actual[i], expected[i], tolerance) << task << " step " << steps;
    ASSERT_EQ(r, (StepResult{static_cast<float>(reward), over == 1, false}));
    if (again) set_state(env, expected);
    steps++, ends += over;
  }
  EXPECT_GT(steps, 200);
  EXPECT_GT(ends, 0);
}

TEST(Classic, FollowsTheEquationsOfAnIndependentProgram) {
  follows_golden<CartPole>("cartpole", 4, false, 1e-9);
  follows_golden<Acrobot>("acrobot", 4, true, 1e-12);
  follows_golden<MountainCar>("mountaincar", 2, false, 1e-12);
}

TEST(Classic, IsCutOffAtItsLimit) {
  MountainCar car;
  car.reset(3);
  StepResult r;
  for (int i = 0; i < 200; i++) r = car.step(1);
  EXPECT_TRUE(r.truncated && !r.terminated);
  EXPECT_EQ(CartPole{}.limit, 500);
  EXPECT_EQ(Acrobot{}.limit, 500);
}

TEST(Classic, StartsWhereGymnasiumDoes) {
  double low = 1, high = -1;
  for (uint64_t seed = 0; seed < 500; seed++) {
    CartPole env;
    env.reset(seed);
    for (const float x : env.code())
      low = std::min(low, static_cast<double>(x)), high = std::max(high, static_cast<double>(x));
    MountainCar car;
    car.reset(seed);
    ASSERT_TRUE(car.position >= -0.6 && car.position < -0.4 && car.velocity == 0);
  }
  EXPECT_TRUE(low >= -0.05 && low < -0.049 && high <= 0.05 && high > 0.049);
}

TEST(Classic, ManyCartPolesAtOnceHaveTheBitsOfOne) {
  constexpr size_t kCount = 100;
  std::vector<CartPole> together(kCount), alone(kCount);
  std::vector<StepResult> results(kCount);
  std::vector<int64_t> actions(kCount);
  for (size_t i = 0; i < kCount; i++) together[i].reset(i), alone[i].reset(i);
  for (int64_t step = 0; step < 60; step++) {
    for (size_t i = 0; i < kCount; i++)
      actions[i] = static_cast<int64_t>((i * 7 + static_cast<size_t>(step) * 3) % 5 % 2);
    CartPole::step_many(together, actions.data(), results.data());
    for (size_t i = 0; i < kCount; i++) {
      ASSERT_EQ(alone[i].step(actions[i]), results[i]);
      ASSERT_EQ(state_of(alone[i]), state_of(together[i]));
    }
  }
}

TEST(Classic, GridWorldIsAsItsMapSays) {
  GridWorld env({"S.G", ".#X"}, 0, 0.5F, 6);
  env.reset(0);
  EXPECT_EQ(env.step(0), (StepResult{-0.5F, false, false}));  // against the edge
  EXPECT_EQ(env.step(1).reward, -0.5F);
  EXPECT_EQ(env.step(2).reward, -0.5F);  // against the wall
  EXPECT_EQ(env.code(), 1);
  EXPECT_EQ(env.step(1), (StepResult{1, true, false}));
  env.reset(1);
  for (int i = 0; i < 5; i++) EXPECT_FALSE(env.step(3).truncated);
  EXPECT_EQ(env.step(3), (StepResult{-0.5F, false, true}));
  EXPECT_REFUSED(GridWorld({"..", "."}), "is not as long as the first");
  EXPECT_REFUSED(GridWorld({"S?"}), "\"?\" in the map");
  EXPECT_REFUSED(GridWorld({".."}), "has no start");
  EXPECT_REFUSED(env.step(4), "action 4 — actions are 0 to 3");

  GridWorld slippery({".....", "..S..", "....."}, 1.0, 0, 1000);  // never where one wants to
  int64_t up = 0;
  for (uint64_t seed = 0; seed < 400; seed++) {
    slippery.reset(seed);
    slippery.step(1);
    ASSERT_TRUE(slippery.code() == 2 || slippery.code() == 12);
    up += slippery.code() == 2 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(up), 200, 50);
}

TEST(CheckEnv, FindsNothingInOurs) {
  EXPECT_EQ(check_env(CartPole{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(Acrobot{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(MountainCar{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(GridWorld{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(GridWorld({"S..G"}, 0.3)), std::vector<std::string>{});
  EXPECT_EQ(check_env(Corridor{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(PuzzleEnv<Cube2>{}), std::vector<std::string>{});
  EXPECT_EQ(check_env(PuzzleEnv<Cube3>{}), std::vector<std::string>{});
  const Cube2 turned(CubeMetric::kQuarter, CubeEncoding::kTurned);
  EXPECT_EQ(check_env(PuzzleEnv<Cube2>{.puzzle = turned}), std::vector<std::string>{});
}

struct Faulty : Corridor {
  enum class Fault {
    kNone,
    kSpace,
    kNan,
    kReward,
    kOutside,
    kUnwritten,
    kRandom,
    kShared,
    kEndless,
    kView,
    kOutcome
  } fault{};
  static inline int32_t shared = 0;
  int64_t action_count() const { return fault == Fault::kSpace ? 0 : 2; }
  void reset(uint64_t seed) {
    Corridor::reset(seed);
    if (fault == Fault::kRandom) at = shared++ % 3;
  }
  StepResult step(int64_t action) {
    if (fault == Fault::kShared) shared++;
    StepResult r = Corridor::step(action);
    if (fault == Fault::kReward) r.reward = std::nanf("");
    if (fault == Fault::kEndless) r.terminated = r.truncated = false, at = 0;
    return r;
  }
  Outcome<Code> outcome(const Code& code, int64_t action) const {
    Corridor there = *this;
    there.at = code;
    const StepResult r = there.step(action);
    return {there.at, r.reward, r.terminated != (fault == Fault::kOutcome)};
  }
  int64_t action_in_view(const Code&, int64_t action) const { return 1 - action; }
  int64_t action_of_view(const Code&, int64_t seen) const { return fault == Fault::kView ? seen : 1 - seen; }
  void observe(const Code& code, std::span<float> out) const {
    Corridor::observe(code, out);
    if (fault == Fault::kNan) out[0] = std::numeric_limits<float>::infinity();
    if (fault == Fault::kOutside) out.data()[out.size()] = 1;
    if (fault == Fault::kUnwritten) out[1] = std::nanf("");
    if (fault == Fault::kShared) out[0] = static_cast<float>(shared);
  }
};

TEST(CheckEnv, SaysWhatIsWrong) {
  const auto problems = [](Faulty::Fault fault) {
    Faulty env;
    env.fault = fault;
    std::string all;
    for (const std::string& problem : check_env(env)) all += problem + "\n";
    return all;
  };
  using enum Faulty::Fault;
  EXPECT_EQ(problems(kNone), "");
  EXPECT_NE(problems(kSpace).find("there must be an action"), std::string::npos);
  EXPECT_NE(problems(kNan).find("NaN or infinity in the observation"), std::string::npos);
  EXPECT_NE(problems(kUnwritten).find("a float it does not write"), std::string::npos);
  EXPECT_NE(problems(kReward).find("a reward is NaN"), std::string::npos);
  EXPECT_NE(problems(kOutside).find("writes outside of its 8 floats"), std::string::npos);
  EXPECT_NE(problems(kRandom).find("the same seed does not begin the same episode"), std::string::npos);
  EXPECT_NE(problems(kShared).find("changes a copy that was made before"), std::string::npos);
  EXPECT_NE(problems(kView).find("action_of_view does not lead back"), std::string::npos);
  EXPECT_NE(problems(kOutcome).find("foretells something else than what step does"), std::string::npos);
  EXPECT_NE(problems(kEndless).find("is there no limit?"), std::string::npos);
}

}  // namespace
}  // namespace ingot::rl
