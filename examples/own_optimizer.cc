// An optimiser of one's own, in a screen: the numbers that it keeps per parameter, and an update written with ops. In a
// training step the update is compiled with everything else and goes over parameters, gradients and slots in one pass.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

// AdaBelief (Zhuang et al. 2020): Adam that divides by how far gradients are from what was expected of them.
struct AdaBelief {
  static constexpr const char* kName = "adabelief";  // a checkpoint remembers it
  float lr = 1e-3f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, clip_norm = 0;

  int slots() const { return 2; }
  void update(const Update& u) const {
    const Tensor g = u.gradient(clip_norm, /*clip_value=*/0);
    const Tensor m = u.slot(0) * beta1 + g * (1 - beta1);
    const Tensor s = u.slot(1) * beta2 + square(g - m) * (1 - beta2);
    const Tensor t = to(u.step(), u.values().dtype());
    const Tensor correct1 = 1.0 - exp(t * std::log(beta1)), correct2 = 1.0 - exp(t * std::log(beta2));
    u.set(u.values() - u.rate() / correct1 * m / (sqrt(s / correct2) + eps), {m, s});
  }
};

}  // namespace

int main() {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(8, 64), nn::ReLU(), nn::Linear(64, 4)};
  auto step = nn::train_step(net, nn::cross_entropy, AdaBelief{.lr = 1e-2f, .clip_norm = 1}, {{64, 8}, {64}});

  const Tensor x = normal({64, 8}, /*seed=*/2), labels = argmax(matmul(x, normal({8, 4}, 3)), {1});
  const float first = step(x, labels);
  const uint64_t warm = memory_stats().allocations;
  float last = first;
  for (int i = 0; i < 200; i++) last = step(x, labels);
  const bool quiet = memory_stats().allocations == warm;
  std::printf("%s: loss %.3f, then %.5f; %s\n", step.updates().optimizer().name().c_str(), first, last,
              quiet ? "no allocation since the first step" : "some step allocated");
  return last < 0.05f * first && quiet ? 0 : 1;
}
