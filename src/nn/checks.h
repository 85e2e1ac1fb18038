// What layers check when they are made.
#pragma once
#include <initializer_list>
#include <string>

#include "ingot/base/error.h"

namespace ingot::nn {

inline void require_positive(const char* layer, std::initializer_list<int64_t> sizes) {
  for (const int64_t n : sizes)
    if (n < 1) throw Error(std::string(layer) + ": size " + std::to_string(n) + " — sizes are 1 or more");
}

}  // namespace ingot::nn
