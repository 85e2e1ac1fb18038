// A module of two inputs with a forward of its own, and steps for batches of two sizes that share one optimiser.
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

namespace {

// Where a thrown ball lands: from its speed and from the angle's sine and cosine.
struct Range : nn::Module {
  nn::Linear speed{1, 16}, angle{2, 16}, out{16, 1};
  void parts(nn::Parts& p) override { p("speed", speed), p("angle", angle), p("out", out); }
  Tensor forward(const Tensor& v, const Tensor& a) {
    const nn::Within here(*this);  // a row of summary(), a scope of its name inside another module
    return out(tanh(speed(v)) * tanh(angle(a)));
  }
};

struct Throws {
  Tensor speed, angle, range;
};
Throws throws(int64_t count, int64_t seed) {
  const Tensor v = uniform({count, 1}, seed, 0.5, 1.5), a = uniform({count, 1}, seed, 0.2, 1.3, /*stream=*/1);
  return {v, concat({sin(a), cos(a)}, 1), v * v * sin(a * 2.0)};
}

}  // namespace

int main() {
  nn::set_seed(1);
  Range net;
  const auto loss = [&](const Tensor& v, const Tensor& a, const Tensor& range) {
    return nn::mse_loss(net.forward(v, a), range);
  };
  std::fputs(nn::summary(net, [&](const Tensor& v, const Tensor& a) { return net.forward(v, a); }, {{64, 1}, {64, 2}})
                 .text()
                 .c_str(),
             stdout);

  const ParameterSlab slab(net.trainable_parameters());
  Updates updates(slab, optim::Adam{.lr = 1e-2f}, {.ema = 0.99});  // one state, one counter, averages of the weights
  TrainStep full(loss, updates, {{64, 1}, {64, 2}, {64, 1}});
  TrainStep rest(loss, updates, {{16, 1}, {16, 2}, {16, 1}});  // the last batch of an epoch
  float last = 0;
  for (int64_t i = 0; i < 600; i++) {
    const Throws many = throws(64, 2 * i), few = throws(16, 2 * i + 1);
    full(many.speed, many.angle, many.range);
    last = rest(few.speed, few.angle, few.range);
  }
  std::printf("%lld updates by both steps; loss %.5f\n", static_cast<long long>(updates.steps()), last);
  return updates.steps() == 1200 && last < 0.01f ? 0 : 1;
}
