// The axes of a walk over memory: ordered so that it goes through memory as it lies, merged so that it has few. A walk has
// the size of each axis, outermost first, and for each operand the step along each axis; every kernel keeps them under
// names of its own and hands the arrays over.
#pragma once
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace ingot::kernels {

/// Drops axes of size 1 and merges neighbours where the steps of all operands allow it; returns how many are left.
inline int merge_axes(int rank, int64_t* size, int64_t* const* steps, int operands) {
  int kept = 0;
  for (int a = 0; a < rank; a++) {
    if (size[a] == 1) continue;
    bool joins = kept > 0;
    for (int k = 0; joins && k < operands; k++) joins = steps[k][kept - 1] == steps[k][a] * size[a];
    const int to = joins ? kept - 1 : kept++;
    size[to] = joins ? size[to] * size[a] : size[a];
    for (int k = 0; k < operands; k++) steps[k][to] = steps[k][a];
  }
  return kept;
}

template <class... Steps>
int merge_axes(int rank, int64_t* size, Steps*... steps) {
  int64_t* const all[] = {steps...};
  return merge_axes(rank, size, all, sizeof...(steps));
}

/// Orders the axes: a is outside b where before(a, b). Those that are equal stay as they are.
template <class Before>
void order_axes(int rank, int64_t* size, int64_t* const* steps, int operands, Before before) {
  for (int i = 1; i < rank; i++)
    for (int a = i; a > 0 && before(a, a - 1); a--) {
      std::swap(size[a], size[a - 1]);
      for (int k = 0; k < operands; k++) std::swap(steps[k][a], steps[k][a - 1]);
    }
}

/// Largest step of the first operand outermost.
inline void order_axes(int rank, int64_t* size, int64_t* const* steps, int operands) {
  order_axes(rank, size, steps, operands, [&](int a, int b) { return std::abs(steps[0][a]) > std::abs(steps[0][b]); });
}

}  // namespace ingot::kernels
