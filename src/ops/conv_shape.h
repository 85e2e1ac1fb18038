// The geometry of convolutions: what their ops have in common.
#pragma once
#include "ingot/ops/op.h"
#include "ingot/ops/options.h"
#include "kernels/conv.h"

namespace ingot {

/// Attribute `name` as one number per spatial axis; empty means `fallback`.
Dims per_axis(const Call& call, const char* name, int spatial, int64_t fallback, int64_t least);

/// The attributes of ConvOptions.
ConvOptions conv_options_of(const Call& call);

/// The number of groups, in a range that can be multiplied.
int64_t groups_of(const Call& call);

/// [a, b, rest…] to [rest…].
Dims spatial_of(const Dims& shape);

/// [batch, channels] and the last `spatial` of three sizes.
Dims shape_of(int64_t batch, int64_t channels, const int64_t* sizes, int spatial);

/// The geometry of a convolution of an input with the given channels and sizes; checks everything.
kernels::ConvShape conv_geometry(const Call& call, int64_t batch, int64_t in_channels, const Dims& size,
                                 int64_t out_channels, const Dims& kernel);

/// Fails unless input i is [a, b] with so many spatial axes, or a bias of so many channels (or absent).
void require_spatial(const Call& call, int i, int spatial);
void require_bias(const Call& call, int i, int64_t channels);

/// y = conv(x, w[, bias]) with `spatial` axes: checks the inputs of a call that begins with these three.
kernels::ConvShape checked_forward_shape(const Call& call, int spatial);
/// The same for a call that was checked before.
kernels::ConvShape forward_shape(const Call& call);

/// Rough nanoseconds, at about 40 GFLOP/s.
double flop_cost(const kernels::ConvShape& s);

}  // namespace ingot
