// Smaller circuits that compute the same: checked here by evaluating both, apart from the library's own proofs.
#include "ingot/gates/simplify.h"

#include <gtest/gtest.h>

#include "gates/network.h"
#include "gates/resubstitute.h"
#include "gates/tables.h"
#include "ingot/gates/grid.h"
#include "tests/error_of.h"
#include "tests/gates/sample_circuits.h"

namespace ingot::gates {
namespace {

// All assignments, one by one.
void expect_same(const Circuit& a, const Circuit& b, const std::string& what) {
  ASSERT_EQ(a.inputs, b.inputs);
  check(b);
  for (uint32_t bits = 0; bits < 1U << a.inputs; bits++) {
    std::vector<bool> values;
    for (uint32_t i = 0; i < a.inputs; i++) values.push_back((bits >> i & 1) != 0);
    ASSERT_EQ(evaluate(a, values), evaluate(b, values)) << what << ", assignment " << bits;
  }
}

// Many random assignments.
void expect_alike(const Circuit& a, const Circuit& b) {
  constexpr int64_t kWords = 200;
  Draws draw(3);
  std::vector<uint64_t> in(a.inputs * kWords), x(a.outputs.size() * kWords), y(x);
  for (uint64_t& w : in) w = draw.word();
  Runner(a, {.keep_copies = true}).evaluate(in, x, kWords);
  Runner(b, {.keep_copies = true}).evaluate(in, y, kWords);
  EXPECT_EQ(x, y);
}

void expect_life(const Circuit& c) {
  for (uint32_t bits = 0; bits < 512; bits++) {
    std::vector<bool> cells;
    for (uint32_t i = 0; i < 9; i++) cells.push_back((bits >> i & 1) != 0);
    ASSERT_EQ(evaluate(c, cells)[0], life_rule(cells[4], __builtin_popcount(bits & ~16U))) << bits;
  }
}

TEST(Simplify, RandomCircuitsStayThemselves) {
  int64_t before = 0, after = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    const Circuit c = random_circuit(seed, 1 + seed % 7, 5 + seed % 50, 1 + seed % 4, seed % 3);
    const Simplified small = simplify(c, {.rounds = 2, .seed = seed});
    expect_same(c, small.circuit, "seed " + std::to_string(seed));
    int64_t gates = static_cast<int64_t>(c.gates.size()) + 2;  // a constant or a negation may be asked for by an output
    for (const PassResult& pass : small.passes) {
      EXPECT_LE(pass.gates, gates) << pass.pass;
      EXPECT_FALSE(pass.proof.empty());
      gates = pass.gates;
    }
    EXPECT_EQ(gates, static_cast<int64_t>(small.circuit.gates.size()));
    before += active_gates(c), after += gates;
  }
  EXPECT_LT(after, before / 2);
}

TEST(Simplify, EveryPassByItself) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    const Circuit c = random_circuit(100 + seed, 2 + seed % 6, 60, 3);
    const auto same = [&](const Network& n, const char* pass) { expect_same(c, to_circuit(n, c), pass); };
    same(to_network(c, false), "fold");
    const Network shared = to_network(c, true);
    same(shared, "share");
    same(merge_equal(shared), "merge");
    for (const bool dont_cares : {false, true}) {
      double work = 1e6;
      same(resubstitute(shared, {.dont_cares = dont_cares, .moves = 200, .seed = seed, .work = &work}), "replace");
    }
  }
}

TEST(Simplify, InputsThatOnlyOutputsReadAreNoConstants) {
  // They have no values in complete tables: a gate that is false must not be taken for one of them.
  for (uint64_t seed = 1; seed <= 60; seed++) {
    Circuit c = random_circuit(300 + seed, 3, 25, 2);
    c.inputs = 6;  // three more, which outputs show and no gate reads
    for (Gate& g : c.gates) g.a += g.a >= 3 ? 3 : 0, g.b += g.b >= 3 ? 3 : 0;
    for (uint32_t& o : c.outputs) o += o >= 3 ? 3 : 0;
    c.outputs.insert(c.outputs.end(), {3, 4, 5});
    for (const bool dont_cares : {false, true}) {
      double work = 1e6;
      const Network raw = to_network(c, false);  // with all that could be constant
      const Network small = resubstitute(raw, {.dont_cares = dont_cares, .moves = 200, .seed = seed, .work = &work});
      expect_same(c, to_circuit(small, c), "seed " + std::to_string(seed));
    }
  }
}

TEST(Simplify, EqualFunctionsShareAGate) {
  // a ∧ b, written so that hashing alone cannot see it; and its negation.
  const Circuit c{
      .inputs = 2,
      .gates = {{Function::kXor, 0, 1}, {Function::kAndNot, 0, 2}, {Function::kAnd, 0, 1}, {Function::kNand, 1, 0}},
      .outputs = {3, 4, 5}};
  const Circuit small = simplify(c).circuit;
  EXPECT_EQ(small.gates.size(), 2U);  // the gate, and its negation for an output
  expect_same(c, small, "and");
}

TEST(Simplify, OutputsOfConstantsInputsAndNegations) {
  const Circuit c{
      .inputs = 2,
      .gates = {{Function::kTrue, 0, 1}, {Function::kXor, 0, 0}, {Function::kNotB, 1, 0}, {Function::kB, 0, 1}},
      .outputs = {2, 3, 4, 5, 0, 4}};
  const Circuit small = simplify(c).circuit;
  EXPECT_EQ(small.gates.size(), 3U);  // true, false, ¬a
  expect_same(c, small, "outputs");
}

TEST(Simplify, TrainedLifeIsSmallAndRight) {
  for (const char* name : {"life_trained", "life_trained_2"}) {
    const Circuit raw = trained(name);
    expect_life(raw);
    const Simplified small = simplify(raw);
    expect_life(small.circuit);
    EXPECT_LE(small.circuit.gates.size(), 60U) << name;
    EXPECT_EQ(small.passes.back().proof, "all 512 assignments of 9 inputs");
    EXPECT_EQ(small.circuit.cell, raw.cell);
  }
}

TEST(Simplify, TextbookLifeIsSmallAndRight) {
  const Circuit small = simplify(textbook_life()).circuit;
  expect_life(small);
  EXPECT_LE(small.gates.size(), 40U);
}

TEST(Simplify, TheSameSeedGivesTheSameCircuit) {
  const Circuit life = textbook_life();
  EXPECT_EQ(simplify(life, {.rounds = 2}).circuit, simplify(life, {.rounds = 2}).circuit);
}

TEST(Simplify, TrainedCheckerboardShowsTheSame) {
  const Circuit raw = trained("checkerboard_trained");
  const Circuit small = simplify(raw).circuit;
  EXPECT_LE(small.gates.size(), 6U);
  EXPECT_TRUE(prove_equal_visible(raw, small).equal);
  Grid a(2, 8, 37, 41), b = a;
  a.fill_random({.seed = 5});
  b = a;
  Runner slow(raw), fast(small);
  for (int step = 0; step < 40; step++) {
    slow.step(a);
    fast.step(b);
    for (int64_t y = 0; y < 37; y++)
      for (int64_t sample : {0, 1}) ASSERT_EQ(*a.row(sample, 0, y), *b.row(sample, 0, y)) << step;
  }
}

TEST(Simplify, UnusedChannelsAreAnOption) {
  const Circuit raw = trained("checkerboard_trained");
  const std::vector<int32_t> needed = needed_channels(raw);
  ASSERT_LT(needed.size(), 8U);
  const Circuit all = simplify(raw, {.unused_channels = false, .rounds = 1}).circuit;
  EXPECT_TRUE(prove_equal(raw, all).equal);
  expect_alike(raw, all);
  EXPECT_FALSE(prove_equal(raw, simplify(raw, {.rounds = 1}).circuit).equal);
}

TEST(Simplify, ManyInputsGoBySat) {
  const Circuit c = random_circuit(7, 60, 900, 60, 1);
  const Simplified small = simplify(c, {.rounds = 1});
  EXPECT_LT(small.circuit.gates.size(), static_cast<size_t>(active_gates(c)));
  EXPECT_NE(small.passes.front().proof.find("SAT"), std::string::npos) << small.passes.front().proof;
  expect_alike(c, small.circuit);
}

TEST(Simplify, InputsThatNobodyReadsCostNothing) {
  Circuit c{.inputs = 1U << 24};
  const uint32_t first = c.inputs, last = c.inputs - 1;
  c.gates = {{Function::kXor, 3, last}, {Function::kAndNot, 3, first}, {Function::kAnd, 5, 6}, {Function::kTrue, 8, 9}};
  c.outputs = {first + 1, last, first + 3};
  const Simplified small = simplify(c);
  EXPECT_EQ(small.circuit.inputs, c.inputs);
  ASSERT_EQ(small.circuit.gates.size(), 2U);
  EXPECT_EQ(small.circuit.gates[0], (Gate{Function::kAnd, 3, last}));
  EXPECT_EQ(small.circuit.outputs, (std::vector<uint32_t>{first, last, first + 1}));
  EXPECT_EQ(small.passes.back().proof, "all 4 assignments of 2 inputs");
}

TEST(Simplify, LongChainsDoNotOverflowTheStack) {
  Circuit c{.inputs = 2};
  for (uint32_t i = 0; i < 300'000; i++) c.gates.push_back({Function::kXor, i == 0 ? 0 : c.signals() - 1, i % 2});
  c.outputs = {c.signals() - 1};
  const Circuit small = simplify(c, {.rounds = 0}).circuit;
  EXPECT_LE(small.gates.size(), 1U);
  expect_same(c, small, "chain");
}

TEST(Simplify, RefusesWhatIsNoCircuit) {
  Circuit c{.inputs = 1, .gates = {{Function::kAnd, 0, 5}}, .outputs = {1}};
  EXPECT_REFUSED(simplify(c), "cycles");
  c.gates[0].b = 0;
  EXPECT_REFUSED(simplify(c, {.rounds = -1}), "rounds");
}

}  // namespace
}  // namespace ingot::gates
