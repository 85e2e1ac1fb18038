// im2col and col2im: the patches a convolution sees, laid out as columns, and their adjoint.
#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/conv.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::ConvShape;

constexpr int64_t kLargest = int64_t{1} << 31;

struct Windows {
  Dims kernel, stride, padding, dilation;
};

Windows windows_of(const Call& call) {
  Windows w{call.ints("kernel"), call.ints("stride"), call.ints("padding"), call.ints("dilation")};
  if (w.stride.empty()) w.stride = {1, 1};
  if (w.padding.empty()) w.padding = {0, 0};
  if (w.dilation.empty()) w.dilation = {1, 1};
  for (const Dims* d : {&w.kernel, &w.stride, &w.padding, &w.dilation}) {
    if (d->size() != 2)
      fail_argument(call, "kernel, stride, padding and dilation need two numbers", "give {height, width}");
    for (int64_t v : *d)
      if (v < (d == &w.padding ? 0 : 1) || v > kLargest)
        fail_argument(call, to_string(*d) + " is out of range", "sizes are positive, padding 0 or more");
  }
  return w;
}

ConvShape shape_of(const Call& call, int64_t batch, int64_t channels, int64_t height, int64_t width) {
  const Windows w = windows_of(call);
  ConvShape s{.batch = batch,
              .in_channels = channels,
              .out_channels = 1,
              .groups = 1,
              .in = {1, height, width},
              .out = {1, 1, 1},
              .kernel = {1, w.kernel[0], w.kernel[1]},
              .stride = {1, w.stride[0], w.stride[1]},
              .pad = {0, w.padding[0], w.padding[1]},
              .dilation = {1, w.dilation[0], w.dilation[1]}};
  for (int a = 1; a < 3; a++) {
    const bool sized = s.in[a] >= 1 && s.in[a] <= kLargest;
    const int64_t room = sized ? s.in[a] + 2 * s.pad[a] - s.dilation[a] * (s.kernel[a] - 1) - 1 : -1;
    if (room < 0)
      fail(call,
           "a kernel of " + to_string(w.kernel) + " does not fit an input of " + std::to_string(height) + " × " +
               std::to_string(width),
           "pad more or use a smaller kernel");
    s.out[a] = room / s.stride[a] + 1;
    if (s.out[a] == 1) s.stride[a] = 1;
    if (s.kernel[a] == 1) s.dilation[a] = 1;
  }
  return s;
}
ConvShape decode_im2col(const Call& call) {
  const Tensor& x = call.in(0);
  return shape_of(call, x.size(0), x.size(1), x.size(2), x.size(3));
}
ConvShape decode_col2im(const Call& call) {
  const Windows w = windows_of(call);
  const Dims& size = call.ints("size");
  return shape_of(call, call.in(0).size(0), call.in(0).size(1) / (w.kernel[0] * w.kernel[1]), size[0], size[1]);
}
ConvShape im2col_shape(const Call& call) { return decoded<decode_im2col>(call); }
ConvShape col2im_shape(const Call& call) { return decoded<decode_col2im>(call); }
Dims columns_shape(const ConvShape& s) {
  return {s.batch, s.in_channels * s.kernel[1] * s.kernel[2], s.out[1] * s.out[2]};
}

// f(index in x, index in columns) for every patch element that lies inside x.
template <class F>
void for_each_patch_element(const ConvShape& s, F f) {
  for_each_index({s.batch, s.in_channels, s.kernel[1], s.kernel[2], s.out[1], s.out[2]}, [&](const Dims& i) {
    const int64_t y = i[4] * s.stride[1] + i[2] * s.dilation[1] - s.pad[1],
                  x = i[5] * s.stride[2] + i[3] * s.dilation[2] - s.pad[2];
    if (y < 0 || y >= s.in[1] || x < 0 || x >= s.in[2]) return;
    f(Dims{i[0], i[1], y, x}, Dims{i[0], (i[1] * s.kernel[1] + i[2]) * s.kernel[2] + i[3], i[4] * s.out[2] + i[5]});
  });
}

Attrs window_attrs(const Dims& kernel, const Dims& stride, const Dims& padding, const Dims& dilation) {
  return Attrs().set("kernel", kernel).set("stride", stride).set("padding", padding).set("dilation", dilation);
}

}  // namespace

INGOT_OP(im2col) = {
    .name = "im2col",
    .signature = "im2col(x, kernel:ints, stride:ints={}, padding:ints={}, dilation:ints={})",
    .doc = "The patches of x [n, c, h, w] as columns [n, c·kh·kw, positions].",
    .family = "columns",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 4, "[batch, channels, height, width]");
          out.add(call.in(0).dtype(), columns_shape(im2col_shape(call)));
        },
    .prepare = prepared<decode_im2col>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team,
                      [&](auto** in, auto** to, void*) { kernels::im2col(im2col_shape(call), in[0], to[0], team); });
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .reference =
        [](const Call& call, const Tensor* out) {
          for_each_index(out[0].shape(),
                         [&](const Dims& i) { store_from_double(element_at(out[0], i), out[0].dtype(), 0); });
          for_each_patch_element(im2col_shape(call), [&](const Dims& from, const Dims& to) {
            store_from_double(element_at(out[0], to), out[0].dtype(),
                              load_as_double(element_at(call.in(0), from), out[0].dtype()));
          });
        },
    .gradient =
        [](Gradient& g) {
          const Call& c = g.call();
          g.set(0, col2im(g.dy(), {g.in().size(2), g.in().size(3)}, c.ints("kernel"), c.ints("stride"),
                          c.ints("padding"), c.ints("dilation")));
        },
    .samples =
        [](Samples& s) {
          s.add({s.real({1, 1, 1, 1})}, window_attrs({1, 1}, {}, {}, {}));
          s.add({s.real({2, 3, 5, 4})}, window_attrs({3, 2}, {}, {}, {}));
          s.add({s.real({1, 2, 6, 7})}, window_attrs({3, 3}, {2, 1}, {1, 2}, {1, 2}));
          s.add({s.real({0, 2, 4, 4})}, window_attrs({2, 2}, {}, {}, {}));
        },
};

INGOT_OP(col2im) = {
    .name = "col2im",
    .signature = "col2im(columns, size:ints, kernel:ints, stride:ints={}, padding:ints={}, dilation:ints={})",
    .doc = "Adds columns [n, c·kh·kw, positions] back to where im2col takes them from in [n, c, size…].",
    .family = "columns",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 3, "[batch, channels · kernel, positions]");
          if (call.ints("size").size() != 2)
            fail_argument(call, "size " + to_string(call.ints("size")), "give {height, width}");
          const ConvShape s = col2im_shape(call);
          if (!(columns_shape(s) == call.in(0).shape()))
            fail(call,
                 "columns " + to_string(call.in(0).shape()) + " do not fit, expected " + to_string(columns_shape(s)),
                 "size, kernel, stride, padding and dilation must be those of im2col");
          out.add(call.in(0).dtype(), {s.batch, s.in_channels, s.in[1], s.in[2]});
        },
    .prepare = prepared<decode_col2im>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team,
                      [&](auto** in, auto** to, void*) { kernels::col2im(col2im_shape(call), in[0], to[0], team); });
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .reference =
        [](const Call& call, const Tensor* out) {
          const Tensor sums = zeros(out[0].shape(), kF64);
          for_each_patch_element(col2im_shape(call), [&](const Dims& to, const Dims& from) {
            sums.at<double>(to) += load_as_double(element_at(call.in(0), from), call.in(0).dtype());
          });
          for_each_index(out[0].shape(), [&](const Dims& i) {
            store_from_double(element_at(out[0], i), out[0].dtype(), sums.at<double>(i));
          });
        },
    .gradient =
        [](Gradient& g) {
          const Call& c = g.call();
          g.set(0, im2col(g.dy(), c.ints("kernel"), c.ints("stride"), c.ints("padding"), c.ints("dilation")));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const Dims& columns, const Dims& size, const Attrs& windows) {
            Attrs attrs;
            attrs.set("size", size);
            for (int i = 0; i < windows.size(); i++) attrs.set(windows[i].name, windows[i].ints);
            s.add({s.real(columns)}, attrs);
          };
          add({1, 1, 1}, {1, 1}, window_attrs({1, 1}, {}, {}, {}));
          add({2, 18, 9}, {5, 4}, window_attrs({3, 2}, {}, {}, {}));
          add({1, 18, 21}, {6, 7}, window_attrs({3, 3}, {2, 1}, {1, 2}, {1, 2}));
          add({0, 8, 9}, {4, 4}, window_attrs({2, 2}, {}, {}, {}));
        },
};

}  // namespace ingot
