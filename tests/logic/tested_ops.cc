#include <gtest/gtest.h>

#include "ingot/logic/ops.h"
#include "ingot/ops/own_op.h"
#include "tests/ops/harness.h"

// Logic has no views and no element-wise ops: these suites of the table are the core's.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableView);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableElementwise);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableInPlace);

namespace ingot::harness {

std::span<const Op* const> ops_under_test() {
  add_ops(logic::ops());  // tests look names up
  return logic::ops();
}
const char* goldens_under_test() { return "logic.txt"; }

}  // namespace ingot::harness
