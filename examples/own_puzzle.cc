// A puzzle of one's own: the 15-puzzle. The library's searchers solve it with a value that somebody wrote (how far tiles are from
// home), and with one that is learned here from random walks, by the code that learns the cubes.
#include <ingot/rl.h>

#include <cstdio>
#include <cstdlib>

using namespace ingot;

// Sixteen cells of four bits; 0 is the gap. Moves slide a tile into the gap: the gap goes up, down, left or right. Where it cannot, the
// move leaves everything as it is.
struct Fifteen {
  struct State {
    uint64_t cells = 0x0FEDCBA987654321;  // cell 0 in the lowest bits: tiles 1 to 15, then the gap
    bool operator==(const State&) const = default;
  };
  static int tile(const State& s, int cell) { return static_cast<int>(s.cells >> (4 * cell) & 15); }
  static int gap_of(const State& s) {
    int cell = 0;
    while (tile(s, cell) != 0) cell++;
    return cell;
  }

  State solved() const { return {}; }
  bool is_solved(const State& s) const { return s == State{}; }
  int move_count() const { return 4; }
  State apply(const State& s, int move) const {
    constexpr int kRows[] = {-1, 1, 0, 0}, kColumns[] = {0, 0, -1, 1};
    const int gap = gap_of(s), row = gap / 4 + kRows[move], column = gap % 4 + kColumns[move];
    if (row < 0 || row > 3 || column < 0 || column > 3) return s;
    const int from = 4 * row + column;
    const auto moved = static_cast<uint64_t>(tile(s, from));
    return {(s.cells & ~(uint64_t{15} << (4 * from))) | moved << (4 * gap)};
  }
  int inverse(int move) const { return move ^ 1; }
  std::string_view move_name(int move) const {
    constexpr std::string_view kNames[] = {"up", "down", "left", "right"};
    return kNames[move];
  }
  uint64_t code(const State& s) const { return s.cells; }
  int64_t observation_size() const { return 256; }
  void observe(const State& s, std::span<float> out) const {
    std::fill(out.begin(), out.end(), 0.0F);
    for (int cell = 0; cell < 16; cell++) out[static_cast<size_t>(16 * cell + tile(s, cell))] = 1;
  }
  int64_t hot_count() const {
    return 16;
  }  // which 16 of the 256 are one: a network then adds rows, and multiplies by no zero
  void hot(const State& s, std::span<int32_t> out) const {
    for (int cell = 0; cell < 16; cell++) out[static_cast<size_t>(cell)] = 16 * cell + tile(s, cell);
  }
};
static_assert(rl::HotPuzzle<Fifteen>);

// Rows and columns that all tiles are away from home.
void far_from_home(std::span<const Fifteen::State> states, std::span<float> values) {
  for (size_t i = 0; i < states.size(); i++) {
    int sum = 0;
    for (int cell = 0; cell < 16; cell++)
      if (const int home = Fifteen::tile(states[i], cell) - 1; home >= 0)
        sum += std::abs(home / 4 - cell / 4) + std::abs(home % 4 - cell % 4);
    values[i] = static_cast<float>(sum);
  }
}

// Scrambles of 20 moves that are solved by a value which 600 batches of walks have taught.
int solved_by_learning(const Fifteen& puzzle) {
  rl::ValueLearner<Fifteen> learner(
      puzzle, {.net = {.hidden = {128, 64}, .dueling = false}, .walk_length = 30, .walks = 32, .walk_updates = 600});
  while (learner.updates() < learner.total_updates()) learner.step();
  rl::LearnedValue<Fifteen> value(puzzle, learner.network());
  rl::BeamSearch<Fifteen> beam(puzzle, std::ref(value), {.width = 64});
  int solved = 0;
  for (uint64_t seed = 0; seed < 10; seed++) {
    const rl::Solution& s = beam.solve(rl::scrambled(puzzle, 20, {.seed = seed}));
    solved += s.solved ? 1 : 0;
    std::printf("learned: %zu moves, %lld states\n", s.moves.size(), static_cast<long long>(s.nodes));
  }
  return solved;
}

int main() {
  const Fifteen puzzle;
  rl::BeamSearch<Fifteen> beam(puzzle, far_from_home, {.width = 256});
  rl::AStarSearch<Fifteen> star(puzzle, far_from_home, {.weight = 0.6F});
  int solved = 0;
  for (uint64_t seed = 0; seed < 5; seed++) {
    const Fifteen::State start = rl::scrambled(puzzle, 200, {.seed = seed});
    const rl::Solution& a = beam.solve(start);
    std::printf("beam: %zu moves, %lld states;  ", a.moves.size(), static_cast<long long>(a.nodes));
    const rl::Solution& b = star.solve(start);
    std::printf("A*: %zu moves, %lld states\n", b.moves.size(), static_cast<long long>(b.nodes));
    solved += (a.solved ? 1 : 0) + (b.solved ? 1 : 0);
  }
  std::printf("%s\n", rl::moves_text(puzzle, star.solve(rl::scrambled(puzzle, 12, {.seed = 9})).moves).c_str());
  solved += solved_by_learning(puzzle);
  return solved == 20 ? EXIT_SUCCESS : EXIT_FAILURE;
}
