// Results and gradients that PyTorch and NumPy gave (tools/goldens.py), replayed in f64 and f32.
#include <algorithm>
#include <map>

#include "tests/ops/golden.h"

namespace ingot::harness {
namespace {

class GoldenTest : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTest, AgreesWithPyTorch) {
  static const std::vector<Golden> goldens = read_goldens(goldens_under_test());
  const Op* op = find_op(GetParam());
  ASSERT_NE(op, nullptr) << "the goldens know an op that the table does not: " << GetParam();
  for (const Golden& g : goldens) {
    if (g.op != GetParam()) continue;
    for (DType dtype : {kF64, kF32}) {
      std::vector<std::string> texts;
      const Case c{op, in_type(g.in, dtype), read_attrs(g, dtype, texts)};
      // The file has 13 digits.
      const Tolerance tolerance = dtype == kF64 ? Tolerance{2000, 2000} : Tolerance{32, 32};
      const std::vector<Tensor> results = run(c), expected = in_type(g.out, dtype);
      ASSERT_EQ(results.size(), expected.size()) << describe(c);
      for (size_t i = 0; i < results.size(); i++)
        ASSERT_TRUE(close(results[i], expected[i], tolerance)) << describe(c) << ", result " << i;
      if (g.grad.empty()) continue;
      const std::vector<Tensor> found = gradient(*op, c.pointers(), c.attrs, results, in_type(g.dy, dtype), {});
      const std::vector<Tensor> slopes = in_type(g.grad, dtype);
      for (size_t i = 0; i < slopes.size(); i++) {
        ASSERT_EQ(found[i].defined(), slopes[i].defined()) << describe(c) << ", gradient of input " << i;
        if (found[i].defined()) {
          ASSERT_TRUE(close(found[i], slopes[i], {4 * tolerance.ulps, 4 * tolerance.scaled}, 1))
              << describe(c) << ", gradient of input " << i;
        }
      }
    }
  }
}

std::vector<std::string> golden_ops() {
  std::map<std::string, int> names;
  for (const Golden& g : read_goldens(goldens_under_test())) names[g.op]++;
  std::vector<std::string> result;
  result.reserve(names.size());
  for (const auto& [name, count] : names) result.push_back(name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Op, GoldenTest, testing::ValuesIn(golden_ops()), [](const auto& test) { return test.param; });

// Every op has a golden, or there is a reason.
TEST(GoldenFile, CoversTheTable) {
  const std::map<std::string, const char*> without = {
      {"uniform", "random"},
      {"normal", "random"},
      {"bernoulli", "random"},
      {"permutation", "random"},
      {"dropout", "random"},
      {"map", "the user's own function"},
      {"max_pool_taps", "max_pool2d told otherwise; see tests/graph/pool_pass_test.cc"},
      {"conv2d_max_pool", "conv2d and max_pool2d in one; see tests/graph/pool_pass_test.cc"},
      {"lstm_sequence", "see tests/nn/sequence_golden_test.cc"},
      {"gru_sequence", "see tests/nn/sequence_golden_test.cc"},
      {"attention", "see tests/nn/sequence_golden_test.cc"},
      {"self_attention", "see tests/nn/sequence_golden_test.cc"},
      {"sgd_step", "see optim_golden_test.cc"},
      {"sgd_momentum_step", "see optim_golden_test.cc"},
      {"adam_step", "see optim_golden_test.cc"},
  };
  const std::vector<std::string> names = golden_ops();
  std::string missing;
  for (const Op* op : ops_under_test()) {
    const std::string name = op->name;
    const bool is_gradient = name.ends_with("_grad");  // what their op's gradient runs
    if (!is_gradient && without.count(name) == 0 && std::find(names.begin(), names.end(), name) == names.end())
      missing += " " + name;
  }
  EXPECT_TRUE(missing.empty()) << "no golden for:" << missing << " — add cases to tools/goldens.py";
}

}  // namespace
}  // namespace ingot::harness
