// A classifier trained from scratch: three spirals, told apart by a network with two hidden layers. Forward, loss,
// backward and Adam are one plan, compiled once; a step allocates nothing.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

constexpr int64_t kClasses = 3, kHidden = 128, kBatch = 128, kBatches = 32;
constexpr double kPi = 3.14159265358979;

struct Data {
  Tensor x, label;  // [n, 2] and [n]
};

// Points of three noisy spiral arms, one per class.
Data spirals(int64_t n, int64_t seed) {
  const Tensor label = to(uniform({n}, seed, 0, kClasses), kI64), radius = uniform({n}, seed, 0.1, 1, /*stream=*/1);
  const Tensor angle = 5 * radius + to(label, kF32) * (2 * kPi / kClasses) + normal({n}, seed, 0, 0.1, /*stream=*/2);
  return {stack({radius * cos(angle), radius * sin(angle)}, 1), label};
}

// Uniform with the variance that keeps the size of values behind a relu (He).
Tensor weight(int64_t out, int64_t in, int64_t seed) {
  const double bound = std::sqrt(6.0 / static_cast<double>(in));
  return uniform({out, in}, seed, -bound, bound);
}

struct Mlp {
  Tensor w1 = weight(kHidden, 2, 1), b1 = zeros({kHidden});
  Tensor w2 = weight(kHidden, kHidden, 2), b2 = zeros({kHidden});
  Tensor w3 = weight(kClasses, kHidden, 3), b3 = zeros({kClasses});

  std::vector<Parameter> parameters() {
    return {{"w1", &w1}, {"b1", &b1}, {"w2", &w2}, {"b2", &b2}, {"w3", &w3}, {"b3", &b3}};
  }
  Tensor operator()(const Tensor& x) const { return linear(relu(linear(relu(linear(x, w1, b1)), w2, b2)), w3, b3); }
};

}  // namespace

int main() {
  Mlp net;
  const ParameterSlab slab(net.parameters());  // moves the parameters into one block: make it before any plan
  TrainStep step([&](const Tensor& x, const Tensor& label) { return mean(softmax_cross_entropy(net(x), label)); }, slab,
                 optim::Adam{.lr = 3e-3f}, {{{kBatch, 2}, kF32, "x"}, {{kBatch}, kI64, "label"}}, {.name = "train"});

  const Data data = spirals(kBatches * kBatch, /*seed=*/10);
  uint64_t warm = 0;
  for (int i = 0; i < 500; i++) {
    const int64_t first = i % kBatches * kBatch;  // a batch is a view of the data
    const float loss = step(slice(data.x, 0, first, first + kBatch), slice(data.label, 0, first, first + kBatch));
    if (i == 0) warm = memory_stats().allocations;
    if (i == 300) step.set_lr(3e-4f);
    if (i % 100 == 0 || i == 499) std::printf("step %3d  loss %.4f\n", i, loss);
  }
  const bool quiet = memory_stats().allocations == warm;

  // Another plan on the same parameters: it sees what training has made of them.
  const Data test = spirals(1000, /*seed=*/11);
  Plan predict = compile([&](const Tensor& x) { return argmax(net(x), {1}); }, {{1000, 2}}, {.name = "predict"});
  const float accuracy = mean(to(equal(predict.run(test.x)[0], test.label), kF32)).item();
  std::printf("accuracy %.1f %% on 1,000 new points, %s\n\n%s", 100 * accuracy,
              quiet ? "no allocation since the first step" : "some step allocated", step.plan().describe().c_str());
  return accuracy > 0.97f && quiet ? 0 : 1;
}
