#include "ingot/ops/functions.h"

#include <string>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "ops/call.h"

namespace ingot {
namespace {

// Memory of the calling thread for what a composite computes on the way: only the first call (of a size) allocates.
Tensor temporary(const Dims& shape, DType dtype) {
  thread_local Tensor kept[8];
  Tensor& mine = kept[static_cast<size_t>(dtype)];
  const int64_t count = element_count(shape);
  if (!mine.defined() || mine.numel() < count) mine = Tensor::empty({count}, dtype);
  return mine.view(mine.raw(), shape, contiguous_strides(shape));
}

// Inside a capture a plan places what is computed on the way.
bool is_captured() { return recorder() != nullptr; }

}  // namespace

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
    throw Error(ErrorKind::kShape, "split: sizes " + to_string(sizes) + " do not add up to axis " +
                                       std::to_string(axis) + " of " + to_string(x.shape()) +
                                       " — give one size per piece");
  std::vector<Tensor> pieces;
  for (int64_t i = 0, start = 0; i < sizes.size(); start += sizes[static_cast<int>(i)], i++)
    pieces.push_back(slice(x, a, start, start + sizes[static_cast<int>(i)]));
  return pieces;
}

void split_into(std::span<const Tensor> destinations, const Tensor& x, int64_t axis) {
  Dims sizes;
  for (const Tensor& dst : destinations) sizes.push_back(dst.size(normalize_axis("split_into", axis, dst.rank())));
  const int a = normalize_axis("split_into", axis, x.rank());
  int64_t start = 0;
  for (const int64_t size : sizes) start += size;
  if (start != x.shape()[a])
    throw Error(ErrorKind::kShape, "split_into: destinations of " + to_string(sizes) + " do not add up to axis " +
                                       std::to_string(axis) + " of " + to_string(x.shape()));
  start = 0;
  for (size_t i = 0; i < destinations.size(); start += sizes[static_cast<int>(i)], i++)
    copy_into(destinations[i], slice(x, a, start, start + sizes[static_cast<int>(i)]));
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
void argsort_into(const Tensor& dst, const Tensor& x, int64_t axis, bool descending) {
  if (is_captured()) return copy_into(dst, argsort(x, axis, descending));
  sort_into(temporary(x.shape(), x.dtype()), dst, x, axis, descending);
}
Tensor swish(const Tensor& x) { return silu(x); }
void swish_into(const Tensor& dst, const Tensor& x) { silu_into(dst, x); }

Tensor l2_normalize(const Tensor& x, int64_t axis, double eps) {
  const Tensor length = norm(x, {axis}, true);
  return divide(x, maximum(length, full({}, eps, length.dtype())));
}

void l2_normalize_into(const Tensor& dst, const Tensor& x, int64_t axis, double eps) {
  if (is_captured()) return copy_into(dst, l2_normalize(x, axis, eps));
  Dims shape = x.shape();
  shape[normalize_axis("l2_normalize", axis, x.rank())] = 1;
  const Tensor all = temporary({element_count(shape) + 1}, x.dtype());  // the lengths, and eps behind them
  const Tensor length = all.view(all.raw(), shape, contiguous_strides(shape)), least = select(all, 0, -1);
  fill(least, eps);
  norm_into(length, x, {axis}, true);
  maximum_into(length, length, least);
  divide_into(dst, x, length);
}

namespace {

Dims spatial_axes(const char* op, const Tensor& x) {
  if (x.rank() < 3)
    throw Error(ErrorKind::kShape,
                std::string(op) + ": x is " + to_string(x.shape()) + " — it must be [batch, channels, …]");
  Dims axes;
  for (int a = 2; a < x.rank(); a++) axes.push_back(a);
  return axes;
}

}  // namespace

Tensor global_avg_pool(const Tensor& x) { return mean(x, spatial_axes("global_avg_pool", x)); }
void global_avg_pool_into(const Tensor& dst, const Tensor& x) { mean_into(dst, x, spatial_axes("global_avg_pool", x)); }
void global_max_pool_into(const Tensor& dst, const Tensor& x) { max_into(dst, x, spatial_axes("global_max_pool", x)); }
Tensor global_max_pool(const Tensor& x) { return max(x, spatial_axes("global_max_pool", x)); }

Tensor batch_norm_inference(const Tensor& x, const Tensor& mean, const Tensor& variance, const Tensor& weight,
                            const Tensor& bias, double eps) {
  if (x.rank() < 2)
    throw Error(ErrorKind::kShape,
                "batch_norm_inference: x is " + to_string(x.shape()) + " — it must be [batch, channels, …]");
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
