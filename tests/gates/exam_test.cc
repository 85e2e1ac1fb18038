// Exams on circuits made by hand: right ones pass, wrong ones do not, however slightly.
#include "ingot/gates/exam.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/gates/hand_made.h"

namespace ingot::gates {
namespace {

TEST(Exam, LifeIsProvedOnAllNeighbourhoods) {
  Circuit life = hand_made_life();
  Exam exam = examine_life(life);
  EXPECT_TRUE(exam.passed());
  EXPECT_EQ(exam.items[0].right, 512);
  EXPECT_EQ(exam.items[1].right, 128 * 128);

  int noticed = 0;  // the first sums are constant: not every gate matters
  for (Gate& g : life.gates) {
    const Function before = g.function;
    g.function = Function::kFalse;
    noticed += examine_life(life).passed() ? 0 : 1;
    g.function = before;
  }
  EXPECT_GT(noticed, 25);
  life.gates.push_back({Function::kNotA, life.outputs[0], 0});
  life.outputs[0] = life.signals() - 1;
  EXPECT_EQ(examine_life(life).items[0].right, 0);
}

TEST(Exam, CheckerboardFromTheBorder) {
  const Circuit rule = hand_made_checkerboard();
  const Exam exam = examine_checkerboard(rule, 0, {7, 0});
  ASSERT_EQ(exam.items.size(), 5U);
  EXPECT_TRUE(exam.passed());
  EXPECT_EQ(exam.items[0].of, 32);
  EXPECT_EQ(exam.items[1].of, 8);
  EXPECT_EQ(exam.items[1].question, "fresh boards of 64 × 64 after 80 steps");
  // What counts from the border needs 65 steps for the last column: 40 are too few after the damage.
  EXPECT_FALSE(exam.items[2].required);
  EXPECT_EQ(exam.items[2].of, 8);
  // The shadow of a cleared block is wrong to its right and below.
  EXPECT_LT(exam.items[3].right, exam.items[3].of);
  EXPECT_GT(exam.items[3].right, exam.items[3].of / 2);
  EXPECT_EQ(exam.items[4].of, 64 * 64);
}

TEST(Exam, InvertedBoardsAreWrongAndSaidToBe) {
  Circuit rule = hand_made_checkerboard();
  rule.gates.push_back({Function::kNotA, rule.outputs[0], 0});
  rule.outputs[0] = rule.signals() - 1;
  const Exam exam = examine_checkerboard(rule, 1, {7, 0});
  EXPECT_FALSE(exam.passed());
  EXPECT_EQ(exam.items[0].right, 0);
  EXPECT_EQ(exam.items[0].note, "528 inverted");
}

// Trained on 14 × 14, what counts from the far border cannot know the phase of 56 × 56; on 16 × 16 it could have
// learned it.
TEST(Exam, PhaseOfLargerBoards) {
  Circuit rule = hand_made_checkerboard();
  for (Gate& g : rule.gates)
    for (uint32_t* const signal : {&g.a, &g.b})
      if (*signal < rule.inputs && *signal % 9 == 3) *signal += 2;  // from the right instead of from the left
  EXPECT_EQ(examine_checkerboard(rule, 0, {7, 0}).items[0].note, "32 inverted");
  rule.cell->height = rule.cell->width = 14;
  const Exam exam = examine_checkerboard(rule, 0, {7, 0});
  EXPECT_TRUE(exam.passed());
  EXPECT_EQ(exam.items[0].note, "");
  EXPECT_EQ(exam.items[1].note.substr(0, 35), "8 inverted, which is right if all a");
  rule.cell->height = 12, rule.cell->width = 16;  // larger by a multiple of 4: it has not learned the phase
  EXPECT_FALSE(examine_checkerboard(rule, 0, {7, 0}).passed());
}

// A checkerboard whose phase is the first cell's random bit (channel 5), told from cell to cell; channel 6 says that
// there is a cell.
Circuit checkerboard_of_random_phase() {
  Circuit c = hand_made_checkerboard();
  for (Gate& g : c.gates)
    for (uint32_t* const signal : {&g.a, &g.b})
      if (*signal >= c.inputs) *signal += 18;
  for (uint32_t& output : c.outputs) output += 18;
  c.inputs = 63, c.cell->channels = 7;
  const auto gate = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  uint32_t phase = 5 * 9 + 4;
  for (const uint32_t place : {1U, 3U, 0U}) {  // from above, better from the left, best from both
    const uint32_t there = 6 * 9 + place;
    phase = gate(Function::kOr, gate(Function::kAnd, 5 * 9 + place, there), gate(Function::kAndNot, phase, there));
  }
  c.outputs[0] = gate(Function::kXor, c.outputs[0], 5 * 9 + 4);
  c.outputs.push_back(phase);
  c.outputs.push_back(gate(Function::kTrue, 0, 0));
  return c;
}

// Each board is right or inverted, but not all in one phase.
TEST(Exam, PhaseIsTheSameOnAllBoards) {
  Circuit rule = checkerboard_of_random_phase();
  rule.cell->height = rule.cell->width = 14;
  const ExamItem large = examine_checkerboard(rule, 1, {7, 0}).items[1];
  EXPECT_EQ(large.of, 51);
  EXPECT_GE(large.right, 26);  // the phase that more of them have
  EXPECT_LT(large.right, 51);
}

TEST(Exam, TooFewStepsFail) {
  Circuit rule = hand_made_checkerboard();
  rule.cell->steps = 15;
  EXPECT_FALSE(examine_checkerboard(rule, 0, {7, 0}).passed());
}

// A circuit wrong on one board of a hundred, tried for ever with fresh boards each time, is taken with at most 1 %.
TEST(Exam, CannotBePassedByTryingOften) {
  double taken = 0, taken_large = 0;
  for (int64_t k = 1; k < 100000; k++) {
    taken += std::pow(0.99, static_cast<double>(exam_boards(k)));
    taken_large += std::pow(0.9, static_cast<double>(exam_large_boards(k)));
  }
  EXPECT_LE(taken, 0.01);
  EXPECT_GT(taken, 0.005);  // and it is no stricter than it must be
  EXPECT_LE(taken_large, 0.01);
  EXPECT_GT(taken_large, 0.005);
  EXPECT_EQ(exam_large_boards(0), 8);
  EXPECT_EQ(exam_large_boards(1), 51);
  EXPECT_EQ(exam_boards(0), 32);
  EXPECT_EQ(exam_boards(1), 528);
}

// Every cell copies its neighbours: a picture that grows to the left and down, from the centre.
TEST(Exam, GrowthComparesEveryCell) {
  Circuit rule{.inputs = 9, .gates = {{Function::kOr, 4, 5}}, .outputs = {9}, .cell = CellRule{}};
  rule.cell->height = 5, rule.cell->width = 7, rule.cell->steps = 2, rule.cell->border = Border::kZero;
  Tensor picture = zeros({1, 5, 7});
  for (int x = 1; x <= 3; x++) picture.data<float>()[2 * 7 + x] = 1;
  Exam exam = examine_growth(rule, picture, Seed::kCentre, 0, {});
  EXPECT_TRUE(exam.passed());
  ASSERT_EQ(exam.items.size(), 2U);
  EXPECT_EQ(exam.items[0].right, 35);
  EXPECT_EQ(exam.items[1].right, 4 * 35);
  picture.data<float>()[0] = 1;
  exam = examine_growth(rule, picture, Seed::kCentre, 0, {});
  EXPECT_FALSE(exam.passed());
  EXPECT_EQ(exam.items[0].right, 34);

  rule.cell->fire_rate = 0.5;  // a run in which the two cells do not fire is wrong
  const ExamItem runs = examine_growth(rule, picture, Seed::kCentre, 0, {}).items[0];
  EXPECT_EQ(runs.of, 32);
  EXPECT_LT(runs.right, 32);
}

TEST(Exam, RefusesWhatIsNoAutomaton) {
  Circuit plain{.inputs = 9, .gates = {}, .outputs = {4}};
  EXPECT_REFUSED(examine_checkerboard(plain, 0, {}), "no rule of cells");
  EXPECT_REFUSED(examine_life(plain), "cells of one channel");
  plain.cell = CellRule{};
  EXPECT_REFUSED(examine_checkerboard(plain, 0, {}), "does not say what it was trained on");
  EXPECT_REFUSED(examine_life(hand_made_checkerboard()), "cells of one channel");
}

}  // namespace
}  // namespace ingot::gates
