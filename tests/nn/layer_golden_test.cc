// Every layer against PyTorch (tools/golden_layers.py): names of the state, results, gradients, running averages; in
// f64 and f32, eager and planned, without allocating.
#include <algorithm>
#include <map>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"
#include "tests/nn/layer_cases.h"

namespace ingot {
namespace {

const std::vector<Golden>& cases() {
  static const std::vector<Golden> all = read_cases("layers.txt");
  return all;
}

// Sums of a few dozen terms in another order; the file has 13 digits. Gradients are sums of more.
double tolerance(DType type) { return type == kF64 ? 1e-12 : 2e-6; }

class LayerGolden : public testing::TestWithParam<size_t> {
 protected:
  const Golden& golden() const { return cases()[GetParam()]; }
};

TEST_P(LayerGolden, ForwardAndBuffers) {
  const Golden& g = golden();
  for (const DType type : {kF64, kF32}) {
    const auto layer = layer_of(g, type);
    EXPECT_TRUE(close((*layer)(in_type(g.in, type)), g.out, tolerance(type))) << name(type);
    std::map<std::string, Tensor> expected;
    for (const NamedTensor& t : g.state) expected[t.name] = t.tensor;
    for (const NamedTensor& t : g.after) expected[t.name] = t.tensor;
    for (const NamedTensor& t : layer->state_dict())
      EXPECT_TRUE(close(t.tensor, expected[t.name], tolerance(type))) << t.name << " afterwards, " << name(type);
  }
}

TEST_P(LayerGolden, PlannedWithGradients) {
  const Golden& g = golden();
  const bool slopes = g.grad.defined();
  for (const DType type : {kF64, kF32}) {
    const auto layer = layer_of(g, type);
    const std::vector<NamedTensor> parameters = parameters_of(*layer);
    const Tensor x = in_type(g.in, type), dy = in_type(g.dy, type);
    Plan plan = compile(
        [&](const Tensor& in, const Tensor& d) {
          const Tensor y = (*layer)(in);
          std::vector<NamedTensor> wrt = parameters, results{{"y", y}};
          if (slopes) wrt.push_back({"x", in});
          const std::vector<Tensor> found = gradients(sum(y * d), wrt);
          for (size_t i = 0; i < found.size(); i++) results.push_back({"d" + wrt[i].name, found[i]});
          return results;
        },
        {{x.shape(), x.dtype()}, {dy.shape(), dy.dtype()}});
    plan.run(x, dy);
    EXPECT_TRUE(close(plan.output("y"), g.out, tolerance(type))) << name(type);
    for (const NamedTensor& t : g.after)
      for (const NamedTensor& own : layer->state_dict())
        EXPECT_TRUE(own.name != t.name || close(own.tensor, t.tensor, tolerance(type))) << t.name << ", " << name(type);
    if (slopes) EXPECT_TRUE(close(plan.output("dx"), g.grad, 4 * tolerance(type))) << name(type);
    ASSERT_EQ(parameters.size(), g.gradients.size());
    for (const NamedTensor& t : g.gradients)
      EXPECT_TRUE(close(plan.output("d" + t.name), t.tensor, 4 * tolerance(type))) << t.name << ", " << name(type);
    const uint64_t before = memory_stats().allocations;
    plan.run(x, dy);
    EXPECT_EQ(memory_stats().allocations, before);
    EXPECT_TRUE(close(plan.output("y"), g.out, tolerance(type))) << "the second run, " << name(type);
  }
}

// Central differences in f64 of Σ y·dy, for every element of the input and of the parameters.
TEST_P(LayerGolden, GradientsAreSlopes) {
  const Golden& g = golden();
  const auto layer = layer_of(g, kF64);
  const Tensor x = clone(g.in);
  const auto value = [&] { return sum((*layer)(x)*g.dy).item<double>(); };
  const auto check = [&](const std::string& what, const Tensor& t, const Tensor& slope) {
    const Tensor found = zeros(t.shape(), kF64);
    constexpr double kStep = 1e-5;
    for (int64_t i = 0; i < t.numel(); i++) {
      double& element = t.data<double>()[i];
      const double at = element;
      element = at + kStep;
      const double above = value();
      element = at - kStep;
      found.data<double>()[i] = (above - value()) / (2 * kStep);
      element = at;
    }
    EXPECT_TRUE(close(found, slope, 2e-8)) << what;
  };
  // A row that is not trained has a slope and no gradient.
  if (g.name != "embedding_padding")
    for (const NamedTensor& p : parameters_of(*layer))
      for (const NamedTensor& t : g.gradients)
        if (t.name == p.name) check(p.name, p.tensor, t.tensor);
  if (g.grad.defined()) check("input", x, g.grad);
}

INSTANTIATE_TEST_SUITE_P(Case, LayerGolden, testing::Range(size_t{0}, cases().size()), [](const auto& test) {
  const Golden& g = cases()[test.param];
  return g.name + (g.training ? "_train" : "_eval");
});

TEST(LayerGoldens, AllAreThere) {
  for (const std::string& name : layer_names())
    EXPECT_TRUE(std::any_of(cases().begin(), cases().end(), [&](const Golden& g) { return g.name == name; }))
        << "no golden for " << name << " — run tools/golden_layers.py";
}

}  // namespace
}  // namespace ingot
