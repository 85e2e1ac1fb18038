#include "ops/conv_shape.h"

#include "ingot/base/error.h"
#include "ingot/ops/checks.h"
#include "kernels/cost.h"

namespace ingot {

using kernels::ConvShape;

constexpr int64_t kLargest = int64_t{1} << 31;  // of any size, stride or padding: keeps products far from overflow

Dims per_axis(const Call& call, const char* name, int spatial, int64_t fallback, int64_t least) {
  Dims values = call.ints(name);
  if (values.empty()) return Dims::filled(spatial, fallback);
  if (values.size() == 1) values = Dims::filled(spatial, values[0]);
  if (values.size() != spatial)
    fail(call,
         std::string(name) + " " + to_string(values) + " does not fit " + std::to_string(spatial) + " spatial axes",
         "give one number per spatial axis, or one for all");
  for (int64_t v : values)
    if (v < least || v > kLargest)
      fail_argument(call, std::string(name) + " " + to_string(values) + " is out of range",
                    "it must be at least " + std::to_string(least));
  return values;
}

ConvOptions conv_options_of(const Call& call) {
  return {call.ints("stride"), call.ints("padding"), call.ints("dilation"), call.integer("groups")};
}

int64_t groups_of(const Call& call) {
  const int64_t groups = call.integer("groups");
  if (groups < 1 || groups > kLargest)
    fail_argument(call, std::to_string(groups) + " groups", "groups must be at least 1");
  return groups;
}

Dims spatial_of(const Dims& shape) { return Dims(std::span<const int64_t>(shape.begin() + 2, shape.end())); }

ConvShape conv_geometry(const Call& call, int64_t batch, int64_t in_channels, const Dims& size, int64_t out_channels,
                        const Dims& kernel) {
  const int spatial = size.size();
  const Dims stride = per_axis(call, "stride", spatial, 1, 1), padding = per_axis(call, "padding", spatial, 0, 0),
             dilation = per_axis(call, "dilation", spatial, 1, 1);
  const int64_t groups = call.integer("groups");
  if (groups < 1 || in_channels < 1 || out_channels < 1 || in_channels % groups != 0 || out_channels % groups != 0)
    fail_argument(call,
                  std::to_string(groups) + " groups of " + std::to_string(in_channels) + " input and " +
                      std::to_string(out_channels) + " output channels",
                  "groups must be at least 1 and divide both");
  ConvShape s{.batch = batch,
              .in_channels = in_channels,
              .out_channels = out_channels,
              .groups = groups,
              .in = {1, 1, 1},
              .out = {1, 1, 1},
              .kernel = {1, 1, 1},
              .stride = {1, 1, 1},
              .pad = {0, 0, 0},
              .dilation = {1, 1, 1}};
  for (int a = 0, k = 3 - spatial; a < spatial; a++, k++) {
    const bool sized = size[a] >= 1 && size[a] <= kLargest && kernel[a] >= 1 && kernel[a] <= kLargest;
    const int64_t room = sized ? size[a] + 2 * padding[a] - dilation[a] * (kernel[a] - 1) - 1 : -1;
    if (room < 0)
      fail(call,
           "a kernel of " + to_string(kernel) + " does not fit an input of " + to_string(size) + " with padding " +
               to_string(padding),
           "pad more, dilate less or use a smaller kernel");
    s.in[k] = size[a], s.kernel[k] = kernel[a], s.pad[k] = padding[a], s.out[k] = room / stride[a] + 1;
    // A step that is never taken may be any size: kernels need not care.
    s.stride[k] = s.out[k] == 1 ? 1 : stride[a];
    s.dilation[k] = kernel[a] == 1 ? 1 : dilation[a];
  }
  return s;
}

Dims shape_of(int64_t batch, int64_t channels, const int64_t* sizes, int spatial) {
  Dims shape{batch, channels};
  for (int a = 0; a < spatial; a++) shape.push_back(sizes[3 - spatial + a]);
  return shape;
}

void require_bias(const Call& call, int i, int64_t channels) {
  if (!call.has(i)) return;
  require_same_type(call, 0, i);
  if (call.in(i).rank() != 1 || call.in(i).size(0) != channels)
    fail(call, "the bias does not fit", "it must be [" + std::to_string(channels) + "], one number per output channel");
}

void require_spatial(const Call& call, int i, int spatial) {
  require_rank(call, i, spatial + 2,
               spatial == 1   ? "[a, b, length]"
               : spatial == 2 ? "[a, b, height, width]"
                              : "[a, b, depth, height, width]");
}

ConvShape forward_shape(const Call& call) {
  const Tensor &x = call.in(0), &w = call.in(1);
  return conv_geometry(call, x.size(0), x.size(1), spatial_of(x.shape()), w.size(0), spatial_of(w.shape()));
}

ConvShape checked_forward_shape(const Call& call, int spatial) {
  require_type(call, call.in(0).dtype());
  require_same_type(call, 0, 1);
  require_spatial(call, 0, spatial);
  require_spatial(call, 1, spatial);
  const ConvShape s = forward_shape(call);
  if (call.in(1).size(1) * s.groups != s.in_channels)
    fail_argument(call,
                  "weights for " + std::to_string(call.in(1).size(1)) + " channels per group, input with " +
                      std::to_string(s.in_channels) + " in " + std::to_string(s.groups) + " groups",
                  "weights must be [out, in / groups, kernel…]");
  require_bias(call, 2, s.out_channels);
  return s;
}

double flop_cost(const ConvShape& s) {
  const int64_t in_channels = s.in_channels / s.groups;
  double macs = static_cast<double>(s.batch) * static_cast<double>(s.out_channels) * static_cast<double>(in_channels);
  for (int a = 0; a < 3; a++) macs *= static_cast<double>(s.out[a]) * static_cast<double>(s.kernel[a]);
  return 2 * macs / cost::kColdFlops;
}

}  // namespace ingot
