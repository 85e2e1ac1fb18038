#include "tests/test_file.h"

namespace ingot {

std::string test_file(const std::string& name) { return INGOT_TEST_DIR "/" + name; }

}  // namespace ingot
