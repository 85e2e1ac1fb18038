// Max pooling as plans run it where nobody reads positions: a window keeps which of its elements, its taps, is the largest.
#include "ingot/ops/checks.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"
#include "ops/pool_shape.h"
#include "ops/rules.h"

namespace ingot {
namespace {

using namespace pool;

constexpr int64_t kMostTaps = 256;  // a tap is a byte
void require_few_taps(const Call& call, const PoolShape& s) {
  if (s.kernel[0] > kMostTaps || s.kernel[1] > kMostTaps || s.kernel[0] * s.kernel[1] > kMostTaps)
    fail_argument(call, "windows of " + to_string(call.ints("kernel")),
                  "at most 256 elements; max_pool2d takes larger ones");
}
void infer_max_taps(const Call& call, Specs& out) {
  if (call.in(0).rank() != 3) require_planes(call, 2);
  require_type(call, call.in(0).dtype());
  const PoolShape s = input_windows(call);
  require_few_taps(call, s);
  const Dims shape = with_spatial(call.in(0), s.out);
  out.add(call.in(0).dtype(), shape);
  out.add(kU8, call.flag("with_taps") ? shape : Dims{0});
}
void run_max_taps(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  const Pool& p = call.params<Pool>();
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    uint8_t* taps = p.with_taps ? reinterpret_cast<uint8_t*>(to[1]) : nullptr;
    kernels::max_pool_taps(p.shape, in[0], to[0], taps, team, p.relu);
  });
}
// Calls f(plane, output row and column, row and column in the input, or -1 twice if the window has no such tap).
template <class F>
void for_each_tap(const PoolShape& s, const Tensor& taps, F f) {
  for_each_index({s.planes, s.out[0], s.out[1]}, [&](const Dims& o) {
    const int64_t tap = *reinterpret_cast<const uint8_t*>(at(taps, o[0], o[1], o[2]));
    const int64_t row = o[1] * s.stride[0] - s.pad[0] + tap / s.kernel[1] * s.dilation[0],
                  col = o[2] * s.stride[1] - s.pad[1] + tap % s.kernel[1] * s.dilation[1];
    const bool inside = tap < s.kernel[0] * s.kernel[1] && row >= 0 && row < s.in[0] && col >= 0 && col < s.in[1];
    f(o, inside ? row : -1, inside ? col : -1);
  });
}
void reference_max_taps(const Call& call, const Tensor* out) {
  const PoolShape s = input_windows(call);
  const Tensor y = zeros(out[0].shape(), out[0].dtype()), positions = zeros(out[0].shape(), kI64);
  const Tensor results[] = {y, positions};
  reference_max(s, false, call.in(0), results);
  for_each_index({s.planes, s.out[0], s.out[1]}, [&](const Dims& o) {
    const double v = value(y, o[0], o[1], o[2]);
    store_from_double(at(out[0], o[0], o[1], o[2]), out[0].dtype(), call.attrs.find(kRelu) != nullptr && v < 0 ? 0 : v);
    if (!call.flag("with_taps")) return;
    const int64_t place = *reinterpret_cast<const int64_t*>(at(positions, o[0], o[1], o[2]));
    const int64_t row = (place / s.in[1] - o[1] * s.stride[0] + s.pad[0]) / s.dilation[0],
                  col = (place % s.in[1] - o[2] * s.stride[1] + s.pad[1]) / s.dilation[1];
    *reinterpret_cast<uint8_t*>(at(out[1], o[0], o[1], o[2])) = static_cast<uint8_t>(row * s.kernel[1] + col);
  });
}

}  // namespace

INGOT_OP(max_pool_taps) = {
    .name = "max_pool_taps",
    .signature = "max_pool_taps(x, options:PoolOptions, with_taps:bool=true) -> y, taps",
    .doc =
        "The largest element of each window of x [n, c, l] or [n, c, h, w], and which of the window's elements it is "
        "(u8, "
        "row by row; empty without `with_taps`): what a plan makes of max_pool2d when nobody reads its positions.",
    .family = "pool",
    .plumbing = true,
    .infer = infer_max_taps,
    .prepare = prepared<decode_input_windows>,
    .run = run_max_taps,
    .scratch = scratch_staged,
    .takes_relu = true,
    .reference = reference_max_taps,
    .gradient =
        [](Gradient& g) {
          const PoolOptions o = options_of(g.call());
          const Tensor taps = g.call().flag("with_taps") ? g.out(1) : max_pool_taps(g.in(), o)[1];
          g.set(0, max_pool_taps_grad(g.dy(), taps, spatial_of(g.in()), o));
        },
    .samples =
        [](Samples& s) {
          for (int spatial = 1; spatial <= 2; spatial++)
            for (const Case& c : cases(spatial, true))
              for (const bool with_taps : {true, false}) {
                Attrs attrs;
                c.options.put(attrs);
                s.add({s.real(c.x)}, attrs.set("with_taps", with_taps));
              }
        },
};

INGOT_OP(max_pool_taps_grad) = {
    .name = "max_pool_taps_grad",
    .signature = "max_pool_taps_grad(dy, taps, size:ints, options:PoolOptions)",
    .doc = "Gradient of max_pool_taps: each dy [n, c, …] added where its tap is, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          const PoolShape s = size_windows(call);
          require_few_taps(call, s);
          require_forward_result(call, s);
          if (call.in(1).dtype() != kU8 || !(call.in(1).shape() == call.in(0).shape()))
            fail(call, "the taps do not fit", "give the taps (u8) that max_pool_taps returned");
          out.add(call.in(0).dtype(), with_spatial(call.in(0), s.in));
        },
    .prepare = prepared<decode_size_windows>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::max_pool_taps_grad(size_windows(call), in[0], reinterpret_cast<const uint8_t*>(in[1]), to[0],
                                        team);
          });
        },
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          const PoolShape s = size_windows(call);
          const Tensor sums = zeros({s.planes, s.in[0], s.in[1]}, kF64);
          for_each_tap(s, call.in(1), [&](const Dims& o, int64_t row, int64_t col) {
            if (row >= 0) sums.at<double>({o[0], row, col}) += value(call.in(0), o[0], o[1], o[2]);
          });
          for_each_index(sums.shape(), [&](const Dims& i) {
            store_from_double(at(out[0], i[0], i[1], i[2]), out[0].dtype(), sums.at<double>(i));
          });
        },
    .not_differentiable = "it is a plan's own form of max_pool_grad, which differentiates",
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& size, int64_t taps, const PoolOptions& o) {
            Attrs attrs;
            o.put(attrs.set("size", size));
            s.add({s.real(dy), s.indices(dy, 0, taps, kU8)}, attrs);
          };
          add({1, 1, 1}, {1}, 1, {.kernel = {1}});
          add({2, 3, 4}, {9}, 2, {.kernel = {2}});
          add({2, 3, 2, 11}, {5, 23}, 4, {.kernel = {2, 2}});
          add({2, 1, 2, 3}, {6, 9}, 9, {.kernel = {3, 3}});
          add({1, 2, 4, 4}, {7, 8}, 9, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
          add({0, 2, 2, 2}, {4, 4}, 4, {.kernel = {2, 2}});
        },
};

}  // namespace ingot
