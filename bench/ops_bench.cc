// Element-wise ops, reductions, softmax, norm, convolution and pooling against libtorch with destinations given.
#include <ATen/ATen.h>

#include <string>

#include "harness.h"
#include "ingot/ingot.h"
#include "ingot/ops/plumbing.h"

namespace {

using namespace ingot;

// The same memory as a libtorch tensor.
at::Tensor torch_view(const Tensor& t) {
  return at::from_blob(t.raw(), at::IntArrayRef(t.shape().begin(), static_cast<size_t>(t.rank())),
                       t.dtype() == kI64 ? at::kLong : at::kFloat);
}

struct Pair {
  Tensor ours;
  at::Tensor theirs;
  explicit Pair(const Dims& shape, int64_t seed = 0)
      : ours(seed == 0 ? Tensor::empty(shape) : uniform(shape, seed, -3, 3)), theirs(torch_view(ours)) {
    if (seed == 0) theirs = at::empty(theirs.sizes());  // results have memory of their own
  }
};

void elementwise(bench::Suite& s) {
  const Dims million{1 << 20};
  const Pair x(million, 1), y(million, 2), out(million), scalar({});
  at::Tensor o = out.theirs, r = scalar.theirs;
  s.compare("add", [&] { add_into(out.ours, x.ours, y.ours); },
            {{"libtorch", [&] { at::add_out(o, x.theirs, y.theirs); }}});
  s.compare("relu", [&] { relu_into(out.ours, x.ours); }, {{"libtorch", [&] { at::clamp_min_out(o, x.theirs, 0); }}});
  s.compare("exp", [&] { exp_into(out.ours, x.ours); }, {{"libtorch", [&] { at::exp_out(o, x.theirs); }}});
  s.compare("tanh", [&] { tanh_into(out.ours, x.ours); }, {{"libtorch", [&] { at::tanh_out(o, x.theirs); }}});
  s.compare("sigmoid", [&] { sigmoid_into(out.ours, x.ours); }, {{"libtorch", [&] { at::sigmoid_out(o, x.theirs); }}});
  s.compare("gelu_tanh", [&] { gelu_into(out.ours, x.ours); },
            {{"libtorch", [&] { at::gelu_out(o, x.theirs, "tanh"); }}});
  s.compare("gelu_erf", [&] { gelu_erf_into(out.ours, x.ours); },
            {{"libtorch", [&] { at::gelu_out(o, x.theirs, "none"); }}});
  s.compare("sum", [&] { sum_into(scalar.ours, x.ours); },
            {{"libtorch", [&] { at::sum_out(r, x.theirs, at::IntArrayRef{0}); }}});
  s.compare("max", [&] { max_into(scalar.ours, x.ours); }, {{"libtorch", [&] { at::max(x.theirs); }}});
  s.compare("amax", [&] { max_into(scalar.ours, x.ours); }, {{"libtorch", [&] { at::amax_out(r, x.theirs, {0}); }}});

  const Pair a({8}, 3), b({8}, 4), c({8});
  at::Tensor c8 = c.theirs;
  s.compare("add_8", [&] { add_into(c.ours, a.ours, b.ours); },
            {{"libtorch", [&] { at::add_out(c8, a.theirs, b.theirs); }}});

  // Eight ops one after the other, not fused: what the planner will have to beat.
  s.compare("chain8",
            [&] {
              multiply_into(out.ours, x.ours, y.ours);
              add_into(out.ours, out.ours, x.ours);
              relu_into(out.ours, out.ours);
              multiply_into(out.ours, out.ours, 0.5);
              add_into(out.ours, out.ours, 1.0);
              square_into(out.ours, out.ours);
              subtract_into(out.ours, out.ours, y.ours);
              abs_into(out.ours, out.ours);
            },
            {{"libtorch", [&] {
                at::mul_out(o, x.theirs, y.theirs);
                at::add_out(o, o, x.theirs);
                at::clamp_min_out(o, o, 0);
                o.mul_(0.5);
                o.add_(1.0);
                at::square_out(o, o);
                at::sub_out(o, o, y.theirs);
                at::abs_out(o, o);
              }}});
}

void rows(bench::Suite& s) {
  const Pair x({1024, 1000}, 1), y({1024, 1000});
  at::Tensor ty = y.theirs;
  s.compare("softmax_1024x1000", [&] { softmax_into(y.ours, x.ours); },
            {{"libtorch", [&] { at::_softmax_out(ty, x.theirs, 1, false); }}});
  const Pair l({1024, 512}, 2), weight({512}, 3), bias({512}, 4), out({1024, 512});
  at::Tensor to = out.theirs, mean = at::empty({1024, 1}), rstd = at::empty({1024, 1});
  s.compare("layer_norm_1024x512", [&] { layer_norm_into(out.ours, l.ours, weight.ours, bias.ours); },
            {{"libtorch",
              [&] { at::native_layer_norm_out(to, mean, rstd, l.theirs, {512}, weight.theirs, bias.theirs, 1e-5); }}});
}

void convolution(bench::Suite& s, const std::string& label, const Dims& x_shape, const Dims& w_shape,
                 const ConvOptions& options) {
  const Pair x(x_shape, 1), w(w_shape, 2);
  const Tensor y = conv2d(x.ours, w.ours, {}, options);
  const Pair dy(y.shape(), 3), dx(x_shape), dw(w_shape);
  const std::vector<int64_t> padding{options.padding[0], options.padding[1]}, one{1, 1};
  s.compare(label + "_forward", [&] { conv2d_into(y, x.ours, w.ours, {}, options); },
            {{"libtorch", [&] { at::conv2d(x.theirs, w.theirs, {}, one, padding, one, options.groups); }}});
  const auto backward = [&](bool input, bool kernel) {
    at::convolution_backward(dy.theirs, x.theirs, w.theirs, at::nullopt, one, padding, one, false, {0, 0},
                             options.groups, {input, kernel, false});
  };
  s.compare(label + "_grad_input",
            [&] {
              conv_grad_input_into(dx.ours, dy.ours, w.ours, {x_shape[2], x_shape[3]}, options);
            },
            {{"libtorch", [&] { backward(true, false); }}});
  s.compare(label + "_grad_kernel",
            [&] {
              conv_grad_kernel_into(dw.ours, x.ours, dy.ours, {w_shape[2], w_shape[3]}, options);
            },
            {{"libtorch", [&] { backward(false, true); }}});
}

void pooling(bench::Suite& s) {
  const Pair x({64, 8, 26, 26}, 1), y({64, 8, 13, 13}), dy({64, 8, 13, 13}, 2), dx({64, 8, 26, 26});
  const Tensor indices = Tensor::empty({64, 8, 13, 13}, kI64);
  const PoolOptions options{.kernel = {2, 2}};
  at::Tensor ty = y.theirs, ti = at::empty({64, 8, 13, 13}, at::kLong), tdx = dx.theirs;
  const std::vector<int64_t> two{2, 2}, zero{0, 0}, one{1, 1};
  s.compare("max_pool_64x8x26x26", [&] { max_pool2d_into(y.ours, indices, x.ours, options); },
            {{"libtorch", [&] { at::max_pool2d_with_indices_out(ty, ti, x.theirs, two, two, zero, one, false); }}});
  s.compare("max_pool_64x8x26x26_grad",
            [&] {
              max_pool_grad_into(dx.ours, dy.ours, indices, {26, 26});
            },
            {{"libtorch", [&] {
                at::max_pool2d_with_indices_backward_out(tdx, dy.theirs, x.theirs, two, two, zero, one, false, ti);
              }}});
}

}  // namespace

int main(int argc, char** argv) {
  at::InferenceMode inference;
  bench::Suite suite("ops", argc, argv);
  for (const int n : suite.threads()) {
    suite.set_threads(n);
    elementwise(suite);
    rows(suite);
    convolution(suite, "conv2d_8x64x32x32_k3_128", {8, 64, 32, 32}, {128, 64, 3, 3}, {.padding = {1, 1}});
    convolution(suite, "conv2d_64x1x28x28_k3_8", {64, 1, 28, 28}, {8, 1, 3, 3}, {.padding = {0, 0}});
    convolution(suite, "conv2d_64x8x13x13_k3_16", {64, 8, 13, 13}, {16, 8, 3, 3}, {.padding = {0, 0}});
    convolution(suite, "conv2d_8x64x32x32_k3_depthwise", {8, 64, 32, 32}, {64, 1, 3, 3},
                {.padding = {1, 1}, .groups = 64});
    pooling(suite);
  }
}
