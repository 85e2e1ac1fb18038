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

Tensor argsort(const Tensor& x, int64_t axis, bool descending) { return sort(x, axis, descending)[1]; }
Tensor swish(const Tensor& x) { return silu(x); }

Tensor l2_normalize(const Tensor& x, int64_t axis, double eps) {
  const Tensor length = norm(x, {axis}, true);
  return divide(x, maximum(length, full({}, eps, length.dtype())));
}

namespace {

Dims spatial_axes(const char* op, const Tensor& x) {
  if (x.rank() < 3)
    throw Error(std::string(op) + ": x is " + to_string(x.shape()) + " — it must be [batch, channels, …]");
  Dims axes;
  for (int a = 2; a < x.rank(); a++) axes.push_back(a);
  return axes;
}

}  // namespace

Tensor global_avg_pool(const Tensor& x) { return mean(x, spatial_axes("global_avg_pool", x)); }
Tensor global_max_pool(const Tensor& x) { return max(x, spatial_axes("global_max_pool", x)); }

Tensor batch_norm_inference(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                            const Tensor& bias, double eps) {
  if (x.rank() < 2)
    throw Error("batch_norm_inference: x is " + to_string(x.shape()) + " — it must be [batch, channels, …]");
  Dims per_channel{x.size(1)};
  for (int a = 2; a < x.rank(); a++) per_channel.push_back(1);
  const auto spread = [&](const Tensor& t) { return reshape(contiguous(t), per_channel); };
  const Tensor scale = reciprocal(sqrt(add(variance, eps)));
  const Tensor y = multiply(subtract(x, spread(mean)), spread(weight.defined() ? multiply(scale, weight) : scale));
  return bias.defined() ? add(y, spread(bias)) : y;
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
