// What layers of networks are made of: products, convolutions, norms, dropout.
#include <algorithm>

#include "exchange/onnx/binder.h"
#include "exchange/onnx/window.h"
#include "ingot/base/error.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/module.h"

namespace ingot::onnx {
namespace {

Dims numbers(Use& u, const char* attribute, int count, int64_t fallback) {
  const std::vector<int64_t> given = u.integers(attribute);
  if (given.empty()) return Dims::filled(count, fallback);
  if (static_cast<int>(given.size()) != count)
    u.fail(std::string(attribute) + " has " + std::to_string(given.size()) + " numbers", "give one per spatial axis");
  return given;
}

}  // namespace

Window::Window(Use& u, const Dims& spatial, const std::vector<int64_t>& kernel_shape) : kernel(kernel_shape) {
  const int n = spatial.size();
  if (n == 0 || kernel.size() != n) u.fail("the kernel does not fit the input", "it has one size per spatial axis");
  stride = numbers(u, "strides", n, 1);
  dilation = numbers(u, "dilations", n, 1);
  for (int a = 0; a < n; a++)
    if (stride[a] < 1 || dilation[a] < 1 || kernel[a] < 1)
      u.fail("a kernel, stride or dilation below 1", "windows move on");
  before = after = Dims::filled(n, 0);
  const std::string automatic = u.text("auto_pad", "NOTSET");
  const std::vector<int64_t> pads = u.integers("pads");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (int a = 0; a < n; a++) {
      const int64_t out = (spatial[a] + stride[a] - 1) / stride[a];
      const int64_t total =
          std::max<int64_t>(0, (out - 1) * stride[a] + (kernel[a] - 1) * dilation[a] + 1 - spatial[a]);
      before[a] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      after[a] = total - before[a];
    }
  } else if (automatic != "VALID" && !pads.empty()) {
    if (static_cast<int>(pads.size()) != 2 * n) u.fail("the pads do not fit", "give two numbers per spatial axis");
    for (int a = 0; a < n; a++) {
      before[a] = pads[static_cast<size_t>(a)], after[a] = pads[static_cast<size_t>(a) + static_cast<size_t>(n)];
      if (before[a] < 0 || after[a] < 0 || std::max(before[a], after[a]) > INT32_MAX)
        u.fail("negative pads", "windows only get more to see");
    }
  }
}

Dims spatial_of(Use& u, int i) {
  Dims spatial;
  if (u.rank(i) < 3) u.fail("too few axes", "the input is [batch, channels, …]");
  for (int a = 2; a < u.rank(i); a++) spatial.push_back(u.in(i).shape()[a]);
  return spatial;
}

Tensor padded(const Tensor& x, const Window& w, double value) {
  Dims before = w.before, after = w.after;
  for (int i = 0; i < 2; i++) before.insert(0, 0), after.insert(0, 0);
  return pad(x, before, after, value);
}

namespace {

Tensor convolution(Use& u, const Tensor& x, const Tensor& w, const Tensor& bias, const ConvOptions& options) {
  switch (x.rank()) {
    case 3: return conv1d(x, w, bias, options);
    case 4: return conv2d(x, w, bias, options);
    case 5: return conv3d(x, w, bias, options);
    default: u.fail("a convolution over so many axes", "one to three spatial axes are supported");
  }
}

void conv_op(Use& u) {
  const Dims spatial = spatial_of(u);
  std::vector<int64_t> kernel;
  kernel.reserve(static_cast<size_t>(u.rank(1)));
  for (int a = 2; a < u.rank(1); a++) kernel.push_back(u.in(1).shape()[a]);
  const Window w(u, spatial, kernel);
  ConvOptions options{.stride = w.stride, .padding = w.before, .dilation = w.dilation, .groups = u.integer("group", 1)};
  Tensor x = u.in();
  if (!w.symmetric()) {
    x = padded(x, w, 0);
    options.padding = Dims::filled(spatial.size(), 0);
  }
  u.out(convolution(u, x, u.in(1), u.optional(2), options));
}

// x with stride - 1 zeros between the elements of every spatial axis.
Tensor spread(Tensor x, const Dims& stride) {
  for (int i = 0; i < stride.size(); i++) {
    const int a = 2 + i;
    const int64_t s = stride[i], n = x.shape()[a];
    if (s == 1 || n == 0) continue;
    Dims apart = x.shape(), merged = x.shape();
    apart.insert(a + 1, 1);
    merged[a] = n * s;
    Dims none = Dims::filled(x.rank() + 1, 0), behind = none;
    behind[a + 1] = s - 1;
    x = slice(reshaped(pad(reshaped(x, apart), none, behind), merged), a, 0, (n - 1) * s + 1);
  }
  return x;
}

// The transposed convolution in three axes, as a convolution with the kernel turned around.
Tensor conv_transpose3d(const Tensor& x, const Tensor& w, const ConvOptions& o, const Dims& output_padding) {
  const int64_t in = w.shape()[0], out = w.shape()[1], groups = o.groups;
  Dims split{groups, in / groups, out}, joined{groups * out, in / groups};
  for (int a = 2; a < 5; a++) split.push_back(w.shape()[a]), joined.push_back(w.shape()[a]);
  Tensor turned = reshaped(permute(reshaped(w, split), {0, 2, 1, 3, 4, 5}), joined);
  Dims before = Dims::filled(5, 0), after = before;
  for (int a = 2; a < 5; a++) {
    turned = slice(turned, a, -1, -w.shape()[a] - 1, -1);
    before[a] = after[a] = o.dilation[a - 2] * (w.shape()[a] - 1);
    after[a] += output_padding[a - 2];
  }
  return conv3d(pad(spread(x, o.stride), before, after), contiguous(turned), {},
                {.dilation = o.dilation, .groups = groups});
}

void conv_transpose_op(Use& u) {
  const Dims spatial = spatial_of(u);
  const int n = spatial.size();
  std::vector<int64_t> kernel;
  kernel.reserve(static_cast<size_t>(u.rank(1)));
  for (int a = 2; a < u.rank(1); a++) kernel.push_back(u.in(1).shape()[a]);
  Window w(u, spatial, kernel);
  const Dims extra = numbers(u, "output_padding", n, 0);
  const std::vector<int64_t> wanted = u.integers("output_shape");
  const std::string automatic = u.text("auto_pad", "NOTSET");
  const bool same = automatic.starts_with("SAME");
  if (!wanted.empty() && wanted.size() != static_cast<size_t>(n) && wanted.size() != static_cast<size_t>(n) + 2)
    u.fail("output_shape does not fit", "give one size per spatial axis");
  if (!wanted.empty() || same)
    for (int a = 0; a < n; a++) {
      const int64_t full = w.stride[a] * (spatial[a] - 1) + extra[a] + (w.kernel[a] - 1) * w.dilation[a] + 1;
      const int64_t size =
          wanted.empty() ? spatial[a] * w.stride[a] : wanted[wanted.size() - static_cast<size_t>(n - a)];
      const int64_t total = full - size;
      // What is missing is added at the end.
      w.before[a] = total < 0 ? 0 : automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[a] = total - w.before[a];
    }
  ConvOptions options{.stride = w.stride, .dilation = w.dilation, .groups = u.integer("group", 1)};
  bool plain = n < 3 && w.symmetric();
  for (int a = 0; a < n; a++) plain &= w.before[a] >= 0 && extra[a] < std::max(w.stride[a], w.dilation[a]);
  const Tensor bias = u.optional(2);
  const auto made = [&](const Tensor& with_bias, const Dims& more) {
    if (n == 1) return conv_transpose1d(u.in(), u.in(1), with_bias, options, more);
    if (n == 2) return conv_transpose2d(u.in(), u.in(1), with_bias, options, more);
    if (n == 3) return conv_transpose3d(u.in(), u.in(1), options, more);
    u.fail("a convolution over so many axes", "one to three spatial axes are supported");
  };
  if (plain) {
    options.padding = w.before;
    return u.out(made(bias, extra));
  }
  // The whole result, then what the padding takes away (or, negative, adds), then the bias.
  Tensor y = made({}, n == 3 ? extra : Dims::filled(n, 0));
  Dims before = Dims::filled(n + 2, 0), after = before;
  for (int a = 0; a < n; a++) {
    const int64_t cut = w.after[a] - (n == 3 ? 0 : extra[a]);
    y = slice(y, a + 2, std::max<int64_t>(w.before[a], 0), y.shape()[a + 2] - std::max<int64_t>(cut, 0));
    before[a + 2] = std::max<int64_t>(-w.before[a], 0), after[a + 2] = std::max<int64_t>(-cut, 0);
  }
  y = pad(y, before, after);
  if (bias.defined()) {
    Dims per_channel = Dims::filled(n + 2, 1);
    per_channel[1] = bias.numel();
    y = add(y, reshaped(bias, per_channel));
  }
  u.out(y);
}

// Products of integers are exact in f64.
Tensor product(const Tensor& a, const Tensor& b) {
  if (!is_float(a.dtype())) return product(as(a, kF64), as(b, kF64));
  if (a.rank() == 1 && b.rank() == 1) return dot(a, b);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), {-2});
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, -1)), {-1});
  return matmul(a, b);
}

void gemm_op(Use& u) {
  const bool turn_a = u.integer("transA", 0) != 0, turn_b = u.integer("transB", 0) != 0;
  const double alpha = u.real("alpha", 1), beta = u.real("beta", 1);
  if (u.rank(0) != 2 || u.rank(1) != 2) u.fail("not two matrices", "the op multiplies matrices");
  const Tensor a = turn_a ? transpose(u.in(0)) : u.in(0);
  const Tensor bias = u.optional(2);
  const bool real = is_float(a.dtype());
  if (turn_b && real && alpha == 1 && beta == 1 && bias.defined() && bias.rank() == 1 &&
      bias.numel() == u.in(1).shape()[0])
    return u.out(linear(a, u.in(1), bias));
  if (turn_b && real && alpha == 1 && !bias.defined()) return u.out(linear(a, u.in(1)));
  Tensor y = product(a, turn_b ? transpose(u.in(1)) : u.in(1));
  if (alpha != 1) y = multiply(y, alpha);
  if (bias.defined() && beta != 0) y = add(y, as(beta == 1 ? bias : multiply(as(bias, y.dtype()), beta), y.dtype()));
  u.out(y);
}

// running ← momentum · running + (1 - momentum) · now.
Tensor followed(const Tensor& running, const Tensor& now, double momentum) {
  return add(multiply(running, momentum), multiply(now, 1 - momentum));
}

void batch_norm_op(Use& u) {
  const Tensor& x = u.in();
  const DType type = x.dtype();
  if (u.integer("spatial", 1) == 0) u.fail("statistics for every place", "only those for every channel are supported");
  const double eps = u.real("epsilon", 1e-5), momentum = u.real("momentum", 0.9);
  const Tensor weight = as(u.in(1), type), bias = as(u.in(2), type), mean = as(u.in(3), type),
               variance = as(u.in(4), type);
  const BinderOptions& options = u.binder().options();
  const bool written = u.opset() >= 14 ? u.integer("training_mode", 0) != 0
                                       : u.opset() < 7 && u.integer("is_test", 0) == 0 && u.node().outputs.size() > 1;
  if (!(options.as_written ? written : options.training)) {
    u.out(batch_norm_inference(x, mean, variance, weight, bias, eps));
    if (u.wanted(1)) u.out(u.in(3), u.type(3)), u.out(u.in(4), u.type(4));
    return;
  }
  const int64_t n = x.numel() / std::max<int64_t>(weight.numel(), 1);
  if (!options.as_written && n < 2) u.fail("one element per channel has no variance", "train on larger batches");
  const BatchNormResult r = batch_norm(x, weight, bias, eps);
  u.out(r.y);
  const bool own = options.training && u.binder().is_weight(u.in(3)) && u.binder().is_weight(u.in(4));
  // As Ingot's layer and PyTorch do it, with the unbiased variance.
  const double share = 1 - momentum, count = static_cast<double>(n), unbiased = own ? count / (count - 1) : 1;
  if (u.wanted(1) || u.wanted(2)) {
    u.out(followed(mean, r.mean, momentum), u.type(3));
    u.out(followed(variance, multiply(r.variance, unbiased), momentum), u.type(4));
  }
  if (!own) return;
  multiply_into(u.in(3), u.in(3), momentum), add_scaled_into(u.in(3), u.in(3), r.mean, share);
  multiply_into(u.in(4), u.in(4), momentum), add_scaled_into(u.in(4), u.in(4), r.variance, share * unbiased);
}

void instance_norm_op(Use& u) { u.out(instance_norm(u.in(), u.in(1), u.in(2), u.real("epsilon", 1e-5))); }

void layer_norm_op(Use& u) {
  const Tensor& x = u.in();
  const int axis = u.axis("axis", -1, x.rank());
  const double eps = u.real("epsilon", 1e-5);
  Dims tail, axes;
  for (int a = axis; a < x.rank(); a++) tail.push_back(x.shape()[a]), axes.push_back(a);
  const auto fits = [&](int i) { return !u.has(i) || u.in(i).shape() == tail; };
  if (fits(1) && fits(2)) {
    u.out(layer_norm(x, u.in(1), u.optional(2), tail.size(), eps));
  } else {
    const Tensor y = multiply(layer_norm(x, {}, {}, tail.size(), eps), u.in(1));
    u.out(u.has(2) ? add(y, u.in(2)) : y);
  }
  if (u.wanted(1)) u.out(mean(x, axes, true));
  if (u.wanted(2)) u.out(reciprocal(sqrt(var(x, axes, true, 0) + eps)));
}

// Every channel is divided by what the channels around it amount to.
void local_response_op(Use& u) {
  const Tensor& x = u.in();
  const int64_t size = u.integer("size", 1);
  if (x.rank() < 2 || size < 1 || size > 4096)
    u.fail("no channels, or a size of " + std::to_string(size),
           "the input is [batch, channels, …], and 1 to 4096 of them are summed");
  Dims before = Dims::filled(x.rank(), 0), after = before;
  before[1] = (size - 1) / 2, after[1] = size - 1 - before[1];
  const Tensor squares = pad(square(x), before, after);
  Tensor total;
  for (int64_t i = 0; i < size; i++) {
    const Tensor part = slice(squares, 1, i, i + x.shape()[1]);
    total = total.defined() ? add(total, part) : part;
  }
  const Tensor base = total * (u.real("alpha", 1e-4) / static_cast<double>(size)) + u.real("bias", 1);
  u.out(x / pow(base, u.real("beta", 0.75)));
}

void lp_normalization_op(Use& u) {
  const int axis = u.axis("axis", -1, u.rank());
  u.out(u.in() / norm(u.in(), {axis}, true, u.integer("p", 2)));
}

void dropout_op(Use& u) {
  const Tensor& x = u.in();
  const BinderOptions& options = u.binder().options();
  const bool written =
      u.opset() >= 12 ? u.has(2) && u.known_real(2) != 0 : u.opset() < 7 && u.integer("is_test", 0) == 0;
  const double ratio = u.opset() >= 12 ? (u.has(1) ? u.known_real(1) : 0.5) : u.real("ratio", 0.5);
  const auto kept = [&] { u.known_out(ones(x.shape(), kBool), Type::kBool); };
  if (ratio == 0 || !(options.as_written ? written : options.training)) {
    u.out(x);
    if (u.wanted(1)) kept();
    return;
  }
  const nn::RandomSource source = nn::next_random();
  const Tensor y = dropout(x, ratio, source.seed, source.stream);
  u.out(y);
  // The same numbers are drawn for it, whatever x is.
  if (u.wanted(1))
    u.out(greater(dropout(ones(x.shape(), x.dtype()), ratio, source.seed, source.stream), 0.0), Type::kBool);
}

}  // namespace

std::span<const Row> layer_rows() {
  static constexpr Row kRows[] = {
      {"Conv", 1, conv_op, "12"},
      {"ConvTranspose", 1, conv_transpose_op, "12"},
      {"Gemm", 1, gemm_op, "012"},
      {"MatMul", 1, [](Use& u) { u.out(product(u.in(0), u.in(1))); }, "01"},
      {"BatchNormalization", 1, batch_norm_op, "12DE"},
      {"InstanceNormalization", 1, instance_norm_op, "12"},
      {"LayerNormalization", 17, layer_norm_op, "12"},
      {"LRN", 1, local_response_op},
      {"LpNormalization", 1, lp_normalization_op},
      {"Dropout", 1, dropout_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
