// Making the Memory of a Program from tensors.
#pragma once
#include <vector>

#include "ingot/base/tensor.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

/// The addresses from a tensor's first element in memory to the end of its last.
std::pair<std::byte*, std::byte*> addresses_of(const Tensor& tensor);

/// Slabs for tensors of the user's: one for each storage; storages that share bytes have one together, so that two
/// operands overlap only if they are in one slab. `slab_of` gets the slab of every tensor.
std::vector<Block> make_slabs(const std::vector<Tensor>& tensors, std::vector<int>& slab_of);

}  // namespace ingot::graph
