// The sentence that a call fails with.
#pragma once
#include <string>

#include "ingot/base/error.h"

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

/// That an expression fails with a sentence that mentions something (for tests that include GoogleTest).
#define EXPECT_REFUSED(expression, mention) \
  EXPECT_NE(error_of([&] { expression; }).find(mention), std::string::npos) << error_of([&] { expression; })

}  // namespace ingot
