#include "graph/fold_layout.h"

namespace ingot::graph {

Dims block_strides(Reduction::Along along, const Dims& shape, int cut) {
  Dims strides = contiguous_strides(shape);
  if (along != Reduction::Along::kColumns) return strides;
  int64_t cols = 1;
  for (int a = cut; a < shape.size(); a++) cols *= shape[a];
  int64_t step = std::min(kFoldWidth, cols);
  for (int a = cut - 1; a >= 0; step *= shape[a], a--) strides[a] = step;
  return strides;
}

}  // namespace ingot::graph
