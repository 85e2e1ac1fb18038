// Replay against brute force: which transitions are there, what their windows return, how often each is drawn.
#include "ingot/rl/replay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <random>

#include "ingot/base/error.h"
#include "ingot/rl/dqn.h"
#include "tests/error_of.h"
#include "tests/rl/corridor.h"

namespace ingot::rl {
namespace {

TEST(SumTree, AgreesWithPlainSumsAfterAMillionUpdates) {
  constexpr int64_t kSize = 1000;
  SumTree tree(kSize);
  std::vector<double> plain(kSize, 0);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1'000'000; i++) {
    const auto at = static_cast<int64_t>(random() % kSize);
    const double value =
        random() % 4 == 0 ? 0 : std::ldexp(static_cast<double>(random() % 1000), -static_cast<int>(random() % 20));
    tree.set(at, value);
    plain[static_cast<size_t>(at)] = value;
  }
  double sum = 0;
  for (const double v : plain) sum += v;
  EXPECT_NEAR(tree.total(), sum, 1e-12 * sum);
  for (int i = 0; i < 2000; i++) {  // every number is found by the middle of its share
    const auto at = static_cast<int64_t>(random() % kSize);
    if (plain[static_cast<size_t>(at)] == 0) continue;
    double before = 0;
    for (int64_t k = 0; k < at; k++) before += plain[static_cast<size_t>(k)];
    EXPECT_EQ(tree.find(before + 0.5 * plain[static_cast<size_t>(at)]), at);
  }
}

TEST(SumTree, NeverFindsWhatHasNoShare) {
  SumTree tree(5);
  tree.set(1, 0.1), tree.set(3, 0.2);
  EXPECT_EQ(tree.find(0), 1);
  EXPECT_EQ(tree.find(tree.total()), 3);
  EXPECT_EQ(tree.find(2 * tree.total()), 3);
  tree.set(3, 0);
  EXPECT_EQ(tree.find(tree.total()), 1);
}

// Environments that count: state and next are numbers that no two transitions share.
struct Recorded {
  std::deque<Transition<int32_t>> all;  // of one environment, the oldest first
};

Transition<int32_t> random_transition(std::mt19937_64& random, int32_t number) {
  const uint64_t end = random() % 12;
  return {number,   number + 1, static_cast<float>(random() % 7) - 3, static_cast<int16_t>(random() % 4),
          end == 0, end == 1};
}

// The definition, from what one environment did: rewards until n, the end of the episode, or the newest one.
Window<int32_t> brute_force(const Recorded& r, size_t i, int64_t n, double discount) {
  Window<int32_t> w{r.all[i].state, 0, 0, 0, r.all[i].action, 0};
  double sum = 0;
  for (int64_t k = 0; k < n && i + static_cast<size_t>(k) < r.all.size(); k++) {
    const auto& t = r.all[i + static_cast<size_t>(k)];
    sum += std::pow(discount, static_cast<double>(k)) * t.reward;
    w.next = t.next, w.steps = k + 1;
    w.discount = t.terminated ? 0 : static_cast<float>(std::pow(discount, static_cast<double>(k + 1)));
    if (t.terminated || t.truncated) break;
  }
  w.reward = static_cast<float>(sum);
  return w;
}

TEST(Replay, WindowsAreThoseOfBruteForce) {
  for (const int64_t n : {1, 2, 3, 5, 40}) {
    const ReplayOptions options{.capacity = 30, .environments = 3, .n_step = n, .discount = 0.9};
    Replay<int32_t> replay(options);
    std::vector<Recorded> recorded(3);
    std::mt19937_64 random(static_cast<uint64_t>(n));
    for (int32_t step = 0; step < 57; step++) {
      std::vector<Transition<int32_t>> row;
      for (int32_t e = 0; e < 3; e++) {
        row.push_back(random_transition(random, 1000 * e + step));
        auto& all = recorded[static_cast<size_t>(e)].all;
        all.push_back(row.back());
        if (all.size() > 10) all.pop_front();
      }
      replay.push(row);
      ASSERT_EQ(replay.size(), std::min(3 * (step + 1), 30));
      for (int64_t slot = 0; slot < replay.size(); slot++) {  // all of them are there, each with its own window
        const int32_t state = replay[slot].state;
        const Recorded& r = recorded[static_cast<size_t>(state / 1000)];
        const auto i = static_cast<size_t>(state - r.all.front().state);
        ASSERT_LT(i, r.all.size());
        const Window<int32_t> w = replay.window(slot), expected = brute_force(r, i, n, 0.9);
        ASSERT_EQ(w.next, expected.next);
        ASSERT_EQ(w.steps, expected.steps);
        ASSERT_EQ(w.action, expected.action);
        ASSERT_NEAR(w.reward, expected.reward, 1e-5);
        ASSERT_NEAR(w.discount, expected.discount, 1e-6);
      }
    }
  }
}

TEST(Replay, ATruncatedEpisodeGoesOnInItsValueATerminatedOneDoesNot) {
  Replay<int32_t> replay({.capacity = 4, .n_step = 3, .discount = 0.5});
  replay.push(std::vector<Transition<int32_t>>{{10, 11, 1, 0, false, true}});
  replay.push(std::vector<Transition<int32_t>>{{20, 21, 1, 0, false, false}});
  replay.push(std::vector<Transition<int32_t>>{{21, 22, 1, 0, true, false}});
  replay.push(std::vector<Transition<int32_t>>{{30, 31, 1, 0, false, false}});
  EXPECT_EQ(replay.window(0).discount, 0.5f);
  EXPECT_EQ(replay.window(0).next, 11) << "the last state of the episode, not the first of the next one";
  EXPECT_EQ(replay.window(1).discount, 0);
  EXPECT_EQ(replay.window(1).reward, 1.5f);
  EXPECT_EQ(replay.window(3).discount, 0.5f);
}

// Pearson's χ² of drawn against expected numbers, in standard deviations of its own.
double chi_squared(const std::vector<int64_t>& drawn, const std::vector<double>& expected) {
  double sum = 0;
  for (size_t i = 0; i < drawn.size(); i++) {
    const double off = static_cast<double>(drawn[i]) - expected[i];
    sum += off * off / expected[i];
  }
  const auto freedom = static_cast<double>(drawn.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

double drawn_against_chances(bool prioritised, double alpha) {
  constexpr int64_t kSlots = 100, kDraws = 20'000;
  Replay<int32_t> replay({.capacity = kSlots, .prioritised = prioritised, .alpha = alpha, .seed = 5});
  for (int32_t i = 0; i < kSlots; i++) replay.push(std::vector<Transition<int32_t>>{{i, i + 1, 0, 0, false, false}});
  for (int64_t i = 0; i < kSlots; i++) {
    const float error = 0.05f * static_cast<float>(i % 17);
    replay.set_priorities(std::span(&i, 1), std::span(&error, 1));
  }
  std::vector<int64_t> drawn(kSlots, 0);
  int64_t slot = 0;
  float weight = 0;
  for (int64_t i = 0; i < kDraws; i++) {  // one at a time: stratified draws are more even than independent ones
    replay.sample(0.5, std::span(&slot, 1), std::span(&weight, 1));
    drawn[static_cast<size_t>(slot)]++;
  }
  std::vector<double> expected;
  for (int64_t i = 0; i < kSlots; i++) {
    const double p = std::pow(0.05 * static_cast<double>(i % 17) + 0.01, alpha);
    double all = 0;
    for (int64_t k = 0; k < kSlots; k++) all += std::pow(0.05 * static_cast<double>(k % 17) + 0.01, alpha);
    expected.push_back(prioritised ? p / all * kDraws : 1.0 / kSlots * kDraws);
  }
  return chi_squared(drawn, expected);
}

TEST(Replay, DrawsByChance) {
  EXPECT_LT(std::abs(drawn_against_chances(false, 0.6)), 4);
  EXPECT_LT(std::abs(drawn_against_chances(true, 0.6)), 4);
  EXPECT_LT(std::abs(drawn_against_chances(true, 1.0)), 4);
}

TEST(Replay, WeightsMakeUpForChances) {
  Replay<int32_t> replay({.capacity = 64, .prioritised = true, .alpha = 1});
  std::vector<int64_t> slots(32);
  std::vector<float> weights(32);
  for (int32_t i = 0; i < 64; i++) replay.push(std::vector<Transition<int32_t>>{{i, i, 0, 0, false, false}});
  for (int64_t i = 0; i < 64; i++) {
    const auto error = static_cast<float>(i + 1);
    replay.set_priorities(std::span(&i, 1), std::span(&error, 1));
  }
  replay.sample(1, slots, weights);
  for (size_t i = 1; i < slots.size(); i++)  // weight · chance is the same for all
    EXPECT_NEAR(weights[i] * replay.chance(slots[i]) / (weights[0] * replay.chance(slots[0])), 1, 1e-5);
  EXPECT_EQ(*std::max_element(weights.begin(), weights.end()), 1);
  replay.sample(0, slots, weights);
  for (const float w : weights) EXPECT_EQ(w, 1);
}

TEST(Replay, GoesOnToTheBitFromWhatWasSaved) {
  const ReplayOptions options{.capacity = 50, .environments = 2, .n_step = 3, .prioritised = true, .seed = 3};
  Replay<int32_t> a(options), b(options);
  std::mt19937_64 random(4);
  std::vector<int64_t> slots(8), others(8);
  std::vector<float> weights(8), other_weights(8), errors(8);
  const auto step = [&](Replay<int32_t>& r, int32_t i, std::vector<int64_t>& s, std::vector<float>& w) {
    std::mt19937_64 own(static_cast<uint64_t>(i));
    r.push(std::vector<Transition<int32_t>>{random_transition(own, i), random_transition(own, 1000 + i)});
    r.sample(0.7, s, w);
    for (size_t k = 0; k < 8; k++) errors[k] = static_cast<float>(own() % 100) / 10;
    r.set_priorities(s, errors);
  };
  for (int32_t i = 0; i < 40; i++) step(a, i, slots, weights);
  nn::TrainingState state;
  a.save(state, "replay");
  b.load(state, "replay");
  for (int32_t i = 40; i < 100; i++) {
    step(a, i, slots, weights), step(b, i, others, other_weights);
    ASSERT_EQ(slots, others);
    ASSERT_EQ(weights, other_weights);
    ASSERT_EQ(a.window(slots[0]).reward, b.window(slots[0]).reward);
  }
  Replay<int32_t> smaller({.capacity = 48, .environments = 2, .prioritised = true});
  EXPECT_THROW(smaller.load(state, "replay"), Error);
  state.values["replay.next_row"] = "99";
  EXPECT_THROW(b.load(state, "replay"), Error);
}

TEST(Replay, RefusesWhatCannotBe) {
  EXPECT_THROW(Replay<int>({.capacity = 3, .environments = 4}), Error);
  EXPECT_THROW(Replay<int>({.n_step = 0}), Error);
  EXPECT_THROW(Replay<int>({.discount = 1.5}), Error);
  Replay<int> empty({.capacity = 4});
  int64_t slot = 0;
  float weight = 0;
  EXPECT_THROW(empty.sample(1, std::span(&slot, 1), std::span(&weight, 1)), Error);
}

// Whoever only looks at what was learned needs none of it.
TEST(Replay, TakesItsMemoryWithTheFirstTransition) {
  for (const bool prioritised : {false, true}) {
    const ReplayOptions huge{.capacity = int64_t{1} << 61, .prioritised = prioritised};  // more than there can be
    Replay<int32_t> replay(huge);
    EXPECT_EQ(replay.size(), 0);
    const Transition<int32_t> t{1, 2, 0, 0, false, false};
    EXPECT_REFUSED(replay.push({&t, 1}), "no memory for");
    EXPECT_EQ(replay.size(), 0);
  }
  DqnOptions o{.net = {.hidden = {8}}, .capacity = int64_t{1} << 61};
  Dqn<Corridor> agent({}, o);
  EXPECT_EQ(agent.evaluate(4, 1).episodes, 4);
  EXPECT_REFUSED(agent.step(), "no memory for");
}

}  // namespace
}  // namespace ingot::rl
