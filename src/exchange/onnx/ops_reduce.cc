// Reductions, cumulative sums, softmax and their like, products over named axes.
#include <algorithm>
#include <cctype>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

// Axes are an attribute, or an input from opset 13 (sum) or 18 (the others) on. None means all, or nothing at all.
struct Reduction {
  Tensor x;
  Dims axes;
  bool keepdim, nothing = false;
  explicit Reduction(Use& u) : x(u.in()), keepdim(u.integer("keepdims", 1) != 0) {
    const std::vector<int64_t> given = u.integers("axes", 1);
    nothing = given.empty() && u.integer("noop_with_empty_axes", 0) != 0;
    for (const int64_t a : given) axes.push_back(u.axis(a, x.rank()));
    if (given.empty())
      for (int a = 0; a < x.rank(); a++) axes.push_back(a);
    if (x.rank() == 0 && !nothing) x = reshaped(x, {1}), axes = {0}, keepdim = false;
  }
};

using Fold = Tensor (*)(const Tensor&, const Dims&, bool);
template <Fold fold>
void reduce(Use& u) {
  const Reduction r(u);
  u.out(r.nothing ? r.x : fold(r.x, r.axes, r.keepdim));
}
Tensor real(const Tensor& x) { return is_float(x.dtype()) ? x : as(x, kF64); }
Tensor mean_of(const Tensor& x, const Dims& axes, bool keepdim) { return mean(real(x), axes, keepdim); }
Tensor norm1(const Tensor& x, const Dims& axes, bool keepdim) { return sum(abs(x), axes, keepdim); }
Tensor norm2(const Tensor& x, const Dims& axes, bool keepdim) { return norm(real(x), axes, keepdim, 2); }
Tensor squares(const Tensor& x, const Dims& axes, bool keepdim) { return sum(square(x), axes, keepdim); }
Tensor log_of_sum(const Tensor& x, const Dims& axes, bool keepdim) { return log(real(sum(x, axes, keepdim))); }
Tensor log_sum_exp(const Tensor& x, const Dims& axes, bool keepdim) { return logsumexp(real(x), axes, keepdim); }

template <Tensor (*arg)(const Tensor&, const Dims&, bool)>
void arg_op(Use& u) {
  const int axis = u.axis("axis", 0, u.rank());
  const bool keepdim = u.integer("keepdims", 1) != 0, last = u.integer("select_last_index", 0) != 0;
  if (!last) return u.out(arg(u.in(), {axis}, keepdim), Type::kInt64);
  const int64_t n = u.in().shape()[axis];
  const Tensor backwards = slice(u.in(), axis, n - 1, -n - 1, -1);
  u.out(add(negative(arg(backwards, {axis}, keepdim)), static_cast<double>(n - 1)), Type::kInt64);
}

void cumsum_op(Use& u) {
  const int axis = u.axis(saturate<int64_t>(u.known_real(1)), u.rank());
  const bool reverse = u.integer("reverse", 0) != 0;
  Tensor x = u.in();
  if (const int64_t n = x.shape()[axis]; u.integer("exclusive", 0) != 0 && n > 0) {  // one place on, behind a 0
    Dims before = Dims::filled(x.rank(), 0), after = before;
    (reverse ? after : before)[axis] = 1;
    x = pad(slice(x, axis, reverse ? 1 : 0, reverse ? n : n - 1), before, after);
  }
  u.out(cumsum(x, axis, reverse));
}

// Before opset 13 the axes from `axis` on were one.
template <Tensor (*f)(const Tensor&, int64_t)>
void softmax_like(Use& u) {
  const Tensor& x = u.in();
  if (u.opset() >= 13) return u.out(f(x, u.integer("axis", -1)));
  const int axis = u.axis("axis", 1, x.rank() == 1 ? 2 : x.rank());
  int64_t rows = 1, columns = 1;
  for (int a = 0; a < x.rank(); a++) (a < axis ? rows : columns) *= x.shape()[a];
  u.out(reshaped(f(reshaped(x, {rows, columns}), 1), x.shape()));
}
// 1 at the first of the largest.
Tensor hardmax(const Tensor& x, int64_t axis) {
  const int a = normalize_axis("axis", axis, x.rank());
  const Tensor places = argmax(x, {a}, false);
  Dims order;
  for (int i = 0; i < x.rank() - 1; i++) order.push_back(i);
  order.insert(a, x.rank() - 1);
  return permute(one_hot(places, x.shape()[a], x.dtype()), order);
}

void einsum_op(Use& u) {
  std::vector<Tensor> xs;
  xs.reserve(static_cast<size_t>(u.count()));
  for (int i = 0; i < u.count(); i++) xs.push_back(u.in(i));
  std::string equation;
  for (const char c : u.text("equation", ""))
    if (c != ' ') equation += c;
  if (equation.find("->") == std::string::npos) {  // what occurs once, in the order of the alphabet
    std::string result;
    for (char c = 'A'; c <= 'z'; c++)
      if (std::isalpha(c) != 0 && std::count(equation.begin(), equation.end(), c) == 1) result += c;
    equation += (equation.find("...") != std::string::npos ? "->..." : "->") + result;
  }
  u.out(einsum(xs, equation));
}

// Means of all but the channels are taken away, and what is left divided by its spread.
void mean_variance_op(Use& u) {
  Dims axes;
  if (u.given("axes"))
    for (const int64_t a : u.integers("axes")) axes.push_back(u.axis(a, u.rank()));
  else
    axes = {0, 2, 3};
  const Tensor centred = u.in() - mean(u.in(), axes, true);
  u.out(centred / (sqrt(mean(square(centred), axes, true)) + 1e-9));
}

}  // namespace

std::span<const Row> reduce_rows() {
  static constexpr Row kRows[] = {
      {"ReduceSum", 1, reduce<sum>},
      {"ReduceMean", 1, reduce<mean_of>},
      {"ReduceMax", 1, reduce<max>},
      {"ReduceMin", 1, reduce<min>},
      {"ReduceProd", 1, reduce<prod>},
      {"ReduceL1", 1, reduce<norm1>},
      {"ReduceL2", 1, reduce<norm2>},
      {"ReduceSumSquare", 1, reduce<squares>},
      {"ReduceLogSum", 1, reduce<log_of_sum>},
      {"ReduceLogSumExp", 1, reduce<log_sum_exp>},
      {"ArgMax", 1, arg_op<argmax>},
      {"ArgMin", 1, arg_op<argmin>},
      {"CumSum", 11, cumsum_op},
      {"Softmax", 1, softmax_like<softmax>},
      {"LogSoftmax", 1, softmax_like<log_softmax>},
      {"Hardmax", 1, softmax_like<hardmax>},
      {"Einsum", 12, einsum_op},
      {"MeanVarianceNormalization", 9, mean_variance_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
