// Written by tools/opgen.py from the blocks in src/ops: change those and run `./dev generate`.
// What gradients and fused forms are made of. Plans put these in; nobody needs to call them.
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

// activation ----------------------------------------------------------------------------------------------------------

/// The gradient of relu: dy where its result (or argument) y is positive, else 0.
INGOT_API Tensor relu_grad(const Tensor& y, const Tensor& dy);
INGOT_API void relu_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy);

/// dy times the derivative of gelu at x.
INGOT_API Tensor gelu_grad(const Tensor& x, const Tensor& dy);
INGOT_API void gelu_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy);

/// dy times the derivative of gelu_erf at x.
INGOT_API Tensor gelu_erf_grad(const Tensor& x, const Tensor& dy);
INGOT_API void gelu_erf_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy);

// attention -----------------------------------------------------------------------------------------------------------

/// Gradients of attention by q, k and v, from its results and their gradients.
INGOT_API std::array<Tensor, 3> attention_grad(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);
INGOT_API void attention_grad_into(const Tensor& dq, const Tensor& dk, const Tensor& dv, const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);

/// Gradient of self_attention by qkv, from its results and their gradients.
INGOT_API Tensor self_attention_grad(const Tensor& qkv, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);
INGOT_API void self_attention_grad_into(const Tensor& dst, const Tensor& qkv, const Tensor& y, const Tensor& lse, const Tensor& dy, const Tensor& dlse = {}, int64_t heads = 1, bool causal = false, double scale = 0);

// bag -----------------------------------------------------------------------------------------------------------------

/// Row b of dy [n, width] added to every row of zeros [rows, width] that row b of indices [n, k] names: the gradient of embedding_bag.
INGOT_API Tensor embedding_bag_grad(const Tensor& dy, const Tensor& indices, int64_t rows);
INGOT_API void embedding_bag_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, int64_t rows);

// conv ----------------------------------------------------------------------------------------------------------------

/// Gradient of a convolution for its input: dy [n, o, …], w [o, c/groups, …] and the input's spatial `size`, to [n, c, size…].
INGOT_API Tensor conv_grad_input(const Tensor& dy, const Tensor& w, const Dims& size, const ConvOptions& options = {});
INGOT_API void conv_grad_input_into(const Tensor& dst, const Tensor& dy, const Tensor& w, const Dims& size, const ConvOptions& options = {});

/// Gradient of a convolution for its weights: x [n, c, …], dy [n, o, …] and the spatial size of the `kernel`, to [o, c/groups, kernel…].
INGOT_API Tensor conv_grad_kernel(const Tensor& x, const Tensor& dy, const Dims& kernel, const ConvOptions& options = {});
INGOT_API void conv_grad_kernel_into(const Tensor& dst, const Tensor& x, const Tensor& dy, const Dims& kernel, const ConvOptions& options = {});

// conv pool -----------------------------------------------------------------------------------------------------------

/// The largest elements of conv2d's result in windows of `pool` side by side, and which of a window's elements they are (u8, empty without `with_taps`): what a plan makes of conv2d and max_pool2d.
INGOT_API std::array<Tensor, 2> conv2d_max_pool(const Tensor& x, const Tensor& w, const Tensor& bias = {}, const Dims& pool = {2, 2}, const ConvOptions& options = {}, bool with_taps = true);
INGOT_API void conv2d_max_pool_into(const Tensor& y, const Tensor& taps, const Tensor& x, const Tensor& w, const Tensor& bias = {}, const Dims& pool = {2, 2}, const ConvOptions& options = {}, bool with_taps = true);

/// Gradient of conv2d_max_pool for its input: dy and taps [n, o, h, w], w [o, c/groups, kh, kw] and the input's spatial `size`, to [n, c, size…].
INGOT_API Tensor conv2d_max_pool_input_grad(const Tensor& dy, const Tensor& taps, const Tensor& w, const Dims& size, const Dims& pool = {2, 2}, const ConvOptions& options = {});
INGOT_API void conv2d_max_pool_input_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& taps, const Tensor& w, const Dims& size, const Dims& pool = {2, 2}, const ConvOptions& options = {});

/// Gradient of conv2d_max_pool for its weights: x [n, c, …], dy and taps [n, o, h, w] and the spatial size of the `kernel`, to [o, c/groups, kernel…].
INGOT_API Tensor conv2d_max_pool_kernel_grad(const Tensor& x, const Tensor& dy, const Tensor& taps, const Dims& kernel, const Dims& pool = {2, 2}, const ConvOptions& options = {});
INGOT_API void conv2d_max_pool_kernel_grad_into(const Tensor& dst, const Tensor& x, const Tensor& dy, const Tensor& taps, const Dims& kernel, const Dims& pool = {2, 2}, const ConvOptions& options = {});

// index ---------------------------------------------------------------------------------------------------------------

/// Entry k of dy along the axis added to entry indices[k] of zeros with `size` entries there, in order of k: the gradient of index_select.
INGOT_API Tensor index_select_grad(const Tensor& dy, const Tensor& indices, int64_t axis, int64_t size);
INGOT_API void index_select_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, int64_t axis, int64_t size);

/// The rows of dy […indices, width] added to the rows of zeros [rows, width] that the indices name, in row-major order: the gradient of embedding.
INGOT_API Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t rows);
INGOT_API void embedding_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, int64_t rows);

// map -----------------------------------------------------------------------------------------------------------------

/// A user's own element-wise function of 1 to 3 tensors (part 0) or its derivative by argument part - 1; see map.h.
INGOT_API Tensor map_part(Tensors xs, const void* function, int64_t part = 0);
INGOT_API void map_part_into(const Tensor& dst, Tensors xs, const void* function, int64_t part = 0);

// norm ----------------------------------------------------------------------------------------------------------------

/// Gradients of layer_norm, or of rms_norm with `rms`, for x, weight and bias; the statistics are taken again.
INGOT_API std::array<Tensor, 3> row_norm_grad(const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5, bool rms = false);
INGOT_API void row_norm_grad_into(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t axes = 1, double eps = 1e-5, bool rms = false);

/// Gradients of group_norm, instance_norm (groups = channels) or batch_norm (groups = 0) for x, weight and bias.
INGOT_API std::array<Tensor, 3> channel_norm_grad(const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t groups = 0, double eps = 1e-5);
INGOT_API void channel_norm_grad_into(const Tensor& dx, const Tensor& dweight, const Tensor& dbias, const Tensor& x, const Tensor& dy, const Tensor& weight = {}, int64_t groups = 0, double eps = 1e-5);

// optimizer -----------------------------------------------------------------------------------------------------------

/// One step of gradient descent: param - lr · g, where g is scale · grad limited to ±clip_value (0: no limit), plus weight_decay · param; lr and scale are scalars.
INGOT_API Tensor sgd_step(const Tensor& param, const Tensor& grad, const Tensor& lr, const Tensor& scale = {}, double weight_decay = 0, double clip_value = 0);
INGOT_API void sgd_step_into(const Tensor& new_param, const Tensor& param, const Tensor& grad, const Tensor& lr, const Tensor& scale = {}, double weight_decay = 0, double clip_value = 0);

/// One step of gradient descent with momentum: the buffer (zeros at first) becomes momentum · buffer + g with g as in sgd_step, and the parameter param - lr · buffer, or with nesterov param - lr · (g + momentum · buffer).
INGOT_API std::array<Tensor, 2> sgd_momentum_step(const Tensor& param, const Tensor& grad, const Tensor& buffer, const Tensor& lr, const Tensor& scale = {}, double momentum = 0.9, double weight_decay = 0, bool nesterov = false, double clip_value = 0);
INGOT_API void sgd_momentum_step_into(const Tensor& new_param, const Tensor& new_buffer, const Tensor& param, const Tensor& grad, const Tensor& buffer, const Tensor& lr, const Tensor& scale = {}, double momentum = 0.9, double weight_decay = 0, bool nesterov = false, double clip_value = 0);

/// One step of Adam, or with decoupled weight decay of AdamW: m and v (zeros at first) are the moving means of the gradient and its square, step (i64, 1 at first) counts the steps; lr, scale and clip_value as in sgd_step.
INGOT_API std::array<Tensor, 3> adam_step(const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v, const Tensor& lr, const Tensor& step, const Tensor& scale = {}, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8, double weight_decay = 0, bool decoupled = false, double clip_value = 0);
INGOT_API void adam_step_into(const Tensor& new_param, const Tensor& new_m, const Tensor& new_v, const Tensor& param, const Tensor& grad, const Tensor& m, const Tensor& v, const Tensor& lr, const Tensor& step, const Tensor& scale = {}, double beta1 = 0.9, double beta2 = 0.999, double eps = 1e-8, double weight_decay = 0, bool decoupled = false, double clip_value = 0);

// pool ----------------------------------------------------------------------------------------------------------------

/// Gradient of max pooling: each dy [n, c, …] added at its index in planes of `size`, to [n, c, size…].
INGOT_API Tensor max_pool_grad(const Tensor& dy, const Tensor& indices, const Dims& size);
INGOT_API void max_pool_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& indices, const Dims& size);

/// Gradient of average pooling: dy [n, c, …] spread over the windows of an input of `size`, to [n, c, size…].
INGOT_API Tensor avg_pool_grad(const Tensor& dy, const Dims& size, const PoolOptions& options);
INGOT_API void avg_pool_grad_into(const Tensor& dst, const Tensor& dy, const Dims& size, const PoolOptions& options);

/// Gradient of adaptive average pooling: dy [n, c, …] spread over the bins of an input of `size`.
INGOT_API Tensor adaptive_avg_pool_grad(const Tensor& dy, const Dims& size);
INGOT_API void adaptive_avg_pool_grad_into(const Tensor& dst, const Tensor& dy, const Dims& size);

// pool taps -----------------------------------------------------------------------------------------------------------

/// The largest element of each window of x [n, c, l] or [n, c, h, w], and which of the window's elements it is (u8, row by row; empty without `with_taps`): what a plan makes of max_pool2d when nobody reads its positions.
INGOT_API std::array<Tensor, 2> max_pool_taps(const Tensor& x, const PoolOptions& options, bool with_taps = true);
INGOT_API void max_pool_taps_into(const Tensor& y, const Tensor& taps, const Tensor& x, const PoolOptions& options, bool with_taps = true);

/// Gradient of max_pool_taps: each dy [n, c, …] added where its tap is, to [n, c, size…].
INGOT_API Tensor max_pool_taps_grad(const Tensor& dy, const Tensor& taps, const Dims& size, const PoolOptions& options);
INGOT_API void max_pool_taps_grad_into(const Tensor& dst, const Tensor& dy, const Tensor& taps, const Dims& size, const PoolOptions& options);

// recurrent -----------------------------------------------------------------------------------------------------------

/// The recurrent half of an LSTM layer: x [steps, batch, 4h] is what inputs and biases contribute to the gates i, f, g, o; weight [4h, h] multiplies the state before; h0 and c0 [batch, h]; to y and c [steps, batch, h] and the gates [steps, batch, 4h]; `reverse` walks from the last step to the first.
INGOT_API std::array<Tensor, 3> lstm_sequence(const Tensor& x, const Tensor& weight, const Tensor& h0 = {}, const Tensor& c0 = {}, bool reverse = false);
INGOT_API void lstm_sequence_into(const Tensor& y, const Tensor& c, const Tensor& gates, const Tensor& x, const Tensor& weight, const Tensor& h0 = {}, const Tensor& c0 = {}, bool reverse = false);

/// Gradients of lstm_sequence by x and the initial states, from its results c and gates and their gradients; dh0 and dc0 are [0, h] if there is no c0.
INGOT_API std::array<Tensor, 3> lstm_sequence_grad(const Tensor& weight, const Tensor& c, const Tensor& gates, const Tensor& c0 = {}, const Tensor& dy = {}, const Tensor& dc = {}, const Tensor& dgates = {}, bool reverse = false);
INGOT_API void lstm_sequence_grad_into(const Tensor& dx, const Tensor& dh0, const Tensor& dc0, const Tensor& weight, const Tensor& c, const Tensor& gates, const Tensor& c0 = {}, const Tensor& dy = {}, const Tensor& dc = {}, const Tensor& dgates = {}, bool reverse = false);

/// The recurrent half of a GRU layer: x [steps, batch, 3h] is what the inputs contribute to the gates r, z, n; weight [3h, h] and bias [3h] apply to the state before, for n inside the reset gate; h0 [batch, h]; to y [steps, batch, h] and r, z, n and n's hidden part [steps, batch, 4h].
INGOT_API std::array<Tensor, 2> gru_sequence(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Tensor& h0 = {}, bool reverse = false);
INGOT_API void gru_sequence_into(const Tensor& y, const Tensor& gates, const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Tensor& h0 = {}, bool reverse = false);

/// Gradients of gru_sequence by x, by weight · state + bias and by h0, from its results and their gradients; dh0 is [0, h] if there is no h0.
INGOT_API std::array<Tensor, 3> gru_sequence_grad(const Tensor& weight, const Tensor& y, const Tensor& gates, const Tensor& h0 = {}, const Tensor& dy = {}, const Tensor& dgates = {}, bool reverse = false);
INGOT_API void gru_sequence_grad_into(const Tensor& dx, const Tensor& dhidden, const Tensor& dh0, const Tensor& weight, const Tensor& y, const Tensor& gates, const Tensor& h0 = {}, const Tensor& dy = {}, const Tensor& dgates = {}, bool reverse = false);

// softmax -------------------------------------------------------------------------------------------------------------

/// Gradient of softmax from its result y: y · (dy - Σ dy·y) along `axis`.
INGOT_API Tensor softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis = -1);
INGOT_API void softmax_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy, int64_t axis = -1);

/// Gradient of log_softmax from its result y: dy - e^y · Σ dy along `axis`.
INGOT_API Tensor log_softmax_grad(const Tensor& y, const Tensor& dy, int64_t axis = -1);
INGOT_API void log_softmax_grad_into(const Tensor& dst, const Tensor& y, const Tensor& dy, int64_t axis = -1);

/// Gradient of softmax_cross_entropy: (softmax(x) - onehot(label)) · dloss per row, to [rows, classes].
INGOT_API Tensor softmax_cross_entropy_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);
INGOT_API void softmax_cross_entropy_grad_into(const Tensor& dst, const Tensor& logits, const Tensor& labels, const Tensor& dloss);

/// softmax_cross_entropy and its gradient in one pass: what a plan makes of the two.
INGOT_API std::array<Tensor, 2> softmax_cross_entropy_with_grad(const Tensor& logits, const Tensor& labels, const Tensor& dloss);
INGOT_API void softmax_cross_entropy_with_grad_into(const Tensor& loss, const Tensor& dlogits, const Tensor& logits, const Tensor& labels, const Tensor& dloss);

// view ----------------------------------------------------------------------------------------------------------------

/// Zeros of `shape` with dy at [start:stop:step] along an axis: the gradient of slice.
INGOT_API Tensor slice_grad(const Tensor& dy, const Dims& shape, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
INGOT_API void slice_grad_into(const Tensor& dst, const Tensor& dy, const Dims& shape, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);

/// Zeros of `shape` with dy's last axis on the diagonal of axes a and b: the gradient of diagonal.
INGOT_API Tensor diagonal_grad(const Tensor& dy, const Dims& shape, int64_t a = -2, int64_t b = -1);
INGOT_API void diagonal_grad_into(const Tensor& dst, const Tensor& dy, const Dims& shape, int64_t a = -2, int64_t b = -1);

}  // namespace ingot
