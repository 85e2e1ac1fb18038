// The elements that a Program refers to and that exist before it runs: memory of the user's, and constants.
#pragma once
#include <vector>

#include "graph/program.h"
#include "ingot/base/tensor.h"

namespace ingot::graph {

/// A stretch of host memory, kept alive by the tensors that look at it.
struct Block {
  std::byte* base = nullptr;
  size_t bytes = 0;
  std::vector<Tensor> keep;
};

struct Memory {
  std::vector<Block> slabs, constants;  // in the order of the Program's

  const Block& of(const Operand& o) const {
    return (o.space == Space::kBound ? slabs : constants)[static_cast<size_t>(o.index)];
  }
  std::byte* address(const Operand& o) const { return of(o).base + o.offset; }
};

/// The addresses from a tensor's first element in memory to the end of its last.
std::pair<std::byte*, std::byte*> addresses_of(const Tensor& tensor);

/// Slabs for tensors of the user's: one for each storage; storages that share bytes have one together, so that two
/// operands overlap only if they are in one slab. `slab_of` gets the slab of every tensor.
std::vector<Block> make_slabs(const std::vector<Tensor>& tensors, std::vector<int>& slab_of);

}  // namespace ingot::graph
