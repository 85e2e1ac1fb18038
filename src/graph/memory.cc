#include "graph/memory.h"

#include <algorithm>
#include <numeric>

namespace ingot::graph {

std::pair<std::byte*, std::byte*> addresses_of(const Tensor& t) {
  auto* low = static_cast<std::byte*>(t.raw());
  if (t.numel() == 0) return {low, low};
  const auto element = static_cast<int64_t>(size_of(t.dtype()));
  std::byte* high = low + element;
  for (int a = 0; a < t.rank(); a++) {
    const int64_t reach = (t.shape()[a] - 1) * t.strides()[a] * element;
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

std::vector<Block> make_slabs(const std::vector<Tensor>& tensors, std::vector<int>& slab_of) {
  struct Piece {
    std::byte *begin, *end;
    size_t tensor;
  };
  std::vector<Piece> pieces;
  for (size_t i = 0; i < tensors.size(); i++) {
    auto [begin, end] = addresses_of(tensors[i]);
    const Storage& storage = *tensors[i].storage();
    if (storage.release == nullptr) begin = storage.data, end = begin + storage.bytes;  // Ingot's own: all of it
    pieces.push_back({begin, end, i});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<Block> slabs;
  slab_of.assign(tensors.size(), -1);
  const auto known = [&](const Tensor& t) {
    return slabs.empty() ? false : slabs.back().keep.back().shares_storage(t);
  };
  for (const Piece& p : pieces) {
    const bool joins = !slabs.empty() && (p.begin < slabs.back().base + slabs.back().bytes || known(tensors[p.tensor]));
    if (!joins) slabs.push_back({p.begin, 0, {}});
    Block& slab = slabs.back();
    slab.bytes = std::max(slab.bytes, static_cast<size_t>(p.end - slab.base));
    slab.keep.push_back(tensors[p.tensor]);
    slab_of[p.tensor] = static_cast<int>(slabs.size()) - 1;
  }
  return slabs;
}

}  // namespace ingot::graph
