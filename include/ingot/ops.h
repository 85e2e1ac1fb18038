// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.
// Every op has two forms: the first returns a new tensor; `_into` writes to a destination of exactly the result's shape
// and type and allocates nothing.
// clang-format off
#pragma once
#include <array>
#include <string_view>

#include "ingot/functions.h"
#include "ingot/options.h"
#include "ingot/tensor.h"

namespace ingot {

// arithmetic ----------------------------------------------------------------------------------------------------------

/// a + b, with broadcasting.
Tensor add(const Tensor& a, const Tensor& b);
void add_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a - b, with broadcasting.
Tensor subtract(const Tensor& a, const Tensor& b);
void subtract_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a · b, with broadcasting.
Tensor multiply(const Tensor& a, const Tensor& b);
void multiply_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a / b, with broadcasting.
Tensor divide(const Tensor& a, const Tensor& b);
void divide_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x + value.
Tensor add(const Tensor& x, double value);
void add_into(const Tensor& dst, const Tensor& x, double value);

/// x - value.
Tensor subtract(const Tensor& x, double value);
void subtract_into(const Tensor& dst, const Tensor& x, double value);

/// x · value.
Tensor multiply(const Tensor& x, double value);
void multiply_into(const Tensor& dst, const Tensor& x, double value);

/// x / value.
Tensor divide(const Tensor& x, double value);
void divide_into(const Tensor& dst, const Tensor& x, double value);

/// a + factor · b (axpy), rounded once where the machine has fused multiply-add.
Tensor add_scaled(const Tensor& a, const Tensor& b, double factor);
void add_scaled_into(const Tensor& dst, const Tensor& a, const Tensor& b, double factor);

/// The smaller of a and b, NaN if either is; at equality the gradient is shared.
Tensor minimum(const Tensor& a, const Tensor& b);
void minimum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// The larger of a and b, NaN if either is; at equality the gradient is shared.
Tensor maximum(const Tensor& a, const Tensor& b);
void maximum_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x limited to [low, high]; `high` wins if they cross. The gradient passes where low ≤ x ≤ high.
Tensor clamp(const Tensor& x, double low, double high);
void clamp_into(const Tensor& dst, const Tensor& x, double low, double high);

/// -x.
Tensor negative(const Tensor& x);
void negative_into(const Tensor& dst, const Tensor& x);

/// |x|; the gradient at 0 is 0.
Tensor abs(const Tensor& x);
void abs_into(const Tensor& dst, const Tensor& x);

/// -1, 0 or 1 by the sign of x; NaN for NaN. The gradient is 0.
Tensor sign(const Tensor& x);
void sign_into(const Tensor& dst, const Tensor& x);

/// x².
Tensor square(const Tensor& x);
void square_into(const Tensor& dst, const Tensor& x);

/// √x; NaN below 0.
Tensor sqrt(const Tensor& x);
void sqrt_into(const Tensor& dst, const Tensor& x);

/// 1 / x.
Tensor reciprocal(const Tensor& x);
void reciprocal_into(const Tensor& dst, const Tensor& x);

/// eˣ.
Tensor exp(const Tensor& x);
void exp_into(const Tensor& dst, const Tensor& x);

/// The natural logarithm; -∞ at 0, NaN below.
Tensor log(const Tensor& x);
void log_into(const Tensor& dst, const Tensor& x);

/// The sine of x radians.
Tensor sin(const Tensor& x);
void sin_into(const Tensor& dst, const Tensor& x);

/// The cosine of x radians.
Tensor cos(const Tensor& x);
void cos_into(const Tensor& dst, const Tensor& x);

/// The error function, 2/√π · ∫₀ˣ exp(-t²) dt.
Tensor erf(const Tensor& x);
void erf_into(const Tensor& dst, const Tensor& x);

/// x to the power y, with C's rules for zero, infinity and NaN.
Tensor pow(const Tensor& x, const Tensor& y);
void pow_into(const Tensor& dst, const Tensor& x, const Tensor& y);

/// x to a constant power.
Tensor pow(const Tensor& x, double exponent);
void pow_into(const Tensor& dst, const Tensor& x, double exponent);

// comparison ----------------------------------------------------------------------------------------------------------

/// a = b, as bool.
Tensor equal(const Tensor& a, const Tensor& b);
void equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≠ b, as bool; true for NaN.
Tensor not_equal(const Tensor& a, const Tensor& b);
void not_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a > b, as bool.
Tensor greater(const Tensor& a, const Tensor& b);
void greater_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≥ b, as bool.
Tensor greater_equal(const Tensor& a, const Tensor& b);
void greater_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a < b, as bool.
Tensor less(const Tensor& a, const Tensor& b);
void less_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// a ≤ b, as bool.
Tensor less_equal(const Tensor& a, const Tensor& b);
void less_equal_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x = value, as bool.
Tensor equal(const Tensor& x, double value);
void equal_into(const Tensor& dst, const Tensor& x, double value);

/// x ≠ value, as bool; true for NaN.
Tensor not_equal(const Tensor& x, double value);
void not_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x > value, as bool.
Tensor greater(const Tensor& x, double value);
void greater_into(const Tensor& dst, const Tensor& x, double value);

/// x ≥ value, as bool.
Tensor greater_equal(const Tensor& x, double value);
void greater_equal_into(const Tensor& dst, const Tensor& x, double value);

/// x < value, as bool.
Tensor less(const Tensor& x, double value);
void less_into(const Tensor& dst, const Tensor& x, double value);

/// x ≤ value, as bool.
Tensor less_equal(const Tensor& x, double value);
void less_equal_into(const Tensor& dst, const Tensor& x, double value);

/// a where the bool `condition` holds, else b, with broadcasting.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
void where_into(const Tensor& dst, const Tensor& condition, const Tensor& a, const Tensor& b);

// activation ----------------------------------------------------------------------------------------------------------

/// max(x, 0).
Tensor relu(const Tensor& x);
void relu_into(const Tensor& dst, const Tensor& x);

/// The gradient of relu: dy where its result (or argument) y is positive, else 0.
Tensor relu_grad(const Tensor& y, const Tensor& dy);
void relu_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy);

/// x limited to [0, 6].
Tensor relu6(const Tensor& x);
void relu6_into(const Tensor& dst, const Tensor& x);

/// x where positive, else slope · x.
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
void leaky_relu_into(const Tensor& dst, const Tensor& x, double slope = 0.01);

/// x where positive, else alpha · (eˣ - 1).
Tensor elu(const Tensor& x, double alpha = 1);
void elu_into(const Tensor& dst, const Tensor& x, double alpha = 1);

/// Self-normalising ELU: 1.0507 · (x where positive, else 1.6733 · (eˣ - 1)).
Tensor selu(const Tensor& x);
void selu_into(const Tensor& dst, const Tensor& x);

/// log(1 + eˣ), without overflow.
Tensor softplus(const Tensor& x);
void softplus_into(const Tensor& dst, const Tensor& x);

/// 1 / (1 + e⁻ˣ).
Tensor sigmoid(const Tensor& x);
void sigmoid_into(const Tensor& dst, const Tensor& x);

/// The hyperbolic tangent.
Tensor tanh(const Tensor& x);
void tanh_into(const Tensor& dst, const Tensor& x);

/// x / 6 + ½ limited to [0, 1].
Tensor hard_sigmoid(const Tensor& x);
void hard_sigmoid_into(const Tensor& dst, const Tensor& x);

/// x · sigmoid(x), also called swish.
Tensor silu(const Tensor& x);
void silu_into(const Tensor& dst, const Tensor& x);

/// GELU activation, tanh form: ½x(1 + tanh(0.79788(x + 0.044715x³))).
Tensor gelu(const Tensor& x);
void gelu_into(const Tensor& dst, const Tensor& x);

/// dy times the derivative of gelu at x.
Tensor gelu_grad(const Tensor& x, const Tensor& dy);
void gelu_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy);

/// GELU activation, exact form: ½x(1 + erf(x/√2)).
Tensor gelu_erf(const Tensor& x);
void gelu_erf_into(const Tensor& dst, const Tensor& x);

/// dy times the derivative of gelu_erf at x.
Tensor gelu_erf_grad(const Tensor& x, const Tensor& dy);
void gelu_erf_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy);

// attention -----------------------------------------------------------------------------------------------------------

/// softmax(scale · q·kᵀ)·v for each head: q [batch, queries, heads · depth], k and v [batch, keys, heads · depth], to y like q and log Σ exp of the scores [batch, heads, queries]; scale 0 means 1/√depth; `causal` hides from a query the keys behind its place, counted from the end.
std::array<Tensor, 2> attention(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads = 1, bool causal = false, double scale = 0);
void attention_into(const Tensor& y, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads = 1, bool causal = false, double scale = 0);

/// Gradients of attention by q, k and v, from its results and their gradients.
std::array<Tensor, 3> attention_grad(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);
void attention_grad_into(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);

/// attention where q, k and v stand side by side, as one projection makes them: qkv [batch, length, 3 · heads · depth], to y [batch, length, heads · depth] and the scores' sums [batch, heads, length].
std::array<Tensor, 2> self_attention(const Tensor& qkv, int64_t heads = 1, bool causal = false, double scale = 0);
void self_attention_into(const Tensor& y, const Tensor& lse, const Tensor& qkv, int64_t heads = 1, bool causal = false, double scale = 0);

/// Gradient of self_attention by qkv, from its results and their gradients.
Tensor self_attention_grad(const Tensor& qkv, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);
void self_attention_grad_into(const Tensor& dst, const Tensor& qkv, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);

// columns -------------------------------------------------------------------------------------------------------------

/// The patches of x [n, c, h, w] as columns [n, c·kh·kw, positions].
Tensor im2col(const Tensor& x, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});
void im2col_into(const Tensor& dst, const Tensor& x, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});

/// Adds columns [n, c·kh·kw, positions] back to where im2col takes them from in [n, c, size…].
Tensor col2im(const Tensor& columns, const Dims& size, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});
void col2im_into(const Tensor& dst, const Tensor& columns, const Dims& size, const Dims& kernel, const Dims& stride = {}, const Dims& padding = {}, const Dims& dilation = {});

// conv ----------------------------------------------------------------------------------------------------------------

/// Convolution of x [n, c, l] with w [o, c/groups, k] and bias [o], to [n, o, l'].
Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
void conv1d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Convolution of x [n, c, h, w] with w [o, c/groups, kh, kw] and bias [o], to [n, o, h', w'].
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
void conv2d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Convolution of x [n, c, d, h, w] with w [o, c/groups, kd, kh, kw] and bias [o], to [n, o, d', h', w'].
Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});
void conv3d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {});

/// Transposed convolution of x [n, c, l] with w [c, o/groups, k] and bias [o], to [n, o, l'].
Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});
void conv_transpose1d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});

/// Transposed convolution of x [n, c, h, w] with w [c, o/groups, kh, kw] and bias [o], to [n, o, h', w'].
Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});
void conv_transpose2d_into(const Tensor& dst, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const ConvOptions& options = {}, const Dims& output_padding = {});

/// Gradient of a convolution for its input: dy [n, o, …], w [o, c/groups, …] and the input's spatial `size`, to [n, c, size…].
Tensor conv_grad_input(const Tensor& dy, const Tensor& w, const Dims& size, const ConvOptions& options = {});
void conv_grad_input_into(const Tensor& dst, const Tensor& dy, const Tensor& w, const Dims& size, const ConvOptions& options = {});

/// Gradient of a convolution for its weights: x [n, c, …], dy [n, o, …] and the spatial size of the `kernel`, to [o, c/groups, kernel…].
Tensor conv_grad_kernel(const Tensor& x, const Tensor& dy, const Dims& kernel, const ConvOptions& options = {});
void conv_grad_kernel_into(const Tensor& dst, const Tensor& x, const Tensor& dy, const Dims& kernel, const ConvOptions& options = {});

// conv pool -----------------------------------------------------------------------------------------------------------

/// The largest elements of conv2d's result in windows of `pool` side by side, and which of a window's elements they are (u8, empty without `with_taps`): what a plan makes of conv2d and max_pool2d.
std::array<Tensor, 2> conv2d_max_pool(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const Dims& pool = {2, 2}, const ConvOptions& options = {}, bool with_taps = true);
void conv2d_max_pool_into(const Tensor& y, const Tensor& taps, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const Dims& pool = {2, 2}, const ConvOptions& options = {}, bool with_taps = true);

/// Gradient of conv2d_max_pool for its input: dy and taps [n, o, h, w], w [o, c/groups, kh, kw] and the input's spatial `size`, to [n, c, size…].
Tensor conv2d_max_pool_input_grad(const Tensor& dy, const Tensor& taps, const Tensor& w, const Dims& size, const Dims& pool = {2, 2}, const ConvOptions& options = {});
void conv2d_max_pool_input_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& taps, const Tensor& w, const Dims& size, const Dims& pool = {2, 2}, const ConvOptions& options = {});

/// Gradient of conv2d_max_pool for its weights: x [n, c, …], dy and taps [n, o, h, w] and the spatial size of the `kernel`, to [o, c/groups, kernel…].
Tensor conv2d_max_pool_kernel_grad(const Tensor& x, const Tensor& dy, const Tensor& taps, const Dims& kernel, const Dims& pool = {2, 2}, const ConvOptions& options = {});
void conv2d_max_pool_kernel_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy, const Tensor& taps, const Dims& kernel, const Dims& pool = {2, 2}, const ConvOptions& options = {});

// copy ----------------------------------------------------------------------------------------------------------------

/// The elements of x in memory of their own, row by row.
Tensor copy(const Tensor& x);
void copy_into(const Tensor& dst, const Tensor& x);

/// x converted to another element type: reals to integers towards zero, NaN to 0, out of range to the nearest end; to bool as x ≠ 0; to narrower reals to nearest even (f64 to f16 and bf16 by way of f32).
Tensor to(const Tensor& x, DType dtype);
void to_into(const Tensor& dst, const Tensor& x, DType dtype);

// creation ------------------------------------------------------------------------------------------------------------

/// A tensor of one value.
Tensor full(const Dims& shape, double value, DType dtype = kF32);
void full_into(const Tensor& dst, const Dims& shape, double value, DType dtype = kF32);

/// The numbers start + i · step from start up to, but without, stop: a vector.
Tensor arange(double start, double stop, double step = 1, DType dtype = kF32);
void arange_into(const Tensor& dst, double start, double stop, double step = 1, DType dtype = kF32);

/// `count` numbers in equal steps from start to stop, both included: a vector.
Tensor linspace(double start, double stop, int64_t count, DType dtype = kF32);
void linspace_into(const Tensor& dst, double start, double stop, int64_t count, DType dtype = kF32);

/// An [n, m] matrix of ones on the diagonal and zeros elsewhere; m is n if not given.
Tensor eye(int64_t n, int64_t m = -1, DType dtype = kF32);
void eye_into(const Tensor& dst, int64_t n, int64_t m = -1, DType dtype = kF32);

/// Random numbers, equally likely in [low, high); each depends on seed, stream and its row-major index only.
Tensor uniform(const Dims& shape, int64_t seed, double low = 0, double high = 1, int64_t stream = 0, DType dtype = kF32);
void uniform_into(const Tensor& dst, const Dims& shape, int64_t seed, double low = 0, double high = 1, int64_t stream = 0, DType dtype = kF32);

/// Normally distributed random numbers; each depends on seed, stream and its row-major index only.
Tensor normal(const Dims& shape, int64_t seed, double mean = 0, double stddev = 1, int64_t stream = 0, DType dtype = kF32);
void normal_into(const Tensor& dst, const Dims& shape, int64_t seed, double mean = 0, double stddev = 1, int64_t stream = 0, DType dtype = kF32);

/// Random bools, true with probability p; each depends on seed, stream and its row-major index only.
Tensor bernoulli(const Dims& shape, int64_t seed, double p, int64_t stream = 0);
void bernoulli_into(const Tensor& dst, const Dims& shape, int64_t seed, double p, int64_t stream = 0);

/// The numbers 0 … n-1 in an order drawn from all n! with equal chances: an i64 vector.
Tensor permutation(int64_t n, int64_t seed, int64_t stream = 0);
void permutation_into(const Tensor& dst, int64_t n, int64_t seed, int64_t stream = 0);

// dropout -------------------------------------------------------------------------------------------------------------

/// Sets each element to 0 with probability p and scales the others by 1 / (1 - p); also gives the bool mask of what was kept.
std::array<Tensor, 2> dropout(const Tensor& x, double p, int64_t seed, int64_t stream = 0);
void dropout_into(const Tensor& y, const Tensor& mask, const Tensor& x, double p, int64_t seed, int64_t stream = 0);

// einsum --------------------------------------------------------------------------------------------------------------

/// Sum of products over named axes: \\\"ij,jk->ik\\\" multiplies matrices, \\\"ii->i\\\" takes a diagonal, \\\"...ij->...ji\\\" transposes.
Tensor einsum(Tensors xs, std::string_view equation);
void einsum_into(const Tensor& dst, Tensors xs, std::string_view equation);

// gates ---------------------------------------------------------------------------------------------------------------

/// Soft logic gates: x [batch, in] are the first signals, gate g reads signals wires[g, 0] and wires[g, 1] before its own, in + g, and gives w0 + w1·a + w2·b + w3·ab with row wires[g, 2] of the coefficients [rows, 4]; one whose row is -1 - r adds w1·a + w2·b of row r to the result of the gate before it, which nobody else reads; to the last `outputs` gates' results, [batch, outputs].
Tensor gate_network(const Tensor& x, const Tensor& coefficients, const Tensor& wires, int64_t outputs);
void gate_network_into(const Tensor& dst, const Tensor& x, const Tensor& coefficients, const Tensor& wires, int64_t outputs);

/// Gradients of gate_network by x and by the coefficients.
std::array<Tensor, 2> gate_network_grad(const Tensor& dy, const Tensor& x, const Tensor& coefficients, const Tensor& wires);
void gate_network_grad_into(const Tensor& dx, const Tensor& dcoefficients, const Tensor& dy, const Tensor& x, const Tensor& coefficients, const Tensor& wires);

/// A cellular automaton whose rule is a gate_network: its inputs are the 3×3 neighbourhood of every channel of state [batch, channels, height, width] (input 9·channel + 3·row + column), its outputs the next channels; fire (bool [steps, batch, height, width]) names the cells that take their next state, all if there is none; beyond the border the grid goes on at its other side (`wrap`) or is zero; to all states [steps + 1, batch, channels, height, width].
Tensor gate_automaton(const Tensor& state, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, int64_t steps = 1, bool wrap = true);
void gate_automaton_into(const Tensor& states, const Tensor& state, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, int64_t steps = 1, bool wrap = true);

/// Gradients of gate_automaton by the first state and by the coefficients, from all states and their gradients.
std::array<Tensor, 2> gate_automaton_grad(const Tensor& dstates, const Tensor& states, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, bool wrap = true);
void gate_automaton_grad_into(const Tensor& dstate, const Tensor& dcoefficients, const Tensor& dstates, const Tensor& states, const Tensor& coefficients, const Tensor& wires, const Tensor& fire = {}, bool wrap = true);

// index ---------------------------------------------------------------------------------------------------------------

/// The result at p is x at p with its place on the axis replaced by indices[p]; the shape is that of the indices.
Tensor gather(const Tensor& x, const Tensor& indices, int64_t axis);
void gather_into(const Tensor& dst, const Tensor& x, const Tensor& indices, int64_t axis);

/// A copy of x with src[p] added at p with its place on the axis replaced by indices[p]; sums in row-major order.
Tensor scatter_add(const Tensor& x, const Tensor& indices, const Tensor& src, int64_t axis);
void scatter_add_into(const Tensor& dst, const Tensor& x, const Tensor& indices, const Tensor& src, int64_t axis);

/// The entries of x along an axis that a vector of indices names, in its order.
Tensor index_select(const Tensor& x, const Tensor& indices, int64_t axis = 0);
void index_select_into(const Tensor& dst, const Tensor& x, const Tensor& indices, int64_t axis = 0);

/// Entry k of dy along the axis added to entry indices[k] of zeros with `size` entries there, in order of k: the gradient of index_select.
Tensor index_select_grad(const Tensor& dy, const Tensor& indices, int64_t axis, int64_t size);
void index_select_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, int64_t axis, int64_t size);

/// The rows of a [count, width] table that indices of any shape name: […indices, width].
Tensor embedding(const Tensor& table, const Tensor& indices);
void embedding_into(const Tensor& dst, const Tensor& table, const Tensor& indices);

/// The rows of dy […indices, width] added to the rows of zeros [rows, width] that the indices name, in row-major order: the gradient of embedding.
Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t rows);
void embedding_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, int64_t rows);

/// 1 at each index and 0 elsewhere along a new last axis: […indices, classes].
Tensor one_hot(const Tensor& indices, int64_t classes, DType dtype = kF32);
void one_hot_into(const Tensor& dst, const Tensor& indices, int64_t classes, DType dtype = kF32);

// join ----------------------------------------------------------------------------------------------------------------

/// Tensors of one shape but for the given axis, one after another along it.
Tensor concat(Tensors xs, int64_t axis = 0);
void concat_into(const Tensor& dst, Tensors xs, int64_t axis = 0);

/// Tensors of one shape as the entries of a new axis.
Tensor stack(Tensors xs, int64_t axis = 0);
void stack_into(const Tensor& dst, Tensors xs, int64_t axis = 0);

/// x with before[a] entries of `value` in front of and after[a] behind each axis a.
Tensor pad(const Tensor& x, const Dims& before, const Dims& after, double value = 0);
void pad_into(const Tensor& dst, const Tensor& x, const Dims& before, const Dims& after, double value = 0);

/// A view of x without its first before[a] and last after[a] entries along each axis a.
Tensor unpad(const Tensor& x, const Dims& before, const Dims& after);
void unpad_into(const Tensor& dst, const Tensor& x, const Dims& before, const Dims& after);

// map -----------------------------------------------------------------------------------------------------------------

/// A user's own element-wise function of 1 to 3 tensors (part 0) or its derivative by argument part - 1; see map.h.
Tensor map_part(Tensors xs, const void* function, int64_t part = 0);
void map_part_into(const Tensor& dst, Tensors xs, const void* function, int64_t part = 0);

// matmul --------------------------------------------------------------------------------------------------------------

/// Matrix product of [..., m, k] and [..., k, n] to [..., m, n]; leading axes broadcast, transposed views cost nothing.
Tensor matmul(const Tensor& a, const Tensor& b);
void matmul_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// Matrix [..., m, k] times vector [k], to [..., m].
Tensor matvec(const Tensor& a, const Tensor& x);
void matvec_into(const Tensor& dst, const Tensor& a, const Tensor& x);

/// Inner product of two vectors [k], to a scalar.
Tensor dot(const Tensor& a, const Tensor& b);
void dot_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// Outer product of vectors [m] and [n], to [m, n].
Tensor outer(const Tensor& a, const Tensor& b);
void outer_into(const Tensor& dst, const Tensor& a, const Tensor& b);

/// x·weightᵀ + bias: x [..., in], weight [out, in], bias [out], to [..., out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});
void linear_into(const Tensor& dst, const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// norm ----------------------------------------------------------------------------------------------------------------

/// (x - mean) / √(variance + eps) · weight + bias over the last `axes` axes; weight and bias have their shape.
Tensor layer_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t axes = 1, double eps = 1e-5);
void layer_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t axes = 1, double eps = 1e-5);

/// x / √(mean of x² + eps) · weight over the last `axes` axes; weight has their shape.
Tensor rms_norm(const Tensor& x, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5);
void rms_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5);

/// Gradients of layer_norm, or of rms_norm with `rms`, for x, weight and bias; the statistics are taken again.
std::array<Tensor, 3> row_norm_grad(const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5, bool rms = false);
void row_norm_grad_into(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5, bool rms = false);

/// Normalises x [n, c, …] over each of `groups` groups of channels of a sample; weight and bias are [c].
Tensor group_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t groups = 1, double eps = 1e-5);
void group_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, int64_t groups = 1, double eps = 1e-5);

/// Normalises x [n, c, …] over each channel of each sample; weight and bias are [c].
Tensor instance_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
void instance_norm_into(const Tensor& dst, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

/// Normalises x [n, c, …] over each channel of the batch; also gives the batch's mean and (biased) variance, [c].
std::array<Tensor, 3> batch_norm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
void batch_norm_into(const Tensor& y, const Tensor& mean, const Tensor& variance, const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);

/// Gradients of group_norm, instance_norm (groups = channels) or batch_norm (groups = 0) for x, weight and bias.
std::array<Tensor, 3> channel_norm_grad(const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t groups = 0, double eps = 1e-5);
void channel_norm_grad_into(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t groups = 0, double eps = 1e-5);

// optimizer -----------------------------------------------------------------------------------------------------------

/// One step of gradient descent: param - lr · g, where g is scale · grad limited to ±clip_value (0: no limit), plus weight_decay · param; lr and scale are scalars.
Tensor sgd_step(const Tensor& param, const Tensor& grad, const Tensor& lr, const Tensor& scale = {}, double weight_decay = 0, double clip_value = 0);
void sgd_step_into(const Tensor& new_param, const Tensor& param, const Tensor& grad, const Tensor& lr, const Tensor& scale = {}, double weight_decay = 0, double clip_value = 0);

/// One step of gradient descent with momentum: the buffer (zeros at first) becomes momentum · buffer + g with g as in sgd_step, and the parameter param - lr · buffer, or with nesterov param - lr · (g + momentum · buffer).
std::array<Tensor, 2> sgd_momentum_step(const Tensor& param, const Tensor& grad, const Tensor& buffer, const Tensor& lr, const Tensor& scale = {}, double momentum = 0.9, double weight_decay = 0, bool nesterov = false, double clip_value = 0);
void sgd_momentum_step_into(const Tensor& new_param, const Tensor& new_buffer, const Tensor& param, const Tensor& grad, const Tensor& buffer, const Tensor& lr, const Tensor& scale = {}, double momentum = 0.9, double weight_decay = 0, bool nesterov = false, double clip_value = 0);

/// One step of Adam, or with decoupled weight decay of AdamW: m and v (zeros at first) are the moving means of the gradient and its square, step (i64, 1 at first) counts the steps; lr, scale and clip_value as in sgd_step.
std::array<Tensor, 3> adam_step(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v, const Tensor& lr, const Tensor& step, const Tensor& scale = {}, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8, double weight_decay = 0, bool decoupled = false, double clip_value = 0);
void adam_step_into(const Tensor& new_param, const Tensor& new_m, const Tensor& new_v, const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v, const Tensor& lr, const Tensor& step, const Tensor& scale = {}, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8, double weight_decay = 0, bool decoupled = false, double clip_value = 0);

// pool ----------------------------------------------------------------------------------------------------------------

/// The largest element of each window of x [n, c, l], and its position (i64).
std::array<Tensor, 2> max_pool1d(const Tensor& x, const PoolOptions& options);
void max_pool1d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const PoolOptions& options);

/// The largest element of each window of x [n, c, h, w], and its position in the plane (i64).
std::array<Tensor, 2> max_pool2d(const Tensor& x, const PoolOptions& options);
void max_pool2d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const PoolOptions& options);

/// Gradient of max pooling: each dy [n, c, …] added at its index in planes of `size`, to [n, c, size…].
Tensor max_pool_grad(const Tensor& dy, const Tensor& indices, const Dims& size);
void max_pool_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, const Dims& size);

/// The largest element of each window of x [n, c, l] or [n, c, h, w], and which of the window's elements it is (u8, row by row; empty without `with_taps`): what a plan makes of max_pool2d when nobody reads its positions.
std::array<Tensor, 2> max_pool_taps(const Tensor& x, const PoolOptions& options, bool with_taps = true);
void max_pool_taps_into(const Tensor& y, const Tensor& taps, const Tensor& x, const PoolOptions& options, bool with_taps = true);

/// Gradient of max_pool_taps: each dy [n, c, …] added where its tap is, to [n, c, size…].
Tensor max_pool_taps_grad(const Tensor& dy, const Tensor& taps, const Dims& size, const PoolOptions& options);
void max_pool_taps_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& taps, const Dims& size, const PoolOptions& options);

/// The mean of each window of x [n, c, l].
Tensor avg_pool1d(const Tensor& x, const PoolOptions& options);
void avg_pool1d_into(const Tensor& dst, const Tensor& x, const PoolOptions& options);

/// The mean of each window of x [n, c, h, w].
Tensor avg_pool2d(const Tensor& x, const PoolOptions& options);
void avg_pool2d_into(const Tensor& dst, const Tensor& x, const PoolOptions& options);

/// Gradient of average pooling: dy [n, c, …] spread over the windows of an input of `size`, to [n, c, size…].
Tensor avg_pool_grad(const Tensor& dy, const Dims& size, const PoolOptions& options);
void avg_pool_grad_into(const Tensor& dst, const Tensor& dy, const Dims& size, const PoolOptions& options);

/// The mean of each of `size` bins of x [n, c, l], to [n, c, size].
Tensor adaptive_avg_pool1d(const Tensor& x, const Dims& size);
void adaptive_avg_pool1d_into(const Tensor& dst, const Tensor& x, const Dims& size);

/// The mean of each of size[0] × size[1] bins of x [n, c, h, w]; {1, 1} is global average pooling.
Tensor adaptive_avg_pool2d(const Tensor& x, const Dims& size);
void adaptive_avg_pool2d_into(const Tensor& dst, const Tensor& x, const Dims& size);

/// Gradient of adaptive average pooling: dy [n, c, …] spread over the bins of an input of `size`.
Tensor adaptive_avg_pool_grad(const Tensor& dy, const Dims& size);
void adaptive_avg_pool_grad_into(const Tensor& dst, const Tensor& dy, const Dims& size);

/// The largest element of each of `size` bins of x [n, c, l], and its position (i64).
std::array<Tensor, 2> adaptive_max_pool1d(const Tensor& x, const Dims& size);
void adaptive_max_pool1d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const Dims& size);

/// The largest element of each of size[0] × size[1] bins of x [n, c, h, w], and its position in the plane (i64).
std::array<Tensor, 2> adaptive_max_pool2d(const Tensor& x, const Dims& size);
void adaptive_max_pool2d_into(const Tensor& y, const Tensor& indices, const Tensor& x, const Dims& size);

// recurrent -----------------------------------------------------------------------------------------------------------

/// The recurrent half of an LSTM layer: x [steps, batch, 4h] is what inputs and biases contribute to the gates i, f, g, o; weight [4h, h] multiplies the state before; h0 and c0 [batch, h]; to y and c [steps, batch, h] and the gates [steps, batch, 4h]; `reverse` walks from the last step to the first.
std::array<Tensor, 3> lstm_sequence(const Tensor& x, const Tensor& weight, const Tensor& h0 = {}, const Tensor& c0 = {}, bool reverse = false);
void lstm_sequence_into(const Tensor& y, const Tensor& c, const Tensor& gates, const Tensor& x, const Tensor& weight, const Tensor& h0 = {}, const Tensor& c0 = {}, bool reverse = false);

/// Gradients of lstm_sequence by x and the initial states, from its results c and gates and their gradients; dh0 and dc0 are [0, h] if there is no c0.
std::array<Tensor, 3> lstm_sequence_grad(const Tensor& weight, const Tensor& c, const Tensor& gates, const Tensor& c0 = {}, const Tensor& dy = {}, const Tensor& dc = {}, const Tensor& dgates = {}, bool reverse = false);
void lstm_sequence_grad_into(const Tensor& dx, const Tensor& dh0, const Tensor& dc0, const Tensor& weight, const Tensor& c, const Tensor& gates, const Tensor& c0 = {}, const Tensor& dy = {}, const Tensor& dc = {}, const Tensor& dgates = {}, bool reverse = false);

/// The recurrent half of a GRU layer: x [steps, batch, 3h] is what the inputs contribute to the gates r, z, n; weight [3h, h] and bias [3h] apply to the state before, for n inside the reset gate; h0 [batch, h]; to y [steps, batch, h] and r, z, n and n's hidden part [steps, batch, 4h].
std::array<Tensor, 2> gru_sequence(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Tensor& h0 = {}, bool reverse = false);
void gru_sequence_into(const Tensor& y, const Tensor& gates, const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Tensor& h0 = {}, bool reverse = false);

/// Gradients of gru_sequence by x, by weight · state + bias and by h0, from its results and their gradients; dh0 is [0, h] if there is no h0.
std::array<Tensor, 3> gru_sequence_grad(const Tensor& weight, const Tensor& y, const Tensor& gates, const Tensor& h0 = {}, const Tensor& dy = {}, const Tensor& dgates = {}, bool reverse = false);
void gru_sequence_grad_into(const Tensor& dx, const Tensor& dhidden, const Tensor& dh0, const Tensor& weight, const Tensor& y, const Tensor& gates, const Tensor& h0 = {}, const Tensor& dy = {}, const Tensor& dgates = {}, bool reverse = false);

// reduction -----------------------------------------------------------------------------------------------------------

/// The sum over `axes` (all if none are named); integers and bools give i64.
Tensor sum(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void sum_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The mean over `axes` (all if none are named); NaN over nothing.
Tensor mean(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void mean_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The product over `axes` (all if none are named); integers and bools give i64.
Tensor prod(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void prod_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The largest element over `axes` (all if none are named); ties share the gradient.
Tensor max(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void max_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The smallest element over `axes` (all if none are named); ties share the gradient.
Tensor min(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void min_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// Index (i64) of the first largest element within the flattened `axes`; a NaN counts as largest.
Tensor argmax(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void argmax_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// Index (i64) of the first smallest element within the flattened `axes`; a NaN counts as smallest.
Tensor argmin(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void argmin_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

/// The variance over `axes`, Σ(x - mean)² / (n - correction), in two passes; NaN if the correction is n or more.
Tensor var(const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t correction = 1);
void var_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t correction = 1);

/// The norm over `axes`: √Σx² for p = 2, Σ|x| for p = 1; the gradient at 0 is 0.
Tensor norm(const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t p = 2);
void norm_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false, int64_t p = 2);

/// log Σ eˣ over `axes`, shifted by the maximum so that nothing overflows; -∞ over nothing.
Tensor logsumexp(const Tensor& x, const Dims& axes = {}, bool keepdim = false);
void logsumexp_into(const Tensor& dst, const Tensor& x, const Dims& axes = {}, bool keepdim = false);

// softmax -------------------------------------------------------------------------------------------------------------

/// eˣ / Σ eˣ along `axis`.
Tensor softmax(const Tensor& x, int64_t axis = -1);
void softmax_into(const Tensor& dst, const Tensor& x, int64_t axis = -1);

/// Gradient of softmax from its result y: y · (dy - Σ dy·y) along `axis`.
Tensor softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis = -1);
void softmax_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy, int64_t axis = -1);

/// x - log Σ eˣ along `axis`.
Tensor log_softmax(const Tensor& x, int64_t axis = -1);
void log_softmax_into(const Tensor& dst, const Tensor& x, int64_t axis = -1);

/// Gradient of log_softmax from its result y: dy - e^y · Σ dy along `axis`.
Tensor log_softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis = -1);
void log_softmax_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy, int64_t axis = -1);

/// log Σ eˣ - x[label] for every row of logits [rows, classes] with labels [rows] (i32 or i64), to [rows]; a negative label gives 0.
Tensor softmax_cross_entropy(const Tensor& logits, const Tensor& labels);
void softmax_cross_entropy_into(const Tensor& dst, const Tensor& logits, const Tensor& labels);

/// Gradient of softmax_cross_entropy: (softmax(x) - onehot(label)) · dloss per row, to [rows, classes].
Tensor softmax_cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);
void softmax_cross_entropy_grad_into(const Tensor& dst, const Tensor& logits, const Tensor& labels, const Tensor& dloss);

/// softmax_cross_entropy and its gradient in one pass: what a plan makes of the two.
std::array<Tensor, 2> softmax_cross_entropy_with_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);
void softmax_cross_entropy_with_grad_into(const Tensor& loss, const Tensor& dlogits, const Tensor& logits, const Tensor& labels, const Tensor& dloss);

// sorting -------------------------------------------------------------------------------------------------------------

/// Running sums along `axis`; with `reverse` they run from the end. Integers wrap.
Tensor cumsum(const Tensor& x, int64_t axis = -1, bool reverse = false);
void cumsum_into(const Tensor& dst, const Tensor& x, int64_t axis = -1, bool reverse = false);

/// The elements along `axis` in order, and where they were (i64); stable, NaN counts as largest.
std::array<Tensor, 2> sort(const Tensor& x, int64_t axis = -1, bool descending = false);
void sort_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t axis = -1, bool descending = false);

/// The k largest elements along `axis`, largest first, and where they were (i64); of equals the first.
std::array<Tensor, 2> topk(const Tensor& x, int64_t k, int64_t axis = -1);
void topk_into(const Tensor& values, const Tensor& indices, const Tensor& x, int64_t k, int64_t axis = -1);

// view ----------------------------------------------------------------------------------------------------------------

/// A view of x with another shape of as many elements; one size may be -1. An Error if that needs a copy.
Tensor reshape(const Tensor& x, const Dims& shape);
void reshape_into(const Tensor& dst, const Tensor& x, const Dims& shape);

/// A view of x whose axis i is x's axis axes[i].
Tensor permute(const Tensor& x, const Dims& axes);
void permute_into(const Tensor& dst, const Tensor& x, const Dims& axes);

/// A view of x with two axes exchanged, the last two if not said.
Tensor transpose(const Tensor& x, int64_t a = -2, int64_t b = -1);
void transpose_into(const Tensor& dst, const Tensor& x, int64_t a = -2, int64_t b = -1);

/// A view of x[start:stop:step] along an axis, as NumPy does it: negative places count from the end, places beyond it are cut off, a negative step goes backwards.
Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
void slice_into(const Tensor& dst, const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);

/// Zeros of `shape` with dy at [start:stop:step] along an axis: the gradient of slice.
Tensor slice_grad(const Tensor& dy, const Dims& shape, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
void slice_grad_into(const Tensor& dst, const Tensor& dy, const Dims& shape, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);

/// A view of x repeated along its axes of size 1 and along new leading axes.
Tensor broadcast_to(const Tensor& x, const Dims& shape);
void broadcast_to_into(const Tensor& dst, const Tensor& x, const Dims& shape);

/// A view of x without the given axes of size 1, or without any axis of size 1.
Tensor squeeze(const Tensor& x, const Dims& axes = {});
void squeeze_into(const Tensor& dst, const Tensor& x, const Dims& axes = {});

/// A view of x with a new axis of size 1 in front of the given one; -1 puts it last.
Tensor unsqueeze(const Tensor& x, int64_t axis);
void unsqueeze_into(const Tensor& dst, const Tensor& x, int64_t axis);

/// A view of the elements of x whose places on axes a and b agree, as a new last axis.
Tensor diagonal(const Tensor& x, int64_t a = -2, int64_t b = -1);
void diagonal_into(const Tensor& dst, const Tensor& x, int64_t a = -2, int64_t b = -1);

/// Zeros of `shape` with dy's last axis on the diagonal of axes a and b: the gradient of diagonal.
Tensor diagonal_grad(const Tensor& dy, const Dims& shape, int64_t a = -2, int64_t b = -1);
void diagonal_grad_into(const Tensor& dst, const Tensor& dy, const Dims& shape, int64_t a = -2, int64_t b = -1);

/// A view of one entry of x along an axis, which disappears; a negative index counts from the end.
Tensor select(const Tensor& x, int64_t axis, int64_t index);
void select_into(const Tensor& dst, const Tensor& x, int64_t axis, int64_t index);

}  // namespace ingot
