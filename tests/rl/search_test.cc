#include "ingot/rl/search.h"

#include <gtest/gtest.h>

#include "ingot/rl/best_first.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/notation.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::rl {
namespace {

const std::vector<uint8_t>& distances() {
  static const std::vector<uint8_t> all = all_distances(Cube2());
  return all;
}

// The true distance, off by up to `noise`, always in the same way.
ValuesOf<Cube2> oracle(float noise = 0) {
  return [noise](std::span<const Cube2::State> states, std::span<float> values) {
    const Cube2 cube;
    for (size_t i = 0; i < states.size(); i++) {
      const uint32_t code = cube.code(states[i]);
      const float off = static_cast<float>(hash_of(code) >> 40) * 0x1p-24F * 2 - 1;
      values[i] = static_cast<float>(distances()[code]) + noise * off;
    }
  };
}

// States at every distance, most of them far away.
std::vector<Cube2::State> some_states() {
  std::vector<Cube2::State> states;
  for (uint32_t code = 0; code < Cube2::kStates; code += 36'007) states.push_back(Cube2().state(code));
  for (int moves = 0; moves < 10; moves++) states.push_back(scrambled(Cube2(), moves, {.seed = 6}));
  return states;
}

template <class S>
void solves_best_possible(S&& search) {
  for (const Cube2::State& state : some_states()) {
    const Solution& s = search.solve(state);
    ASSERT_TRUE(s.solved);
    ASSERT_EQ(s.end, SearchEnd::kSolved);
    ASSERT_EQ(s.moves.size(), distances()[Cube2().code(state)]);
    ASSERT_TRUE(Cube2().is_solved(after(Cube2(), state, s.moves)));
  }
}

TEST(Search, ShortestWithTrueDistances) {
  solves_best_possible(GreedySearch<Cube2>(Cube2(), oracle()));
  solves_best_possible(BeamSearch<Cube2>(Cube2(), oracle(), {.width = 4}));
  solves_best_possible(AStarSearch<Cube2>(Cube2(), oracle(), {.weight = 1, .batch = 1}));
  solves_best_possible(TreeSearch<Cube2>(Cube2(), oracle(), {.curiosity = 0, .batch = 1}));
  solves_best_possible(BidirectionalSearch<Cube2>(Cube2()));
}

TEST(Search, FromBothEndsLooksAtAsManyAsIsKnown) {
  BidirectionalSearch<Cube2> search{Cube2()};
  int64_t nodes = 0, count = 0, most = 0;
  for (uint32_t code = 1; code < Cube2::kStates; code += 40'009) {
    const int64_t looked = search.solve(Cube2().state(code)).nodes;
    nodes += looked, most = std::max(most, looked), count++;
  }
  EXPECT_NEAR(static_cast<double>(nodes) / static_cast<double>(count), 8200,
              2500);  // 8,199 on average, as the facts have it
  EXPECT_LT(most, 30'000);
}

template <class S>
double share_solved(S&& search, size_t* moves = nullptr) {
  int64_t solved = 0, count = 0;
  for (const Cube2::State& state : some_states()) {
    const Solution& s = search.solve(state, {.nodes = 50'000});
    count++, solved += s.solved ? 1 : 0;
    if (moves != nullptr) *moves += s.moves.size();
  }
  return static_cast<double>(solved) / static_cast<double>(count);
}

TEST(Search, SolvesWithValuesThatAreOff) {
  EXPECT_LT(share_solved(GreedySearch<Cube2>(Cube2(), oracle(3))), 0.9);  // what search is for
  size_t narrow = 0, wide = 0;
  EXPECT_EQ(share_solved(BeamSearch<Cube2>(Cube2(), oracle(3), {.width = 64}), &narrow), 1);
  EXPECT_EQ(share_solved(BeamSearch<Cube2>(Cube2(), oracle(3), {.width = 1024}), &wide), 1);
  EXPECT_LE(wide, narrow);
  EXPECT_EQ(share_solved(AStarSearch<Cube2>(Cube2(), oracle(3))), 1);
  EXPECT_EQ(share_solved(TreeSearch<Cube2>(Cube2(), oracle(3))), 1);
}

TEST(Search, TheSameEveryTime) {
  BeamSearch<Cube2> beam(Cube2(), oracle(3), {.width = 32});
  AStarSearch<Cube2> star(Cube2(), oracle(3));
  TreeSearch<Cube2> tree(Cube2(), oracle(3));
  const Cube2::State state = Cube2().state(2'000'001), other = Cube2().state(77);
  const std::vector<int> a = beam.solve(state).moves, b = star.solve(state).moves, c = tree.solve(state).moves;
  beam.solve(other), star.solve(other), tree.solve(other);
  EXPECT_EQ(beam.solve(state).moves, a);
  EXPECT_EQ(star.solve(state).moves, b);
  EXPECT_EQ(tree.solve(state).moves, c);
}

TEST(Search, KeepsItsLimits) {
  const Cube2::State far = Cube2().state(
      static_cast<uint32_t>(std::max_element(distances().begin(), distances().end()) - distances().begin()));
  const auto blind = [](std::span<const Cube2::State>, std::span<float> values) {
    std::fill(values.begin(), values.end(), 5.0F);
  };
  const auto ends = [&](auto&& search, const SearchLimits& limits) {
    const Solution& s = search.solve(far, limits);
    EXPECT_FALSE(s.solved);
    EXPECT_TRUE(s.moves.empty());
    return s;
  };
  EXPECT_EQ(ends(BeamSearch<Cube2>(Cube2(), blind, {.width = 8}), {.nodes = 500}).end, SearchEnd::kNodes);
  EXPECT_EQ(ends(BeamSearch<Cube2>(Cube2(), blind, {.width = 8}), {.moves = 5}).end, SearchEnd::kMoves);
  EXPECT_EQ(ends(BeamSearch<Cube2>(Cube2(), oracle()), {.seconds = 0}).end, SearchEnd::kSeconds);
  EXPECT_EQ(ends(AStarSearch<Cube2>(Cube2(), blind), {.nodes = 500}).end, SearchEnd::kNodes);
  EXPECT_EQ(ends(TreeSearch<Cube2>(Cube2(), blind), {.nodes = 500}).end, SearchEnd::kNodes);
  EXPECT_EQ(ends(GreedySearch<Cube2>(Cube2(), blind), {}).end, SearchEnd::kStuck);
  EXPECT_EQ(ends(BidirectionalSearch<Cube2>(Cube2()), {.nodes = 500}).end, SearchEnd::kNodes);
  EXPECT_LE(ends(BidirectionalSearch<Cube2>(Cube2()), {.nodes = 500}).nodes, 500 + 6);
}

TEST(Search, NoSolutionIsLongerThanItMayBe) {
  const auto keeps_to = [&](auto&& search) {
    for (int moves = 0; moves <= 6; moves++)
      for (uint64_t seed = 0; seed < 20; seed++) {
        const Cube2::State state = scrambled(Cube2(), 1 + static_cast<int>(seed) % 7, {.seed = seed});
        const Solution& s = search.solve(state, {.nodes = 3000, .moves = moves});
        ASSERT_LE(s.moves.size(), static_cast<size_t>(moves));
        if (distances()[Cube2().code(state)] > moves) ASSERT_FALSE(s.solved);
      }
    EXPECT_EQ(search.solve(Cube2().state(77), {.moves = -1}).solved, false);
  };
  keeps_to(GreedySearch<Cube2>(Cube2(), oracle()));
  keeps_to(BeamSearch<Cube2>(Cube2(), oracle(2), {.width = 8}));
  keeps_to(AStarSearch<Cube2>(Cube2(), oracle(2)));
  keeps_to(TreeSearch<Cube2>(Cube2(), oracle(2)));
  keeps_to(BidirectionalSearch<Cube2>(Cube2()));
  const Cube2::State near = scrambled(Cube2(), 3, {.seed = 4});  // as long as it may be is allowed
  EXPECT_EQ(TreeSearch<Cube2>(Cube2(), oracle()).solve(near, {.moves = 3}).moves.size(),
            distances()[Cube2().code(near)]);
}

TEST(Search, ABeamEndsWithinALevel) {
  BeamSearch<Cube2> beam(Cube2(), oracle(3), {.width = 1 << 20});
  const Solution& s = beam.solve(Cube2().state(2'000'001), {.nodes = 5000});
  EXPECT_EQ(s.end, SearchEnd::kNodes);
  EXPECT_LE(s.nodes, 5000 + 6);
}

TEST(Search, ValuesAreAskedForInBatchesAndOnlyInTime) {
  int64_t most = 0, asked = 0;
  const auto counting = [&](std::span<const Cube2::State> states, std::span<float> values) {
    most = std::max(most, std::ssize(states)), asked += std::ssize(states);
    oracle(3)(states, values);
  };
  BeamSearch<Cube2> beam(Cube2(), counting, {.width = 1 << 20});
  beam.solve(Cube2().state(2'000'001), {.nodes = 60'000});
  EXPECT_LE(most, 4096);
  asked = 0;
  EXPECT_EQ(beam.solve(Cube2().state(2'000'001), {.seconds = 1e-9}).end, SearchEnd::kSeconds);
  EXPECT_EQ(asked, 0);
}

TEST(Search, ValuesThatAreNoNumbersAreFarAway) {
  const auto odd = [](std::span<const Cube2::State> states, std::span<float> values) {
    oracle()(states, values);
    for (size_t i = 0; i < values.size(); i += 3) values[i] = std::nanf("");
  };
  EXPECT_TRUE(BeamSearch<Cube2>(Cube2(), odd, {.width = 64}).solve(Cube2().state(1'234'567)).solved);
}

// A puzzle whose moves do not undo each other as it says.
struct Liar : Cube2 {
  int inverse(int move) const { return move; }
};

TEST(Search, PlaysASolutionBeforeItCallsItOne) {
  BidirectionalSearch<Liar> search{Liar()};
  EXPECT_REFUSED(search.solve(scrambled(Cube2(), 6, {.seed = 1})), "moves do not solve the puzzle");
}

TEST(Search, TheLargeCubeNearBy) {
  const Cube3 cube;
  BidirectionalSearch<Cube3> search(cube);
  const Cube3::State state = after(cube, cube.solved(), parse_moves(cube, "R U F' D2 L B'"));
  const Solution& s = search.solve(state);
  ASSERT_TRUE(s.solved);
  EXPECT_LE(s.moves.size(), 7U);
}

TEST(Search, AllocatesNothingOnceItKnowsTheWay) {
  BeamSearch<Cube2> beam(Cube2(), oracle(3), {.width = 32});
  AStarSearch<Cube2> star(Cube2(), oracle(3));
  TreeSearch<Cube2> tree(Cube2(), oracle(3));
  BidirectionalSearch<Cube2> both{Cube2()};
  const auto all = [&] {
    for (const uint32_t code : {3'000'000U, 1'000'000U, 12'345U}) {
      const Cube2::State state = Cube2().state(code);
      beam.solve(state), star.solve(state), tree.solve(state), both.solve(state);
    }
  };
  all(), all();
  const uint64_t before = harness::malloc_calls();
  all();
  EXPECT_EQ(harness::malloc_calls(), before);
}

TEST(CodeTable, RemembersAndForgets) {
  CodeTable<uint32_t> table;
  EXPECT_EQ(table.find(5), nullptr);
  for (int32_t i = 0; i < 10'000; i++) EXPECT_TRUE(table.insert(static_cast<uint32_t>(i * 77), i).second);
  for (int32_t i = 0; i < 10'000; i++) {
    EXPECT_FALSE(table.insert(static_cast<uint32_t>(i * 77), -1).second);
    EXPECT_EQ(*table.find(static_cast<uint32_t>(i * 77)), i);
  }
  EXPECT_EQ(table.find(1), nullptr);
  EXPECT_EQ(table.size(), 10'000U);
  table.clear();
  EXPECT_EQ(table.find(77), nullptr);
  EXPECT_TRUE(table.insert(77, 3).second);
}

}  // namespace
}  // namespace ingot::rl
