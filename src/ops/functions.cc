#include "ingot/functions.h"

#include <string>

#include "ingot/error.h"
#include "ingot/ops.h"

namespace ingot {

Tensor zeros(const Dims& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Dims& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }
void fill(const Tensor& dst, double value) { full_into(dst, dst.shape(), value, dst.dtype()); }

Tensor clone(const Tensor& x) { return copy(x); }
Tensor contiguous(const Tensor& x) { return x.is_contiguous() ? x : copy(x); }

Tensor sum_to(const Tensor& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  const int extra = x.rank() - shape.size();
  Dims axes;
  for (int a = 0; a < x.rank(); a++)
    if (a < extra || (shape[a - extra] == 1 && x.shape()[a] != 1)) axes.push_back(a);
  const Tensor summed = axes.empty() ? x : sum(x, axes, true);
  return reshape(contiguous(summed), shape);
}

std::vector<Tensor> split(const Tensor& x, const Dims& sizes, int64_t axis) {
  const int a = normalize_axis("split", axis, x.rank());
  int64_t total = 0;
  for (int64_t size : sizes) total += size;
  if (total != x.shape()[a])
    throw Error("split: sizes " + to_string(sizes) + " do not add up to axis " + std::to_string(axis) + " of " +
                to_string(x.shape()));
  std::vector<Tensor> pieces;
  for (int64_t i = 0, start = 0; i < sizes.size(); start += sizes[static_cast<int>(i)], i++)
    pieces.push_back(slice(x, a, start, start + sizes[static_cast<int>(i)]));
  return pieces;
}

Tensor flatten(const Tensor& x, int64_t first, int64_t last) {
  if (x.rank() == 0) return reshape(x, {1});
  const int from = normalize_axis("flatten", first, x.rank()), to = normalize_axis("flatten", last, x.rank());
  if (from > to) throw Error("flatten: axis " + std::to_string(first) + " comes after " + std::to_string(last));
  Dims shape;
  int64_t merged = 1;
  for (int a = 0; a < x.rank(); a++) {
    if (a < from || a > to) {
      shape.push_back(x.shape()[a]);
      continue;
    }
    merged *= x.shape()[a];
    if (a == to) shape.push_back(merged);
  }
  return reshape(x, shape);
}

Tensor operator+(const Tensor& a, const Tensor& b) { return add(a, b); }
Tensor operator-(const Tensor& a, const Tensor& b) { return subtract(a, b); }
Tensor operator*(const Tensor& a, const Tensor& b) { return multiply(a, b); }
Tensor operator/(const Tensor& a, const Tensor& b) { return divide(a, b); }
Tensor operator+(const Tensor& a, double b) { return add(a, b); }
Tensor operator-(const Tensor& a, double b) { return subtract(a, b); }
Tensor operator*(const Tensor& a, double b) { return multiply(a, b); }
Tensor operator/(const Tensor& a, double b) { return divide(a, b); }
Tensor operator+(double a, const Tensor& b) { return add(b, a); }
Tensor operator-(double a, const Tensor& b) { return add(negative(b), a); }
Tensor operator*(double a, const Tensor& b) { return multiply(b, a); }
Tensor operator/(double a, const Tensor& b) { return multiply(reciprocal(b), a); }
Tensor operator-(const Tensor& a) { return negative(a); }

}  // namespace ingot
