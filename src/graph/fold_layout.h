// How a fold is cut into blocks, whoever runs it.
#pragma once
#include "ingot/graph/program.h"

namespace ingot::graph {

inline constexpr int64_t kFoldElements = 4096, kFoldWidth = 256;  // of a block; columns of a panel

/// The strides (in elements) of a fold's block for a chain of this shape, whose columns begin at axis `cut`.
Dims block_strides(Reduction::Along along, const Dims& shape, int cut);

}  // namespace ingot::graph
