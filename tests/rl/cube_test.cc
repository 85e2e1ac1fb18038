// Both cubes against a model made of stickers in space, group theory, and each other.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/notation.h"
#include "tests/error_of.h"
#include "tests/rl/sticker_model.h"

namespace ingot::rl {
namespace {

static_assert(CountedPuzzle<Cube2> && HotPuzzle<Cube2> && SymmetricPuzzle<Cube2>);
static_assert(Puzzle<Cube3> && HotPuzzle<Cube3> && SymmetricPuzzle<Cube3> && !CountedPuzzle<Cube3>);
static_assert(Environment<PuzzleEnv<Cube2>> && Environment<PuzzleEnv<Cube3>>);

template <class Cube>
void turns_as_stickers_do(const Cube& cube, int n) {
  StickerModel model(n);
  auto state = cube.solved();
  EXPECT_EQ(cube.facelets(state), model.facelets());
  MoveSource source({.seed = 1}, cube.move_count());
  for (int step = 0; step < 400; step++) {
    const int move = source.next();
    const std::string_view name = cube.move_name(move);
    state = cube.apply(state, move);
    model.turn(name[0], name.size() == 1 ? 1 : name[1] == '2' ? 2 : -1);
    ASSERT_EQ(cube.facelets(state), model.facelets()) << name;
    ASSERT_EQ(cube.parse_facelets(model.facelets()), state);
    ASSERT_EQ(cube.apply(cube.apply(state, move), cube.inverse(move)), state);
  }
}

TEST(Cube, TurnsAsStickersDo) {
  turns_as_stickers_do(Cube2(), 2);
  turns_as_stickers_do(Cube2(CubeMetric::kHalf), 2);
  turns_as_stickers_do(Cube3(), 3);
}

template <class Cube>
int order_of(const Cube& cube, std::string_view moves) {
  const std::vector<int> word = parse_moves(cube, moves);
  int order = 0;
  auto state = cube.solved();
  do state = after(cube, state, word), order++;
  while (!cube.is_solved(state));
  return order;
}

TEST(Cube, OrdersOfKnownSequences) {
  const Cube2 small;
  const Cube3 large;
  EXPECT_EQ(order_of(small, "R"), 4);
  EXPECT_EQ(order_of(small, "R U"), 15);
  EXPECT_EQ(order_of(small, "R U R' U'"), 6);
  EXPECT_EQ(order_of(large, "R U"), 105);
  EXPECT_EQ(order_of(large, "R U'"), 63);
  EXPECT_EQ(order_of(large, "R U R' U'"), 6);
  EXPECT_EQ(order_of(large, "R U2 D' B D'"), 1260);  // the largest there is
  EXPECT_EQ(order_of(large, "R2 L2 U2 D2 F2 B2"), 2);
  EXPECT_EQ(order_of(large, "R L' F B' U D' R L'"), order_of(large, "U D' R L' F B' U D'"));
}

TEST(Cube, CodesAreOneToOneOverAllStatesOfTheSmallOne) {
  const Cube2 cube;
  std::vector<bool> seen(Cube2::kStates);
  for (uint32_t code = 0; code < Cube2::kStates; code++) {
    const Cube2::State s = cube.state(code);
    ASSERT_LT(s.permutation, 5040);
    ASSERT_LT(s.twist, 729);
    ASSERT_EQ(cube.code(s), code);
    const uint32_t next = cube.code(cube.apply(s, 0));
    ASSERT_LT(next, Cube2::kStates);
    ASSERT_FALSE(seen[next]);  // a turn of all states is all states
    seen[next] = true;
  }
}

TEST(Cube, CodesOfAMillionStatesOfTheLargeOne) {
  const Cube3 cube;
  std::vector<Cube3::State> states(1'000'000);
  random_walks(cube, states, 100, {.seed = 4});
  for (const Cube3::State& s : states) ASSERT_TRUE(cube.state(cube.code(s)) == s);
  std::set<std::pair<uint64_t, uint64_t>> codes;
  std::set<std::string> pictures;
  for (size_t i = 0; i < states.size(); i += 97) {
    codes.insert({cube.code(states[i]).edges, cube.code(states[i]).corners});
    pictures.insert(cube.facelets(states[i]));
  }
  EXPECT_EQ(codes.size(), pictures.size());
}

TEST(Cube, DistancesInBothMetrics) {
  const std::vector<int64_t> quarter = {1,      6,      27,     120,     534,    2256,  8969, 33058,
                                        114149, 360508, 930588, 1350852, 782536, 90280, 276};
  const std::vector<int64_t> half = {1, 9, 54, 321, 1847, 9992, 50136, 227536, 870072, 1887748, 623800, 2644};
  const Cube2 cube;
  const std::vector<uint8_t> distances = all_distances(cube);
  EXPECT_EQ(count_by_distance(distances), quarter);
  EXPECT_EQ(count_by_distance(all_distances(Cube2(CubeMetric::kHalf))), half);
  for (uint32_t code = 0; code < Cube2::kStates; code += 101) {  // each turn changes a distance by one
    const Cube2::State s = cube.state(code);
    for (int move = 0; move < 6; move++)
      ASSERT_EQ(std::abs(distances[cube.code(cube.apply(s, move))] - distances[code]), 1);
    for (int k = 0; k < 12; k++) ASSERT_EQ(distances[cube.code(cube.symmetric(s, k))], distances[code]);
  }
}

template <class Cube>
void symmetries_are_such(const Cube& cube) {
  std::set<std::string> seen;
  const auto state = scrambled(cube, 30, {.seed = 8});
  for (int k = 0; k < cube.symmetry_count(); k++) {
    EXPECT_TRUE(cube.is_solved(cube.symmetric(cube.solved(), k)));
    seen.insert(cube.facelets(cube.symmetric(state, k)));
    std::set<std::string> neighbours, others;  // what is next to a state stays next to it
    for (int move = 0; move < cube.move_count(); move++) {
      neighbours.insert(cube.facelets(cube.symmetric(cube.apply(cube.solved(), move), k)));
      others.insert(cube.facelets(cube.apply(cube.solved(), move)));
    }
    EXPECT_EQ(neighbours, others);
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(cube.symmetry_count()));
  EXPECT_EQ(cube.facelets(cube.symmetric(state, 0)), cube.facelets(state));
}

TEST(Cube, Symmetries) {
  symmetries_are_such(Cube2());
  symmetries_are_such(Cube3());
}

template <class Cube>
void observes_hot_inputs(const Cube& cube) {
  const auto size = static_cast<size_t>(cube.observation_size());
  std::vector<float> seen(size, 7.0F), expected(size);
  std::vector<int32_t> hot(static_cast<size_t>(cube.hot_count()));
  const auto state = scrambled(cube, 40, {.seed = 2});
  cube.observe(state, seen);
  cube.hot(state, hot);
  for (const int32_t at : hot) expected.at(static_cast<size_t>(at)) = 1;
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0F), static_cast<float>(cube.hot_count()));
  if (cube.encoding() == CubeEncoding::kFacelets) {
    const std::string stickers = cube.facelets(state);
    for (size_t i = 0; i < stickers.size(); i++) EXPECT_EQ(seen[6 * i + std::string("URFDLB").find(stickers[i])], 1.0F);
  }
}

TEST(Cube, ObservationsInAllEncodings) {
  for (const CubeEncoding encoding : {CubeEncoding::kFacelets, CubeEncoding::kCubies, CubeEncoding::kCanonical}) {
    observes_hot_inputs(Cube2(CubeMetric::kQuarter, encoding));
    observes_hot_inputs(Cube3(encoding));
  }
  observes_hot_inputs(Cube2(CubeMetric::kQuarter, CubeEncoding::kTurned));
}

// All symmetric states look like one of them, and others do not.
template <class Cube>
void canonical_states_are_seen(const Cube& cube) {
  const auto seen = [&](const typename Cube::State& s) {
    std::vector<int32_t> hot(static_cast<size_t>(cube.hot_count()));
    cube.hot(s, hot);
    return hot;
  };
  for (uint64_t seed = 0; seed < 20; seed++) {
    const auto state = scrambled(cube, 9, {seed, 1});
    for (int k = 0; k < cube.symmetry_count(); k++) {
      const auto other = cube.symmetric(state, k);
      EXPECT_EQ(cube.canonical(other), cube.canonical(state));
      EXPECT_EQ(seen(other), seen(state));
    }
    EXPECT_NE(seen(cube.apply(state, 0)), seen(state));
  }
}

TEST(Cube, SymmetricStatesShareACanonicalOne) {
  const Cube2 small(CubeMetric::kQuarter, CubeEncoding::kCanonical);
  canonical_states_are_seen(small);
  canonical_states_are_seen(Cube3(CubeEncoding::kCanonical));
  for (uint32_t code = 0; code < Cube2::kStates; code += 101)
    EXPECT_LE(small.code(small.canonical(small.state(code))), code);
  EXPECT_NE(error_of([&] { PuzzleEnv<Cube2>{.puzzle = small}.observation_size(); }).find("look the same"),
            std::string::npos);
}

// Turning or mirroring the cube as a whole permutes its moves: what a move does before, another one does after.
TEST(Cube, SymmetriesPermuteMoves) {
  for (const CubeMetric metric : {CubeMetric::kQuarter, CubeMetric::kHalf}) {
    const Cube2 cube(metric);
    for (int k = 0; k < cube.turn_count(); k++)
      for (int move = 0; move < cube.move_count(); move++)
        for (uint64_t seed = 0; seed < 5; seed++) {
          const Cube2::State s = scrambled(cube, 9, {seed, 1});
          EXPECT_EQ(cube.symmetric(cube.apply(s, move), k),
                    cube.apply(cube.symmetric(s, k), cube.symmetric_move(move, k)));
        }
  }
}

// All states show one of their six, and a move's number in what is shown is that of the move which leads to what the next
// state shows.
TEST(Cube, TurnedStatesAreSeenAsOne) {
  const PuzzleEnv<Cube2> env{.puzzle = Cube2(CubeMetric::kQuarter, CubeEncoding::kTurned)};
  const PuzzleEnv<Cube2> plain{.puzzle = Cube2(CubeMetric::kQuarter, CubeEncoding::kCubies)};
  const Cube2& cube = env.puzzle;
  const auto seen = [](const PuzzleEnv<Cube2>& by, const Cube2::State& s) {
    std::vector<int32_t> hot(static_cast<size_t>(by.hot_count()));
    by.hot(s, hot);
    return hot;
  };
  for (uint32_t code = 0; code < Cube2::kStates; code += 1009) {
    const Cube2::State s = cube.state(code), shown = cube.symmetric(s, cube.view(s));
    EXPECT_EQ(seen(env, s), seen(plain, shown));
    uint32_t least = code;
    for (int k = 0; k < 6; k++) {
      const Cube2::State other = cube.symmetric(s, k);
      least = std::min(least, cube.code(other));
      EXPECT_EQ(seen(env, other), seen(env, s));
    }
    EXPECT_EQ(cube.code(shown), least);
    std::set<uint32_t> kind;
    for (int k = 0; k < 6; k++) kind.insert(cube.code(cube.symmetric(s, k)));
    for (int k = 0; k < 6 && kind.size() == 6;
         k++)  // a network that chooses one move of what is shown plays alike in all
      EXPECT_EQ(env.action_of_view(cube.symmetric(s, k), 2),
                cube.symmetric_move(static_cast<int>(env.action_of_view(s, 2)), k));
    for (int64_t action = 0; action < 6; action++) {
      const int64_t in_view = env.action_in_view(s, action);
      EXPECT_EQ(env.action_of_view(s, in_view), action);
      EXPECT_EQ(seen(env, cube.apply(shown, static_cast<int>(in_view))),
                seen(env, cube.apply(s, static_cast<int>(action))));
      EXPECT_EQ(plain.action_in_view(s, action), action);
    }
  }
}

TEST(Cube, ImpossibleOnesGetASentence) {
  const Cube3 cube;
  std::string solved = cube.facelets(cube.solved());
  const auto with = [&](std::initializer_list<std::pair<size_t, char>> changes) {
    std::string text = solved;
    for (const auto& [at, colour] : changes) text[at] = colour;
    return error_of([&] { cube.parse_facelets(text); });
  };
  EXPECT_EQ(error_of([&] { cube.parse_facelets(solved); }), "no error");
  // The corner URF (stickers 8, 9, 20) turned; the edge UF (7, 19) flipped; the edges UF and UR exchanged.
  EXPECT_NE(with({{8, 'F'}, {9, 'U'}, {20, 'R'}}).find("a corner is twisted"), std::string::npos);
  EXPECT_NE(with({{7, 'F'}, {19, 'U'}}).find("an edge is flipped"), std::string::npos);
  EXPECT_NE(with({{19, 'R'}, {10, 'F'}}).find("wrong parity"), std::string::npos);
  EXPECT_NE(with({{0, 'D'}}).find("wrong colours: 8 stickers are U (W), not 9"), std::string::npos);
  EXPECT_NE(with({{8, 'D'}, {29, 'U'}}).find("no corner has"), std::string::npos);
  EXPECT_NE(with({{8, 'R'}, {9, 'U'}}).find("no corner has"), std::string::npos);  // a mirror image
  EXPECT_NE(with({{4, 'R'}, {13, 'U'}}).find("the middle of face U is R"), std::string::npos);
  EXPECT_NE(with({{0, 'X'}}).find("\"X\" is no face"), std::string::npos);
  EXPECT_REFUSED(cube.parse_facelets("UUU"), "3 stickers — give 54");

  const Cube2 small;
  EXPECT_REFUSED(small.parse_facelets("UUUFURRRFRFFDDDDLLLLBBBB"), "a corner is twisted");
  EXPECT_REFUSED(small.parse_facelets("RRRRUUUUFFFFLLLLDDDDBBBB"), "no corner has");
  EXPECT_REFUSED(small.parse_facelets("FFFFRRRRDDDDBBBBLLLLUUUU"), "the corner DBL is not at down-back-left");
  EXPECT_EQ(small.parse_facelets("WWWW rrrr GGGG YYYY OOOO BBBB"), small.solved());
}

TEST(Notation, ReadsWhatPeopleWrite) {
  const Cube2 cube;
  const Cube2 half(CubeMetric::kHalf);
  EXPECT_EQ(parse_moves(cube, "R U' F2  R’\tU′"), (std::vector<int>{0, 3, 4, 4, 1, 3}));
  EXPECT_EQ(parse_moves(half, "R2 U2' F"), (std::vector<int>{6, 7, 4}));
  EXPECT_EQ(parse_moves(cube, "  "), std::vector<int>{});
  EXPECT_EQ(moves_text(cube, std::vector<int>{0, 3, 4}), "R U' F");
  EXPECT_EQ(error_of([&] { parse_moves(cube, "R L"); }), "moves: \"L\" is none — there are R R' U U' F F'");
}

}  // namespace
}  // namespace ingot::rl
