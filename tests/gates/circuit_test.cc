// The circuit itself: its functions, what it refuses, what it says of itself.
#include "ingot/gates/circuit.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace ingot::gates {
namespace {

TEST(Function, NumberIsItsTruthTable) {
  for (int f = 0; f < kFunctions; f++) {
    const auto function = static_cast<Function>(f);
    int table = 0;
    for (const bool a : {false, true})
      for (const bool b : {false, true}) table = 2 * table + value(function, a, b);
    EXPECT_EQ(table, f) << name(function);
    EXPECT_EQ(reads_a(function), value(function, false, false) != value(function, true, false) ||
                                     value(function, false, true) != value(function, true, true));
    EXPECT_EQ(reads_b(function), value(function, false, false) != value(function, false, true) ||
                                     value(function, true, false) != value(function, true, true));
  }
  EXPECT_TRUE(value(Function::kXor, true, false));
  EXPECT_FALSE(value(Function::kAndNot, false, true));
  EXPECT_TRUE(value(Function::kAndNot, true, false));
}

TEST(Circuit, ReadsOnlyWhatIsBefore) {
  Circuit c{.inputs = 2, .gates = {{Function::kXor, 0, 1}, {Function::kAnd, 2, 0}}, .outputs = {3, 1}};
  check(c);
  EXPECT_EQ(evaluate(c, {true, false}), (std::vector<bool>{true, false}));
  c.gates[0].a = 2;
  EXPECT_REFUSED(check(c), "cycles");
  c.gates[0].a = 0;
  c.outputs[0] = 4;
  EXPECT_REFUSED(check(c), "output");
}

TEST(Circuit, CountsOfSignalsDoNotWrap) {
  Circuit c{.inputs = UINT32_MAX, .gates = {{Function::kXor, 0, 1}, {Function::kAnd, 0, 1}}, .outputs = {0}};
  EXPECT_REFUSED(check(c), "4294967295 inputs and 2 gates");
  c.inputs = (1U << 31) - 2;
  EXPECT_REFUSED(check(c), "fewer than 2^31");
  c.inputs = (1U << 31) - 3;
  check(c);
}

TEST(Circuit, CellHasNineInputsPerChannel) {
  Circuit c{.inputs = 9, .gates = {}, .outputs = {4}, .cell = CellRule{}};
  check(c);
  c.cell->channels = 2;
  EXPECT_REFUSED(check(c), "nine inputs");
}

}  // namespace
}  // namespace ingot::gates
