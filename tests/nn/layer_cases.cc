#include "tests/nn/layer_cases.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/ops/golden.h"
#include "tests/test_file.h"

namespace ingot {
namespace {

using Make = std::function<std::shared_ptr<nn::Layer>()>;

// Layers are made anew for every use: copies share parameters.
#define INGOT_CASE(name, ...)                                                         \
  {                                                                                   \
    name, [] { return std::make_shared<decltype(nn::__VA_ARGS__)>(nn::__VA_ARGS__); } \
  }

const std::map<std::string, Make>& makers() {
  static const std::map<std::string, Make> all = {
      INGOT_CASE("linear", Linear(5, 3)),
      INGOT_CASE("linear_batch1", Linear(7, 1)),
      INGOT_CASE("linear_sequence", Linear(3, 4, false)),
      INGOT_CASE("embedding", Embedding(6, 3)),
      INGOT_CASE("embedding_padding", Embedding(5, 2, 1)),
      INGOT_CASE("dropout", Dropout(0.4)),
      INGOT_CASE("conv1d", Conv1d(2, 3, 3)),
      INGOT_CASE("conv1d_all", Conv1d(4, 6, 3, {.stride = {2}, .padding = {3}, .dilation = {2}, .groups = 2})),
      INGOT_CASE("conv2d", Conv2d(2, 3, 3)),
      INGOT_CASE("conv2d_padded", Conv2d(1, 2, 3, {.stride = {2}, .padding = {1}})),
      INGOT_CASE("conv2d_rectangular",
                 Conv2d(2, 2, Dims{3, 1}, {.stride = {1, 2}, .padding = {1, 0}, .dilation = {2, 1}})),
      INGOT_CASE("conv2d_groups", Conv2d(4, 2, 2, {.groups = 2}, false)),
      INGOT_CASE("conv2d_depthwise", Conv2d(3, 6, 3, {.padding = {1}, .groups = 3})),
      INGOT_CASE("conv_transpose1d", ConvTranspose1d(2, 3, 3)),
      INGOT_CASE("conv_transpose1d_all",
                 ConvTranspose1d(4, 2, 3, {.stride = {3}, .padding = {1}, .dilation = {2}, .groups = 2}, {2})),
      INGOT_CASE("conv_transpose2d", ConvTranspose2d(2, 3, 2, {.stride = {2}})),
      INGOT_CASE("conv_transpose2d_all",
                 ConvTranspose2d(2, 4, Dims{3, 2}, {.stride = {2, 1}, .padding = {1, 0}, .groups = 2}, {1, 0}, false)),
      INGOT_CASE("max_pool1d", MaxPool1d(2)),
      INGOT_CASE("max_pool1d_all",
                 MaxPool1d({.kernel = {3}, .stride = {2}, .padding = {1}, .dilation = {2}, .ceil_mode = true})),
      INGOT_CASE("max_pool2d", MaxPool2d(2)),
      INGOT_CASE("max_pool2d_all",
                 MaxPool2d({.kernel = {3, 2}, .stride = {2, 1}, .padding = {1, 0}, .ceil_mode = true})),
      INGOT_CASE("avg_pool1d", AvgPool1d(3)),
      INGOT_CASE("avg_pool1d_all",
                 AvgPool1d({.kernel = {3}, .stride = {2}, .padding = {1}, .count_include_pad = false})),
      INGOT_CASE("avg_pool2d", AvgPool2d(2)),
      INGOT_CASE("avg_pool2d_all", AvgPool2d({.kernel = {3, 2}, .stride = {2}, .padding = {1}, .ceil_mode = true})),
      INGOT_CASE("adaptive_avg_pool1d", AdaptiveAvgPool1d(3)),
      INGOT_CASE("adaptive_avg_pool2d", AdaptiveAvgPool2d({2, 3})),
      INGOT_CASE("adaptive_avg_pool2d_square", AdaptiveAvgPool2d(2)),
      INGOT_CASE("adaptive_max_pool1d", AdaptiveMaxPool1d(3)),
      INGOT_CASE("adaptive_max_pool2d", AdaptiveMaxPool2d({2, 3})),
      INGOT_CASE("global_avg_pool", GlobalAvgPool()),
      INGOT_CASE("global_max_pool", GlobalMaxPool()),
      INGOT_CASE("batch_norm1d", BatchNorm1d(3)),
      INGOT_CASE("batch_norm1d_sequence", BatchNorm1d(2, 0.1, 0.25)),
      INGOT_CASE("batch_norm1d_batch1", BatchNorm1d(2)),
      INGOT_CASE("batch_norm2d", BatchNorm2d(3)),
      INGOT_CASE("batch_norm2d_plain", BatchNorm2d(2, 1e-5, 0.1, false)),
      INGOT_CASE("layer_norm", LayerNorm(6)),
      INGOT_CASE("layer_norm_image", LayerNorm(Dims{2, 3}, 0.1)),
      INGOT_CASE("layer_norm_plain", LayerNorm(5, 1e-5, false)),
      INGOT_CASE("rms_norm", RMSNorm(6)),
      INGOT_CASE("rms_norm_image", RMSNorm(Dims{2, 3}, 0.1)),
      INGOT_CASE("group_norm", GroupNorm(2, 4)),
      INGOT_CASE("group_norm_plain", GroupNorm(3, 3, 1e-5, false)),
      INGOT_CASE("instance_norm2d", InstanceNorm2d(3)),
      INGOT_CASE("instance_norm2d_affine", InstanceNorm2d(2, 0.1, true)),
      INGOT_CASE("relu", ReLU()),
      INGOT_CASE("relu6", ReLU6()),
      INGOT_CASE("leaky_relu", LeakyReLU(0.125)),
      INGOT_CASE("elu", ELU(0.5)),
      INGOT_CASE("selu", SELU()),
      INGOT_CASE("softplus", Softplus()),
      INGOT_CASE("silu", SiLU()),
      INGOT_CASE("gelu", GELU()),
      INGOT_CASE("gelu_tanh", GELU(true)),
      INGOT_CASE("sigmoid", Sigmoid()),
      INGOT_CASE("tanh", Tanh()),
      INGOT_CASE("hard_sigmoid", HardSigmoid()),
      INGOT_CASE("softmax", Softmax()),
      INGOT_CASE("log_softmax", LogSoftmax()),
      INGOT_CASE("identity", Identity()),
      INGOT_CASE("softmax_channels", Softmax(1)),
      INGOT_CASE("log_softmax_channels", LogSoftmax(1)),
      INGOT_CASE("flatten", Flatten()),
      INGOT_CASE("flatten_middle", Flatten(1, 2)),
      INGOT_CASE("unflatten", Unflatten(1, {2, 3})),
      INGOT_CASE("reshape", Reshape({3, -1, 2})),
      INGOT_CASE("squeeze", Squeeze(2)),
      INGOT_CASE("unsqueeze", Unsqueeze(-1)),
      INGOT_CASE("permute", Permute({0, 2, 3, 1})),
      INGOT_CASE("permuted_flat", Sequential(nn::Permute({0, 2, 1}), nn::Flatten())),
      INGOT_CASE("pad", Pad({0, 1}, {3, 2}, 0.5)),
      INGOT_CASE("concat", Concat(1, nn::Linear(3, 2), nn::Sequential(nn::Linear(3, 4), nn::Tanh()), nn::Identity())),
      INGOT_CASE("residual", Residual(nn::Sequential(nn::Linear(4, 5), nn::ReLU(), nn::Linear(5, 4)))),
      INGOT_CASE(
          "network",
          Sequential(nn::Conv2d(1, 3, 3, {.padding = {1}}, false), nn::BatchNorm2d(3), nn::ReLU(), nn::MaxPool2d(2),
                     nn::Residual(nn::Sequential(nn::Conv2d(3, 3, 3, {.padding = {1}}), nn::GELU())), nn::Flatten(),
                     nn::Sequential(nn::Linear(12, 5), nn::LayerNorm(5), nn::LogSoftmax()))),
  };
  return all;
}

}  // namespace

std::vector<Golden> read_cases(const std::string& name) {
  std::ifstream file(test_file("goldens/" + name));
  std::vector<Golden> all;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind, key;
    line >> kind;
    if (kind == "case") {
      Golden& g = all.emplace_back();
      std::string mode;
      line >> g.name >> mode;
      g.training = mode == "train";
      continue;
    }
    Golden& g = all.back();
    if (kind == "state" || kind == "dparam" || kind == "after") {
      line >> key;
      (kind == "state"   ? g.state
       : kind == "after" ? g.after
                         : g.gradients)
          .push_back({key, harness::read_tensor(line)});
    } else {
      (kind == "in"       ? g.in
       : kind == "target" ? g.target
       : kind == "out"    ? g.out
       : kind == "dy"     ? g.dy
                          : g.grad) = harness::read_tensor(line);
    }
  }
  return all;
}

std::shared_ptr<nn::Layer> make_layer(const std::string& name) {
  const auto found = makers().find(name);
  return found == makers().end() ? nullptr : found->second();
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const auto& [name, make] : makers()) names.push_back(name);
  return names;
}

std::shared_ptr<nn::Layer> layer_of(const Golden& g, DType dtype) {
  std::shared_ptr<nn::Layer> layer = make_layer(g.name);
  if (layer == nullptr) throw Error("no layer is called " + g.name + " — add it to tests/nn/layer_cases.cc");
  layer->to(dtype);
  const std::vector<NamedTensor> own = layer->state_dict();
  EXPECT_EQ(own.size(), g.state.size()) << g.name;
  for (size_t i = 0; i < std::min(own.size(), g.state.size()); i++) EXPECT_EQ(own[i].name, g.state[i].name) << g.name;
  layer->load_state_dict(g.state);
  layer->train(g.training);
  return layer;
}

Tensor in_type(const Tensor& t, DType dtype) {
  return t.defined() && is_float(t.dtype()) && t.dtype() != dtype ? to(t, dtype) : t;
}

std::vector<NamedTensor> parameters_of(nn::Module& m) {
  std::vector<NamedTensor> list;
  for (const Parameter& p : m.named_parameters()) list.push_back({p.name, *p.tensor});
  return list;
}

testing::AssertionResult close(const Tensor& found, const Tensor& expected, double tolerance) {
  if (!found.defined() || !expected.defined())
    return found.defined() == expected.defined() ? testing::AssertionSuccess()
                                                 : testing::AssertionFailure() << "one of them is undefined";
  if (!(found.shape() == expected.shape()))
    return testing::AssertionFailure() << to_string(found.shape()) << " for " << to_string(expected.shape());
  const std::vector<double> a = to(found, kF64).to_vector<double>(), b = to(expected, kF64).to_vector<double>();
  double largest = 0;
  for (const double v : b)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < a.size(); i++)
    if (a[i] != b[i] && !(std::abs(a[i] - b[i]) <= tolerance * (std::abs(b[i]) + largest)))
      return testing::AssertionFailure() << "element " << i << " is " << a[i] << ", expected " << b[i] << " (largest "
                                         << largest << ")";
  return testing::AssertionSuccess();
}

}  // namespace ingot
