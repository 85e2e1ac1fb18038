// The sentence that a call fails with.
#pragma once
#include <string>

#include "ingot/error.h"

namespace ingot {

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace ingot
