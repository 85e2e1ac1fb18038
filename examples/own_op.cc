// An op of your own: one formula and its gradient, and it is called, planned, fused and differentiated like the others.
#include <cmath>
#include <cstdio>

#include "ingot/ingot.h"
#include "ingot/ops/own_op.h"

using namespace ingot;

namespace {

// softsign(x, slope) = slope·x / (1 + |slope·x|)
struct Softsign {
  static constexpr int kInputs = 1;
  template <class T>
  static T run(T x, const T* p) {
    return p[0] * x / (1 + std::abs(p[0] * x));
  }
};

const Op kSoftsign = own_elementwise<Softsign>({.name = "softsign",
                                                .signature = "softsign(x, slope:real=1)",
                                                .doc = "slope·x / (1 + |slope·x|).",
                                                .weight = 5,
                                                .gradient = [](Gradient& g) {
                                                  const double slope = g.call().real("slope");
                                                  const Tensor size = add(abs(multiply(g.in(), slope)), 1.0);
                                                  g.set(0, multiply(divide(g.dy(), square(size)), slope));
                                                }});

Tensor softsign(const Tensor& x, double slope = 1) { return call(kSoftsign, {x}, Attrs().set("slope", slope)); }

}  // namespace

int main() {
  const Op* mine[] = {&kSoftsign};
  add_ops(mine);  // so that it is found by its name

  const Tensor x = Tensor::from(std::vector<float>{-2, -0.5f, 0, 1});
  std::printf("softsign        %s\n", to_string(softsign(x, 2)).c_str());

  // Three ops, its own among them, in one pass over memory; and the gradient beside it.
  Plan plan = compile(
      [](const Tensor& t) {
        const Tensor y = multiply(softsign(add(t, 0.25), 2), 3.0);
        return std::vector<Tensor>{y, gradients(sum(y), {t})[0]};
      },
      {{4}});
  plan.run(x);
  std::printf("in a plan       %s\ngradient        %s\n", to_string(plan.outputs()[0]).c_str(),
              to_string(plan.outputs()[1]).c_str());
  std::puts(plan.describe().c_str());
  return find_op("softsign") == &kSoftsign ? 0 : 1;
}
