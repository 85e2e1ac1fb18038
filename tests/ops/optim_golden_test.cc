// Training runs of PyTorch's optimisers (tools/goldens.py), replayed with the step ops: parameters and state are
// written in place, as a training step does it.
#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"
#include "tests/ops/golden.h"

namespace ingot::harness {
namespace {

// The parameters of one run, its state, and what an op's inputs are at each step.
struct Replay {
  explicit Replay(const Golden& g, DType dtype)
      : op(find_op(g.op)), inputs(in_type(g.in, dtype)), expected(in_type(g.out, dtype)) {
    arrays.push_back(clone(inputs[0]));
    for (size_t i = 1; i < expected.size(); i++) arrays.push_back(zeros(inputs[0].shape(), dtype));
  }
  int64_t steps() const { return inputs[1].size(0); }
  const Tensor& clip_norm() const { return inputs[3]; }

  // As torch.nn.utils.clip_grad_norm_ has it.
  Tensor scale(const Tensor& gradient) const {
    if (!clip_norm().defined()) return {};
    return minimum(divide(clip_norm(), add(norm(gradient), 1e-6)), ones({}, gradient.dtype()));
  }

  void step(int64_t k, const Attrs& attrs) {
    const Tensor gradient = select(inputs[1], 0, k), factor = scale(gradient);
    const Tensor count = Tensor::from(std::vector<int64_t>{k + 1}, {});
    std::vector<const Tensor*> in = {&arrays[0], &gradient}, out = {&arrays[0]};
    for (size_t i = 1; i < arrays.size(); i++) {
      in.push_back(&arrays[i]);
      out.push_back(&arrays[i]);
    }
    in.push_back(&inputs[2]);
    if (is_adam()) in.push_back(&count);
    in.push_back(&factor);
    call_into(*op, in, attrs, out);
  }
  bool is_adam() const { return op->name == std::string_view("adam_step"); }

  const Op* op;
  std::vector<Tensor> inputs, expected, arrays;
};

class OptimGolden : public testing::TestWithParam<const char*> {};

TEST_P(OptimGolden, TrainsAsPyTorchDoes) {
  int cases = 0;
  for (const Golden& g : read_goldens("optim.txt")) {
    if (g.op != GetParam()) continue;
    cases++;
    for (DType dtype : {kF64, kF32}) {
      Replay replay(g, dtype);
      ASSERT_NE(replay.op, nullptr) << g.op;
      std::vector<std::string> texts;
      const Attrs attrs = read_attrs(g, dtype, texts);
      const Case shown{replay.op, replay.arrays, attrs};
      const Tolerance tolerance = dtype == kF64 ? Tolerance{2000, 2000} : Tolerance{32, 32};  // the file has 13 digits
      for (int64_t k = 0; k < replay.steps(); k++) {
        replay.step(k, attrs);
        ASSERT_TRUE(close(replay.arrays[0], select(replay.expected[0], 0, k), tolerance))
            << describe(shown) << ", step " << k + 1;
      }
      for (size_t i = 1; i < replay.arrays.size(); i++)
        ASSERT_TRUE(close(replay.arrays[i], replay.expected[i], tolerance)) << describe(shown) << ", state " << i;
    }
  }
  EXPECT_GE(cases, 5);
}

INSTANTIATE_TEST_SUITE_P(Op, OptimGolden, testing::Values("sgd_step", "sgd_momentum_step", "adam_step"),
                         [](const auto& test) { return std::string(test.param); });

// A learning rate may be f32 beside parameters of f64: what counts is its value.
TEST(OptimSteps, LearningRateOfAnotherType) {
  const Tensor p = ones({5}, kF64), g = ones({5}, kF64), lr32 = full({}, 0.5), lr64 = full({}, 0.5, kF64);
  EXPECT_TRUE(same_bits(sgd_step(p, g, lr32), sgd_step(p, g, lr64)));
  EXPECT_EQ(sgd_step(p, g, lr32).to_vector<double>(), std::vector<double>(5, 0.5));
}

// The step that trains: destinations are the inputs, and nothing is allocated.
TEST(OptimSteps, InPlaceWithoutAllocation) {
  const Tensor p = ones({1000}), g = ones({1000}), m = zeros({1000}), v = zeros({1000});
  const Tensor lr = full({}, 0.5), step = Tensor::from(std::vector<int64_t>{1}, {});
  const uint64_t before = memory_stats().allocations, mallocs = malloc_calls();
  adam_step_into(p, m, v, p, g, m, v, lr, step);
  sgd_momentum_step_into(p, m, p, g, m, lr);
  sgd_step_into(p, p, g, lr);
  const uint64_t after = malloc_calls();
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_EQ(after, mallocs);
}

TEST(OptimSteps, RefuseWhatDoesNotFit) {
  const Tensor p = ones({4}), g = ones({4}), s = zeros({4}), lr = full({}, 0.5);
  const Tensor step = Tensor::from(std::vector<int64_t>{1}, {}), zero = Tensor::from(std::vector<int64_t>{0}, {});
  EXPECT_THROW(sgd_step(p, ones({5}), lr), Error);
  EXPECT_THROW(sgd_step(p, g, ones({2})), Error);
  EXPECT_THROW(sgd_step(p, ones({4}, kF64), lr), Error);
  EXPECT_THROW(sgd_step(p, g, lr, {}, -1), Error);
  EXPECT_THROW(sgd_momentum_step(p, g, zeros({1}), lr), Error);
  EXPECT_THROW(adam_step(p, g, s, s, lr, zero), Error);
  EXPECT_THROW(adam_step(p, g, s, s, lr, lr), Error);
  EXPECT_THROW(adam_step(p, g, s, s, lr, step, {}, 1.0), Error);
}

}  // namespace
}  // namespace ingot::harness
