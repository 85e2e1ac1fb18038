#include "ingot/base/shape.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"

namespace ingot {

void Dims::too_many(size_t n) {
  throw Error(ErrorKind::kShape,
              "shape: " + std::to_string(n) + " dimensions — at most " + std::to_string(kMaxRank) + " are supported");
}

int64_t element_count(const Dims& shape) {
  int64_t n = 1;
  bool empty = false, overflow = false;
  for (int64_t d : shape) {
    if (d < 0) throw Error(ErrorKind::kShape, "shape: negative size in " + to_string(shape) + " — sizes are 0 or more");
    if (d == 0) empty = true;
    if (!empty && !checked_multiply(n, d, n)) overflow = true;
  }
  if (empty) return 0;
  if (overflow || n > (int64_t{1} << 60))
    throw Error(ErrorKind::kShape, "shape: " + to_string(shape) + " has more elements than memory can address");
  return n;
}

Dims contiguous_strides(const Dims& shape) {
  Dims strides = shape;
  int64_t step = 1;
  for (int i = shape.size() - 1; i >= 0; i--) {
    strides[i] = step;
    // Unsigned, because a shape that nothing could hold may come here before element_count() refuses it.
    step = static_cast<int64_t>(static_cast<uint64_t>(step) * static_cast<uint64_t>(std::max<int64_t>(shape[i], 1)));
  }
  return strides;
}

std::string to_string(const Dims& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.size(); i++) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  if (a == b) return a;
  Dims result = a.size() >= b.size() ? a : b;
  const Dims& small = a.size() >= b.size() ? b : a;
  const int shift = result.size() - small.size();
  for (int i = 0; i < small.size(); i++) {
    int64_t& size = result[i + shift];
    if (size == small[i] || small[i] == 1) continue;
    if (size != 1)
      throw Error(ErrorKind::kShape, std::string(op) + ": shapes " + to_string(a) + " and " + to_string(b) +
                                         " do not broadcast — sizes, aligned at the right, must be equal or 1");
    size = small[i];
  }
  return result;
}

int normalize_axis(const char* op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw Error(std::string(op) + ": axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) +
                " dimension(s)" +
                (rank == 0 ? " — a scalar has no axes"
                           : " — use " + std::to_string(-rank) + " to " + std::to_string(rank - 1)));
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

Dims normalize_axes(const char* op, const Dims& axes, int rank) {
  Dims result;
  if (axes.empty()) {
    for (int i = 0; i < rank; i++) result.push_back(i);
    return result;
  }
  for (int64_t axis : axes) result.push_back(normalize_axis(op, axis, rank));
  std::sort(result.begin(), result.end());
  if (std::adjacent_find(result.begin(), result.end()) != result.end())
    throw Error(std::string(op) + ": axes " + to_string(axes) + " name one axis twice");
  return result;
}

}  // namespace ingot
