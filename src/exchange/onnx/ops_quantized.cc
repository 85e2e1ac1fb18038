// Quantised ops, exactly: integers are computed with in f64, which holds every product and sum of theirs.
#include <algorithm>

#include "exchange/onnx/elementwise.h"
#include "exchange/onnx/window.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

// A scale or zero point as x has its axes: one number, or one per entry of an axis.
Tensor along(const Tensor& t, const Tensor& x, int axis) {
  if (t.numel() == 1) return reshaped(t, {});
  Dims shape = Dims::filled(x.rank(), 1);
  shape[axis] = t.numel();
  return reshaped(t, shape);
}

Tensor saturated(const Tensor& x, Type type) {
  const Range range = range_of(type);
  return to(clamp(x, static_cast<double>(range.low), static_cast<double>(range.high)), carrier(type));
}

// round(x / scale) + zero point, within the type. Division in the type of x, as the format has it.
Tensor quantized(const Tensor& x, const Tensor& scale, const Tensor& zero, Type type) {
  const Tensor steps = round_even(divide(x, as(scale, x.dtype())));
  return saturated(zero.defined() ? add(as(steps, kF64), as(zero, kF64)) : steps, type);
}

int axis_of(Use& u) {
  if (u.integer("block_size", 0) != 0) u.fail("a scale per block", "one is supported, or one per entry of an axis");
  const int64_t axis = u.integer("axis", 1);
  return u.rank() == 0 || u.in(1).numel() == 1 ? 0 : u.axis(axis, u.rank());
}

void quantize_op(Use& u) {
  const auto said = static_cast<Type>(u.integer("output_dtype", 0));
  const Type type = u.has(2) ? u.type(2) : said != Type::kUndefined ? said : Type::kUint8;
  if (!is_integer(type) || (said != Type::kUndefined && said != type))
    u.fail("steps of type " + name(is_integer(type) ? said : type), "they are integers of the zero point's type");
  const int axis = axis_of(u);
  const Tensor x = is_float(u.in().dtype()) ? u.in() : as(u.in(), kF32);
  u.out(quantized(x, along(u.in(1), x, axis), u.has(2) ? along(u.in(2), x, axis) : Tensor(), type), type);
}

void dequantize_op(Use& u) {
  const int axis = axis_of(u);
  Tensor x = as(u.in(), kF64);
  if (u.has(2)) x = subtract(x, as(along(u.in(2), x, axis), kF64));
  u.out(multiply(as(x, carrier(u.type(1))), along(u.in(1), x, axis)), u.type(1));
}

void dynamic_quantize_op(Use& u) {
  const Tensor& x = u.in();
  const Tensor zero = scalar_like(x, 0), low = minimum(min(x), zero), high = maximum(max(x), zero);
  const Tensor scale = (high - low) / 255.0;
  const Tensor point = saturated(round_even(negative(low / scale)), Type::kUint8);
  u.out(quantized(x, scale, point, Type::kUint8), Type::kUint8);
  u.out(scale, Type::kFloat);
  u.out(point, Type::kUint8);
}

Tensor centred(Use& u, int x, int zero, int axis) {
  const Tensor t = as(u.in(x), kF64);
  return u.has(zero) ? subtract(t, as(along(u.in(zero), t, axis), kF64)) : t;
}

// The zero points of a matrix are one per row (of the left one) or per column.
Tensor integer_product(Use& u, int a, int b, int a_zero, int b_zero) {
  return matmul(centred(u, a, a_zero, std::max(u.rank(a) - 2, 0)), centred(u, b, b_zero, u.rank(b) - 1));
}

void matmul_integer_op(Use& u) { u.out(integer_product(u, 0, 1, 2, 3), Type::kInt32); }

Tensor integer_convolution(Use& u, int x_at, int w_at, int x_zero, int w_zero, const Tensor& bias) {
  Dims spatial;
  std::vector<int64_t> kernel;
  for (int a = 2; a < u.rank(x_at); a++) spatial.push_back(u.in(x_at).shape()[a]);
  for (int a = 2; a < u.rank(w_at); a++) kernel.push_back(u.in(w_at).shape()[a]);
  const Window w(u, spatial, kernel);
  const Tensor x = padded(centred(u, x_at, x_zero, 1), w, 0), weight = centred(u, w_at, w_zero, 0);
  const ConvOptions options{.stride = w.stride, .dilation = w.dilation, .groups = u.integer("group", 1)};
  if (x.rank() == 3) return conv1d(x, weight, bias, options);
  if (x.rank() == 4) return conv2d(x, weight, bias, options);
  if (x.rank() == 5) return conv3d(x, weight, bias, options);
  u.fail("a convolution over so many axes", "one to three spatial axes are supported");
}

void conv_integer_op(Use& u) { u.out(integer_convolution(u, 0, 1, 2, 3, {}), Type::kInt32); }

// A result in the steps of its own scale: y · (a's scale · b's scale / y's scale).
Tensor requantized(Use& u, const Tensor& y, int a_scale, int b_scale, int y_scale, int y_zero, int axis) {
  const auto scale = [&](int i) { return as(along(u.in(i), y, axis), kF64); };
  const Tensor steps = round_even(multiply(y, divide(multiply(scale(a_scale), scale(b_scale)), scale(y_scale))));
  return saturated(add(steps, as(along(u.in(y_zero), y, axis), kF64)), u.type(y_zero));
}

void qlinear_conv_op(Use& u) {  // x, its scale and zero; w, scale, zero; y's scale, zero; bias
  const Tensor y = integer_convolution(u, 0, 3, 2, 5, u.has(8) ? as(u.in(8), kF64) : Tensor());
  u.out(requantized(u, y, 1, 4, 6, 7, 1), u.type(7));
}

void qlinear_matmul_op(Use& u) {
  const Tensor y = integer_product(u, 0, 3, 2, 5);
  u.out(requantized(u, y, 1, 4, 6, 7, y.rank() - 1), u.type(7));
}

}  // namespace

std::span<const Row> quantized_rows() {
  static constexpr Row kRows[] = {
      {"QuantizeLinear", 10, quantize_op},
      {"DequantizeLinear", 10, dequantize_op},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_op},
      {"MatMulInteger", 10, matmul_integer_op},
      {"ConvInteger", 10, conv_integer_op},
      {"QLinearConv", 10, qlinear_conv_op},
      {"QLinearMatMul", 10, qlinear_matmul_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
