#include "graph/footprint.h"

#include <bit>

namespace ingot::graph {
namespace {

int64_t end_of(const Footprint& f) { return f.start + (f.rows - 1) * f.pitch + f.width; }

}  // namespace

Footprint whole(const Operand& operand) {
  const Extent e = extent_of(operand);
  return {e.space, e.index, e.begin, 0, 1, e.end - e.begin, operand.written};
}

bool meet(const Footprint& a, const Footprint& b) {
  if (a.space != b.space || a.index != b.index) return false;
  if (a.width <= 0 || b.width <= 0 || a.rows <= 0 || b.rows <= 0) return false;
  if (end_of(a) <= b.start || end_of(b) <= a.start) return false;
  const int64_t pitch = a.rows > 1 ? a.pitch : b.pitch;
  if (pitch <= 0 || (a.rows > 1 && b.rows > 1 && a.pitch != b.pitch)) return true;
  if (a.width > pitch || b.width > pitch) return true;
  // Both are columns of one matrix: do their columns meet, and then their rows?
  int64_t column = (b.start - a.start) % pitch;
  if (column < 0) column += pitch;
  // Taking b's start into a's first row leaves its columns at [column, column + b.width), wrapping round.
  const bool beside = column >= a.width && column + b.width <= pitch;
  return !beside;
}

void FootprintIndex::add(const Footprint& f) {
  if (f.width <= 0 || f.rows <= 0) return;
  const int length = std::bit_width(static_cast<uint64_t>(end_of(f) - f.start));
  auto& starts = by_length_[{f.space, f.index, length}];
  for (auto [it, last] = starts.equal_range(f.start); it != last; ++it) {  // once is enough
    Footprint& g = it->second;
    if (g.pitch != f.pitch || g.rows != f.rows || g.width != f.width) continue;
    g.write = g.write || f.write;
    return;
  }
  starts.emplace(f.start, f);
}

bool FootprintIndex::conflicts(const Footprint& f) const {
  if (f.width <= 0 || f.rows <= 0) return false;
  for (auto group = by_length_.lower_bound({f.space, f.index, 0}); group != by_length_.end(); ++group) {
    const auto [space, index, length] = group->first;
    if (space != f.space || index != f.index) break;
    const auto& starts = group->second;
    const int64_t least = f.start - (int64_t{1} << length);  // none of these is as long
    for (auto it = starts.lower_bound(least); it != starts.end() && it->first < end_of(f); ++it)
      if ((f.write || it->second.write) && meet(f, it->second)) return true;
  }
  return false;
}

}  // namespace ingot::graph
