// Values of puzzles: random walks, value iteration, the curriculum; no allocation, the same bits, going on.
#include "ingot/rl/value_learning.h"

#include <gtest/gtest.h>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/curriculum.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/search.h"
#include "tests/ops/harness.h"

namespace ingot::rl {
namespace {

Cube2 cube() { return Cube2(CubeMetric::kQuarter, CubeEncoding::kCubies); }
ValueOptions small() {
  return {.net = {.hidden = {64, 32}, .dueling = false},
          .walk_length = 12,
          .walks = 32,
          .walk_updates = 400,
          .iteration_updates = 40,
          .iteration_states = 64,
          .target_every = 10,
          .lr = 3e-3f};
}

std::vector<float> all_weights(QNet& net) {
  std::vector<float> out;
  for (const NamedTensor& p : net.parameters())
    for (const float v : p.tensor.to_vector<float>()) out.push_back(v);
  return out;
}

TEST(ValueLearner, KnowsWhatIsNearAndABeamSolvesIt) {
  ValueLearner<Cube2> learner(cube(), small());
  while (learner.updates() < 400) learner.step();
  LearnedValue<Cube2> value(cube(), learner.network(), 64);
  const std::vector<uint8_t> distance = all_distances(cube());
  BeamSearch<Cube2> search(cube(), [&](auto states, auto values) { value(states, values); }, {.width = 64});
  int solved = 0;
  std::vector<double> sum(15), count(15);
  for (uint64_t i = 0; i < 200; i++) {
    const Cube2::State s = scrambled(cube(), 1 + static_cast<int>(i % 9), {5, i});
    float v = 0;
    value(std::span(&s, 1), std::span(&v, 1));
    const uint8_t d = distance[cube().code(s)];
    sum[d] += v, count[d]++;
    solved += i < 40 && search.solve(s).solved ? 1 : 0;
  }
  EXPECT_EQ(solved, 40);
  EXPECT_LT(sum[2] / count[2], sum[5] / count[5]);
  EXPECT_LT(sum[5] / count[5], sum[8] / count[8]);
}

// V of the target network says 1 + the least of the neighbours, 0 for the solved one: by hand, of one batch.
TEST(ValueLearner, ValueIterationLearnsOneMoreThanTheBestNeighbour) {
  ValueOptions o = small();
  o.walk_updates = 0, o.lr = 0, o.lr_end = 0;  // the network stays as it is
  ValueLearner<Cube2> learner(cube(), o);
  learner.step();
  LearnedValue<Cube2> value(cube(), learner.network(), 64);
  std::vector<Cube2::State> walk(12 * 6);
  random_walks(cube(), walk, 12, {o.seed, 0x77616C6B});
  double loss = 0;
  for (size_t i = 0; i < 64; i++) {
    double least = 1e9;
    for (int m = 0; m < 6; m++) {
      const Cube2::State next = cube().apply(walk[i], m);
      float v = 0;
      value(std::span(&next, 1), std::span(&v, 1));
      least = std::min(least, cube().is_solved(next) ? 0.0 : std::max(0.0, static_cast<double>(v)));
    }
    float v = 0;
    value(std::span(&walk[i], 1), std::span(&v, 1));
    loss += (v - 1 - least) * (v - 1 - least) / 64;
  }
  EXPECT_NEAR(learner.loss(), loss, 1e-4 * loss);
}

TEST(ValueLearner, OneUpdateTooMany) {
  ValueOptions o = small();
  o.walk_updates = 2, o.iteration_updates = 0;
  ValueLearner<Cube2> learner(cube(), o);
  learner.step(), learner.step();
  EXPECT_THROW(learner.step(), Error);
}

// It cannot say what a state looks like.
struct Invisible : Cube2 {
  void hot(const State&, std::span<int32_t>) const { throw Error("Invisible: nothing to see"); }
};

TEST(ValueLearner, WhatAPuzzleThrowsOnAWorkerReachesTheCaller) {
  ValueOptions o = small();
  o.walks = 200, o.walk_updates = 2;
  ValueLearner<Invisible> learner(Invisible(), o);
  EXPECT_THROW(learner.step(), Error);
}

TEST(ValueLearner, AllocatesNothing) {
  ValueOptions o = small();
  o.walk_updates = 5'000, o.iteration_updates = 100'000;
  ValueLearner<Cube2> learner(cube(), o);
  for (int i = 0; i < 10; i++) learner.step();
  const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
  for (int i = 0; i < 4'900; i++) learner.step();
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  for (int i = 0; i < 200; i++) learner.step();  // value iteration begins
  const uint64_t later = harness::malloc_calls();
  for (int i = 0; i < 5'000; i++) learner.step();
  EXPECT_EQ(harness::malloc_calls(), later);
  EXPECT_EQ(memory_stats().allocations, tensors);
}

TEST(ValueLearner, GoesOnToTheBitAtAnyNumberOfThreads) {
  ValueOptions o = small();
  o.walks = 128;
  ValueLearner<Cube2> whole(cube(), o), first(cube(), o);
  for (int i = 0; i < 430; i++) whole.step();
  for (int i = 0; i < 410; i++) first.step();
  const int before = threads();
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    ValueLearner<Cube2> second(cube(), o);
    second.load_state(first.state());
    for (int i = 410; i < 430; i++) second.step();
    EXPECT_EQ(all_weights(whole.network()), all_weights(second.network())) << n << " threads";
  }
  set_threads(before);
}

// A ring: a move is a step either way. How far a state is, is known.
struct Ring {
  struct State {
    uint32_t at = 0;
    bool operator==(const State&) const = default;
  };
  static constexpr uint32_t kPlaces = 24;
  State solved() const { return {}; }
  bool is_solved(const State& s) const { return s.at == 0; }
  int move_count() const { return 2; }
  State apply(const State& s, int move) const { return {(s.at + (move == 0 ? 1 : kPlaces - 1)) % kPlaces}; }
  int inverse(int move) const { return 1 - move; }
  std::string_view move_name(int move) const { return move == 0 ? "on" : "back"; }
  uint32_t code(const State& s) const { return s.at; }
  State state(uint32_t code) const { return {code}; }
  int64_t state_count() const { return kPlaces; }
  int64_t observation_size() const { return kPlaces; }
  int64_t hot_count() const { return 1; }
  void hot(const State& s, std::span<int32_t> out) const { out[0] = static_cast<int32_t>(s.at); }
  void observe(const State& s, std::span<float> out) const {
    for (uint32_t i = 0; i < kPlaces; i++) out[i] = i == s.at ? 1 : 0;
  }
};

ValueOptions sweeping() {
  return {.net = {.hidden = {32}, .dueling = false},
          .walk_length = 16,
          .walks = 4,
          .walk_updates = 0,
          .iteration_updates = 1'500,
          .sweep = true,
          .target_every = 50,
          .lr = 1e-2f};
}

TEST(ValueLearner, SweepsFindTheDistanceOfEveryState) {
  ValueLearner<Ring> learner(Ring(), sweeping());
  while (learner.updates() < learner.total_updates()) learner.step();
  LearnedValue<Ring> value(Ring(), learner.network(), 8);
  for (uint32_t at = 1; at < Ring::kPlaces; at++) {
    const Ring::State s{at};
    float v = 0;
    value(std::span(&s, 1), std::span(&v, 1));
    EXPECT_NEAR(v, std::min(at, Ring::kPlaces - at), 0.2) << at;
  }
}

TEST(ValueLearner, SweepsAllocateNothingAndGoOnToTheBitAtAnyNumberOfThreads) {
  ValueLearner<Ring> whole(Ring(), sweeping()), first(Ring(), sweeping());
  for (int i = 0; i < 120; i++) first.step(), whole.step();
  const nn::TrainingState saved = first.state();
  const uint64_t mallocs = harness::malloc_calls();
  for (int i = 120; i < 200; i++) whole.step();
  EXPECT_EQ(harness::malloc_calls(), mallocs);
  const int before = threads();
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    ValueLearner<Ring> second(Ring(), sweeping());
    second.load_state(saved);
    for (int i = 120; i < 200; i++) second.step();
    EXPECT_EQ(all_weights(whole.network()), all_weights(second.network())) << n << " threads";
  }
  set_threads(before);
}

TEST(ValueLearner, SweepsNeedStatesThatCanBeCounted) {
  ValueOptions o = sweeping();
  EXPECT_THROW(ValueLearner<Cube3>(Cube3(), o), Error);
  o.iteration_updates = 0;  // and something to learn from them
  EXPECT_THROW(ValueLearner<Ring>(Ring(), o), Error);
}

// Of symmetric states that look the same one is asked, and its value is that of all.
TEST(ValueLearner, SweepsOverCanonicalStatesLearnOneMoreThanTheBestNeighbour) {
  ValueOptions o = sweeping();
  o.lr = 0, o.lr_end = 0;
  const Cube2 puzzle(CubeMetric::kQuarter, CubeEncoding::kCanonical);
  ValueLearner<Cube2> learner(puzzle, o);
  learner.step();
  LearnedValue<Cube2> value(puzzle, learner.network(), 64);
  std::vector<Cube2::State> walk(64);
  random_walks(puzzle, walk, 16, {o.seed, 0x77616C6B});
  double loss = 0;
  for (const Cube2::State& s : walk) {
    const auto value_of = [&](const Cube2::State& of) {
      float v = 0;
      value(std::span(&of, 1), std::span(&v, 1));
      return static_cast<double>(v);
    };
    double least = 1e9;
    for (int m = 0; m < 6; m++)
      if (const Cube2::State next = puzzle.apply(s, m); puzzle.is_solved(next))
        least = 0;
      else
        least = std::min(least, std::max(0.0, value_of(next)));
    loss += (value_of(s) - 1 - least) * (value_of(s) - 1 - least) / 64;
  }
  EXPECT_NEAR(learner.loss(), loss, 1e-4 * loss);
}

TEST(Curriculum, GrowsByFractionsWhenEnoughIsSolvedAndNeverShrinks) {
  Curriculum c({.start = 1, .end = 1.25, .step = 0.1, .when = 0.9});
  const auto hundred = [&](int solved) {
    for (int i = 0; i < 100; i++) c.episode(i < solved);
    return c.depth();
  };
  EXPECT_EQ(hundred(89), 1);
  EXPECT_DOUBLE_EQ(hundred(90), 1.1);
  EXPECT_DOUBLE_EQ(hundred(0), 1.1);
  EXPECT_DOUBLE_EQ(hundred(100), 1.2);
  EXPECT_DOUBLE_EQ(hundred(100), 1.25);
  EXPECT_DOUBLE_EQ(hundred(100), 1.25);
}

TEST(PuzzleDqn, GoesOnToTheBitWithItsCurriculum) {
  const DqnOptions o{.net = {.hidden = {32}},
                     .environments = 4,
                     .batch = 16,
                     .capacity = 2'000,
                     .learning_starts = 100,
                     .total_steps = 8'000};
  const CurriculumOptions c{.start = 1, .end = 4, .step = 0.1, .when = 0.5};
  const PuzzleEnv<Cube2> env{.mixed = 0.3F, .limit = 10};
  PuzzleDqn<Cube2> whole(env, o, c), first(env, o, c), second(env, o, c);
  for (int i = 0; i < 1'500; i++) whole.step();
  for (int i = 0; i < 1'000; i++) first.step();
  second.load_state(first.state());
  for (int i = 1'000; i < 1'500; i++) second.step();
  EXPECT_GT(whole.status().depth, 1);
  EXPECT_EQ(whole.status().depth, second.status().depth);
  EXPECT_EQ(all_weights(whole.network()), all_weights(second.network()));
}

}  // namespace
}  // namespace ingot::rl
