// Initial values, written in place into a tensor of any layout, f32 or f64. Random ones come from nn::set_seed()'s
// sequence: the same seed and the same calls give the same values.
//
//   nn::init::kaiming_normal(conv.weight);
//   nn::init::constant(conv.bias, 0);
#pragma once
#include "ingot/base/export.h"
#include "ingot/base/tensor.h"

namespace ingot::nn::init {

/// Which number of connections the variance is kept for: on the way forward, or back.
enum class Fan : uint8_t { kIn, kOut };

/// What follows the layer; `gain` says how much variance it takes away.
enum class After : uint8_t { kLinear, kSigmoid, kTanh, kRelu, kLeakyRelu, kSelu };
/// The factor for initial weights before an activation, as torch.nn.init.calculate_gain has it; `slope` is leaky
/// relu's.
INGOT_API double gain(After after, double slope = 0.01);

struct Fans {
  int64_t in, out;
};
/// Connections of a weight [out, in, kernel…]: in · kernel and out · kernel.
INGOT_API Fans fans(const Tensor& weight);

INGOT_API void constant(const Tensor& t, double value);
INGOT_API void uniform(const Tensor& t, double low = 0, double high = 1);
INGOT_API void normal(const Tensor& t, double mean = 0, double stddev = 1);
/// Normal numbers of which those outside [low, high] are drawn again.
INGOT_API void truncated_normal(const Tensor& t, double mean = 0, double stddev = 1, double low = -2, double high = 2);

/// Glorot and Bengio (2010): uniform in ±gain · √(6 / (in + out)), or normal with deviation gain · √(2 / (in + out)).
INGOT_API void xavier_uniform(const Tensor& weight, double gain = 1);
INGOT_API void xavier_normal(const Tensor& weight, double gain = 1);
/// He et al. (2015): uniform in ±gain · √(3 / fan), or normal with deviation gain / √fan.
INGOT_API void kaiming_uniform(const Tensor& weight, double gain = 1.4142135623730951, Fan fan = Fan::kIn);
INGOT_API void kaiming_normal(const Tensor& weight, double gain = 1.4142135623730951, Fan fan = Fan::kIn);
/// Saxe et al. (2013): rows, or columns if there are fewer of them, of [out, the rest] are orthogonal with length
/// `gain`; drawn from all such matrices alike.
INGOT_API void orthogonal(const Tensor& weight, double gain = 1);

}  // namespace ingot::nn::init
