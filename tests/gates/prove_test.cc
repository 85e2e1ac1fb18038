// Proofs of equality, and counterexamples that are some.
#include <gtest/gtest.h>

#include "ingot/gates/simplify.h"
#include "tests/error_of.h"
#include "tests/gates/sample_circuits.h"

namespace ingot::gates {
namespace {

void expect_counterexample(const Circuit& a, const Circuit& b, const Proof& proof) {
  ASSERT_FALSE(proof.equal);
  ASSERT_EQ(proof.counterexample.size(), a.inputs);
  EXPECT_NE(evaluate(a, proof.counterexample), evaluate(b, proof.counterexample));
}

// Gates that combine the inputs one after the other, in the given order.
Circuit chain(Function f, const std::vector<uint32_t>& order) {
  Circuit c{.inputs = static_cast<uint32_t>(order.size())};
  uint32_t last = order[0];
  for (size_t i = 1; i < order.size(); i++) {
    c.gates.push_back({f, last, order[i]});
    last = c.signals() - 1;
  }
  c.outputs = {last};
  return c;
}

std::vector<uint32_t> ascending(uint32_t n) {
  std::vector<uint32_t> order(n);
  for (uint32_t i = 0; i < n; i++) order[i] = i;
  return order;
}

TEST(Prove, EveryFunctionDiffersFromEveryOther) {
  for (int f = 0; f < kFunctions; f++)
    for (int g = 0; g < kFunctions; g++) {
      const Circuit a{.inputs = 2, .gates = {{static_cast<Function>(f), 0, 1}}, .outputs = {2}};
      const Circuit b{.inputs = 2, .gates = {{static_cast<Function>(g), 0, 1}}, .outputs = {2}};
      const Proof proof = prove_equal(a, b);
      EXPECT_EQ(proof.equal, f == g);
      if (f != g) expect_counterexample(a, b, proof);
    }
}

// Shift and add; with the operands exchanged it computes the same, and no search for equal parts sees that.
Circuit multiplier(uint32_t bits, bool exchanged) {
  Circuit c{.inputs = 2 * bits};
  const auto gate = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  const uint32_t zero = gate(Function::kFalse, 0, 0), first = exchanged ? bits : 0, second = exchanged ? 0 : bits;
  std::vector<uint32_t> sum(2 * bits, zero);
  for (uint32_t i = 0; i < bits; i++) {
    uint32_t carry = zero;
    for (uint32_t j = 0; j < bits; j++) {
      const uint32_t x = sum[i + j], y = gate(Function::kAnd, first + i, second + j);
      const uint32_t half = gate(Function::kXor, x, y);
      sum[i + j] = gate(Function::kXor, half, carry);
      carry = gate(Function::kOr, gate(Function::kAnd, x, y), gate(Function::kAnd, half, carry));
    }
    sum[i + bits] = carry;
  }
  c.outputs = sum;
  return c;
}

TEST(Prove, CanBeGivenUp) {
  const Circuit a = multiplier(14, false), b = multiplier(14, true);
  int64_t asked = 0, most = 0;
  const Proof proof = prove_equal(a, b, [&](int64_t proved, int64_t outputs) {
    EXPECT_EQ(outputs, 28);
    most = std::max(most, proved);
    return ++asked < 200;
  });
  EXPECT_FALSE(proof.decided);
  EXPECT_FALSE(proof.equal);
  EXPECT_TRUE(proof.counterexample.empty());
  EXPECT_NE(proof.method.find("of 28 outputs were proved equal"), std::string::npos) << proof.method;
  EXPECT_GE(asked, 200);
  EXPECT_TRUE(prove_equal(multiplier(5, false), multiplier(5, true), [](int64_t, int64_t) { return true; }).equal);
}

TEST(Prove, ChannelsThatReadEachOtherInAChain) {
  const int32_t channels = 20000;  // each reads the next: a pass over the rule for each would take minutes
  Circuit c{.inputs = 9 * static_cast<uint32_t>(channels)};
  for (int32_t i = 0; i < channels; i++) c.outputs.push_back(9 * static_cast<uint32_t>(std::min(i + 1, channels - 2)));
  c.cell = CellRule{.channels = channels, .visible = 1};
  const std::vector<int32_t> needed = needed_channels(c);
  ASSERT_EQ(needed.size(), static_cast<size_t>(channels) - 1);
  EXPECT_EQ(needed.back(), channels - 2);
}

TEST(Prove, TriesAllAssignments) {
  const Proof proof = prove_equal(textbook_life(), trained("life_trained"));
  EXPECT_TRUE(proof.equal);
  EXPECT_EQ(proof.method, "all 512 assignments of 9 inputs");
  EXPECT_TRUE(proof.counterexample.empty());
}

TEST(Prove, OneWrongGateIsFound) {
  const Circuit life = textbook_life();
  int found = 0;
  for (size_t i = 0; i < life.gates.size(); i += 3) {
    Circuit broken = life;
    broken.gates[i].function = static_cast<Function>(static_cast<int>(broken.gates[i].function) ^ 1);
    bool same = true;
    for (uint32_t bits = 0; bits < 512 && same; bits++) {
      std::vector<bool> cells;
      for (uint32_t k = 0; k < 9; k++) cells.push_back((bits >> k & 1) != 0);
      same = evaluate(life, cells) == evaluate(broken, cells);
    }
    const Proof proof = prove_equal(life, broken);
    EXPECT_EQ(proof.equal, same) << i;
    if (!same) expect_counterexample(life, broken, proof), found++;
  }
  EXPECT_GT(found, 5);
}

TEST(Prove, ManyInputsBySat) {
  for (const Function f : {Function::kXor, Function::kAnd, Function::kOr}) {
    std::vector<uint32_t> order = ascending(40);
    const Circuit a = chain(f, order);
    std::reverse(order.begin() + 20, order.end());
    const Proof proof = prove_equal(a, chain(f, order));
    EXPECT_TRUE(proof.equal);
    EXPECT_NE(proof.method.find("SAT"), std::string::npos);
  }
}

TEST(Prove, FindsTheOneAssignmentIn2To40) {
  const Circuit a = chain(Function::kAnd, ascending(40));
  Circuit b = a;
  b.gates.back().function = Function::kFalse;  // differs where all inputs are true, and nowhere else
  const Proof proof = prove_equal(a, b);
  expect_counterexample(a, b, proof);
  EXPECT_EQ(proof.counterexample, std::vector<bool>(40, true));
}

TEST(Prove, OnlyInputsThatAreReadCount) {
  Circuit a = chain(Function::kXor, ascending(3));
  a.inputs = 3;
  EXPECT_EQ(support(a), (std::vector<uint32_t>{0, 1, 2}));
  a.gates[0].function = Function::kB;
  EXPECT_EQ(support(a), (std::vector<uint32_t>{1, 2}));
}

// What is read of a circuit takes memory, not what it could read.
TEST(Prove, MillionsOfInputsThatNobodyReadsCostNothing) {
  Circuit a{.inputs = 1U << 24};
  const uint32_t last = a.inputs - 1;
  a.gates = {{Function::kXor, 7, last}, {Function::kTrue, 5, 6}};
  a.outputs = {a.inputs, a.inputs + 1, 9};
  Circuit b = a;
  b.gates[0] = {Function::kXnor, last, 7};
  b.gates.push_back({Function::kNotB, 0, a.inputs});
  b.outputs[0] = a.inputs + 2;
  const Proof proof = prove_equal(a, b);
  EXPECT_EQ(proof.method, "all 8 assignments of 3 inputs");
  b.gates[2].function = Function::kB;
  const Proof wrong = prove_equal(a, b);
  ASSERT_FALSE(wrong.equal);
  EXPECT_EQ(wrong.counterexample.size(), a.inputs);
}

TEST(Prove, VisibleChannelsOnly) {
  // Channel 0 reads 1, channel 1 itself, channel 2 nobody: what 2 becomes does not matter.
  Circuit a{.inputs = 27,
            .gates = {{Function::kXor, 4, 13}, {Function::kNotA, 13, 13}, {Function::kAnd, 22, 4}},
            .outputs = {27, 28, 29},
            .cell = CellRule{.channels = 3}};
  EXPECT_EQ(needed_channels(a), (std::vector<int32_t>{0, 1}));
  Circuit b = a;
  b.outputs[2] = 22;
  EXPECT_TRUE(prove_equal_visible(a, b).equal);
  EXPECT_FALSE(prove_equal(a, b).equal);
  b.outputs[1] = 13;
  EXPECT_FALSE(prove_equal_visible(a, b).equal);
}

TEST(Prove, RefusesWhatCannotBeCompared) {
  const Circuit a = chain(Function::kXor, ascending(3)), b = chain(Function::kXor, ascending(4));
  EXPECT_REFUSED(prove_equal(a, b), "same inputs");
  EXPECT_REFUSED(prove_equal_visible(a, a), "cell rules");
  EXPECT_REFUSED(needed_channels(a), "no cell rule");
}

}  // namespace
}  // namespace ingot::gates
