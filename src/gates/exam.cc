#include "ingot/gates/exam.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/gates/grid.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

constexpr int64_t kTimes = 4;          // larger and longer than trained
constexpr int64_t kHealingBoards = 8;  // told, not required

enum Streams : uint64_t { kFresh = 1, kLarge, kHealing, kDamage, kRobust, kFire = 1 << 20 };
RandomKey stream(RandomKey key, uint64_t which) { return {key.seed, key.stream + (which << 32)}; }

std::string size_text(int64_t height, int64_t width) {
  return std::to_string(height) + std::string(" × ") + std::to_string(width);
}

const CellRule& rule_of(const Circuit& circuit) {
  check(circuit);
  if (!circuit.cell) throw Error("exam: the circuit is no rule of cells — give one of an automaton");
  const CellRule& rule = *circuit.cell;
  if (rule.height < 1 || rule.width < 1 || rule.steps < 1)
    throw Error("exam: the circuit does not say what it was trained on — set its height, width and steps");
  return rule;
}

// A board with its target, one sample for all.
Grid target_of(const Tensor& picture) { return Grid::from_tensor(unsqueeze(picture, 0)); }

// Cells of a sample whose visible channels are not the target's.
int64_t wrong_cells(const Grid& grid, int64_t sample, const Grid& target) {
  int64_t wrong = 0;
  for (int64_t y = 0; y < grid.height(); y++)
    for (int64_t word = 0; word < grid.row_words(); word++) {
      uint64_t different = 0;
      for (int64_t c = 0; c < target.channels(); c++)
        different |= grid.row(sample, c, y)[word] ^ target.row(0, c, y)[word];
      wrong += std::popcount(different);
    }
  return wrong;
}

// How many samples are entirely right.
int64_t right_boards(const Grid& grid, const Grid& target) {
  int64_t right = 0;
  for (int64_t i = 0; i < grid.batch(); i++) right += wrong_cells(grid, i, target) == 0 ? 1 : 0;
  return right;
}

Grid random_grid(int64_t batch, const CellRule& rule, int64_t times, RandomKey key) {
  Grid grid(batch, rule.channels, rule.height * times, rule.width * times);
  grid.fill_random(key);
  return grid;
}

struct Block {
  int64_t y, x, side;
};
Block centre_block(const Grid& grid) {
  const int64_t shorter = std::min(grid.height(), grid.width()), side = shorter >= 40 ? 20 : shorter / 3;
  return {(grid.height() - side) / 2, (grid.width() - side) / 2, side};
}
void clear(Grid& grid, const Block& b) { grid.clear_block(b.y, b.x, b.side, b.side); }

class Checkerboards {
 public:
  Checkerboards(const Circuit& circuit, RandomKey key)
      : circuit_(circuit), rule_(*circuit.cell), runner_(circuit), key_(key) {}

  ExamItem fresh(int64_t boards) {
    Grid grid = random_grid(boards, rule_, 1, stream(key_, kFresh));
    runner_.step(grid, rule_.steps, stream(key_, kFire + kFresh));
    return scored(grid, boards_after(grid, rule_.steps));
  }
  ExamItem large(int64_t boards) {
    Grid grid = random_grid(boards, rule_, kTimes, stream(key_, kLarge));
    runner_.step(grid, long_run(), stream(key_, kFire + kLarge));
    return scored(grid, boards_after(grid, long_run()));
  }
  ExamItem healing() {
    Grid grid = random_grid(kHealingBoards, rule_, kTimes, stream(key_, kHealing));
    const RandomKey fire = stream(key_, kFire + kHealing);
    const Block block = centre_block(grid);
    runner_.step(grid, long_run() / 2, fire);
    clear(grid, block);
    runner_.step(grid, long_run() - long_run() / 2, fire, long_run() / 2);
    ExamItem item =
        scored(grid, std::string("healing: ") + size_text(block.side, block.side) + " cells of " +
                         size_text(grid.height(), grid.width()) + " cleared after " + std::to_string(long_run() / 2) +
                         " steps, right after " + std::to_string(long_run()));
    item.required = false;
    return item;
  }
  ExamItem damage() {
    Grid grid = random_grid(1, rule_, kTimes, stream(key_, kDamage));
    const Block block = centre_block(grid);
    for (int64_t step = 0; step < long_run(); step++) {
      clear(grid, block);
      runner_.step(grid, 1, stream(key_, kFire + kDamage), step);
    }
    Grid target = target_for(grid);
    clear(grid, block), clear(target, block);
    const int64_t outside = grid.height() * grid.width() - block.side * block.side;
    return {std::string("damage: a block of ") + size_text(block.side, block.side) + " cells of " +
                size_text(grid.height(), grid.width()) + " cleared at every step; cells right outside it after " +
                std::to_string(long_run()),
            outside - wrong_cells(grid, 0, target), outside, false};
  }
  ExamItem robustness() {
    constexpr int64_t kSide = 64, kSteps = 4000, kLate = 1000, kLargestBlock = 10;
    Circuit firing = circuit_;
    firing.cell->fire_rate = 0.6;
    Runner runner(firing);
    Grid grid(1, rule_.channels, kSide, kSide);
    grid.fill_random(stream(key_, kRobust));
    const Grid target = target_for(grid);
    const RandomKey fire = stream(key_, kFire + kRobust);
    double late = 0;
    for (int64_t step = 0; step < kSteps; step++) {
      runner.step(grid, 1, fire, step);
      if (step >= kSteps - kLate) late += static_cast<double>(wrong_cells(grid, 0, target)) / kLate;
      double u[4];
      fill_uniform(u, 4, 4 * step, 0.0, 1.0, stream(key_, 2 * kRobust));
      const auto draw = [](double x, int64_t n) { return static_cast<int64_t>(x * static_cast<double>(n)); };
      grid.clear_block(draw(u[0], grid.height()), draw(u[1], grid.width()), 1 + draw(u[2], kLargestBlock),
                       1 + draw(u[3], kLargestBlock));
    }
    const int64_t cells = grid.height() * grid.width();
    return {std::string("robustness: ") + size_text(grid.height(), grid.width()) +
                ", 4,000 steps at a fire rate of 0.6, a block of up to 10 × 10 cleared at each; cells right on average "
                "over the last 1,000",
            cells - std::llround(late), cells, false};
  }

 private:
  int64_t long_run() const { return kTimes * rule_.steps; }
  static Grid target_for(const Grid& grid) { return target_of(checkerboard(grid.height(), grid.width())); }
  static std::string boards_after(const Grid& grid, int64_t steps) {
    return "fresh boards of " + size_text(grid.height(), grid.width()) + " after " + std::to_string(steps) + " steps";
  }
  // What counts squares from the far border of a board that is larger by 2 more than a multiple of 4 finds the other
  // phase: inverted boards are right there, if all are.
  bool either_phase(const Grid& grid) const {
    return (grid.height() - rule_.height) % 4 == 2 || (grid.width() - rule_.width) % 4 == 2;
  }

  ExamItem scored(const Grid& grid, std::string question) const {
    const Grid target = target_for(grid);
    const int64_t cells = grid.height() * grid.width();
    int64_t right = 0, inverted = 0, least = cells;
    for (int64_t i = 0; i < grid.batch(); i++) {
      const int64_t wrong = wrong_cells(grid, i, target);
      right += wrong == 0 ? 1 : 0;
      inverted += wrong == cells ? 1 : 0;
      least = std::min({least, wrong, cells - wrong});
    }
    ExamItem item{std::move(question), right, grid.batch()};
    if (inverted > 0) item.note = std::to_string(inverted) + " inverted";
    if (inverted > right && either_phase(grid)) {
      item.right = inverted;
      item.note += ", which is right if all are: squares counted from the far border have the other phase at this size";
    }
    if (right + inverted == 0) item.note = "at least " + std::to_string(least) + " cells of a board wrong";
    return item;
  }

  const Circuit& circuit_;
  const CellRule& rule_;
  Runner runner_;
  RandomKey key_;
};

// Life by counting neighbours, on a torus.
void plain_life(std::vector<uint8_t>& board, int64_t side) {
  const std::vector<uint8_t> before = board;
  for (int64_t y = 0; y < side; y++)
    for (int64_t x = 0; x < side; x++) {
      int around = 0;
      for (int64_t dy = side - 1; dy <= side + 1; dy++)
        for (int64_t dx = side - 1; dx <= side + 1; dx++)
          around += before[static_cast<size_t>((y + dy) % side * side + (x + dx) % side)];
      const uint8_t alive = before[static_cast<size_t>(y * side + x)];
      around -= alive;
      board[static_cast<size_t>(y * side + x)] = around == 3 || (alive == 1 && around == 2) ? 1 : 0;
    }
}

ExamItem life_run(const Circuit& circuit) {
  constexpr int64_t kSide = 128, kSteps = 300;
  Circuit wrapped = circuit;
  wrapped.cell->border = Border::kWrap;
  Grid grid(1, circuit.cell->channels, kSide, kSide);
  grid.fill_random({.seed = 1, .stream = 0});
  std::vector<uint8_t> board;
  for (int64_t y = 0; y < kSide; y++)
    for (int64_t x = 0; x < kSide; x++) board.push_back(grid.get(0, 0, y, x) ? 1 : 0);
  Runner(wrapped).step(grid, kSteps);
  for (int64_t step = 0; step < kSteps; step++) plain_life(board, kSide);
  int64_t right = 0;
  for (int64_t i = 0; i < kSide * kSide; i++)
    right += grid.get(0, 0, i / kSide, i % kSide) == (board[static_cast<size_t>(i)] != 0) ? 1 : 0;
  return {std::string("cells of ") + size_text(kSide, kSide) + " right after 300 steps", right, kSide * kSide, false};
}

// Boards that a circuit which is wrong on a share of them gets through with a probability of at most 1 %, over all
// exams of a run: the shares 1/(k(k+1)) of the 1 % sum to 1 over all k.
int64_t boards_against(double wrong, int64_t number, int64_t only) {
  if (number < 1) return only;
  const double k = static_cast<double>(number);
  return static_cast<int64_t>(std::ceil(std::log(0.01 / (k * (k + 1))) / std::log(1 - wrong)));
}

}  // namespace

bool Exam::passed() const {
  return std::all_of(items.begin(), items.end(), [](const ExamItem& i) { return !i.required || i.right == i.of; });
}

int64_t exam_boards(int64_t number) { return boards_against(0.01, number, 32); }
int64_t exam_large_boards(int64_t number) { return boards_against(0.1, number, 8); }

Exam examine_life(const Circuit& circuit) {
  check(circuit);
  if (!circuit.cell || circuit.cell->channels != 1)
    throw Error("exam: the Game of Life has cells of one channel — give the circuit of such an automaton");
  ExamItem all{"neighbourhoods, which are all there are", 0, 512};
  std::vector<bool> inputs(9);
  for (int k = 0; k < 512; k++) {
    for (size_t i = 0; i < 9; i++) inputs[i] = (k >> i & 1) != 0;
    const int around = std::popcount(static_cast<unsigned>(k)) - (inputs[4] ? 1 : 0);
    all.right += evaluate(circuit, inputs)[0] == (around == 3 || (around == 2 && inputs[4])) ? 1 : 0;
  }
  Exam exam{{all}};
  if (exam.passed()) exam.items.push_back(life_run(circuit));
  return exam;
}

Exam examine_checkerboard(const Circuit& circuit, int64_t number, RandomKey key) {
  rule_of(circuit);
  Checkerboards boards(circuit, key);
  return {{boards.fresh(exam_boards(number)), boards.large(exam_large_boards(number)), boards.healing(),
           boards.damage(), boards.robustness()}};
}

Exam examine_growth(const Circuit& circuit, const Tensor& picture, Seed seed, int64_t number, RandomKey key) {
  const CellRule& rule = rule_of(circuit);
  if (picture.rank() != 3 || picture.size(0) > rule.channels)
    throw Error("exam: a picture is [visible, height, width], not " + to_string(picture.shape()));
  const int64_t height = picture.size(1), width = picture.size(2), runs = rule.fire_rate < 1 ? exam_boards(number) : 1;
  Runner runner(circuit);
  const auto grown = [&](int64_t times, int64_t count) {
    const Tensor start = unsqueeze(seed_board(rule.channels, times * height, times * width, seed), 0);
    Grid grid = Grid::from_tensor(concat(std::vector<Tensor>(static_cast<size_t>(count), start), 0));
    runner.step(grid, rule.steps, stream(key, kFire));
    return grid;
  };
  Exam exam;
  const std::string after = size_text(height, width) + " after " + std::to_string(rule.steps) + " steps";
  const Grid grid = grown(1, runs), target = target_of(picture);
  const int64_t cells = height * width;
  if (runs == 1)
    exam.items.push_back({"cells of " + after, cells - wrong_cells(grid, 0, target), cells});
  else
    exam.items.push_back({"runs on " + after, right_boards(grid, target), runs});
  if (seed != Seed::kCentre) return exam;
  // The seed of the larger grid is at (height, width), the picture around it.
  const int64_t top = height - height / 2, left = width - width / 2;
  const Tensor large = pad(picture, {0, top, left}, {0, height - top, width - left}, 0);
  exam.items.push_back({"cells of " + size_text(2 * height, 2 * width) + " after as many",
                        4 * cells - wrong_cells(grown(2, 1), 0, target_of(large)), 4 * cells, false});
  return exam;
}

}  // namespace ingot::gates
