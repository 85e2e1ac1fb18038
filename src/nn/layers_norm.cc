// Normalisation.
#include "ingot/nn/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/checks.h"

namespace ingot::nn {
namespace {

// A layer's errors are its own: an op would only speak of weights that do not fit.
void require_channels(const Tensor& x, int64_t channels, int least_rank, const char* must) {
  if (x.rank() < least_rank || x.size(1) != channels)
    throw Error(ErrorKind::kShape, "the input is " + to_string(x.shape()) + " — it must be " + must + " with " +
                                       std::to_string(channels) + " channels");
}

void require_tail(const Tensor& x, const Dims& shape) {
  bool fits = x.rank() >= shape.size();
  for (int a = 1; fits && a <= shape.size(); a++) fits = x.size(-a) == shape[shape.size() - a];
  if (!fits)
    throw Error(ErrorKind::kShape,
                "the input is " + to_string(x.shape()) + " — its last axes must be " + to_string(shape));
}

// running ← (1 - momentum) · running + share · now. Both are stores: in a capture they keep their order, and a
// checkpoint, which computes the rest again, leaves them alone.
void follow(const Tensor& running, double momentum, const Tensor& now, double share) {
  multiply_into(running, running, 1 - momentum);
  add_scaled_into(running, running, now, share);
}

}  // namespace

BatchNorm::BatchNorm(int64_t channels, double eps, double momentum, bool affine) : eps_(eps), momentum_(momentum) {
  require_positive("BatchNorm", {channels});
  if (!(momentum >= 0 && momentum <= 1))
    throw Error(std::string("BatchNorm: momentum = ") + std::to_string(momentum) + " — it lies in 0 … 1");
  if (affine) weight = ones({channels}), bias = zeros({channels});
  running_mean = zeros({channels});
  running_var = ones({channels});
  num_batches_tracked = zeros({}, kI64);
}
void BatchNorm::parts(Parts& p) {
  p("weight", weight), p("bias", bias);
  p.buffer("running_mean", running_mean);
  p.buffer("running_var", running_var);
  p.buffer("num_batches_tracked", num_batches_tracked);
}
Tensor BatchNorm::forward(const Tensor& x) {
  check_rank(x);
  const int64_t channels = running_mean.numel();
  require_channels(x, channels, 2, "[batch, channels, …]");
  if (!training()) return batch_norm_inference(x, running_mean, running_var, weight, bias, eps_);
  const int64_t count = x.numel() / channels;
  if (count < 2)
    throw Error(ErrorKind::kShape, "one element per channel, " + to_string(x.shape()) +
                                       ", has no variance — train on larger batches, or call eval()");
  const auto [y, mean, variance] = batch_norm(x, weight, bias, eps_);
  const double n = static_cast<double>(count);
  follow(running_mean, momentum_, mean, momentum_);
  follow(running_var, momentum_, variance, momentum_ * n / (n - 1));  // the unbiased one
  add_into(num_batches_tracked, num_batches_tracked, 1.0);
  return y;
}
void BatchNorm1d::check_rank(const Tensor& x) const {
  if (x.rank() != 2 && x.rank() != 3)
    throw Error(ErrorKind::kShape, "the input is " + to_string(x.shape()) +
                                       " — it must be [batch, channels] or [batch, channels, length]");
}
void BatchNorm2d::check_rank(const Tensor& x) const {
  if (x.rank() != 4)
    throw Error(ErrorKind::kShape,
                "the input is " + to_string(x.shape()) + " — it must be [batch, channels, height, width]");
}

LayerNorm::LayerNorm(const Dims& shape, double eps, bool affine) : shape_(shape), eps_(eps) {
  for (const int64_t n : shape) require_positive("LayerNorm", {n});
  if (shape.empty()) throw Error("LayerNorm: no axes — give the sizes of the last ones");
  if (affine) weight = ones(shape), bias = zeros(shape);
}
Tensor LayerNorm::forward(const Tensor& x) {
  require_tail(x, shape_);
  return layer_norm(x, weight, bias, shape_.size(), eps_);
}

RMSNorm::RMSNorm(const Dims& shape, double eps) : shape_(shape), eps_(eps) {
  for (const int64_t n : shape) require_positive("RMSNorm", {n});
  if (shape.empty()) throw Error("RMSNorm: no axes — give the sizes of the last ones");
  weight = ones(shape);
}
Tensor RMSNorm::forward(const Tensor& x) {
  require_tail(x, shape_);
  return rms_norm(x, weight, shape_.size(), eps_);
}

GroupNorm::GroupNorm(int64_t groups, int64_t channels, double eps, bool affine)
    : groups_(groups), channels_(channels), eps_(eps) {
  require_positive("GroupNorm", {groups, channels});
  if (channels % groups != 0)
    throw Error(std::string("GroupNorm: ") + std::to_string(channels) + " channels do not divide into " +
                std::to_string(groups) + " groups");
  if (affine) weight = ones({channels}), bias = zeros({channels});
}
Tensor GroupNorm::forward(const Tensor& x) {
  require_channels(x, channels_, 2, "[batch, channels, …]");
  return group_norm(x, weight, bias, groups_, eps_);
}

InstanceNorm2d::InstanceNorm2d(int64_t channels, double eps, bool affine) : channels_(channels), eps_(eps) {
  require_positive("InstanceNorm2d", {channels});
  if (affine) weight = ones({channels}), bias = zeros({channels});
}
Tensor InstanceNorm2d::forward(const Tensor& x) {
  require_channels(x, channels_, 4, "[batch, channels, height, width]");
  return instance_norm(x, weight, bias, eps_);
}

}  // namespace ingot::nn
