#include <gtest/gtest.h>

#include "ingot/gates/ops.h"
#include "ingot/ops/own_op.h"
#include "tests/ops/harness.h"

// Gates have no views and no element-wise ops: these suites of the table are the core's.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableView);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableElementwise);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(TableInPlace);

namespace ingot::harness {

std::span<const Op* const> ops_under_test() {
  add_ops(gates::ops());  // tests look names up
  return gates::ops();
}
const char* goldens_under_test() { return "gates.txt"; }

}  // namespace ingot::harness
