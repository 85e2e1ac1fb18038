// Probabilities of boolean functions, by decision diagrams: loops over raw, contiguous memory, several samples side by side.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::logic {

/// Row k is {coin, low, high}: the value where the coin falls is that of `high`, else that of `low`. 0 is false, 1 true, and
/// 2 + j the row j before it.
struct Diagram {
  const int32_t* nodes;
  int64_t count, coins, outputs;  // the last rows are the outputs
};

template <class T>
struct DiagramValues {
  Diagram diagram;
  int64_t batch;
  const T* weights;  // [batch, coins]
  T* y;              // [batch, outputs]
};
template <class T>
void diagram_values(const DiagramValues<T>& x, void* scratch, const Team& team);

template <class T>
struct DiagramGrad {
  Diagram diagram;
  int64_t batch;
  const T *dy, *weights;
  T* dweights;
};
template <class T>
void diagram_grad(const DiagramGrad<T>& x, void* scratch, const Team& team);

size_t diagram_scratch(const Diagram& d, bool grad, size_t element_size, int team);

}  // namespace ingot::logic
