#include "ops/call.h"
#include "tests/ops/harness.h"

namespace ingot::harness {

std::span<const Op* const> ops_under_test() { return core_ops(); }
const char* goldens_under_test() { return "ops.txt"; }

}  // namespace ingot::harness
