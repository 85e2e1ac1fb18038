// A random layer of one's own: noise while training. Inside a training step its numbers follow the step's seed; in a plan
// of one's own a RandomScope says where they come from.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

struct Noise : nn::Layer {
  double deviation;
  explicit Noise(double d) : deviation(d) {}
  Tensor forward(const Tensor& x) override {
    if (!training()) return x;
    const nn::RandomSource source = nn::next_random();  // the seed of whoever runs it, and a stream of its own
    return x + normal(x.shape(), source.seed, 0, deviation, source.stream);
  }
};

}  // namespace

int main() {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(2, 32), nn::Tanh(), Noise(0.3), nn::Linear(32, 1)};
  auto step = nn::train_step(net, nn::mse, optim::Adam{.lr = 1e-2f}, {{64, 2}, {64, 1}});
  for (int64_t i = 0; i < 300; i++) {
    const Tensor x = uniform({64, 2}, i, -1, 1);
    step(x, slice(x, 1, 0, 1) * slice(x, 1, 1, 2));  // other noise every time, the same when the program is run again
  }

  // How sure is the network? Ask it a hundred times, with noise; the seed is an input of the plan.
  Plan ask = compile(
      [&](const Tensor& x, const Tensor& seed) {
        const nn::RandomScope random(seed);
        return net(x);
      },
      {{1, 2}, {Dims(), kI64, "seed"}});
  const Tensor x = Tensor::from<float>({0.5f, -0.5f}, {1, 2});
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < 100; i++) {
    const double y = ask.run(x, full({}, static_cast<double>(i), kI64))[0].item();
    sum += y, squares += y * y;
  }
  const double mean = sum / 100, deviation = std::sqrt(squares / 100 - mean * mean);
  std::printf("0.5 · -0.5 = %.3f ± %.3f\n", mean, deviation);
  const Tensor seed = full({}, 7, kI64);
  const bool repeats = ask(x, seed).item() == ask(x, seed).item();
  return std::abs(mean + 0.25) < 0.15 && deviation > 0.01 && repeats ? 0 : 1;
}
