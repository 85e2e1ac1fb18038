// Every pass of the table does what it is for: a plan shows it, a plan without the pass does not, and both give the
// numbers of eager code.
#include "graph/passes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"

namespace ingot {
namespace {

int count(const std::string& text, const std::string& word) {
  int n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) n++;
  return n;
}
bool has(const Plan& plan, const std::string& word) { return count(plan.dump(), word) > 0; }

struct Example {
  const char* pass;
  std::function<std::vector<Tensor>(const Tensor&)> function;  // of x [6, 8]
  std::function<bool(const Plan&)> shows;
  std::vector<std::string> besides = {};  // other passes to leave out, so that steps can be counted
};

const Tensor kWeights = uniform({8, 8}, 11, -1, 1), kBias = uniform({8}, 12, -1, 1), kLabels = full({6}, 3, kI64);
const Tensor kPicture = uniform({2, 1, 6, 6}, 13, -1, 1), kKernel = uniform({3, 1, 3, 3}, 14, -1, 1);
const Tensor kState = zeros({6, 8}), kTall = uniform({512, 6}, 15, -1, 1);

Tensor picture(const Tensor& x) { return kPicture * sum(x); }

std::vector<Example> examples() {
  return {
      {"cse",
       [](const Tensor& x) {
         return std::vector<Tensor>{exp(x) + 1.0, exp(x) * 2.0};
       },
       [](const Plan& p) { return count(p.dump(), "fused exp") == 1; },
       {"chains"}},
      {"fold", [](const Tensor& x) { return std::vector<Tensor>{x + exp(full({8}, 0.5))}; },
       [](const Plan& p) { return !has(p, "exp"); }},
      {"algebra",
       [](const Tensor& x) {
         const Tensor y = negative(negative(pow(x, 2.0) * 1.0)) - 0.0;
         return std::vector<Tensor>{transpose(transpose(y / 1.0)) * ones({8})};
       },
       [](const Plan& p) { return p.step_count() == 1 && has(p, "square"); },
       {"chains"}},
      {"views", [](const Tensor& x) { return std::vector<Tensor>{matmul(kWeights, transpose(x * 2.0))}; },
       [](const Plan& p) { return !has(p, "copy"); }},
      {"dce",
       [](const Tensor& x) {
         const Tensor unused = tanh(x);
         return std::vector<Tensor>{x * 2.0};
       },
       [](const Plan& p) { return !has(p, "tanh"); }},
      {"cross_entropy",
       [](const Tensor& x) {
         if (!capturing()) {
           const Tensor logits = linear(x, kWeights);
           return std::vector<Tensor>{sum(softmax_cross_entropy(logits, kLabels)),
                                      matmul(transpose(softmax_cross_entropy_grad(logits, kLabels, ones({6}))), x)};
         }
         auto r = value_and_grad([&] { return sum(softmax_cross_entropy(linear(x, kWeights), kLabels)); }, {kWeights});
         return std::vector<Tensor>{r.value, r.gradients[0]};
       },
       [](const Plan& p) { return has(p, "softmax_cross_entropy_with_grad") && !has(p, "entropy_grad"); }},
      {"pool",
       [](const Tensor& x) {
         return std::vector<Tensor>{max_pool2d(relu(conv2d(picture(x), kKernel)), {.kernel = {2, 2}})[0]};
       },
       [](const Plan& p) { return has(p, "conv2d_max_pool"); }},
      {"relu", [](const Tensor& x) { return std::vector<Tensor>{relu(conv2d(picture(x), kKernel))}; },
       [](const Plan& p) { return has(p, "conv2d+relu"); }},
      {"stores",
       [](const Tensor& x) {
         const Tensor y = x * 2.0;
         copy_into(kState, y);
         return std::vector<Tensor>{sum(y)};
       },
       [](const Plan& p) { return !has(p, "copy"); }},
      {"chains", [](const Tensor& x) { return std::vector<Tensor>{tanh(x * 2.0) + exp(x)}; },
       [](const Plan& p) { return p.step_count() == 1; }},
      {"gemm_epilogue", [](const Tensor& x) { return std::vector<Tensor>{relu(matmul(x, kWeights) + kBias)}; },
       [](const Plan& p) { return p.step_count() == 1 && has(p, "bias relu"); }},
      {"reduce", [](const Tensor& x) { return std::vector<Tensor>{sum(square(x), {0})}; },
       [](const Plan& p) { return p.step_count() == 1; }},
      {"order",
       [](const Tensor& x) {  // four large values that one number each is left of: one after the other
         std::vector<Tensor> large, small;
         for (int i = 0; i < 4; i++) large.push_back(softmax(matmul(kTall, x * (1.0 + i))));
         for (const Tensor& l : large) small.push_back(max(l));
         return small;
       },
       [](const Plan& p) { return p.bytes().live_peak < 3 * 512 * 8 * sizeof(float); }},
      {"in_place",
       [](const Tensor& x) { return std::vector<Tensor>{softmax(tanh(softmax(x)))}; },
       [](const Plan& p) { return p.bytes().arena == 6 * 8 * sizeof(float); },
       {"chains"}},
  };
}

void expect_near(const Tensor& got, const Tensor& want, const char* what) {
  ASSERT_TRUE(got.shape() == want.shape()) << what;
  const std::vector<float> a = contiguous(got).to_vector<float>(), b = contiguous(want).to_vector<float>();
  for (size_t i = 0; i < a.size(); i++) ASSERT_NEAR(a[i], b[i], 1e-4 * (1 + std::abs(b[i]))) << what << " " << i;
}

TEST(Passes, EachDoesWhatItIsFor) {
  const Tensor x = uniform({6, 8}, 10, -1, 1);
  for (const Example& e : examples()) {
    PlanOptions options{.without = e.besides};
    Plan with = compile(e.function, {{6, 8}}, options);
    options.without.emplace_back(e.pass);
    Plan without = compile(e.function, {{6, 8}}, options);
    EXPECT_TRUE(e.shows(with)) << e.pass << "\n" << with.dump();
    EXPECT_FALSE(e.shows(without)) << e.pass << " is off\n" << without.dump();
    const std::vector<Tensor> eager = e.function(x);
    for (Plan* plan : {&with, &without}) {
      plan->run(x);
      for (size_t i = 0; i < eager.size(); i++) expect_near(plan->outputs()[i], eager[i], e.pass);
    }
  }
}

TEST(Passes, EachHasAnExample) {
  const std::vector<Example> all = examples();
  ASSERT_EQ(all.size(), pass_names().size());
  for (size_t i = 0; i < all.size(); i++) EXPECT_STREQ(all[i].pass, pass_names()[i]);
}

TEST(Passes, DescribeSaysWhatEachDid) {
  const auto f = [](const Tensor& x) { return exp(x) + exp(x) * 1.0; };
  const std::string text = compile(f, {{3}}).describe();
  EXPECT_NE(text.find("1 call shared"), std::string::npos) << text;
  EXPECT_NE(text.find("1 node simplified"), std::string::npos) << text;
  EXPECT_NE(text.find("0 nodes dropped"), std::string::npos) << text;
  const std::string off = compile(f, {{3}}, {.without = {"algebra"}}).describe();
  EXPECT_NE(off.find("algebra        off"), std::string::npos) << off;
  for (const graph::Pass& p : graph::passes()) EXPECT_GT(std::string(p.does).size(), 10u) << p.name;
}

TEST(Passes, AnUnknownNameIsRefused) {
  try {
    compile([](const Tensor& x) { return x * 2.0; }, {{3}}, {.without = {"fusion"}});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kArgument);
    EXPECT_NE(std::string(e.what()).find("the passes are cse, fold, "), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ingot
