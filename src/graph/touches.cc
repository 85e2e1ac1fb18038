#include "graph/touches.h"

#include <algorithm>
#include <bit>

#include "graph/memory.h"
#include "ops/call.h"

namespace ingot::graph {

void Touches::sort_new() {
  for (Touch& t : new_) {
    const auto [first, end] = addresses_of(t.memory);
    known_[std::bit_width(static_cast<size_t>(end - first))].emplace(first, std::move(t));
  }
  new_.clear();
}

void Touches::forget_within(const Tensor& memory) {
  sort_new();
  const auto [first, end] = addresses_of(memory);
  for (auto& [width, touches] : known_)
    for (auto it = touches.lower_bound(first); it != touches.end() && it->first < end;) {
      const Tensor& t = it->second.memory;
      const bool within = memory.is_contiguous() ? addresses_of(t).second <= end : coincide(t, memory);
      it = within ? touches.erase(it) : std::next(it);
    }
}

const std::vector<NodeId>& Touches::of(const Tensor& memory) {
  sort_new();
  found_.clear();
  const auto [first, end] = addresses_of(memory);
  for (const auto& [width, touches] : known_) {
    const auto length = std::ptrdiff_t{1} << width;  // none of these is as long
    for (auto it = touches.lower_bound(first - length); it != touches.end() && it->first < end; ++it)
      if (overlaps(it->second.memory, memory)) found_.push_back(it->second.node);
  }
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  return found_;
}

}  // namespace ingot::graph
