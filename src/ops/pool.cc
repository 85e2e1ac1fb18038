// Pooling by sliding windows, and by bins that divide an input of any size (adaptive): the largest element, or the mean.
#include "ingot/ops/checks.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "ops/define.h"
#include "ops/pool_shape.h"
#include "ops/rules.h"

namespace ingot {
namespace {

using namespace pool;

template <int kSpatial>
void infer_max(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  const PoolShape s = input_windows(call);
  out.add(call.in(0).dtype(), with_spatial(call.in(0), s.out));
  out.add(kI64, with_spatial(call.in(0), s.out));
}
template <int kSpatial>
void infer_avg(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  if (!call.ints("dilation").empty())
    for (int64_t d : call.ints("dilation"))
      if (d != 1)
        fail_argument(call, "dilation " + to_string(call.ints("dilation")), "average pooling has no dilation");
  out.add(call.in(0).dtype(), with_spatial(call.in(0), input_windows(call).out));
}
void run_max(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::max_pool(input_windows(call), in[0], to[0], as_indices(to[1]), team);
  });
}
void run_avg(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::avg_pool(input_windows(call), call.params<Pool>().count_pad, in[0], to[0], team);
  });
}
void gradient_avg(Gradient& g) { g.set(0, avg_pool_grad(g.dy(), spatial_of(g.in()), options_of(g.call()))); }
int64_t decode_plane(const Call& call) { return element_count(call.ints("size")); }

template <int kSpatial, bool kDilated>
void sample_windows(Samples& s) {
  for (const Case& c : cases(kSpatial, kDilated)) {
    Attrs attrs;
    c.options.put(attrs);
    s.add({s.real(c.x)}, attrs);
  }
}

template <int kSpatial>
void infer_adaptive(const Call& call, Specs& out) {
  require_planes(call, kSpatial);
  require_spatial_attr(call, "size");
  input_bins(call);
  out.add(call.in(0).dtype(), with_spatial(call.in(0), input_bins(call).out));
}
template <int kSpatial>
void infer_adaptive_max(const Call& call, Specs& out) {
  infer_adaptive<kSpatial>(call, out);
  out.add(kI64, out.of[0].shape);
}

void run_adaptive_avg(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team,
              [&](auto** in, auto** to, void*) { kernels::adaptive_avg_pool(input_bins(call), in[0], to[0], team); });
}
void run_adaptive_max(const Call& call, const Tensor* out, void* scratch, const Team& team) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    kernels::adaptive_max_pool(input_bins(call), in[0], to[0], as_indices(to[1]), team);
  });
}

void gradient_adaptive_avg(Gradient& g) { g.set(0, adaptive_avg_pool_grad(g.dy(), spatial_of(g.in()))); }

template <int kSpatial>
void sample_bins(Samples& s) {
  const auto add = [&](const Dims& x, const Dims& size) { s.add({s.real(x)}, Attrs().set("size", size)); };
  if (kSpatial == 1) {
    add({1, 1, 1}, {1});
    add({2, 3, 10}, {4});
    add({0, 3, 10}, {4});
  } else {
    add({1, 1, 1, 1}, {1, 1});
    add({2, 3, 7, 9}, {3, 4});
    add({2, 3, 8, 8}, {1, 1});
    add({1, 2, 3, 2}, {5, 4});
    add({0, 2, 4, 4}, {2, 2});
  }
}

}  // namespace

INGOT_OP(max_pool1d) = {
    .name = "max_pool1d",
    .signature = "max_pool1d(x, options:PoolOptions) -> y, indices",
    .doc = "The largest element of each window of x [n, c, l], and its position (i64).",
    .family = "pool",
    .infer = infer_max<1>,
    .prepare = prepared<decode_input_windows>,
    .run = run_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_max(input_windows(call), false, call.in(0), out); },
    .simplify = pool_by_taps,
    .gradient = gradient_max,
    .samples = sample_windows<1, true>,
};

INGOT_OP(max_pool2d) = {
    .name = "max_pool2d",
    .signature = "max_pool2d(x, options:PoolOptions) -> y, indices",
    .doc = "The largest element of each window of x [n, c, h, w], and its position in the plane (i64).",
    .family = "pool",
    .infer = infer_max<2>,
    .prepare = prepared<decode_input_windows>,
    .run = run_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_max(input_windows(call), false, call.in(0), out); },
    .simplify = pool_by_taps,
    .gradient = gradient_max,
    .samples = sample_windows<2, true>,
};

INGOT_OP(max_pool_grad) = {
    .name = "max_pool_grad",
    .signature = "max_pool_grad(dy, indices, size:ints)",
    .doc = "Gradient of max pooling: each dy [n, c, …] added at its index in planes of `size`, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          if (call.in(1).dtype() != kI64 || !(call.in(1).shape() == call.in(0).shape()))
            fail(call, "the indices do not fit", "give the i64 indices that max pooling returned");
          require_spatial_attr(call, "size");
          Dims shape{call.in(0).size(0), call.in(0).size(1)};
          for (int64_t v : call.ints("size")) shape.push_back(v);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_plane>,
    .check = [](const Call& call) { require_index_range(call, 1, 0, call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const int64_t planes = planes_of(call.in(0)), in_size = call.params<int64_t>(),
                        out_size = element_count(spatial_of(call.in(0)));
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::max_pool_grad(planes, in_size, out_size, in[0], as_indices(in[1]), to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference =
        [](const Call& call, const Tensor* out) {
          const Tensor& dy = call.in(0);
          const Tensor sums = zeros({planes_of(dy), element_count(call.ints("size"))}, kF64);
          for_each_index(dy.shape(), [&](const Dims& i) {
            const int64_t target = *reinterpret_cast<const int64_t*>(element_at(call.in(1), i));
            sums.at<double>({i[0] * dy.size(1) + i[1], target}) += load_as_double(element_at(dy, i), dy.dtype());
          });
          const int64_t width = call.ints("size").back();
          for_each_index(sums.shape(), [&](const Dims& i) {
            store_from_double(at(out[0], i[0], i[1] / width, i[1] % width), out[0].dtype(), sums.at<double>(i));
          });
        },
    .gradient =
        [](Gradient& g) {
          const Tensor& indices = g.in(1);
          if (!g.wants(0)) return;
          const auto flat = [](const Tensor& t) { return flatten(contiguous(t), 2); };
          const Tensor picked = gather(flat(g.dy()), flat(indices), 2);
          g.set(0, reshape(picked, g.in(0).shape()));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1, 1}), s.indices({1, 1, 1}, 0, 3)}, Attrs().set("size", Dims{3}));
          s.add({s.real({2, 3, 2, 4}), s.indices({2, 3, 2, 4}, 0, 40)}, Attrs().set("size", Dims{5, 8}));
          s.add({s.real({2, 0, 2, 4}), s.indices({2, 0, 2, 4}, 0, 40)}, Attrs().set("size", Dims{5, 8}));
        },
};

INGOT_OP(avg_pool1d) = {
    .name = "avg_pool1d",
    .signature = "avg_pool1d(x, options:PoolOptions)",
    .doc = "The mean of each window of x [n, c, l].",
    .family = "pool",
    .infer = infer_avg<1>,
    .prepare = prepared<decode_input_windows>,
    .run = run_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_windows(call), false, call.in(0), out[0]); },
    .gradient = gradient_avg,
    .samples = sample_windows<1, false>,
};

INGOT_OP(avg_pool2d) = {
    .name = "avg_pool2d",
    .signature = "avg_pool2d(x, options:PoolOptions)",
    .doc = "The mean of each window of x [n, c, h, w].",
    .family = "pool",
    .infer = infer_avg<2>,
    .prepare = prepared<decode_input_windows>,
    .run = run_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_windows(call), false, call.in(0), out[0]); },
    .gradient = gradient_avg,
    .samples = sample_windows<2, false>,
};

INGOT_OP(avg_pool_grad) = {
    .name = "avg_pool_grad",
    .signature = "avg_pool_grad(dy, size:ints, options:PoolOptions)",
    .doc = "Gradient of average pooling: dy [n, c, …] spread over the windows of an input of `size`, to [n, c, size…].",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          const PoolShape s = size_windows(call);
          require_forward_result(call, s);
          out.add(call.in(0).dtype(), with_spatial(call.in(0), s.in));
        },
    .prepare = prepared<decode_size_windows>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::avg_pool_grad(size_windows(call), call.params<Pool>().count_pad, in[0], to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg_grad(call, size_windows(call), false, call.in(0), out[0]); },
    .gradient =
        [](Gradient& g) {
          const PoolOptions o = options_of(g.call());
          g.set(0, g.dy().rank() == 3 ? avg_pool1d(g.dy(), o) : avg_pool2d(g.dy(), o));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& dy, const Dims& size, const PoolOptions& o) {
            Attrs attrs;
            o.put(attrs.set("size", size));
            s.add({s.real(dy)}, attrs);
          };
          add({1, 1, 1}, {1}, {.kernel = {1}});
          add({2, 3, 4}, {9}, {.kernel = {2}});
          add({1, 2, 4, 4}, {7, 8}, {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}});
          add({1, 2, 4, 4}, {7, 8},
              {.kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false});
          add({0, 2, 2, 2}, {4, 4}, {.kernel = {2, 2}});
        },
};

INGOT_OP(adaptive_avg_pool1d) = {
    .name = "adaptive_avg_pool1d",
    .signature = "adaptive_avg_pool1d(x, size:ints)",
    .doc = "The mean of each of `size` bins of x [n, c, l], to [n, c, size].",
    .family = "pool",
    .infer = infer_adaptive<1>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_bins(call), true, call.in(0), out[0]); },
    .gradient = gradient_adaptive_avg,
    .samples = sample_bins<1>,
};

INGOT_OP(adaptive_avg_pool2d) = {
    .name = "adaptive_avg_pool2d",
    .signature = "adaptive_avg_pool2d(x, size:ints)",
    .doc = "The mean of each of size[0] × size[1] bins of x [n, c, h, w]; {1, 1} is global average pooling.",
    .family = "pool",
    .infer = infer_adaptive<2>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_avg,
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg(call, input_bins(call), true, call.in(0), out[0]); },
    .gradient = gradient_adaptive_avg,
    .samples = sample_bins<2>,
};

INGOT_OP(adaptive_avg_pool_grad) = {
    .name = "adaptive_avg_pool_grad",
    .signature = "adaptive_avg_pool_grad(dy, size:ints)",
    .doc = "Gradient of adaptive average pooling: dy [n, c, …] spread over the bins of an input of `size`.",
    .family = "pool",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_spatial_attr(call, "size");
          out.add(call.in(0).dtype(), with_spatial(call.in(0), size_bins(call).in));
        },
    .prepare = prepared<decode_size_bins>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
            kernels::adaptive_avg_pool_grad(size_bins(call), in[0], to[0], team);
          });
        },
    .scratch = scratch_staged,
    .reference = [](const Call& call,
                    const Tensor* out) { reference_avg_grad(call, size_bins(call), true, call.in(0), out[0]); },
    .gradient =
        [](Gradient& g) {
          const Dims size = spatial_of(g.in());
          g.set(0, g.dy().rank() == 3 ? adaptive_avg_pool1d(g.dy(), size) : adaptive_avg_pool2d(g.dy(), size));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1, 1})}, Attrs().set("size", Dims{4}));
          s.add({s.real({2, 3, 3, 4})}, Attrs().set("size", Dims{7, 9}));
          s.add({s.real({0, 3, 3, 4})}, Attrs().set("size", Dims{7, 9}));
        },
};

INGOT_OP(adaptive_max_pool1d) = {
    .name = "adaptive_max_pool1d",
    .signature = "adaptive_max_pool1d(x, size:ints) -> y, indices",
    .doc = "The largest element of each of `size` bins of x [n, c, l], and its position (i64).",
    .family = "pool",
    .infer = infer_adaptive_max<1>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call, const Tensor* out) { reference_max(input_bins(call), true, call.in(0), out); },
    .gradient = gradient_max,
    .samples = sample_bins<1>,
};

INGOT_OP(adaptive_max_pool2d) = {
    .name = "adaptive_max_pool2d",
    .signature = "adaptive_max_pool2d(x, size:ints) -> y, indices",
    .doc =
        "The largest element of each of size[0] × size[1] bins of x [n, c, h, w], and its position in the plane (i64).",
    .family = "pool",
    .infer = infer_adaptive_max<2>,
    .prepare = prepared<decode_input_bins>,
    .run = run_adaptive_max,
    .scratch = scratch_staged,
    .reference = [](const Call& call, const Tensor* out) { reference_max(input_bins(call), true, call.in(0), out); },
    .gradient = gradient_max,
    .samples = sample_bins<2>,
};

}  // namespace ingot
