// Checkpoints that no run has written: whatever a file holds, it is an Error or goes on as something valid.
#include "ingot/rl/saved.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "ingot/ops/functions.h"
#include "ingot/rl/classic.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/dqn.h"
#include "ingot/rl/pqn.h"
#include "tests/error_of.h"

namespace ingot::rl {
namespace {

using CubeEnv = PuzzleEnv<Cube2>;
const DqnOptions kDqn{.net = {.hidden = {8}}, .environments = 2, .batch = 4, .capacity = 64, .learning_starts = 16};
const PqnOptions kPqn{.net = {.hidden = {8}, .dueling = false}, .environments = 2, .rollout = 8, .minibatches = 2};

template <class A>
nn::TrainingState state_after(A&& agent, int steps) {
  for (int i = 0; i < steps; i++) agent.step();
  nn::TrainingState state = agent.state();
  for (NamedTensor& t : state.tensors) t.tensor = clone(t.tensor);
  return state;
}

// Lets `change` change the T that lies at that byte of a saved tensor.
template <class T, class Change>
void change_saved(nn::TrainingState& state, const std::string& name, size_t at, const Change& change) {
  for (NamedTensor& t : state.tensors) {
    if (t.name != name) continue;
    T value;
    auto* bytes = static_cast<std::byte*>(t.tensor.raw()) + at;
    std::memcpy(&value, bytes, sizeof value);
    change(value);
    std::memcpy(bytes, &value, sizeof value);
  }
}

TEST(SavedRun, CountsThatNoRunHasCounted) {
  const nn::TrainingState good = state_after(Dqn<CubeEnv>({}, kDqn), 20);
  for (const char* name : {"player.episodes", "player.vector_steps", "updates", "replay.draws"})
    for (const int64_t count : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
      nn::TrainingState bad = good;
      bad.values[name] = std::to_string(count);
      Dqn<CubeEnv> agent({}, kDqn);
      EXPECT_REFUSED(agent.load_state(bad), name);
    }
}

TEST(SavedRun, StatesThatAreNone) {
  using Kept = KeptOf<CubeEnv>;
  const nn::TrainingState good = state_after(Dqn<CubeEnv>({}, kDqn), 20);
  Dqn<CubeEnv> agent({}, kDqn);
  nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);
  change_saved<Kept>(bad, "player.environments", 8, [](Kept& k) { k.state.permutation = 5040; });
  EXPECT_REFUSED(agent.load_state(bad), "environment 0");
  agent.step();  // from the beginning

  const auto refuse_transition = [&](const auto& change) {
    nn::TrainingState worse = state_after(Dqn<CubeEnv>({}, kDqn), 20);
    change_saved<Transition<Cube2::State>>(worse, "replay.transitions", 0, change);
    EXPECT_REFUSED(agent.load_state(worse), "transition that cannot be one");
    EXPECT_EQ(agent.replay().size(), 0);
  };
  refuse_transition([](auto& t) { t.state.twist = 729; });
  refuse_transition([](auto& t) { t.next.permutation = 60'000; });
  refuse_transition([](auto& t) { t.action = 6; });
  refuse_transition([](auto& t) { t.action = -1; });
  refuse_transition([](auto& t) { t.reward = std::numeric_limits<float>::quiet_NaN(); });
  refuse_transition([](auto& t) { std::memset(&t.terminated, 2, 1); });
  agent.load_state(good);
  agent.step();
}

// Steps that a random action is held for: of actions that there are, and a number of them.
TEST(SavedRun, HeldActionsThatAreNone) {
  DqnOptions o = kDqn;
  o.hold = 5, o.epsilon_end = 1;
  const auto saved = [&] { return state_after(Dqn<CubeEnv>({}, o), 20); };
  struct Held {
    int64_t left, action;
  };
  Dqn<CubeEnv> agent({}, o);
  const auto refuse = [&](const auto& change) {
    nn::TrainingState bad = saved();
    change_saved<Held>(bad, "player.held", sizeof(Held), change);  // of the second environment
    EXPECT_REFUSED(agent.load_state(bad), "player.held");
  };
  refuse([](Held& h) { h.action = 6; });
  refuse([](Held& h) { h.action = -1; });
  refuse([](Held& h) { h.left = -1; });
  agent.load_state(saved());
  for (int i = 0; i < 10; i++) agent.step();
}

// What every environment has counted, behind their states: episodes under way and finished, and where the last ones ended.
TEST(SavedRun, EpisodesThatCannotBe) {
  using Kept = KeptOf<CubeEnv>;
  const size_t running = 8 + 2 * sizeof(Kept), finished = running + 2 * sizeof(Episode),
               episodes = finished + 2 * sizeof(Episode), last = episodes + 2 * sizeof(int64_t);
  const auto refuse = [&]<class T>(size_t at, T*, const auto& change) {
    nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);
    change_saved<T>(bad, "player.environments", at + sizeof(T), change);
    Dqn<CubeEnv> agent({}, kDqn);
    EXPECT_REFUSED(agent.load_state(bad), "environment 1");
    agent.step();
  };
  constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();
  Episode* const episode = nullptr;
  int64_t* const count = nullptr;
  Cube2::State* const state = nullptr;
  refuse(running, episode, [](Episode& e) { e.length = -1; });
  refuse(running, episode, [](Episode& e) { e.length = kHuge; });
  refuse(finished, episode, [](Episode& e) { e.length = kHuge; });
  refuse(episodes, count, [](int64_t& n) { n = -1; });
  refuse(last, state, [](Cube2::State& s) { s.twist = 729; });
}

// The last episodes' returns are reported: they are numbers.
TEST(SavedRun, ReturnsThatAreNoNumbers) {
  const auto refuse = [&](const auto& change) {
    nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);
    change_saved<Episode>(bad, "player.last_episodes", 3 * sizeof(Episode), change);
    Dqn<CubeEnv> agent({}, kDqn);
    EXPECT_REFUSED(agent.load_state(bad), "player.last_episodes");
    EXPECT_EQ(agent.status().recent.total, 0);
  };
  refuse([](Episode& e) { e.total = std::nan(""); });
  refuse([](Episode& e) { e.total = -std::numeric_limits<double>::infinity(); });
  refuse([](Episode& e) { e.length = -1; });
}

TEST(SavedRun, ARingThatIsNone) {
  for (const auto& [name, value] : {std::pair{"replay.rows", "-1"},
                                    {"replay.rows", "33"},
                                    {"replay.next_row", "32"},
                                    {"replay.next_row", "-1"},
                                    {"replay.next_row", "3"},  // twenty rows of 32 are there: the next is the 21st
                                    {"replay.largest", "nan"},
                                    {"replay.largest", "-1"}}) {
    nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);
    bad.values[name] = value;
    Dqn<CubeEnv> agent({}, kDqn);
    EXPECT_REFUSED(agent.load_state(bad), "replay");
  }
  for (const double p : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);
    change_saved<double>(bad, "replay.priorities", 0, [&](double& first) { first = p; });
    Dqn<CubeEnv> agent({}, kDqn);
    EXPECT_REFUSED(agent.load_state(bad), "priority");
  }
}

TEST(SavedRun, PretrainingThatNoRunHasCounted) {
  const PretrainOptions pretrain{.updates = 10, .depth = 3};
  const CurriculumOptions curriculum{.start = 1, .end = 3};
  for (const char* count : {"-1", "x", "9223372036854775807"}) {
    nn::TrainingState bad = state_after(PuzzleDqn<Cube2>({}, kDqn, curriculum, pretrain), 5);
    bad.values["pretraining.updates"] = count;
    PuzzleDqn<Cube2> agent({}, kDqn, curriculum, pretrain);
    EXPECT_REFUSED(agent.load_state(bad), "pretraining.updates");
  }
  const nn::TrainingState none = state_after(PuzzleDqn<Cube2>({}, kDqn, curriculum), 5);
  PuzzleDqn<Cube2> agent({}, kDqn, curriculum, pretrain);
  EXPECT_REFUSED(agent.load_state(none), "pretraining.adam");
}

// A puzzle of one's own: a ring of places. What it says of its states is asked of files, whatever else it has not.
struct Ring {
  using State = int32_t;
  State solved() const { return 0; }
  bool is_solved(State s) const { return s == 0; }
  int move_count() const { return 2; }
  State apply(State s, int move) const { return (s + (move == 0 ? 1 : 9)) % 10; }
  int inverse(int move) const { return 1 - move; }
  std::string_view move_name(int move) const { return move == 0 ? "on" : "back"; }
  uint32_t code(State s) const { return static_cast<uint32_t>(s); }
  int64_t observation_size() const { return 1; }
  void observe(State s, std::span<float> out) const { out[0] = static_cast<float>(s); }
};
struct CheckedRing : Ring {
  bool valid(State s) const { return s >= 0 && s < 10; }
};

TEST(SavedRun, APuzzleIsAskedIfItCanSay) {
  const auto bad = [](auto env) {
    nn::TrainingState state = state_after(Dqn<decltype(env)>(env, kDqn), 20);
    change_saved<Transition<int32_t>>(state, "replay.transitions", 0, [](auto& t) { t.state = 77; });
    return state;
  };
  Dqn<PuzzleEnv<Ring>> any({}, kDqn);
  any.load_state(bad(PuzzleEnv<Ring>{}));
  Dqn<PuzzleEnv<CheckedRing>> checked({}, kDqn);
  EXPECT_REFUSED(checked.load_state(bad(PuzzleEnv<CheckedRing>{})), "transition that cannot be one");
  nn::TrainingState state = state_after(Dqn<PuzzleEnv<Cube3>>({}, kDqn), 20);
  change_saved<Transition<Cube3::State>>(state, "replay.transitions", 0, [](auto& t) { t.next.edges[3] = 4; });
  Dqn<PuzzleEnv<Cube3>> cube({}, kDqn);
  EXPECT_REFUSED(cube.load_state(state), "transition that cannot be one");
}

TEST(SavedRun, APriorityOfWhatIsNotThere) {
  nn::TrainingState bad = state_after(Dqn<CubeEnv>({}, kDqn), 20);  // 40 of 64 transitions
  change_saved<double>(bad, "replay.priorities", 50 * sizeof(double), [](double& p) { p = 1e9; });
  Dqn<CubeEnv> agent({}, kDqn);
  EXPECT_REFUSED(agent.load_state(bad), "priority");
}

TEST(SavedRun, ARolloutWithStatesThatAreNone) {
  nn::TrainingState bad = state_after(Pqn<CubeEnv>({}, kPqn), 5);
  change_saved<Transition<Cube2::State>>(bad, "rollout", 0, [](auto& t) { t.state.twist = 729; });
  Pqn<CubeEnv> agent({}, kPqn);
  EXPECT_REFUSED(agent.load_state(bad), "transition that cannot be one");
  agent.step();
}

TEST(SavedRun, AnEpisodeWithoutItsSettings) {
  nn::TrainingState state = state_after(Dqn<CartPole>({}, kDqn), 20);
  change_saved<CartPole>(state, "player.environments", 8,
                         [](CartPole& c) { c.steps = std::numeric_limits<int32_t>::max(), c.limit = -7; });
  Dqn<CartPole> agent({}, kDqn);
  agent.load_state(state);
  EXPECT_EQ(agent.environments().envs()[0].limit, 500);
  EXPECT_EQ(agent.environments().envs()[0].steps, 500);
  change_saved<CartPole>(state, "player.environments", 8, [](CartPole& c) { c.angle = std::nan(""); });
  EXPECT_REFUSED(agent.load_state(state), "environment 0");
}

TEST(SavedRun, ACurriculumOutsideOfItself) {
  const nn::TrainingState good = state_after(PuzzleDqn<Cube2>({}, kDqn, {.start = 1, .end = 3}), 20);
  for (const char* depth : {"-1", "4", "nan", "1e30"}) {
    nn::TrainingState bad = good;
    bad.values["curriculum.depth"] = depth;
    PuzzleDqn<Cube2> agent({}, kDqn, {.start = 1, .end = 3});
    EXPECT_REFUSED(agent.load_state(bad), "checkpoint: ");
  }
}

size_t bytes_of(const Tensor& t) { return static_cast<size_t>(t.numel()) * size_of(t.dtype()); }

TEST(SavedRun, TheSameRunsWriteTheSameBytes) {
  const nn::TrainingState a = state_after(Dqn<CubeEnv>({}, kDqn), 20), b = state_after(Dqn<CubeEnv>({}, kDqn), 20);
  const Cube2 cube;
  void* address = nullptr;
  std::memcpy(&address, &cube, sizeof address);  // of its tables, which the next process has elsewhere
  for (size_t i = 0; i < a.tensors.size(); i++) {
    const std::string_view bytes(static_cast<const char*>(a.tensors[i].tensor.raw()), bytes_of(a.tensors[i].tensor));
    EXPECT_EQ(bytes, std::string_view(static_cast<const char*>(b.tensors[i].tensor.raw()), bytes.size()));
    EXPECT_EQ(bytes.find({reinterpret_cast<const char*>(&address), sizeof address}), std::string_view::npos);
  }
}

TEST(ValidState, OfCubesAndClassics) {
  EXPECT_TRUE(Cube2().valid({5039, 728}));
  EXPECT_FALSE(Cube2().valid({5040, 0}));
  EXPECT_FALSE(Cube2().valid({0, 729}));
  const Cube3 cube;
  for (int i = 0; i < 100; i++) EXPECT_TRUE(cube.valid(scrambled(cube, i, {.seed = 3})));
  for (size_t i = 0; i < 16; i++) {
    Cube3::State edge, corner;
    edge.edges[i] = 12, corner.corners[i] = 24;
    EXPECT_EQ(cube.valid(edge), i == 12);
    EXPECT_FALSE(cube.valid(corner));
  }
  Cube3::State twice;
  twice.edges[0] = 1;
  EXPECT_FALSE(cube.valid(twice));
  EXPECT_FALSE(MountainCar().valid({0, std::numeric_limits<float>::infinity()}));
  EXPECT_FALSE(Acrobot().valid({1e30F, 0, 0, 0}));
  EXPECT_FALSE(GridWorld().valid(16));
}

template <class E>
void only_valid_states(const E& env) {
  VectorEnv<E> envs(env, 16, 1);
  std::vector<int64_t> actions(16);
  std::vector<StepResult> results(16);
  for (int64_t t = 0; t < 2000; t++) {  // pushing one way for long, to go as fast as it goes
    for (size_t i = 0; i < 16; i++) actions[i] = (t / (1 + static_cast<int64_t>(i))) % env.action_count();
    envs.step(actions, results);
    for (size_t i = 0; i < 16; i++) ASSERT_TRUE(env.valid(envs.codes()[i]) && env.valid(envs.reached()[i]));
  }
}

TEST(ValidState, WhateverAnEpisodeReaches) {
  only_valid_states(CartPole());
  only_valid_states(Acrobot());
  only_valid_states(MountainCar());
  only_valid_states(GridWorld());
  only_valid_states(CubeEnv());
}

// Its episode is in a vector, and nothing says how to keep it.
struct Unkept {
  using Code = int32_t;
  std::vector<int32_t> at = {0};
  int64_t observation_size() const { return 2; }
  int64_t action_count() const { return 2; }
  void reset(uint64_t) { at[0] = 0; }
  StepResult step(int64_t) { return {.reward = 1, .terminated = ++at[0] == 3}; }
  Code code() const { return at[0]; }
  void observe(const Code& code, std::span<float> out) const { out[0] = static_cast<float>(code), out[1] = 1; }
};

TEST(SavedRun, AnEnvironmentThatCannotBeKept) {
  Dqn<Unkept> agent({}, kDqn);
  for (int i = 0; i < 50; i++) agent.step();
  EXPECT_REFUSED(agent.state(), "cannot be saved");
  EXPECT_REFUSED(Pqn<Unkept>({}, kPqn).state(), "cannot be saved");
}

struct ManyActions : Unkept {
  int64_t action_count() const { return 32'768; }
};

TEST(Player, MoreActionsThanATransitionHasRoomFor) {
  EXPECT_REFUSED((Pqn<ManyActions>({}, kPqn)), "32768 actions");
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_REFUSED(check_actions(std::span(&least, 1), 2), "action -9223372036854775808");
}

TEST(SavedRun, AWorldOfCells) {
  Dqn<GridWorld> first({}, kDqn), second({}, kDqn);
  Pqn<GridWorld> third({}, kPqn), fourth({}, kPqn);
  const nn::TrainingState dqn = state_after(first, 100), pqn = state_after(third, 100);
  second.load_state(dqn), fourth.load_state(pqn);
  for (int i = 0; i < 100; i++) first.step(), second.step(), third.step(), fourth.step();
  EXPECT_GT(first.status().updates, 0);
  EXPECT_EQ(first.status().td_loss, second.status().td_loss);
  EXPECT_EQ(third.status().td_loss, fourth.status().td_loss);
}

}  // namespace
}  // namespace ingot::rl
