// The one exception type of Ingot.
#pragma once
#include <stdexcept>
#include <string>

namespace ingot {

/// What every public function throws on bad input. The text reads `op: what went wrong (shapes) — hint`.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ingot
