// Files of this folder, which tests read.
#pragma once
#include <string>

namespace ingot {

/// The path of tests/NAME. One source alone knows where it is, so that a compiler cache serves every checkout.
std::string test_file(const std::string& name);

}  // namespace ingot
