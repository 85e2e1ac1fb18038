#include "graph/footprint.h"

namespace ingot::graph {

Footprint whole(const Operand& operand) {
  const Extent e = extent_of(operand);
  return {e.space, e.index, e.begin, 0, 1, e.end - e.begin, operand.written};
}

bool meet(const Footprint& a, const Footprint& b) {
  if (a.space != b.space || a.index != b.index) return false;
  if (a.width <= 0 || b.width <= 0 || a.rows <= 0 || b.rows <= 0) return false;
  const auto end = [](const Footprint& f) { return f.start + (f.rows - 1) * f.pitch + f.width; };
  if (end(a) <= b.start || end(b) <= a.start) return false;
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

}  // namespace ingot::graph
