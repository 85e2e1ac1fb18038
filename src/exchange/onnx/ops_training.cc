// The format's training ops: one update of an optimiser, and gradients of values of the graph.
#include <cmath>

#include "exchange/onnx/binder.h"
#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"

namespace ingot::onnx {
namespace {

// Inputs are the rate, the number of updates so far, and groups of n tensors: parameters, gradients, states.
struct Update {
  Tensor rate;
  double count;
  int n;
  Use& u;
  Update(Use& use, int groups) : rate(use.in(0)), count(use.known_real(1)), n((use.count() - 2) / groups), u(use) {
    if (n < 1 || n * groups != use.count() - 2)
      use.fail("the numbers of inputs do not fit", "there are as many states and gradients as parameters");
  }
  const Tensor& of(int group, int i) const { return u.in(2 + group * n + i); }
  // The gradient, with that of weight decay.
  Tensor slope(int i) const { return add(of(1, i), multiply(of(0, i), u.real("norm_coefficient", 0))); }
  void leave(const std::vector<std::vector<Tensor>>& groups) const {
    for (const auto& group : groups)
      for (const Tensor& t : group) u.out(t, u.type(2));
  }
};

void adagrad_op(Use& u) {
  const Update s(u, 3);
  const Tensor rate = s.rate / (1 + s.count * u.real("decay_factor", 0));
  std::vector<Tensor> x, h;
  for (int i = 0; i < s.n; i++) {
    const Tensor g = s.slope(i);
    h.push_back(s.of(2, i) + square(g));
    x.push_back(s.of(0, i) - rate * g / (sqrt(h.back()) + u.real("epsilon", 1e-6)));
  }
  s.leave({x, h});
}

void adam_op(Use& u) {
  const Update s(u, 4);
  const double alpha = u.real("alpha", 0.9), beta = u.real("beta", 0.999);
  const Tensor rate =
      s.count > 0 ? s.rate * (std::sqrt(1 - std::pow(beta, s.count)) / (1 - std::pow(alpha, s.count))) : s.rate;
  std::vector<Tensor> x, v, h;
  for (int i = 0; i < s.n; i++) {
    const Tensor g = s.slope(i);
    v.push_back(s.of(2, i) * alpha + g * (1 - alpha));
    h.push_back(s.of(3, i) * beta + square(g) * (1 - beta));
    x.push_back((s.of(0, i) - rate * v.back() / (sqrt(h.back()) + u.real("epsilon", 1e-6))) *
                (1 - u.real("norm_coefficient_post", 0)));
  }
  s.leave({x, v, h});
}

void momentum_op(Use& u) {
  const Update s(u, 3);
  const double alpha = u.real("alpha", 0), beta = s.count > 0 ? u.real("beta", 0) : 1;
  const bool nesterov = u.text("mode", "standard") == "nesterov";
  std::vector<Tensor> x, v;
  for (int i = 0; i < s.n; i++) {
    const Tensor g = s.slope(i);
    v.push_back(s.of(2, i) * alpha + g * beta);
    x.push_back(s.of(0, i) - s.rate * (nesterov ? g + v.back() * alpha : v.back()));
  }
  s.leave({x, v});
}

// d y / d x for the graph's own values; what they are computed from again is what they were computed from.
void gradient_op(Use& u) {
  if (!u.binder().capturing()) u.fail("gradients of computed values", "they are only taken while a plan is made");
  const Value y = u.binder().value(u.text("y", ""));
  std::vector<Tensor> xs;
  for (const std::string& name : u.texts("xs")) xs.push_back(u.binder().value(name).tensor);
  for (const Tensor& g : gradients(y.tensor, xs, Unused::kZeros)) u.out(g);
}

}  // namespace

std::span<const Row> training_rows() {
  static constexpr Row kRows[] = {
      {"ai.onnx.preview.training:Adagrad", 1, adagrad_op},
      {"ai.onnx.preview.training:Adam", 1, adam_op},
      {"ai.onnx.preview.training:Momentum", 1, momentum_op},
      {"ai.onnx.preview.training:Gradient", 1, gradient_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
