// Bit-packed runs against plain loops over cells.
#include "ingot/gates/grid.h"

#include <gtest/gtest.h>

#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "tests/error_of.h"
#include "tests/gates/sample_circuits.h"

namespace ingot::gates {
namespace {

// One step, cell by cell.
Grid plain_step(const Circuit& rule, const Grid& grid, const Grid* fires = nullptr) {
  Grid next = grid;
  const int64_t height = grid.height(), width = grid.width();
  const bool wrap = rule.cell->border == Border::kWrap;
  for (int64_t b = 0; b < grid.batch(); b++)
    for (int64_t y = 0; y < height; y++)
      for (int64_t x = 0; x < width; x++) {
        if (fires != nullptr && !fires->get(b, 0, y, x)) continue;
        std::vector<bool> in;
        for (int64_t c = 0; c < grid.channels(); c++)
          for (int64_t k = 0; k < 9; k++) {
            const int64_t v = y + k / 3 - 1, u = x + k % 3 - 1;
            const bool inside = v >= 0 && v < height && u >= 0 && u < width;
            in.push_back((wrap || inside) && grid.get(b, c, (v + height) % height, (u + width) % width));
          }
        const std::vector<bool> out = evaluate(rule, in);
        for (int64_t c = 0; c < grid.channels(); c++) next.set(b, c, y, x, out[static_cast<size_t>(c)]);
      }
  return next;
}

class OddSizes : public testing::TestWithParam<std::pair<int64_t, int64_t>> {};

TEST_P(OddSizes, BothBordersAnyRule) {
  const auto [height, width] = GetParam();
  for (const Border border : {Border::kZero, Border::kWrap})
    for (const bool keep_copies : {false, true})
      for (const double rate : {1.0, 0.7}) {
        Circuit rule = random_rule(static_cast<uint64_t>(height * 1000 + width), 2, 40, border);
        rule.cell->fire_rate = rate;
        Runner runner(rule, {.keep_copies = keep_copies});
        Grid grid(2, 2, height, width);
        grid.fill_random({.seed = 3});
        Grid expected = grid;
        for (int step = 0; step < 3; step++) {
          const Grid fires = Runner::fire_mask(grid, rate, {.seed = 5}, step);
          expected = plain_step(rule, expected, rate < 1 ? &fires : nullptr);
          runner.step(grid, 1, {.seed = 5}, step);
          ASSERT_EQ(grid, expected) << "border " << static_cast<int>(border) << ", step " << step << ", rate " << rate;
        }
      }
}
INSTANTIATE_TEST_SUITE_P(Sizes, OddSizes,
                         testing::Values(std::pair(1, 1), std::pair(1, 2), std::pair(3, 3), std::pair(2, 63),
                                         std::pair(5, 64), std::pair(4, 65), std::pair(16, 16), std::pair(3, 127),
                                         std::pair(2, 128), std::pair(7, 130), std::pair(3, 520)));

TEST(Runner, LifeAgainstCountingNeighbours) {
  constexpr int64_t kSize = 128;
  Grid grid(1, 1, kSize, kSize);
  grid.fill_random({.seed = 42}, 0.35);
  Runner runner(textbook_life());
  std::vector<int> cells(kSize * kSize), next(cells);
  for (int64_t i = 0; i < kSize * kSize; i++) cells[static_cast<size_t>(i)] = grid.get(0, 0, i / kSize, i % kSize);
  runner.step(grid, 300);
  for (int step = 0; step < 300; step++) {
    for (int64_t y = 0; y < kSize; y++)
      for (int64_t x = 0; x < kSize; x++) {
        const auto at = [&](int64_t v, int64_t u) {
          return cells[static_cast<size_t>((v + kSize) % kSize * kSize + (u + kSize) % kSize)];
        };
        int count = -at(y, x);
        for (int64_t k = 0; k < 9; k++) count += at(y + k / 3 - 1, x + k % 3 - 1);
        next[static_cast<size_t>(y * kSize + x)] = life_rule(at(y, x) != 0, count);
      }
    cells.swap(next);
  }
  int64_t alive = 0;
  for (int64_t i = 0; i < kSize * kSize; i++) {
    ASSERT_EQ(grid.get(0, 0, i / kSize, i % kSize), cells[static_cast<size_t>(i)] != 0) << i;
    alive += cells[static_cast<size_t>(i)];
  }
  EXPECT_GT(alive, 0);
  EXPECT_EQ(grid.count(0), alive);
}

TEST(Runner, StepsInOneCallOrMany) {
  const Circuit rule = random_rule(8, 3, 80, Border::kZero);
  Grid a(3, 3, 20, 70);
  a.fill_random({.seed = 1});
  Grid b = a;
  Runner runner(rule);
  runner.step(a, 7);
  for (int step = 0; step < 7; step++) runner.step(b);
  EXPECT_EQ(a, b);
  runner.step(a, 0);
  EXPECT_EQ(a, b);
}

TEST(Runner, FireMasksAreDrawnByKeyAndStepAndCanBeGiven) {
  Circuit rule = random_rule(9, 2, 50, Border::kWrap);
  rule.cell->fire_rate = 0.6;
  Grid drawn(2, 2, 9, 75);
  drawn.fill_random({.seed = 1});
  Grid given = drawn, plain = drawn;
  const RandomKey key{.seed = 4, .stream = 100};
  Runner runner(rule);
  runner.step(drawn, 5, key, 3);
  for (int64_t step = 3; step < 8; step++) {
    const Grid fires = Runner::fire_mask(given, 0.6, key, step);
    EXPECT_NEAR(static_cast<double>(fires.count(0)) / (2 * 9 * 75), 0.6, 0.06);
    runner.step(given, fires);
    plain = plain_step(rule, plain, &fires);
  }
  EXPECT_EQ(drawn, given);
  EXPECT_EQ(drawn, plain);
}

TEST(Runner, TheSameAtAnyThreadCount) {
  const int before = threads();
  for (const double rate : {1.0, 0.5})
    for (const bool keep_copies : {false, true}) {
      Circuit rule = random_rule(10, 2, 400, Border::kWrap);
      rule.cell->fire_rate = rate;
      Grid start(2, 2, 150, 300);
      start.fill_random({.seed = 1});
      Grid one = start;
      set_threads(1);
      Runner(rule, {.keep_copies = keep_copies}).step(one, 4, {.seed = 2});
      for (const int n : {2, 3}) {
        set_threads(n);
        Grid many = start;
        Runner(rule, {.keep_copies = keep_copies}).step(many, 4, {.seed = 2});
        EXPECT_EQ(one, many) << n << " threads, rate " << rate << ", copies kept: " << keep_copies;
      }
    }
  set_threads(before);
}

TEST(Runner, EvaluatesAnyNumberOfWords) {
  for (const bool keep_copies : {false, true})
    for (uint64_t seed = 1; seed <= 20; seed++) {
      const Circuit c = random_circuit(seed, 5, 60, 6, seed % 3);
      Runner runner(c, {.keep_copies = keep_copies});
      for (const int64_t words : {1, 7, 8, 9, 33, 200}) {
        Draws draw(seed);
        std::vector<uint64_t> in(static_cast<size_t>(5 * words)), out(static_cast<size_t>(6 * words), 77);
        for (uint64_t& w : in) w = draw.word();
        runner.evaluate(in, out, words);
        for (int64_t bit = 0; bit < 64 * words; bit += words == 200 ? 31 : 5) {
          std::vector<bool> values, results;
          for (int64_t i = 0; i < 5; i++)
            values.push_back((in[static_cast<size_t>(i * words + bit / 64)] >> bit % 64 & 1) != 0);
          for (int64_t o = 0; o < 6; o++)
            results.push_back((out[static_cast<size_t>(o * words + bit / 64)] >> bit % 64 & 1) != 0);
          ASSERT_EQ(results, evaluate(c, values)) << "seed " << seed << ", words " << words << ", bit " << bit;
        }
      }
    }
}

TEST(Runner, EvaluatesTheSameAtAnyThreadCount) {
  const int before = threads();
  const Circuit c = random_circuit(3, 20, 2000, 20);
  constexpr int64_t kWords = 1003;
  Draws draw(1);
  std::vector<uint64_t> in(20 * kWords), one(20 * kWords), three(20 * kWords);
  for (uint64_t& w : in) w = draw.word();
  set_threads(1);
  Runner(c, {.keep_copies = true}).evaluate(in, one, kWords);
  set_threads(3);
  Runner(c, {.keep_copies = true}).evaluate(in, three, kWords);
  set_threads(before);
  EXPECT_EQ(one, three);
}

TEST(Runner, CopiesGoUnlessKept) {
  const Circuit raw = trained("life_trained");
  EXPECT_EQ(Runner(raw, {.keep_copies = true}).gates(), static_cast<int64_t>(raw.gates.size()));
  EXPECT_LT(Runner(raw).gates(), active_gates(raw));
  EXPECT_LT(Runner(raw, {.keep_copies = true}).slots(), 300);
}

TEST(Runner, TakesNoMemoryAfterTheFirstRun) {
  for (const double rate : {1.0, 0.5}) {
    Circuit rule = textbook_life();
    rule.cell->fire_rate = rate;
    Runner runner(rule);
    Grid grid(1, 1, 200, 200), fires(1, 1, 200, 200);
    grid.fill_random({.seed = 1});
    runner.step(grid);
    runner.step(grid, fires);
    const uint64_t before = memory_stats().allocations;
    runner.step(grid, 10);
    runner.step(grid, fires);
    EXPECT_EQ(memory_stats().allocations, before) << rate;
  }
}

TEST(Runner, RefusesWhatDoesNotFit) {
  Runner life(textbook_life());
  Grid two(1, 2, 8, 8), one(1, 1, 8, 8);
  EXPECT_REFUSED(life.step(two), "channels");
  EXPECT_REFUSED(life.step(one, -1), "steps");
  EXPECT_REFUSED(life.step(one, two), "one channel");
  std::vector<uint64_t> words(9);
  EXPECT_REFUSED(life.evaluate(words, words, 1), "outputs x words");
  EXPECT_REFUSED(Runner(random_circuit(1, 9, 3, 1)).step(one), "no cell rule");
  EXPECT_REFUSED(Runner(Circuit{.inputs = 1, .outputs = {3}}), "output");
}

}  // namespace
}  // namespace ingot::gates
