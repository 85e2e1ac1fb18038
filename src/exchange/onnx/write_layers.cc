// What Ingot's ops become in ONNX: activations, products, convolutions, pooling, norms, recurrences, attention.
#include <algorithm>
#include <cmath>

#include "exchange/onnx/emit.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::onnx {
namespace {

using Names = Emitter::Names;

void twin(OpUse& u, const char* op, const std::vector<Written>& attributes = {}) {
  u.give(u.e.node(op, u.in, attributes));
}
std::string number(OpUse& u, double value) { return u.e.number(value, u.dtype()); }
// A tensor of the type that u's first input has.
std::string filled(OpUse& u, const Dims& shape, double value) { return u.e.filled(shape, value, u.dtype()); }

// ½x(1 + f(…)) --------------------------------------------------------------------------------------------------------

std::string half_of(OpUse& u, const std::string& gate) {
  const std::string open = u.e.node("Add", {gate, number(u, 1)});
  return u.e.node("Mul", {u.e.node("Mul", {u.in[0], open}), number(u, 0.5)});
}
void gelu_op(OpUse& u) {
  const std::string& x = u.in[0];
  const std::string cube = u.e.node("Mul", {u.e.node("Mul", {x, x}), x});
  const std::string inner = u.e.node("Add", {x, u.e.node("Mul", {cube, number(u, 0.044715)})});
  u.give(half_of(u, u.e.node("Tanh", {u.e.node("Mul", {inner, number(u, 0.7978845608028654)})})));
}
void gelu_erf_op(OpUse& u) {
  u.give(half_of(u, u.e.node("Erf", {u.e.node("Div", {u.in[0], number(u, std::sqrt(2.0))})})));
}

// Products --------------------------------------------------------------------------------------------------------------

// Rows of more than two axes go through the same product of matrices.
void linear_op(OpUse& u) {
  const Written turned{"transB", int64_t{1}};
  Names in = u.in;
  if (!u.has(2)) in.resize(2);
  if (u.shape().size() == 2) return u.give(u.e.node("Gemm", in, {turned}));
  const std::vector<int64_t> shape = u.free_result();
  if (std::count(shape.begin(), shape.end(), -1) > 1) u.fail("several sizes that follow the batch");
  in[0] = u.e.node("Reshape", {in[0], u.e.integers({-1, u.shape().back()})});
  u.give(u.e.node("Reshape", {u.e.node("Gemm", in, {turned}), u.e.integers(shape)}, {{"allowzero", int64_t{1}}}));
}

void outer_op(OpUse& u) {
  u.give(u.e.node("Mul", {u.e.node("Unsqueeze", {u.in[0], u.e.integers({1})}),
                          u.e.node("Unsqueeze", {u.in[1], u.e.integers({0})})}));
}

// Windows ---------------------------------------------------------------------------------------------------------------

std::vector<int64_t> numbers(const Dims& given, int count, int64_t fallback) {
  if (given.size() == count) return listed(given);
  return std::vector<int64_t>(static_cast<size_t>(count), given.empty() ? fallback : given[0]);  // one for all
}
std::vector<int64_t> both_ends(const Dims& padding, int count) {
  std::vector<int64_t> pads = numbers(padding, count, 0);
  for (int a = 0; a < count; a++) pads.push_back(pads[static_cast<size_t>(a)]);
  return pads;
}

std::vector<Written> convolution(OpUse& u) {
  const int n = u.shape().size() - 2;
  const Dims& w = u.shape(1);
  std::vector<int64_t> kernel;
  kernel.reserve(static_cast<size_t>(w.size()));
  for (int a = 2; a < w.size(); a++) kernel.push_back(w[a]);
  return {{"kernel_shape", kernel},
          {"strides", numbers(u.ints("stride"), n, 1)},
          {"pads", both_ends(u.ints("padding"), n)},
          {"dilations", numbers(u.ints("dilation"), n, 1)},
          {"group", u.integer("groups")}};
}
Names without_end(Names in) {
  while (!in.empty() && in.back().empty()) in.pop_back();
  return in;
}
void conv_op(OpUse& u) { u.give(u.e.node("Conv", without_end(u.in), convolution(u))); }
void conv_transpose_op(OpUse& u) {
  std::vector<Written> attributes = convolution(u);
  attributes.push_back({"output_padding", numbers(u.ints("output_padding"), u.shape().size() - 2, 0)});
  u.give(u.e.node("ConvTranspose", without_end(u.in), attributes));
}

std::vector<Written> pooling(OpUse& u) {
  const int n = u.shape().size() - 2;
  const Dims& stride = u.ints("stride");
  return {{"kernel_shape", numbers(u.ints("kernel"), n, 1)},
          {"strides", numbers(stride.empty() ? u.ints("kernel") : stride, n, 1)},
          {"pads", both_ends(u.ints("padding"), n)},
          {"ceil_mode", static_cast<int64_t>(u.flag("ceil_mode"))}};
}
void max_pool_op(OpUse& u) {
  if (u.wanted(1)) u.fail("the places of the largest");
  std::vector<Written> attributes = pooling(u);
  attributes.push_back({"dilations", numbers(u.ints("dilation"), u.shape().size() - 2, 1)});
  u.give(u.e.node("MaxPool", u.in, attributes));
}
void avg_pool_op(OpUse& u) {
  for (const int64_t d : u.ints("dilation"))
    if (d != 1) u.fail("windows of means with gaps");
  std::vector<Written> attributes = pooling(u);
  attributes.push_back({"count_include_pad", static_cast<int64_t>(u.flag("count_include_pad"))});
  u.give(u.e.node("AveragePool", u.in, attributes));
}
void adaptive_op(OpUse& u, const char* global, const char* windows) {
  if (u.captured().count > 1 && u.wanted(1)) u.fail("the places of the largest");
  const Dims size(numbers(u.ints("size"), u.shape().size() - 2, 1));
  std::vector<int64_t> kernel;
  bool one = true;
  for (int a = 0; a < size.size(); a++) {
    one &= size[a] == 1;
    if (size[a] != 1 && u.is_free(a + 2)) u.fail("bins of a size that follows the batch");
    if (size[a] == 0 || u.shape()[a + 2] % size[a] != 0) u.fail("bins of different sizes");
    kernel.push_back(u.shape()[a + 2] / size[a]);
  }
  u.give(one ? u.e.node(global, u.in) : u.e.node(windows, u.in, {{"kernel_shape", kernel}, {"strides", kernel}}));
}

// Norms -----------------------------------------------------------------------------------------------------------------

void layer_norm_op(OpUse& u) {
  const int64_t axes = u.integer("axes");
  Dims tail;
  for (int64_t a = axes; a > 0; a--) tail.push_back(u.shape()[u.shape().size() - static_cast<int>(a)]);
  Names in{u.in[0], u.has(1) ? u.in[1] : filled(u, tail, 1)};
  if (u.has(2)) in.push_back(u.in[2]);
  u.give(u.e.node("LayerNormalization", in, {{"axis", -axes}, {"epsilon", u.real("eps")}}));
}
void rms_norm_op(OpUse& u) {
  std::vector<int64_t> axes;
  for (int64_t a = u.integer("axes"); a > 0; a--) axes.push_back(-a);
  const std::string squares =
      u.e.node("ReduceMean", {u.e.node("Mul", {u.in[0], u.in[0]})}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const std::string root = u.e.node("Sqrt", {u.e.node("Add", {squares, number(u, u.real("eps"))})});
  const std::string y = u.e.node("Div", {u.in[0], root});
  u.give(u.has(1) ? u.e.node("Mul", {y, u.in[1]}) : y);
}
// One number per channel, as x [n, c, …] has its axes.
std::string per_channel(OpUse& u, size_t i) {
  std::vector<int64_t> shape(static_cast<size_t>(u.shape().size()), 1);
  shape[1] = -1;
  return u.e.node("Reshape", {u.in[i], u.e.integers(shape)});
}
void instance_norm_op(OpUse& u) {
  const Dims channels{u.shape()[1]};
  u.give(u.e.node("InstanceNormalization",
                  {u.in[0], u.has(1) ? u.in[1] : filled(u, channels, 1), u.has(2) ? u.in[2] : filled(u, channels, 0)},
                  {{"epsilon", u.real("eps")}}));
}
void group_norm_op(OpUse& u) {
  const int64_t groups = u.integer("groups");
  const Dims each{groups};
  const std::string apart = u.e.node("Reshape", {u.in[0], u.e.integers({0, groups, -1})});
  const std::string normal =
      u.e.node("InstanceNormalization", {apart, filled(u, each, 1), filled(u, each, 0)}, {{"epsilon", u.real("eps")}});
  std::string y = u.e.node("Reshape", {normal, u.e.integers(u.free_result())});
  if (u.has(1)) y = u.e.node("Mul", {y, per_channel(u, 1)});
  u.give(u.has(2) ? u.e.node("Add", {y, per_channel(u, 2)}) : y);
}

// Recurrences -----------------------------------------------------------------------------------------------------------

// The gates of a tensor [gates · h, …] in another order, and one more axis in front.
std::string reordered(OpUse& u, const std::string& t, std::initializer_list<int> order, size_t gates) {
  const Names parts = u.e.nodes("Split", {t}, gates, {{"axis", int64_t{0}}});
  Names moved;
  for (const int gate : order) moved.push_back(parts[static_cast<size_t>(gate)]);
  return u.e.node("Unsqueeze", {u.e.node("Concat", moved, {{"axis", int64_t{0}}}), u.e.integers({0})});
}
std::string zeros_of(OpUse& u, int64_t count) { return filled(u, {count}, 0); }
std::string identity(OpUse& u, int64_t n) { return u.e.node("EyeLike", {filled(u, {n, n}, 0)}); }
// Two biases, side by side.
std::string biases(OpUse& u, const std::string& a, const std::string& b) {
  return u.e.node("Concat", {a, b}, {{"axis", int64_t{1}}});
}

// The format multiplies the inputs itself. What was multiplied before by a linear op (the exporter hands over its parts) is
// not multiplied twice; anything else is, by one.
void lstm_op(OpUse& u) {
  const int64_t h = u.shape(1)[1];
  const auto order = [&](const std::string& t) {
    return reordered(u, t, {0, 3, 1, 2}, 4);
  };  // i, f, g, o to i, o, f, g
  const bool direct = u.in.size() > 4;
  const std::string x = direct ? u.in[4] : u.in[0], w = direct ? u.in[5] : identity(u, 4 * h);
  Names in{x, order(w), order(u.in[1])};
  in.push_back(direct && !u.in[6].empty()
                   ? biases(u, order(u.in[6]), u.e.node("Unsqueeze", {zeros_of(u, 4 * h), u.e.integers({0})}))
                   : "");
  if (u.has(2)) {
    in.push_back("");
    for (const size_t i : {size_t{2}, size_t{3}}) in.push_back(u.e.node("Unsqueeze", {u.in[i], u.e.integers({0})}));
  }
  const Names y =
      u.e.nodes("LSTM", without_end(in), 3,
                {{"hidden_size", h}, {"direction", std::string(u.flag("reverse") ? "reverse" : "forward")}});
  u.give(u.e.node("Squeeze", {y[0], u.e.integers({1})}));
  u.give(u.wanted(1) ? u.e.node("Squeeze", {y[2], u.e.integers({0})}) : "");  // the last step's: see the exporter
}

void gru_op(OpUse& u) {
  const int64_t h = u.shape(1)[1];
  const auto order = [&](const std::string& t) { return reordered(u, t, {1, 0, 2}, 3); };  // r, z, n to z, r, n
  const bool direct = u.in.size() > 4;
  const std::string x = direct ? u.in[4] : u.in[0], w = direct ? u.in[5] : identity(u, 3 * h);
  const auto bias = [&](const std::string& b) {
    return b.empty() ? u.e.node("Unsqueeze", {zeros_of(u, 3 * h), u.e.integers({0})}) : order(b);
  };
  const std::string own = direct ? u.in[6] : "";
  Names in{x, order(w), order(u.in[1]), own.empty() && !u.has(2) ? "" : biases(u, bias(own), bias(u.in[2]))};
  if (u.has(3)) in.insert(in.end(), {"", u.e.node("Unsqueeze", {u.in[3], u.e.integers({0})})});
  const Names y = u.e.nodes("GRU", without_end(in), 2,
                            {{"hidden_size", h},
                             {"linear_before_reset", int64_t{1}},
                             {"direction", std::string(u.flag("reverse") ? "reverse" : "forward")}});
  u.give(u.e.node("Squeeze", {y[0], u.e.integers({1})}));
}

// Attention -------------------------------------------------------------------------------------------------------------

void attend(OpUse& u, const Names& qkv, int64_t queries, int64_t keys, int64_t width) {
  if (u.wanted(1)) u.fail("the sums of attention's scores");
  if (u.is_free(1) || (u.in.size() > 1 && u.is_free(1, 1))) u.fail("a length that follows the batch");
  const int64_t heads = u.integer("heads"), depth = width / heads;
  const double scale = u.real("scale") == 0 ? 1 / std::sqrt(static_cast<double>(depth)) : u.real("scale");
  const auto apart = [&](size_t i, int64_t length, std::vector<int64_t> axes) {
    return u.e.node("Transpose", {u.e.node("Reshape", {qkv[i], u.e.integers({-1, length, heads, depth})})},
                    {{"perm", std::move(axes)}});
  };
  const std::string q = apart(0, queries, {0, 2, 1, 3}), k = apart(1, keys, {0, 2, 3, 1}),
                    v = apart(2, keys, {0, 2, 1, 3});
  std::string scores = u.e.node("Mul", {u.e.node("MatMul", {q, k}), number(u, scale)});
  if (u.flag("causal")) {
    std::vector<float> hidden;
    for (int64_t i = 0; i < queries; i++)
      for (int64_t j = 0; j < keys; j++) hidden.push_back(j - (keys - queries) > i ? -HUGE_VALF : 0.0f);
    scores = u.e.node("Add", {scores, u.e.constant(to(Tensor::from(hidden, {queries, keys}), u.dtype()))});
  }
  const std::string y = u.e.node("MatMul", {u.e.node("Softmax", {scores}, {{"axis", int64_t{-1}}}), v});
  u.give(u.e.node("Reshape", {u.e.node("Transpose", {y}, {{"perm", std::vector<int64_t>{0, 2, 1, 3}}}),
                              u.e.integers({-1, queries, width})}));
}
void attention_op(OpUse& u) { attend(u, u.in, u.shape(0)[1], u.shape(1)[1], u.shape(0)[2]); }
void self_attention_op(OpUse& u) {
  const int64_t length = u.shape()[1], width = u.shape()[2] / 3;
  attend(u, u.e.nodes("Split", u.in, 3, {{"axis", int64_t{2}}}), length, length, width);
}

}  // namespace

std::span<const WriteRow> write_layer_rows() {
  static constexpr WriteRow kRows[] = {
      {"relu", [](OpUse& u) { twin(u, "Relu"); }},
      {"relu6",
       [](OpUse& u) {
         u.give(u.e.node("Clip", {u.in[0], number(u, 0), number(u, 6)}));
       }},
      {"leaky_relu",
       [](OpUse& u) {
         twin(u, "LeakyRelu", {{"alpha", u.real("slope")}});
       }},
      {"elu",
       [](OpUse& u) {
         twin(u, "Elu", {{"alpha", u.real("alpha")}});
       }},
      {"selu", [](OpUse& u) { twin(u, "Selu"); }, true},
      {"softplus", [](OpUse& u) { twin(u, "Softplus"); }},
      {"sigmoid", [](OpUse& u) { twin(u, "Sigmoid"); }},
      {"tanh", [](OpUse& u) { twin(u, "Tanh"); }},
      {"hard_sigmoid",
       [](OpUse& u) {
         twin(u, "HardSigmoid", {{"alpha", 1.0 / 6}, {"beta", 0.5}});
       },
       true},
      {"silu",
       [](OpUse& u) {
         u.give(u.e.node("Mul", {u.in[0], u.e.node("Sigmoid", u.in)}));
       },
       true},
      {"gelu", gelu_op, true},
      {"gelu_erf", gelu_erf_op, true},
      {"linear", linear_op},
      {"matmul", [](OpUse& u) { twin(u, "MatMul"); }},
      {"matvec", [](OpUse& u) { twin(u, "MatMul"); }, true},
      {"dot", [](OpUse& u) { twin(u, "MatMul"); }},
      {"outer", outer_op, true},
      {"conv1d", conv_op},
      {"conv2d", conv_op},
      {"conv3d", conv_op},
      {"conv_transpose1d", conv_transpose_op},
      {"conv_transpose2d", conv_transpose_op},
      {"max_pool1d", max_pool_op},
      {"max_pool2d", max_pool_op},
      {"avg_pool1d", avg_pool_op},
      {"avg_pool2d", avg_pool_op},
      {"adaptive_avg_pool1d", [](OpUse& u) { adaptive_op(u, "GlobalAveragePool", "AveragePool"); }, true},
      {"adaptive_avg_pool2d", [](OpUse& u) { adaptive_op(u, "GlobalAveragePool", "AveragePool"); }, true},
      {"adaptive_max_pool1d", [](OpUse& u) { adaptive_op(u, "GlobalMaxPool", "MaxPool"); }},
      {"adaptive_max_pool2d", [](OpUse& u) { adaptive_op(u, "GlobalMaxPool", "MaxPool"); }},
      {"layer_norm", layer_norm_op},
      {"rms_norm", rms_norm_op, true},
      {"instance_norm", instance_norm_op},
      {"group_norm", group_norm_op, true},
      {"lstm_sequence", lstm_op},
      {"gru_sequence", gru_op},
      {"attention", attention_op, true},
      {"self_attention", self_attention_op, true},
  };
  return kRows;
}

}  // namespace ingot::onnx
