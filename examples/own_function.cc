// A function of single numbers as an op: map() calls it for every element, in eager code and in plans, and with its
// derivatives it can be trained through. For an op with a name in the table, see own_op.cc.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

// Michaelis and Menten: how fast an enzyme works on s of its substrate. By s, by the top speed v and by the constant k.
const MapFunction kRate(
    "rate", [](auto s, auto v, auto k) { return v * s / (k + s); },
    [](auto s, auto v, auto k) { return v * k / ((k + s) * (k + s)); },
    [](auto s, auto, auto k) { return s / (k + s); },
    [](auto s, auto v, auto k) { return -v * s / ((k + s) * (k + s)); });

}  // namespace

int main() {
  const Tensor s = arange(0.25, 10, 0.25);
  const Tensor measured = map(kRate, {s, full({}, 3), full({}, 1.5)}) + normal(s.shape(), /*seed=*/1, 0, 0.01);

  // Which v and k are they? Broadcast against s, and moved by their gradients.
  Tensor v = full({}, 1), k = full({}, 1);
  ParameterSlab slab({{"v", &v}, {"k", &k}});
  TrainStep fit(
      [&](const Tensor& at, const Tensor& rate) {
        return mean(square(map(kRate, {at, v, k}) - rate));
      },
      slab, optim::Adam{.lr = 2e-2f}, {s.shape(), s.shape()});
  for (int i = 0; i < 1500; i++) fit(s, measured);
  std::printf("v = %.3f (3), k = %.3f (1.5)\n", v.item(), k.item());

  // Without captures a lambda needs no name; without derivatives it is refused where a gradient would go through it.
  const Tensor halves = map([](auto x) { return std::floor(x * 2) / 2; }, s);
  return std::abs(v.item() - 3) < 0.05 && std::abs(k.item() - 1.5f) < 0.05 && halves.at<float>({1}) == 0.5f ? 0 : 1;
}
