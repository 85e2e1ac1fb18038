// The layers, with their constructors' arguments as keywords.
#include "ingot/nn/layers.h"

#include "nn.h"

namespace ingot::python {
namespace {

using py::arg;

template <class L>
using Class = py::class_<L, nn::Layer, std::shared_ptr<L>>;

// A layer's class; final, because C++ would not see a forward that Python overrides. (A module of one's own is an nn.Module.)
template <class L>
Class<L> layer(py::module_& m, const char* name, const char* doc) {
  return Class<L>(m, name, py::is_final(), doc);
}

// A parameter as attribute: the layer's own handle, which moves with it.
template <class C, class L, class Base>
void parameter(C& type, const char* name, Tensor Base::*member) {
  type.def_property(
      name, [member](L& l) -> Tensor& { return l.*member; }, [member](L& l, const Tensor& t) { l.*member = t; },
      py::return_value_policy::reference_internal);
}
template <class L>
void weight_and_bias(Class<L>& type) {
  parameter<Class<L>, L>(type, "weight", &L::weight);
  parameter<Class<L>, L>(type, "bias", &L::bias);
}

template <class L>
void plain(py::module_& m, const char* name, const char* doc) {
  layer<L>(m, name, doc).def(py::init<>());
}

ConvOptions conv(const Dims& stride, const Dims& padding, const Dims& dilation, int64_t groups) {
  return {stride, padding, dilation, groups};
}

template <class L, bool one_number>
void convolution(py::module_& m, const char* name, const char* doc) {
  auto type = layer<L>(m, name, doc);
  type.def(py::init([](int64_t in, int64_t out, const Dims& kernel, const Dims& stride, const Dims& padding,
                       const Dims& dilation, int64_t groups, bool bias) {
             if constexpr (one_number)
               return std::make_shared<L>(in, out, kernel[0], conv(stride, padding, dilation, groups), bias);
             else
               return std::make_shared<L>(in, out, kernel, conv(stride, padding, dilation, groups), bias);
           }),
           arg("in_channels"), arg("out_channels"), arg("kernel"), arg("stride") = py::tuple(),
           arg("padding") = py::tuple(), arg("dilation") = py::tuple(), arg("groups") = 1, arg("bias") = true);
  weight_and_bias(type);
}

template <class L, bool one_number>
void transposed(py::module_& m, const char* name, const char* doc) {
  auto type = layer<L>(m, name, doc);
  type.def(py::init([](int64_t in, int64_t out, const Dims& kernel, const Dims& stride, const Dims& padding,
                       const Dims& output_padding, const Dims& dilation, int64_t groups, bool bias) {
             const ConvOptions options = conv(stride, padding, dilation, groups);
             if constexpr (one_number)
               return std::make_shared<L>(in, out, kernel[0], options, output_padding, bias);
             else
               return std::make_shared<L>(in, out, kernel, options, output_padding, bias);
           }),
           arg("in_channels"), arg("out_channels"), arg("kernel"), arg("stride") = py::tuple(),
           arg("padding") = py::tuple(), arg("output_padding") = py::tuple(), arg("dilation") = py::tuple(),
           arg("groups") = 1, arg("bias") = true);
  weight_and_bias(type);
}

template <class L>
void pool(py::module_& m, const char* name, const char* doc) {
  layer<L>(m, name, doc)
      .def(py::init([](const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation,
                       bool ceil_mode, bool count_include_pad) {
             return std::make_shared<L>(PoolOptions{kernel, stride, padding, dilation, ceil_mode, count_include_pad});
           }),
           arg("kernel"), arg("stride") = py::tuple(), arg("padding") = py::tuple(), arg("dilation") = py::tuple(),
           arg("ceil_mode") = false, arg("count_include_pad") = true);
}

template <class L>
void bins(py::module_& m, const char* name) {
  layer<L>(m, name, "As many bins as asked for, whatever the size of x.").def(py::init<const Dims&>(), arg("size"));
}

template <class L>
void batch_norm(py::module_& m, const char* name) {
  auto type =
      layer<L>(m, name, "Normalises every channel over the batch while training, by running averages in evaluation.");
  type.def(py::init<int64_t, double, double, bool>(), arg("channels"), arg("eps") = 1e-5, arg("momentum") = 0.1,
           arg("affine") = true);
  weight_and_bias(type);
  parameter<Class<L>, L>(type, "running_mean", &L::running_mean);
  parameter<Class<L>, L>(type, "running_var", &L::running_var);
}

void bind_norms(py::module_& m) {
  batch_norm<nn::BatchNorm1d>(m, "BatchNorm1d");
  batch_norm<nn::BatchNorm2d>(m, "BatchNorm2d");
  auto layer_norm = layer<nn::LayerNorm>(m, "LayerNorm", "Layer norm over trailing axes of the given sizes.");
  layer_norm.def(py::init<const Dims&, double, bool>(), arg("shape"), arg("eps") = 1e-5, arg("affine") = true);
  weight_and_bias(layer_norm);
  auto rms = layer<nn::RMSNorm>(m, "RMSNorm", "x / √(mean of x² + eps) · weight over trailing axes.");
  rms.def(py::init<const Dims&, double>(), arg("shape"), arg("eps") = 1.1920929e-7);
  parameter<Class<nn::RMSNorm>, nn::RMSNorm>(rms, "weight", &nn::RMSNorm::weight);
  auto group = layer<nn::GroupNorm>(m, "GroupNorm", "Normalises every group of channels of a sample.");
  group.def(py::init<int64_t, int64_t, double, bool>(), arg("groups"), arg("channels"), arg("eps") = 1e-5,
            arg("affine") = true);
  weight_and_bias(group);
  auto instance = layer<nn::InstanceNorm2d>(m, "InstanceNorm2d", "Normalises every channel of every sample.");
  instance.def(py::init<int64_t, double, bool>(), arg("channels"), arg("eps") = 1e-5, arg("affine") = false);
  weight_and_bias(instance);
}

void bind_activations(py::module_& m) {
  plain<nn::ReLU>(m, "ReLU", "max(0, x).");
  plain<nn::ReLU6>(m, "ReLU6", "x between 0 and 6.");
  plain<nn::SELU>(m, "SELU", "The self-normalising exponential unit.");
  plain<nn::Softplus>(m, "Softplus", "log(1 + eˣ).");
  plain<nn::SiLU>(m, "SiLU", "x · sigmoid(x).");
  plain<nn::Sigmoid>(m, "Sigmoid", "1 / (1 + e⁻ˣ).");
  plain<nn::Tanh>(m, "Tanh", "The hyperbolic tangent.");
  plain<nn::HardSigmoid>(m, "HardSigmoid", "A sigmoid of straight lines.");
  plain<nn::Identity>(m, "Identity", "x.");
  layer<nn::LeakyReLU>(m, "LeakyReLU", "x where positive, else slope · x.")
      .def(py::init<double>(), arg("slope") = 0.01);
  layer<nn::ELU>(m, "ELU", "x where positive, else alpha · (eˣ - 1).").def(py::init<double>(), arg("alpha") = 1.0);
  layer<nn::GELU>(m, "GELU", "x·Φ(x), or its tanh form.").def(py::init<bool>(), arg("tanh_form") = false);
  layer<nn::Softmax>(m, "Softmax", "eˣ / Σ eˣ along an axis.").def(py::init<int64_t>(), arg("axis") = -1);
  layer<nn::LogSoftmax>(m, "LogSoftmax", "x - log Σ eˣ along an axis.").def(py::init<int64_t>(), arg("axis") = -1);
}

void bind_shapes(py::module_& m) {
  layer<nn::Flatten>(m, "Flatten", "Axes `first` to `last` made one.")
      .def(py::init<int64_t, int64_t>(), arg("first") = 1, arg("last") = -1);
  layer<nn::Unflatten>(m, "Unflatten", "One axis made several.")
      .def(py::init<int64_t, const Dims&>(), arg("axis"), arg("shape"));
  layer<nn::Reshape>(m, "Reshape", "Every sample in another shape.").def(py::init<const Dims&>(), arg("shape"));
  layer<nn::Squeeze>(m, "Squeeze", "Without an axis, which has size 1.").def(py::init<int64_t>(), arg("axis"));
  layer<nn::Unsqueeze>(m, "Unsqueeze", "With a new axis of size 1.").def(py::init<int64_t>(), arg("axis"));
  layer<nn::Permute>(m, "Permute", "Axis i of the result is axis axes[i] of x.")
      .def(py::init<const Dims&>(), arg("axes"));
  layer<nn::Pad>(m, "Pad", "Entries of `value` in front of, and behind, each of the last axes.")
      .def(py::init<const Dims&, const Dims&, double>(), arg("before"), arg("after"), arg("value") = 0.0);
}

}  // namespace

void bind_layers(py::module_& m) {
  auto linear = layer<nn::Linear>(m, "Linear", "x [..., in] to [..., out]: x·weightᵀ + bias.");
  linear.def(py::init<int64_t, int64_t, bool>(), arg("in_features"), arg("out_features"), arg("bias") = true);
  weight_and_bias(linear);
  auto embedding = layer<nn::Embedding>(m, "Embedding", "Indices of any shape to rows of weight [count, width].");
  embedding.def(py::init<int64_t, int64_t, int64_t>(), arg("count"), arg("width"), arg("padding") = -1);
  parameter<Class<nn::Embedding>, nn::Embedding>(embedding, "weight", &nn::Embedding::weight);
  layer<nn::Dropout>(m, "Dropout", "While training, sets each element to 0 with probability p and scales the others.")
      .def(py::init<double>(), arg("p") = 0.5);
  convolution<nn::Conv1d, true>(m, "Conv1d", "x [n, in, l] to [n, out, l'].");
  convolution<nn::Conv2d, false>(m, "Conv2d", "x [n, in, h, w] to [n, out, h', w'].");
  transposed<nn::ConvTranspose1d, true>(m, "ConvTranspose1d",
                                        "x [n, in, l] to [n, out, l'], where Conv1d would go back.");
  transposed<nn::ConvTranspose2d, false>(m, "ConvTranspose2d",
                                         "x [n, in, h, w] to [n, out, h', w'], where Conv2d would go back.");
  pool<nn::MaxPool1d>(m, "MaxPool1d", "Windows to their largest element.");
  pool<nn::MaxPool2d>(m, "MaxPool2d", "Windows to their largest element.");
  pool<nn::AvgPool1d>(m, "AvgPool1d", "Windows to their mean.");
  pool<nn::AvgPool2d>(m, "AvgPool2d", "Windows to their mean.");
  bins<nn::AdaptiveAvgPool1d>(m, "AdaptiveAvgPool1d");
  bins<nn::AdaptiveAvgPool2d>(m, "AdaptiveAvgPool2d");
  bins<nn::AdaptiveMaxPool1d>(m, "AdaptiveMaxPool1d");
  bins<nn::AdaptiveMaxPool2d>(m, "AdaptiveMaxPool2d");
  plain<nn::GlobalAvgPool>(m, "GlobalAvgPool", "The mean of every channel, to [n, c].");
  plain<nn::GlobalMaxPool>(m, "GlobalMaxPool", "The largest element of every channel, to [n, c].");
  bind_norms(m);
  bind_activations(m);
  bind_shapes(m);
}

}  // namespace ingot::python
