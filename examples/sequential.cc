// A model from layers, trained in one planned step. What a user writes stays this short.
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

int main() {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 1e-3f}, {{64, 784}, {64}});

  // Ten noisy patterns to tell apart, made here so that the example needs no file.
  const Tensor patterns = normal({10, 784}, /*seed=*/2);
  const auto batch = [&](int64_t seed) {
    const Tensor labels = to(uniform({64}, seed, 0, 10), kI64);
    return std::pair(index_select(patterns, labels, 0) + normal({64, 784}, seed + 1000, 0, 2), labels);
  };
  float first = 0, last = 0;
  for (int64_t i = 0; i < 60; i++) {
    const auto [x, labels] = batch(i);
    last = step(x, labels);  // forward, loss, backward and update: zero allocations
    if (i == 0) first = last;
  }
  std::puts(step.plan().describe().c_str());  // nodes, bytes, fused groups
  std::printf("%lld parameters; loss %.3f at first, %.3f after 60 steps\n",
              static_cast<long long>(net.parameter_count()), first, last);
  return last < 0.2f * first ? 0 : 1;
}
