// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.
// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape
// and type and allocates nothing.
// clang-format off
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/options.h"

namespace ingot {

// arithmetic ----------------------------------------------------------------------------------------------------------

/// a + b, with broadcasting.
INGOT_API Tensor add(const Tensor& a, const Tensor& b);
INGOT_API void add_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a - b, with broadcasting.
INGOT_API Tensor subtract(const Tensor& a, const Tensor& b);
INGOT_API void subtract_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a · b, with broadcasting.
INGOT_API Tensor multiply(const Tensor& a, const Tensor& b);
INGOT_API void multiply_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a / b, with broadcasting.
INGOT_API Tensor divide(const Tensor& a, const Tensor& b);
INGOT_API void divide_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x + value.
INGOT_API Tensor add(const Tensor& x, double value);
INGOT_API void add_into(const Tensor& dst, const Tensor& x, double value);

/// x - value.
INGOT_API Tensor subtract(const Tensor& x, double value);
INGOT_API void subtract_into(const Tensor& dst, const Tensor& x, double value);

/// x · value.
INGOT_API Tensor multiply(const Tensor& x, double value);
INGOT_API void multiply_into(const Tensor& dst, const Tensor& x, double value);

/// x / value.
INGOT_API Tensor divide(const Tensor& x, double value);
INGOT_API void divide_into(const Tensor& dst, const Tensor& x, double value);

/// a + factor · b (axpy), rounded once where the machine has fused multiply-add.
INGOT_API Tensor add_scaled(const Tensor& a, const Tensor& b, double factor);
INGOT_API void add_scaled_into(const Tensor& dst, const Tensor& a, const Tensor& b, double factor);

/// The smaller of a and b, NaN if either is; at equality the gradient is shared.
INGOT_API Tensor minimum(const Tensor& a, const Tensor& b);
INGOT_API void minimum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// The larger of a and b, NaN if either is; at equality the gradient is shared.
INGOT_API Tensor maximum(const Tensor& a, const Tensor& b);
INGOT_API void maximum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x limited to [low, high]; `high` wins if they cross. The gradient passes where low ≤ x ≤ high.
INGOT_API Tensor clamp(const Tensor& x, double low, double high);
INGOT_API void clamp_into(const Tensor& dst, const Tensor& x, double low, double high);

/// -x.
INGOT_API Tensor negative(const Tensor& x);
INGOT_API void negative_into(const Tensor& dst, const Tensor& x);

/// |x|; the gradient at 0 is 0.
INGOT_API Tensor abs(const Tensor& x);
INGOT_API void abs_into(const Tensor& dst, const Tensor& x);

/// -1, 0 or 1 by the sign of x; NaN for NaN. The gradient is 0.
INGOT_API Tensor sign(const Tensor& x);
INGOT_API void sign_into(const Tensor& dst, const Tensor& x);

/// x².
INGOT_API Tensor square(const Tensor& x);
INGOT_API void square_into(const Tensor& dst, const Tensor& x);

/// √x; NaN below 0.
INGOT_API Tensor sqrt(const Tensor& x);
INGOT_API void sqrt_into(const Tensor& dst, const Tensor& x);

/// 1 / x.
INGOT_API Tensor reciprocal(const Tensor& x);
INGOT_API void reciprocal_into(const Tensor& dst, const Tensor& x);

/// eˣ.
INGOT_API Tensor exp(const Tensor& x);
INGOT_API void exp_into(const Tensor& dst, const Tensor& x);

/// The natural logarithm; -∞ at 0, NaN below.
INGOT_API Tensor log(const Tensor& x);
INGOT_API void log_into(const Tensor& dst, const Tensor& x);

/// The sine of x radians.
INGOT_API Tensor sin(const Tensor& x);
INGOT_API void sin_into(const Tensor& dst, const Tensor& x);

/// The cosine of x radians.
INGOT_API Tensor cos(const Tensor& x);
INGOT_API void cos_into(const Tensor& dst, const Tensor& x);

/// The error function, 2/√π · ∫₀ˣ exp(-t²) dt.
INGOT_API Tensor erf(const Tensor& x);
INGOT_API void erf_into(const Tensor& dst, const Tensor& x);

/// x to the power y, with C's rules for zero, infinity and NaN.
INGOT_API Tensor pow(const Tensor& x, const Tensor& y);
INGOT_API void pow_into(const Tensor& dst, const Tensor& x, const Tensor& y);

/// x to a constant power.
INGOT_API Tensor pow(const Tensor& x, double exponent);
INGOT_API void pow_into(const Tensor& dst, const Tensor& x, double exponent);

// comparison ----------------------------------------------------------------------------------------------------------

/// a = b, as bool.
INGOT_API Tensor equal(const Tensor& a, const Tensor& b);
INGOT_API void equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≠ b, as bool; true for NaN.
INGOT_API Tensor not_equal(const Tensor& a, const Tensor& b);
INGOT_API void not_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a > b, as bool.
INGOT_API Tensor greater(const Tensor& a, const Tensor& b);
INGOT_API void greater_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≥ b, as bool.
INGOT_API Tensor greater_equal(const Tensor& a, const Tensor& b);
INGOT_API void greater_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a < b, as bool.
INGOT_API Tensor less(const Tensor& a, const Tensor& b);
INGOT_API void less_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≤ b, as bool.
INGOT_API Tensor less_equal(const Tensor& a, const Tensor& b);
INGOT_API void less_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x = value, as bool.
INGOT_API Tensor equal(const Tensor& x, double value);
INGOT_API void equal_into(const Tensor& dst, const Tensor& x, double value);

/// x ≠ value, as bool; true for NaN.
INGOT_API Tensor not_equal(const Tensor& x, double value);
INGOT_API void not_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x > value, as bool.
INGOT_API Tensor greater(const Tensor& x, double value);
INGOT_API void greater_into(const Tensor& dst, const Tensor& x, double value);

/// x ≥ value, as bool.
INGOT_API Tensor greater_equal(const Tensor& x, double value);
INGOT_API void greater_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x < value, as bool.
INGOT_API Tensor less(const Tensor& x, double value);
INGOT_API void less_into(const Tensor& dst, const Tensor& x, double value);

/// x ≤ value, as bool.
INGOT_API Tensor less_equal(const Tensor& x, double value);
INGOT_API void less_equal_into(const Tensor& dst, const Tensor& x, double value);

/// a where the bool `condition` holds, else b, with broadcasting.
INGOT_API Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
INGOT_API void where_into(const Tensor& dst, const Tensor& condition, const Tensor& a, const Tensor& b);

// activation ----------------------------------------------------------------------------------------------------------

/// max(x, 0).
INGOT_API Tensor relu(const Tensor& x);
INGOT_API void relu_into(const Tensor& dst, const Tensor& x);

/// x limited to [0, 6].
INGOT_API Tensor relu6(const Tensor& x);
INGOT_API void relu6_into(const Tensor& dst, const Tensor& x);

/// x where positive, else slope · x.
INGOT_API Tensor leaky_relu(const Tensor& x, double slope = 0.01);
INGOT_API void leaky_relu_into(const Tensor& dst, const Tensor& x, double slope = 0.01);

/// x where positive, else alpha · (eˣ - 1).
INGOT_API Tensor elu(const Tensor& x, double alpha = 1);
INGOT_API void elu_into(const Tensor& dst, const Tensor& x, double alpha = 1);

/// Self-normalising ELU: 1.0507 · (x where positive, else 1.6733 · (eˣ - 1)).
INGOT_API Tensor selu(const Tensor& x);
INGOT_API void selu_into(const Tensor& dst, const Tensor& x);

/// log(1 + eˣ), without overflow.
INGOT_API Tensor softplus(const Tensor& x);
INGOT_API void softplus_into(const Tensor& dst, const Tensor& x);

/// 1 / (1 + e⁻ˣ).
INGOT_API Tensor sigmoid(const Tensor& x);
INGOT_API void sigmoid_into(const Tensor& dst, const Tensor& x);

/// The hyperbolic tangent.
INGOT_API Tensor tanh(const Tensor& x);
INGOT_API void tanh_into(const Tensor& dst, const Tensor& x);

/// x / 6 + ½ limited to [0, 1].
INGOT_API Tensor hard_sigmoid(const Tensor& x);
INGOT_API void hard_sigmoid_into(const Tensor& dst, const Tensor& x);

/// x · sigmoid(x), also called swish.
INGOT_API Tensor silu(const Tensor& x);
INGOT_API void silu_into(const Tensor& dst, const Tensor& x);

/// GELU activation, tanh form: ½x(1 + tanh(0.79788(x + 0.044715x³))).
INGOT_API Tensor gelu(const Tensor& x);
INGOT_API void gelu_into(const Tensor& dst, const Tensor& x);

/// GELU activation, exact form: ½x(1 + erf(x/√2)).
INGOT_API Tensor gelu_erf(const Tensor& x);
INGOT_API void gelu_erf_into(const Tensor& dst, const Tensor& x);

// attention -----------------------------------------------------------------------------------------------------------

struct AttentionResult {
  Tensor y, lse;
  static constexpr const char* kNames[] = {"y", "lse"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &lse}, i); }
};
/// softmax(scale · q·kᵀ)·v for each head: q [batch, queries, heads · depth], k and v [batch, keys, heads · depth], to y like q and log Σ exp of the scores [batch, heads, queries]; scale 0 means 1/√depth; `causal` hides from a query the keys behind its place, counted from the end.
INGOT_API AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads = 1, bool causal = false, double scale = 0);
INGOT_API void attention_into(const Tensor& y, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads = 1, bool causal = false, double scale = 0);

struct SelfAttentionResult {
  Tensor y, lse;
  static constexpr const char* kNames[] = {"y", "lse"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &lse}, i); }
};
/// attention where q, k and v stand side by side, as one projection makes them: qkv [batch, length, 3 · heads · depth], to y [batch, length, heads · depth] and the scores' sums [batch, heads, length].
INGOT_API SelfAttentionResult self_attention(const Tensor& qkv, int64_t heads = 1, bool causal = false, double scale = 0);
INGOT_API void self_attention_into(const Tensor& y, const Tensor& lse, const Tensor& qkv, int64_t heads = 1, bool causal = false, double scale = 0);

// bag -----------------------------------------------------------------------------------------------------------------

/// The sums of the rows of a [count, width] table that each row of indices [n, k] names: [n, width].
INGOT_API Tensor embedding_bag(const Tensor& table, const Tensor& indices);
INGOT_API void embedding_bag_into(const Tensor& dst, const Tensor& table, const Tensor& indices);

// columns -------------------------------------------------------------------------------------------------------------

/// The patches of x [n, c, h, w] as columns [n, c·kh·kw, positions].
INGOT_API Tensor im2col(const Tensor& x, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});
INGOT_API void im2col_into(const Tensor& dst, const Tensor& x, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});

/// Adds columns [n, c·kh·kw, positions] back to where im2col takes them from in [n, c, size…].
INGOT_API Tensor col2im(const Tensor& columns, const Dims& size, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});
INGOT_API void col2im_into(const Tensor& dst, const Tensor& columns, const Dims& size, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});

// conv ----------------------------------------------------------------------------------------------------------------

/// Convolution of x [n, c, l] with w [o, c/groups, k] and bias [o], to [n, o, l'].
INGOT_API Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
INGOT_API void conv1d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Convolution of x [n, c, h, w] with w [o, c/groups, kh, kw] and bias [o], to [n, o, h', w'].
INGOT_API Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
INGOT_API void conv2d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Convolution of x [n, c, d, h, w] with w [o, c/groups, kd, kh, kw] and bias [o], to [n, o, d', h', w'].
INGOT_API Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
INGOT_API void conv3d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Transposed convolution of x [n, c, l] with w [c, o/groups, k] and bias [o], to [n, o, l'].
INGOT_API Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});
INGOT_API void conv_transpose1d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});

/// Transposed convolution of x [n, c, h, w] with w [c, o/groups, kh, kw] and bias [o], to [n, o, h', w'].
INGOT_API Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});
INGOT_API void conv_transpose2d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});

// copy ----------------------------------------------------------------------------------------------------------------

/// The elements of x in memory of their own, row by row.
INGOT_API Tensor copy(const Tensor& x);
INGOT_API void copy_into(const Tensor& dst, const Tensor& x);

/// x converted to another element type: reals to integers towards zero, NaN to 0, out of range to the nearest end; to bool as x ≠ 0; to narrower reals to nearest even (f64 to f16 and bf16 by way of f32).
INGOT_API Tensor to(const Tensor& x, DType dtype);
INGOT_API void to_into(const Tensor& dst, const Tensor& x, DType dtype);

// creation ------------------------------------------------------------------------------------------------------------

/// A tensor of one value.
INGOT_API Tensor full(const Dims& shape, double value, DType dtype = kF32);
INGOT_API void full_into(const Tensor& dst, const Dims& shape, double value, DType dtype = kF32);

/// The numbers start + i · step from start up to, but without, stop: a vector.
INGOT_API Tensor arange(double start, double stop, double step = 1, DType dtype = kF32);
INGOT_API void arange_into(const Tensor& dst, double start, double stop, double step = 1, DType dtype = kF32);

/// `count` numbers in equal steps from start to stop, both included: a vector.
INGOT_API Tensor linspace(double start, double stop, int64_t count, DType dtype = kF32);
INGOT_API void linspace_into(const Tensor& dst, double start, double stop, int64_t count, DType dtype = kF32);

/// An [n, m] matrix of ones on the diagonal and zeros elsewhere; m is n if not given.
INGOT_API Tensor eye(int64_t n, int64_t m = -1, DType dtype = kF32);
INGOT_API void eye_into(const Tensor& dst, int64_t n, int64_t m = -1, DType dtype = kF32);

/// Random numbers, equally likely in [low, high); each depends on seed, stream and its row-major index only.
INGOT_API Tensor uniform(const Dims& shape, int64_t seed, double low = 0, double high = 1, int64_t stream = 0, DType dtype = kF32);
INGOT_API void uniform_into(const Tensor& dst, const Dims& shape, int64_t seed, double low = 0, double high = 1, int64_t stream = 0, DType dtype = kF32);

/// Normally distributed random numbers; each depends on seed, stream and its row-major index only.
INGOT_API Tensor normal(const Dims& shape, int64_t seed, double mean = 0, double stddev = 1, int64_t stream = 0, DType dtype = kF32);
INGOT_API void normal_into(const Tensor& dst, const Dims& shape, int64_t seed, double mean = 0, double stddev = 1, int64_t stream = 0, DType dtype = kF32);

/// Random bools, true with probability p; each depends on seed, stream and its row-major index only.
INGOT_API Tensor bernoulli(const Dims& shape, int64_t seed, double p, int64_t stream = 0);
INGOT_API void bernoulli_into(const Tensor& dst, const Dims& shape, int64_t seed, double p, int64_t stream = 0);

/// The numbers 0 … n-1 in an order drawn from all n! with equal chances: an i64 vector.
INGOT_API Tensor permutation(int64_t n, int64_t seed, int64_t stream = 0);
INGOT_API void permutation_into(const Tensor& dst, int64_t n, int64_t seed, int64_t stream = 0);

// dropout -------------------------------------------------------------------------------------------------------------

struct DropoutResult {
  Tensor y, mask;
  static constexpr const char* kNames[] = {"y", "mask"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &mask}, i); }
};
/// Sets each element to 0 with probability p and scales the others by 1 / (1 - p); also gives the bool mask of what was kept.
INGOT_API DropoutResult dropout(const Tensor& x, double p, int64_t seed, int64_t stream = 0);
INGOT_API void dropout_into(const Tensor& y, const Tensor& mask, const Tensor& x, double p, int64_t seed, int64_t stream = 0);

// einsum --------------------------------------------------------------------------------------------------------------

/// Sum of products over named axes: \\\"ij,jk->ik\\\" multiplies matrices, \\\"ii->i\\\" takes a diagonal, \\\"...ij->...ji\\\" transposes. Operands are contracted in the order that costs least; with most_bytes, intermediate results (of contiguous operands) stay within so many bytes, if need be slice by slice.
INGOT_API Tensor einsum(Tensors xs, std::string_view equation, int64_t most_bytes = 0);
INGOT_API void einsum_into(const Tensor& dst, Tensors xs, std::string_view equation, int64_t most_bytes = 0);

// index ---------------------------------------------------------------------------------------------------------------

/// The result at p is x at p with its place on the axis replaced by indices[p]; the shape is that of the indices.
INGOT_API Tensor gather(const Tensor& x, const Tensor& indices, int64_t axis);
INGOT_API void gather_into(const Tensor& dst, const Tensor& x, const Tensor& indices, int64_t axis);

/// A copy of x with src[p] added at p with its place on the axis replaced by indices[p]; sums in row-major order.
INGOT_API Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& src, int64_t axis);
INGOT_API void scatter_add_into(const Tensor& dst, const Tensor& x, const Tensor& indices, const Tensor& src, int64_t axis);

/// The entries of x along an axis that a vector of indices names, in its order.
INGOT_API Tensor index_select(const Tensor& x, const Tensor& indices, int64_t axis = 0);
INGOT_API void index_select_into(const Tensor& dst, const Tensor& x, const Tensor& indices, int64_t axis = 0);

/// The rows of a [count, width] table that indices of any shape name: […indices, width].
INGOT_API Tensor embedding(const Tensor& table, const Tensor& indices);
INGOT_API void embedding_into(const Tensor& dst, const Tensor& table, const Tensor& indices);

/// 1 at each index and 0 elsewhere along a new last axis: […indices, classes].
INGOT_API Tensor one_hot(const Tensor& indices, int64_t classes, DType dtype = kF32);
INGOT_API void one_hot_into(const Tensor& dst, const Tensor& indices, int64_t classes, DType dtype = kF32);

// join ----------------------------------------------------------------------------------------------------------------

/// Tensors of one shape but for the given axis, one after another along it.
INGOT_API Tensor concat(Tensors xs, int64_t axis = 0);
INGOT_API void concat_into(const Tensor& dst, Tensors xs, int64_t axis = 0);

/// Tensors of one shape as the entries of a new axis.
INGOT_API Tensor stack(Tensors xs, int64_t axis = 0);
INGOT_API void stack_into(const Tensor& dst, Tensors xs, int64_t axis = 0);

/// x with before[a] entries of `value` in front of and after[a] behind each axis a.
INGOT_API Tensor pad(const Tensor& x, const Dims& before, const Dims& after, double value = 0);
INGOT_API void pad_into(const Tensor& dst, const Tensor& x, const Dims& before, const Dims& after, double value = 0);

/// A view of x without its first before[a] and last after[a] entries along each axis a.
INGOT_API Tensor unpad(const Tensor& x, const Dims& before, const Dims& after);
INGOT_API void unpad_into(const Tensor& dst, const Tensor& x, const Dims& before, const Dims& after);

// matmul --------------------------------------------------------------------------------------------------------------

/// Matrix product of [..., m, k] and [..., k, n] to [..., m, n]; leading axes broadcast, transposed views cost nothing.
INGOT_API Tensor matmul(const Tensor& a, const Tensor& b);
INGOT_API void matmul_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// Matrix [..., m, k] times vector [k], to [..., m].
INGOT_API Tensor matvec(const Tensor& a, const Tensor& x);
INGOT_API void matvec_into(const Tensor& dst, const Tensor& a, const Tensor& x);

/// Inner product of two vectors [k], to a scalar.
INGOT_API Tensor dot(const Tensor& a, const Tensor& b);
INGOT_API void dot_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// Outer product of vectors [m] and [n], to [m, n].
INGOT_API Tensor outer(const Tensor& a, const Tensor& b);
INGOT_API void outer_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x·weightᵀ + bias: x [..., in], weight [out, in], bias [out], to [..., out].
INGOT_API Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
INGOT_API void linear_into(const Tensor& dst, const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// norm ----------------------------------------------------------------------------------------------------------------

/// (x - mean) / √(variance + eps) · weight + bias over the last `axes` axes; weight and bias have their shape.
INGOT_API Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t axes = 1, double eps = 1e-5);
INGOT_API void layer_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t axes = 1, double eps = 1e-5);

/// x / √(mean of x² + eps) · weight over the last `axes` axes; weight has their shape.
INGOT_API Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5);
INGOT_API void rms_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5);

/// Normalises x [n, c, …] over each of `groups` groups of channels of a sample; weight and bias are [c].
INGOT_API Tensor group_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t groups = 1, double eps = 1e-5);
INGOT_API void group_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t groups = 1, double eps = 1e-5);

/// Normalises x [n, c, …] over each channel of each sample; weight and bias are [c].
INGOT_API Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
INGOT_API void instance_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

struct BatchNormResult {
  Tensor y, mean, variance;
  static constexpr const char* kNames[] = {"y", "mean", "variance"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &mean, &variance}, i); }
};
/// Normalises x [n, c, …] over each channel of the batch; also gives the batch's mean and (biased) variance, [c].
INGOT_API BatchNormResult batch_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
INGOT_API void batch_norm_into(const Tensor& y, const Tensor& mean, const Tensor& variance, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

// pool ----------------------------------------------------------------------------------------------------------------

struct MaxPool1dResult {
  Tensor y, indices;
  static constexpr const char* kNames[] = {"y", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &indices}, i); }
};
/// The largest element of each window of x [n, c, l], and its position (i64).
INGOT_API MaxPool1dResult max_pool1d(const Tensor& x, const PoolOptions& options);
INGOT_API void max_pool1d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const PoolOptions& options);

struct MaxPool2dResult {
  Tensor y, indices;
  static constexpr const char* kNames[] = {"y", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &indices}, i); }
};
/// The largest element of each window of x [n, c, h, w], and its position in the plane (i64).
INGOT_API MaxPool2dResult max_pool2d(const Tensor& x, const PoolOptions& options);
INGOT_API void max_pool2d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const PoolOptions& options);

/// The mean of each window of x [n, c, l].
INGOT_API Tensor avg_pool1d(const Tensor& x, const PoolOptions& options);
INGOT_API void avg_pool1d_into(const Tensor& dst, const Tensor& x, const PoolOptions& options);

/// The mean of each window of x [n, c, h, w].
INGOT_API Tensor avg_pool2d(const Tensor& x, const PoolOptions& options);
INGOT_API void avg_pool2d_into(const Tensor& dst, const Tensor& x, const PoolOptions& options);

/// The mean of each of `size` bins of x [n, c, l], to [n, c, size].
INGOT_API Tensor adaptive_avg_pool1d(const Tensor& x, const Dims& size);
INGOT_API void adaptive_avg_pool1d_into(const Tensor& dst, const Tensor& x, const Dims& size);

/// The mean of each of size[0] × size[1] bins of x [n, c, h, w]; {1, 1} is global average pooling.
INGOT_API Tensor adaptive_avg_pool2d(const Tensor& x, const Dims& size);
INGOT_API void adaptive_avg_pool2d_into(const Tensor& dst, const Tensor& x, const Dims& size);

struct AdaptiveMaxPool1dResult {
  Tensor y, indices;
  static constexpr const char* kNames[] = {"y", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &indices}, i); }
};
/// The largest element of each of `size` bins of x [n, c, l], and its position (i64).
INGOT_API AdaptiveMaxPool1dResult adaptive_max_pool1d(const Tensor& x, const Dims& size);
INGOT_API void adaptive_max_pool1d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const Dims& size);

struct AdaptiveMaxPool2dResult {
  Tensor y, indices;
  static constexpr const char* kNames[] = {"y", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&y, &indices}, i); }
};
/// The largest element of each of size[0] × size[1] bins of x [n, c, h, w], and its position in the plane (i64).
INGOT_API AdaptiveMaxPool2dResult adaptive_max_pool2d(const Tensor& x, const Dims& size);
INGOT_API void adaptive_max_pool2d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const Dims& size);

// reduction -----------------------------------------------------------------------------------------------------------

/// The sum over `axes` (all if none are named); integers and bools give i64.
INGOT_API Tensor sum(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void sum_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The mean over `axes` (all if none are named); NaN over nothing.
INGOT_API Tensor mean(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void mean_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The product over `axes` (all if none are named); integers and bools give i64.
INGOT_API Tensor prod(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void prod_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The largest element over `axes` (all if none are named); ties share the gradient.
INGOT_API Tensor max(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void max_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The smallest element over `axes` (all if none are named); ties share the gradient.
INGOT_API Tensor min(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void min_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// Index (i64) of the first largest element within the flattened `axes`; a NaN counts as largest.
INGOT_API Tensor argmax(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void argmax_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// Index (i64) of the first smallest element within the flattened `axes`; a NaN counts as smallest.
INGOT_API Tensor argmin(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void argmin_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The variance over `axes`, Σ(x - mean)² / (n - correction), in two passes; NaN if the correction is n or more.
INGOT_API Tensor var(const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t correction = 1);
INGOT_API void var_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t correction = 1);

/// The norm over `axes`: √Σx² for p = 2, Σ|x| for p = 1; the gradient at 0 is 0.
INGOT_API Tensor norm(const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t p = 2);
INGOT_API void norm_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t p = 2);

/// log Σ eˣ over `axes`, shifted by the maximum so that nothing overflows; -∞ over nothing.
INGOT_API Tensor logsumexp(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
INGOT_API void logsumexp_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

// softmax -------------------------------------------------------------------------------------------------------------

/// eˣ / Σ eˣ along `axis`.
INGOT_API Tensor softmax(const Tensor& x, int64_t axis = -1);
INGOT_API void softmax_into(const Tensor& dst, const Tensor& x, int64_t axis = -1);

/// x - log Σ eˣ along `axis`.
INGOT_API Tensor log_softmax(const Tensor& x, int64_t axis = -1);
INGOT_API void log_softmax_into(const Tensor& dst, const Tensor& x, int64_t axis = -1);

/// log Σ eˣ - x[label] for every row of logits [rows, classes] with labels [rows] (i32 or i64), to [rows]; a negative label gives 0.
INGOT_API Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels);
INGOT_API void softmax_cross_entropy_into(const Tensor& dst, const Tensor& logits, const Tensor& labels);

// sorting -------------------------------------------------------------------------------------------------------------

/// Running sums along `axis`; with `reverse` they run from the end. Integers wrap.
INGOT_API Tensor cumsum(const Tensor& x, int64_t axis = -1, bool reverse = false);
INGOT_API void cumsum_into(const Tensor& dst, const Tensor& x, int64_t axis = -1, bool reverse = false);

struct SortResult {
  Tensor values, indices;
  static constexpr const char* kNames[] = {"values", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&values, &indices}, i); }
};
/// The elements along `axis` in order, and where they were (i64); stable, NaN counts as largest.
INGOT_API SortResult sort(const Tensor& x, int64_t axis = -1, bool descending = false);
INGOT_API void sort_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t axis = -1, bool descending = false);

struct TopkResult {
  Tensor values, indices;
  static constexpr const char* kNames[] = {"values", "indices"};
  const Tensor& operator[](size_t i) const { return result_at({&values, &indices}, i); }
};
/// The k largest elements along `axis`, largest first, and where they were (i64); of equals the first.
INGOT_API TopkResult topk(const Tensor& x, int64_t k, int64_t axis = -1);
INGOT_API void topk_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t k, int64_t axis = -1);

// view ----------------------------------------------------------------------------------------------------------------

/// A view of x with another shape of as many elements; one size may be -1. An Error if that needs a copy.
INGOT_API Tensor reshape(const Tensor& x, const Dims& shape);
INGOT_API void reshape_into(const Tensor& dst, const Tensor& x, const Dims& shape);

/// A view of x whose axis i is x's axis axes[i].
INGOT_API Tensor permute(const Tensor& x, const Dims& axes);
INGOT_API void permute_into(const Tensor& dst, const Tensor& x, const Dims& axes);

/// A view of x with two axes exchanged, the last two if not said.
INGOT_API Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);
INGOT_API void transpose_into(const Tensor& dst, const Tensor& x, int64_t a = -2, int64_t b = -1);

/// A view of x[start:stop:step] along an axis, as NumPy does it: negative places count from the end, places beyond it are cut off, a negative step goes backwards.
INGOT_API Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
INGOT_API void slice_into(const Tensor& dst, const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);

/// A view of x repeated along its axes of size 1 and along new leading axes.
INGOT_API Tensor broadcast_to(const Tensor& x, const Dims& shape);
INGOT_API void broadcast_to_into(const Tensor& dst, const Tensor& x, const Dims& shape);

/// A view of x without the given axes of size 1, or without any axis of size 1.
INGOT_API Tensor squeeze(const Tensor& x, const Dims& axes = {});
INGOT_API void squeeze_into(const Tensor& dst, const Tensor& x, const Dims& axes = {});

/// A view of x with a new axis of size 1 in front of the given one; -1 puts it last.
INGOT_API Tensor unsqueeze(const Tensor& x, int64_t axis);
INGOT_API void unsqueeze_into(const Tensor& dst, const Tensor& x, int64_t axis);

/// A view of the elements of x whose places on axes a and b agree, as a new last axis.
INGOT_API Tensor diagonal(const Tensor& x, int64_t a = -2, int64_t b = -1);
INGOT_API void diagonal_into(const Tensor& dst, const Tensor& x, int64_t a = -2, int64_t b = -1);

/// A view of one entry of x along an axis, which disappears; a negative index counts from the end.
INGOT_API Tensor select(const Tensor& x, int64_t axis, int64_t index);
INGOT_API void select_into(const Tensor& dst, const Tensor& x, int64_t axis, int64_t index);

}  // namespace ingot
