// Every op of the table, on every sample: a plan computes what the op computes, and its gradients.
#include <string_view>

#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"
#include "tests/sanitized.h"

namespace ingot::harness {
namespace {

std::vector<int> teams(const std::vector<int>& all) { return kSanitized ? std::vector{3} : all; }

struct PlannedOp : OpTest {
  // Samples are small: without this no plan would wake the team.
  void SetUp() override { graph::share_every_step = true; }
  void TearDown() override {
    graph::share_every_step = false;
    set_threads(before_);
  }
  int before_ = threads();
};

std::vector<InputSpec> specs_of(const Case& c) {
  std::vector<InputSpec> specs;
  for (const Tensor& t : c.inputs)
    if (t.defined()) specs.emplace_back(t.shape(), t.dtype());
  return specs;
}

// The call with its defined inputs replaced, in order: by symbolic tensors inside a capture.
Case with_inputs(const Case& c, std::span<const Tensor> given) {
  Case result = c;
  size_t next = 0;
  for (Tensor& t : result.inputs)
    if (t.defined()) t = given[next++];
  return result;
}

std::vector<const Tensor*> defined_inputs(const Case& c) {
  std::vector<const Tensor*> list;
  for (const Tensor& t : c.inputs)
    if (t.defined()) list.push_back(&t);
  return list;
}

PlanOptions options_for(int threads, bool passes) {
  PlanOptions options;
  options.threads = threads;
  if (!passes)
    for (const char* name : pass_names()) options.without.emplace_back(name);
  return options;
}

Plan plan_on_inputs(const Case& c, const PlanOptions& options) {
  return compile([&](std::span<const Tensor> in) { return run(with_inputs(c, in)); }, specs_of(c), options);
}

Plan plan_on_bound(const Case& c, const PlanOptions& options) {
  return compile([&](std::span<const Tensor>) { return run(c); }, {}, options);
}

void expect_same(const std::vector<Tensor>& eager, std::span<const Tensor> planned, const std::string& what) {
  ASSERT_EQ(eager.size(), planned.size());
  for (size_t i = 0; i < eager.size(); i++) ASSERT_TRUE(same_bits(planned[i], eager[i])) << what << ", result " << i;
}

TEST_P(PlannedOp, EqualsEager) {
  for (const int n : teams({1, 2, 3})) {
    set_threads(n);
    for (DType type : {kF32, kF64}) {
      for (const Case& c : cases_of(op(), type)) {
        const std::vector<Tensor> eager = run(c);
        const PlacedCase strided(c, {Layout::kTransposed, Layout::kStrided, Layout::kReversed});
        for (bool passes : {true, false}) {
          const std::string how = describe(c) + (passes ? "" : ", no passes") + ", threads " + std::to_string(n);
          Plan plan = plan_on_inputs(c, options_for(n, passes));
          expect_same(eager, plan.run(defined_inputs(c)), how);
          if (HasFatalFailure()) return;
          // Inputs of a plan may have any layout: also one that the op itself would refuse (reshape).
          expect_same(eager, plan.run(defined_inputs(strided.call)), how + ", second run, strided inputs");
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// Bound tensors are read where they are, with their strides.
TEST_P(PlannedOp, EqualsEagerOnBoundTensors) {
  for (DType type : {kF32, kF64}) {
    for (const Case& c : cases_of(op(), type)) {
      for (const std::vector<Layout>& layouts :
           {std::vector{Layout::kTransposed, Layout::kStrided}, {Layout::kReversed, Layout::kOffset}}) {
        const PlacedCase placed(c, layouts);
        if (!placed.allowed()) continue;
        const std::vector<Tensor> eager = run(placed.call);
        for (bool passes : {true, false}) {
          for (const int n : teams({1, 3})) {
            set_threads(n);
            Plan plan = plan_on_bound(placed.call, options_for(n, passes));
            expect_same(eager, plan.run(),
                        describe(c) + (passes ? "" : ", no passes") + ", bound " + name(layouts[0]) + ", threads " +
                            std::to_string(n));
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// `_into` inside a capture stores to memory of the user's, of any layout.
TEST_P(PlannedOp, StoresToDestinations) {
  for (const Case& c : cases_of(op(), kF32)) {
    for (Layout layout : {Layout::kContiguous, Layout::kTransposed}) {
      const std::vector<Placed> by_hand = destinations(c, layout);  // kernels may follow the destination's layout
      const std::vector<Tensor> eager = tensors_of(by_hand);
      run_into(c, eager);
      std::vector<Placed> to = destinations(c, layout);
      const std::vector<Tensor> tensors = tensors_of(to);
      for (bool passes : {true, false}) {
        set_threads(3);
        Plan plan = compile([&](std::span<const Tensor> in) { run_into(with_inputs(c, in), tensors); }, specs_of(c),
                            options_for(3, passes));
        plan.run(defined_inputs(c));
        expect_same(eager, tensors, describe(c) + ", dst " + name(layout) + (passes ? "" : ", no passes"));
        if (HasFatalFailure()) return;
        for (const Placed& p : to) ASSERT_TRUE(p.surroundings_untouched()) << describe(c);
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

struct PlannedGradient : PlannedOp {};

std::vector<Tensor> weights_for(const std::vector<Tensor>& results) {
  Random random(11);
  std::vector<Tensor> weights;
  weights.reserve(results.size());
  for (const Tensor& y : results)
    weights.push_back(is_float(y.dtype()) ? random.tensor(y.shape(), y.dtype(), -1, 1) : Tensor());
  return weights;
}

// The results' dot product with fixed weights: its gradient passes the weights to the op's rule.
Tensor projected(const std::vector<Tensor>& results, const std::vector<Tensor>& weights) {
  Tensor total;
  for (size_t i = 0; i < results.size(); i++) {
    if (!weights[i].defined()) continue;
    const Tensor part = sum(results[i] * weights[i]);
    total = total.defined() ? total + part : part;
  }
  return total;
}

std::vector<Tensor> floats_of(const Case& c) {
  std::vector<Tensor> list;
  for (const Tensor& t : c.inputs)
    if (t.defined() && is_float(t.dtype())) list.push_back(t);
  return list;
}

TEST_P(PlannedGradient, EqualsEager) {
  for (DType type : {kF32, kF64}) {
    for (const Case& c : cases_of(op(), type)) {
      const std::vector<Tensor> results = run(c), weights = weights_for(results);
      std::vector<Tensor> eager;
      bool any = false;
      for (const Tensor& w : weights) any = any || w.defined();
      if (!any || floats_of(c).empty()) continue;
      for (const Tensor& g : gradient(*c.op, c.pointers(), c.attrs, results, weights, {}))
        if (g.defined()) eager.push_back(g);
      for (bool passes : {true, false}) {
        for (const int n : teams({1, 3})) {
          set_threads(n);
          Plan plan = compile(
              [&](std::span<const Tensor> in) {
                const Case symbolic = with_inputs(c, in);
                return gradients(projected(run(symbolic), weights), floats_of(symbolic));
              },
              specs_of(c), options_for(n, passes));
          const std::span<const Tensor> planned = plan.run(defined_inputs(c));
          ASSERT_EQ(planned.size(), eager.size()) << describe(c);
          for (size_t i = 0; i < eager.size(); i++)
            ASSERT_TRUE(close(planned[i], eager[i], {16, 16}, magnitude_of(c)))
                << describe(c) << ": gradient " << i << (passes ? "" : ", no passes") << ", threads " << n << "\n"
                << plan.describe();
        }
      }
    }
  }
}

// ---------------------------------------------------------------------------------------------------------------------

struct PlannedNoGradient : PlannedOp {};

// A sum of all results, whatever their types.
Tensor as_number(const std::vector<Tensor>& results) {
  Tensor total;
  for (const Tensor& y : results) {
    const Tensor part = sum(y.dtype() == kF32 ? y : to(y, kF32));
    total = total.defined() ? total + part : part;
  }
  return total;
}

// Is there anything to differentiate by? Ops that make tensors from numbers have no inputs.
bool takes_floats(const Op& op) {
  for (const Case& c : cases_of(op, kF32))
    if (!floats_of(c).empty()) return true;
  return false;
}

TEST_P(PlannedNoGradient, IsNamed) {
  for (const Case& c : cases_of(op(), kF32)) {
    if (floats_of(c).empty()) continue;
    try {
      compile(
          [&](std::span<const Tensor> in) {
            const Case symbolic = with_inputs(c, in);
            return gradients(as_number(run(symbolic)), floats_of(symbolic));
          },
          specs_of(c));
      FAIL() << describe(c) << ": no Error";
    } catch (const Error& e) {
      EXPECT_NE(std::string_view(e.what()).find(op().name), std::string_view::npos) << e.what();
    }
  }
}

INGOT_FOR_EVERY_OP(PlannedOp);
INGOT_FOR_OPS(PlannedGradient, [](const Op& op) { return op.gradient != nullptr; });
INGOT_FOR_OPS(PlannedNoGradient, [](const Op& op) { return op.gradient == nullptr && takes_floats(op); });

}  // namespace
}  // namespace ingot::harness
