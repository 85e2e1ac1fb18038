// A small training step as one plan: convolution-free, but with everything else a step has: forward, loss, backward,
// momentum, stores to parameters, a counter and a running mean.
#pragma once
#include <gtest/gtest.h>

#include <vector>

#include "ingot/base/memory.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"

namespace ingot::harness {

class TrainingPlan {
 public:
  explicit TrainingPlan(const PlanOptions& options = {}, int64_t batch = 32) {
    const uint64_t before = memory_stats().bytes_in_use;
    x_ = uniform({batch, 40}, 1, -1, 1);
    labels_ = argmax(matmul(x_, uniform({40, 10}, 2, -1, 1)), {1});
    const int64_t widths[] = {40, 64, 48, 10};
    for (int k = 0; k < 3; k++) {
      parameters_.push_back(uniform({widths[k + 1], widths[k]}, 3 + k, -0.2, 0.2));
      parameters_.push_back(zeros({widths[k + 1]}));
    }
    for (const Tensor& p : parameters_) velocities_.push_back(zeros(p.shape()));
    steps_ = zeros({});
    average_ = zeros({48});
    own_bytes_ = memory_stats().bytes_in_use - before;
    plan_ = compile([this](const Tensor& x, const Tensor& labels) { return step(x, labels); },
                    {{batch, 40}, {{batch}, kI64}}, options);
  }
  TrainingPlan(const TrainingPlan&) = delete;
  TrainingPlan& operator=(const TrainingPlan&) = delete;

  float run() {
    const float loss = plan_.run(x_, labels_)[0].item();
    if (runs_++ == 0) first_ = loss;
    return last_ = loss;
  }
  bool improved() const { return last_ < first_; }
  const Plan& plan() const { return plan_; }
  /// Bytes of tensors that are not the plan's.
  uint64_t own_bytes() const { return own_bytes_; }
  /// Everything that training changes.
  std::vector<Tensor> memory() const {
    std::vector<Tensor> all = parameters_;
    all.insert(all.end(), velocities_.begin(), velocities_.end());
    all.push_back(steps_);
    all.push_back(average_);
    return all;
  }

 private:
  Tensor step(const Tensor& x, const Tensor& labels) const {
    const std::vector<Tensor>& p = parameters_;
    Tensor hidden;
    const auto [loss, g] = value_and_grad(
        [&] {
          Tensor h = layer_norm(tanh(linear(x, p[0], p[1])));
          hidden = relu(linear(h, p[2], p[3]));
          return mean(softmax_cross_entropy(linear(hidden, p[4], p[5]), labels));
        },
        p);
    add_scaled_into(average_, average_ * 0.9, mean(hidden, {0}), 0.1);
    for (size_t i = 0; i < p.size(); i++) {
      const Tensor v = velocities_[i] * 0.9 + g[i];
      copy_into(velocities_[i], v);
      add_scaled_into(p[i], p[i], v, -0.01);
    }
    add_into(steps_, steps_, 1.0);
    return loss;
  }

  Tensor x_, labels_, steps_, average_;
  std::vector<Tensor> parameters_, velocities_;
  uint64_t own_bytes_ = 0;
  Plan plan_;
  int runs_ = 0;
  float first_ = 0, last_ = 0;
};

}  // namespace ingot::harness
