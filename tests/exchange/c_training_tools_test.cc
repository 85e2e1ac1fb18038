// Whole plans as C: models that infer and steps that train for a hundred batches, compiled and compared with the plan.
#include <cmath>
#include <cstring>
#include <memory>

#include "ingot/graph/program.h"
#include "ingot/ingot.h"
#include "ingot/nn/train_step.h"
#include "tests/exchange/compiled_c.h"
#include "tests/graph/random_graph.h"

namespace ingot::exchange {
namespace {

constexpr const char* kStrict = " -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror";

std::vector<std::string> compilers() {
  return {std::string("gcc -O3 -march=native") + kStrict, std::string("clang -O2") + kStrict, "tcc -Wall -Werror"};
}

[[maybe_unused]] double apart(const Tensor& a, const Tensor& b) {
  double most = 0, largest = 1e-30;
  const Tensor x = to(contiguous(a), kF64), y = to(contiguous(b), kF64);
  for (int64_t i = 0; i < x.numel(); i++) {
    const double p = x.data<double>()[i], q = y.data<double>()[i];
    if (!(p == q)) most = std::max(most, std::isnan(p) || std::isnan(q) ? INFINITY : std::abs(p - q));
    largest = std::max(largest, std::abs(q));
  }
  return most / largest;
}

nn::Sequential convolutional() {
  nn::Sequential net;
  net.add(nn::Conv2d(1, 6, 3, {.padding = {1, 1}}));
  net.add(nn::BatchNorm2d(6));
  net.add(nn::ReLU());
  net.add(nn::MaxPool2d(2));
  net.add(nn::Conv2d(6, 10, 3, {.padding = {1, 1}}));
  net.add(nn::ReLU());
  net.add(nn::MaxPool2d(2));
  net.add(nn::Flatten());
  net.add(nn::Dropout(0.25));
  net.add(nn::Linear(90, 24));
  net.add(nn::LayerNorm(24));
  net.add(nn::GELU());
  net.add(nn::Linear(24, 10));
  return net;
}

// Trains both for `steps` batches; the losses of each step differ by rounding only.
void trains_alike(nn::Sequential net, const Optimizer& optimizer, const Dims& shape, int64_t classes, int steps,
                  double bound, const CSourceOptions& options = {.name = "step"}) {
  const int64_t batch = shape[0];
  auto step = nn::train_step(net, nn::cross_entropy, optimizer, {InputSpec(shape), {batch}});
  const CSource c = to_c(step.plan(), options);
  EXPECT_LE(c.arena, step.plan().bytes().arena + step.plan().bytes().scratch + step.plan().bytes().outputs);
  std::vector<Tensor> batches, labels;
  for (int i = 0; i < 8; i++) {
    batches.push_back(normal(shape, 10 + i));
    labels.push_back(to(uniform({batch}, 20 + i) * static_cast<double>(classes) * 0.999, kI64));
  }
  std::vector<std::unique_ptr<CFolder>> folders;
  for (const std::string& compiler : compilers()) {
    folders.push_back(std::make_unique<CFolder>());
    folders.back()->add(c, step.plan());
    ASSERT_EQ(folders.back()->compile(compiler), "");
  }
  const graph::Program& p = graph::program_of(step.plan());
  float first = 0, loss = 0;
  for (int i = 0; i < steps; i++) {
    const auto k = static_cast<size_t>(i % 8);
    loss = step(batches[k], labels[k]);
    if (i == 0) first = loss;
    for (size_t n = 0; n < folders.size(); n++) {
      // What the step sets before each batch: learning rate, number, seed.
      for (size_t s = 0; s < p.slabs.size(); s++) {
        if (p.slabs[s].role != Role::kOther || p.slabs[s].written) continue;
        void* to = folders[n]->symbol("step_" + p.slabs[s].name);
        ASSERT_NE(to, nullptr) << p.slabs[s].name;
        std::memcpy(to, graph::memory_of(step.plan()).slabs[s].base, static_cast<size_t>(p.slabs[s].bytes));
      }
      const float own = folders[n]->call(c, step.plan(), {&batches[k], &labels[k]})[0].item<float>();
      ASSERT_NEAR(own, loss, bound * std::max(1.0f, std::fabs(loss))) << compilers()[n] << ", step " << i;
    }
  }
  EXPECT_LT(loss, first);
}

nn::Sequential dense() { return nn::Sequential{nn::Linear(20, 33), nn::Tanh(), nn::Linear(33, 7)}; }

TEST(CTraining, AdamStepsForAHundredBatches) {
  trains_alike(dense(), optim::Adam{.lr = 3e-3f}, {16, 20}, 7, 100, 1e-4);
}
TEST(CTraining, SgdStepsForAHundredBatches) {
  trains_alike(dense(), optim::Sgd{.lr = 0.05f, .momentum = 0.9f}, {16, 20}, 7, 100, 1e-4);
}

TEST(CTraining, ConvolutionsNormsAndDropoutForAHundredBatches) {
  trains_alike(convolutional(), optim::Adam{.lr = 2e-3f}, {8, 1, 12, 12}, 10, 100, 1e-3);
}

}  // namespace
}  // namespace ingot::exchange
