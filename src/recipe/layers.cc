// Layers by their names in a description.
#include <fmt/format.h>

#include "ingot/base/error.h"
#include "ingot/nn/attention.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/recurrent.h"
#include "recipe/core_types.h"
#include "recipe/make_layers.h"

namespace ingot::recipe {
namespace {

using nn::LayerPtr;

using Wanted = LayerRequest;

const Key kOut{"out", Kind::kInteger, "0", "size of the result; 0: as the target needs it", 0, 1e7};
const Key kChannels{"out", Kind::kInteger, "", "channels of the result", 1, 1e6};
const Key kBias{"bias", Kind::kBoolean, "true", "adds a learned number to every output"};
const Key kEps{"eps", Kind::kNumber, "1e-5", "added to the variance", 0};
const Key kAffine{"affine", Kind::kBoolean, "true", "learns a scale and an offset"};
const Key kStride{"stride", Kind::kIntegers, "1", "steps from one window to the next", 1, 4096};
const Key kPadding{"padding", Kind::kIntegers, "0", "zeros around the input", 0, 4096};
const Key kDilation{"dilation", Kind::kIntegers, "1", "distance of a window's elements", 1, 4096};
const Key kGroups{"groups", Kind::kInteger, "1", "parts of the channels that do not mix", 1, 1e6};
const Key kKernel{"kernel", Kind::kIntegers, "3", "size of the window", 1, 4096};
const Key kOutputPadding{"output_padding", Kind::kIntegers, "0", "added to the far end of the result", 0, 4096};

std::vector<Key> convolution_keys(bool transposed) {
  std::vector<Key> keys = {kChannels, kKernel, kStride, kPadding, kDilation, kGroups, kBias};
  if (transposed) keys.insert(keys.end() - 1, kOutputPadding);
  return keys;
}

ConvOptions conv_options(const Wanted& w) {
  return {.stride = w.dims("stride"),
          .padding = w.dims("padding"),
          .dilation = w.dims("dilation"),
          .groups = w.s.integer("groups")};
}

template <class L, int spatial>
LayerPtr convolution(const Wanted& w) {
  const Dims kernel = w.dims("kernel");
  if constexpr (spatial == 1) {
    if (kernel.size() != 1) w.s.fail("kernel", "windows along one axis have one size");
    return std::make_shared<L>(w.channels(1), w.s.integer("out"), kernel[0], conv_options(w), w.s.flag("bias"));
  } else {
    return std::make_shared<L>(w.channels(2), w.s.integer("out"), kernel, conv_options(w), w.s.flag("bias"));
  }
}
template <class L, int spatial>
LayerPtr transposed_convolution(const Wanted& w) {
  const Dims kernel = w.dims("kernel"), padding = w.dims("output_padding");
  if constexpr (spatial == 1) {
    if (kernel.size() != 1) w.s.fail("kernel", "windows along one axis have one size");
    return std::make_shared<L>(w.channels(1), w.s.integer("out"), kernel[0], conv_options(w), padding,
                               w.s.flag("bias"));
  } else {
    return std::make_shared<L>(w.channels(2), w.s.integer("out"), kernel, conv_options(w), padding, w.s.flag("bias"));
  }
}

const std::vector<Key> kPoolKeys = {
    {"kernel", Kind::kIntegers, "2", "size of the window", 1, 4096},
    {"stride", Kind::kIntegers, nullptr, "steps from one window to the next; else its size", 1, 4096},
    kPadding};
template <class L>
LayerPtr pool(const Wanted& w) {
  return std::make_shared<L>(
      PoolOptions{.kernel = w.dims("kernel"), .stride = w.dims("stride"), .padding = w.dims("padding")});
}
const std::vector<Key> kBinKeys = {{"size", Kind::kIntegers, "1", "bins along each axis", 1, 65536}};
template <class L>
LayerPtr bins(const Wanted& w) {
  return std::make_shared<L>(w.dims("size"));
}

template <class L>
LayerPtr plain(const Wanted&) {
  return std::make_shared<L>();
}
template <class L>
LayerPtr batch_norm(const Wanted& w) {
  return std::make_shared<L>(w.x.size(1), w.s.number("eps"), w.s.number("momentum"), w.s.flag("affine"));
}
const std::vector<Key> kBatchNormKeys = {
    kEps, {"momentum", Kind::kNumber, "0.1", "of the running averages", 0, 1}, kAffine};
const std::vector<Key> kAxisKeys = {{"axis", Kind::kInteger, "-1", "the axis; 0 is the batch's", -8, 8}};
template <class L>
LayerPtr along_axis(const Wanted& w) {
  return std::make_shared<L>(w.s.integer("axis"));
}

const std::vector<Key> kRecurrentKeys = {
    {"hidden", Kind::kInteger, "", "size of the state and of the result", 1, 1e6},
    {"layers", Kind::kInteger, "1", "layers on top of each other", 1, 1000},
    {"bidirectional", Kind::kBoolean, "false", "reads sequences from both ends; twice as many results"},
    {"dropout", Kind::kNumber, "0.0", "between layers, while training", 0, 1}};
// On sequences [batch, length, width]. Over continuous text it goes on, while it trains, where the last batch ended
// (truncated backpropagation).
template <class Cell>
LayerPtr recurrent(const Wanted& w) {
  nn::RecurrentOptions options;
  options.layers = w.s.integer("layers");
  options.bidirectional = w.s.flag("bidirectional");
  options.batch_first = true;
  options.dropout = w.s.number("dropout");
  auto layer = std::make_shared<Cell>(w.last(), w.s.integer("hidden"), options);
  if (w.task.rows > 0) layer->stateful(w.task.rows);
  return layer;
}

const Key kHeads{"heads", Kind::kInteger, "4", "parts that attend each for itself", 1, 1024};
const Key kCausal{"causal", Kind::kBoolean, "true",
                  "a position sees itself and those before it, as models of text must"};

LayerPtr inner_layers(const Wanted& w) {
  auto inner = std::make_shared<nn::Sequential>();
  add_layers(*inner, w.s.value("layers"), w.x, w.task, w.catalogue);
  return inner;
}
const Key kLayers{
    .name = "layers", .kind = Kind::kTables, .initial = "", .doc = "layers, one after the other", .of = "layers"};

const std::vector<LayerType>& rows() {
  static const std::vector<LayerType> all = {
      {{"linear", "every result a weighted sum of the last axis", {kOut, kBias}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::Linear>(w.last(), w.out(), w.s.flag("bias")); }},
      {{"embedding",
        "numbers of characters or words to learned vectors",
        {{"width", Kind::kInteger, "", "size of a vector", 1, 1e6},
         {"count", Kind::kInteger, "0", "how many there are; 0: as many as the text has characters", 0, 1e8}}},
       [](const Wanted& w) -> LayerPtr {
         const int64_t count = w.s.integer("count") > 0 ? w.s.integer("count") : w.task.classes;
         return std::make_shared<nn::Embedding>(count, w.s.integer("width"));
       }},
      {{"dropout", "sets numbers to 0 at random while training", {{"p", Kind::kNumber, "0.5", "share of them", 0, 1}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::Dropout>(w.s.number("p")); }},

      {{"conv1d", "convolution along an axis", convolution_keys(false)}, convolution<nn::Conv1d, 1>},
      {{"conv2d", "convolution over pictures", convolution_keys(false)}, convolution<nn::Conv2d, 2>},
      {{"conv_transpose1d", "the way back of a conv1d", convolution_keys(true)},
       transposed_convolution<nn::ConvTranspose1d, 1>},
      {{"conv_transpose2d", "the way back of a conv2d", convolution_keys(true)},
       transposed_convolution<nn::ConvTranspose2d, 2>},
      {{"max_pool1d", "windows to their largest element", kPoolKeys}, pool<nn::MaxPool1d>},
      {{"max_pool2d", "windows of pictures to their largest element", kPoolKeys}, pool<nn::MaxPool2d>},
      {{"avg_pool1d", "windows to their mean", kPoolKeys}, pool<nn::AvgPool1d>},
      {{"avg_pool2d", "windows of pictures to their mean", kPoolKeys}, pool<nn::AvgPool2d>},
      {{"adaptive_avg_pool1d", "as many means as asked for", kBinKeys}, bins<nn::AdaptiveAvgPool1d>},
      {{"adaptive_avg_pool2d", "as many means as asked for", kBinKeys}, bins<nn::AdaptiveAvgPool2d>},
      {{"adaptive_max_pool1d", "as many largest elements as asked for", kBinKeys}, bins<nn::AdaptiveMaxPool1d>},
      {{"adaptive_max_pool2d", "as many largest elements as asked for", kBinKeys}, bins<nn::AdaptiveMaxPool2d>},
      {{"global_avg_pool", "the mean of each channel"}, plain<nn::GlobalAvgPool>},
      {{"global_max_pool", "the largest element of each channel"}, plain<nn::GlobalMaxPool>},

      {{"batch_norm1d", "normalises channels over the batch", kBatchNormKeys}, batch_norm<nn::BatchNorm1d>},
      {{"batch_norm2d", "normalises channels of pictures over the batch", kBatchNormKeys}, batch_norm<nn::BatchNorm2d>},
      {{"layer_norm", "normalises the last axis", {kEps, kAffine}},
       [](const Wanted& w) -> LayerPtr {
         return std::make_shared<nn::LayerNorm>(w.last(), w.s.number("eps"), w.s.flag("affine"));
       }},
      {{"rms_norm",
        "divides the last axis by its root mean square",
        {{"eps", Kind::kNumber, "1.2e-7", "added to the mean square", 0}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::RMSNorm>(w.last(), w.s.number("eps")); }},
      {{"group_norm",
        "normalises groups of channels of a sample",
        {{"groups", Kind::kInteger, "", "how many groups", 1, 1e6}, kEps, kAffine}},
       [](const Wanted& w) -> LayerPtr {
         return std::make_shared<nn::GroupNorm>(w.s.integer("groups"), w.x.size(1), w.s.number("eps"),
                                                w.s.flag("affine"));
       }},
      {{"instance_norm2d", "normalises every channel of every picture", {kEps, kAffine}},
       [](const Wanted& w) -> LayerPtr {
         return std::make_shared<nn::InstanceNorm2d>(w.channels(2), w.s.number("eps"), w.s.flag("affine"));
       }},

      {{"relu", "max(x, 0)"}, plain<nn::ReLU>},
      {{"relu6", "x cut off at 0 and 6"}, plain<nn::ReLU6>},
      {{"leaky_relu", "x, or slope · x where negative", {{"slope", Kind::kNumber, "0.01", "where x is negative"}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::LeakyReLU>(w.s.number("slope")); }},
      {{"elu", "x, or alpha · (eˣ - 1) where negative", {{"alpha", Kind::kNumber, "1.0", "where x is negative"}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::ELU>(w.s.number("alpha")); }},
      {{"selu", "an elu that keeps mean and deviation"}, plain<nn::SELU>},
      {{"gelu",
        "x·Φ(x)",
        {{"tanh_form", Kind::kBoolean, "false", "the approximation that many published weights use"}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::GELU>(w.s.flag("tanh_form")); }},
      {{"silu", "x · sigmoid(x)"}, plain<nn::SiLU>},
      {{"softplus", "log(1 + eˣ)"}, plain<nn::Softplus>},
      {{"sigmoid", "1 / (1 + e⁻ˣ)"}, plain<nn::Sigmoid>},
      {{"hard_sigmoid", "a sigmoid of straight lines"}, plain<nn::HardSigmoid>},
      {{"tanh", "hyperbolic tangent"}, plain<nn::Tanh>},
      {{"softmax", "probabilities along an axis; losses on logits need none", kAxisKeys}, along_axis<nn::Softmax>},
      {{"log_softmax", "their logarithms", kAxisKeys}, along_axis<nn::LogSoftmax>},
      {{"identity", "nothing"}, plain<nn::Identity>},

      {{"flatten", "all axes of a sample to one"}, plain<nn::Flatten>},
      {{"reshape", "a sample in another shape", {{"shape", Kind::kIntegers, "", "its sizes; one may be -1", -1, 1e9}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::Reshape>(w.dims("shape")); }},
      {{"squeeze", "without an axis, which has size 1", kAxisKeys}, along_axis<nn::Squeeze>},
      {{"unsqueeze", "a new axis of size 1", kAxisKeys}, along_axis<nn::Unsqueeze>},
      {{"permute",
        "axes in another order",
        {{"axes", Kind::kIntegers, "", "their numbers; 0 is the batch's and stays first", 0, 8}}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::Permute>(w.dims("axes")); }},
      {{"pad",
        "a border around the last axes",
        {{"before", Kind::kIntegers, "", "entries in front, per axis", 0, 65536},
         {"after", Kind::kIntegers, "", "entries behind, per axis", 0, 65536},
         {"value", Kind::kNumber, "0.0", "of the border"}}},
       [](const Wanted& w) -> LayerPtr {
         return std::make_shared<nn::Pad>(w.dims("before"), w.dims("after"), w.s.number("value"));
       }},

      {{"lstm", "long short-term memory over sequences [length, width]", kRecurrentKeys}, recurrent<nn::LSTM>},
      {{"gru", "gated recurrent unit over sequences [length, width]", kRecurrentKeys}, recurrent<nn::GRU>},
      {{"attention", "every position of a sequence looks at the others", {kHeads, kCausal, kBias}},
       [](const Wanted& w) -> LayerPtr {
         const nn::AttentionOptions options{.causal = w.s.flag("causal"), .bias = w.s.flag("bias")};
         return std::make_shared<nn::MultiheadAttention>(w.last(), w.s.integer("heads"), options);
       }},
      {{"transformer_block",
        "attention and a feed-forward part, each normalised and added to its input",
        {kHeads,
         kCausal,
         {"feedforward", Kind::kInteger, "0", "width inside the feed-forward part; 0: four times the sequence's", 0,
          1e6},
         {"dropout", Kind::kNumber, "0.0", "on what each part adds, while training", 0, 1}}},
       [](const Wanted& w) -> LayerPtr {
         const nn::TransformerOptions options{
             .causal = w.s.flag("causal"), .feedforward = w.s.integer("feedforward"), .dropout = w.s.number("dropout")};
         return std::make_shared<nn::TransformerBlock>(w.last(), w.s.integer("heads"), options);
       }},
      {{"learned_positions", "adds a learned vector per position of a sequence"},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::LearnedPositions>(w.length(), w.last()); }},
      {{"sinusoidal_positions", "adds sines and cosines of the position in a sequence"},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::SinusoidalPositions>(w.length(), w.last()); }},

      {{"residual", "adds what its layers make of the input to it", {kLayers}},
       [](const Wanted& w) -> LayerPtr { return std::make_shared<nn::Residual>(inner_layers(w)); }},
      {{"sequential", "layers one after the other, as one", {kLayers}}, inner_layers},
      {{"concat",
        "layers side by side on the same input, their results joined",
        {kLayers, {"axis", Kind::kInteger, "1", "along which", -8, 8}}},
       [](const Wanted& w) -> LayerPtr {
         auto concat = std::make_shared<nn::Concat>(w.s.integer("axis"));
         for (const Value& each : w.s.value("layers").list) concat->add(make_layer(each, w.x, w.task, w.catalogue));
         return concat;
       }},
  };
  return all;
}

}  // namespace

std::span<const LayerType> core_layers() { return rows(); }

int64_t LayerRequest::length() const {
  if (x.rank() < 3) throw Error(ErrorKind::kShape, "needs samples of positions and a width");
  return x.size(-2);
}

int64_t LayerRequest::channels(int spatial) const {
  if (x.rank() != 2 + spatial)
    throw Error(ErrorKind::kShape,
                fmt::format("needs samples of channels and {} — give [data] a shape, or put a reshape before it",
                            spatial == 1 ? "one axis" : "two axes"));
  return x.size(1);
}

}  // namespace ingot::recipe
