// Optimisers: a rule that makes new parameters of parameters, gradients and what it remembers. Any struct with these
// four members is one (examples/own_optimizer.cc):
//
//   struct Momentum {
//     static constexpr const char* kName = "momentum";
//     float lr = 1e-2f;
//     int slots() const { return 1; }          // numbers that it keeps per parameter
//     void update(const Update& u) const {     // written with ops; in a training step it becomes one pass
//       const Tensor v = u.slot(0) * 0.9 + u.gradient();
//       u.set(u.values() - v * u.rate(), {v});
//     }
//   };
#pragma once
#include <concepts>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/nn/slab.h"

namespace ingot {

/// What a rule sees: parameters, gradients and slots of a slab, all vectors of one length. What lies between two
/// parameters is zero in all of them and must stay so.
class INGOT_API Update {
 public:
  Update(const ParameterSlab& slab, const Tensor& state, const Tensor& lr, const Tensor& step)
      : slab_(slab), state_(state), lr_(lr), step_(step) {}

  const Tensor& values() const { return slab_.values(); }
  const Tensor& gradient() const { return slab_.gradients(); }
  /// The gradient, multiplied so that its norm is at most `clip_norm`, then limited to ±`clip_value`; 0: not limited.
  Tensor gradient(double clip_norm, double clip_value) const;
  /// What the gradient is to be multiplied by for that norm; undefined for 0.
  Tensor norm_factor(double clip_norm) const;
  /// The numbers of slot i, zero before the first update.
  Tensor slot(int i) const;
  /// The learning rate, a scalar: f32, or in the parameters' type.
  const Tensor& lr() const { return lr_; }
  Tensor rate() const;
  /// The number of this update, an i64 scalar: the first is 1.
  const Tensor& step() const { return step_; }
  /// The end of an update: the new parameters, and what slots 0, 1, … hold from now on.
  void set(const Tensor& values, std::initializer_list<Tensor> slots = {}) const;

 private:
  const ParameterSlab& slab_;
  const Tensor &state_, &lr_, &step_;
};

template <class T>
concept OptimizerRule = requires(const T& rule, const Update& u) {
  { T::kName } -> std::convertible_to<std::string>;  // a checkpoint remembers it
  { rule.lr } -> std::convertible_to<float>;
  { rule.slots() } -> std::convertible_to<int>;
  rule.update(u);
};

/// Any optimiser, as a value.
class INGOT_API Optimizer {
 public:
  template <OptimizerRule T>
  Optimizer(T rule) : rule_(std::make_shared<Holder<T>>(std::move(rule))) {}  // NOLINT: optim::Adam{} is one

  std::string name() const { return rule_->name(); }
  /// The learning rate that it begins with.
  float lr() const { return rule_->lr(); }
  /// How many numbers it keeps per parameter.
  int slots() const { return rule_->slots(); }
  void update(const Update& u) const { rule_->update(u); }

 private:
  struct Rule {
    virtual ~Rule() = default;
    virtual std::string name() const = 0;
    virtual float lr() const = 0;
    virtual int slots() const = 0;
    virtual void update(const Update& u) const = 0;
  };
  template <class T>
  struct Holder final : Rule {
    explicit Holder(T the_rule) : rule(std::move(the_rule)) {}
    std::string name() const override { return T::kName; }
    float lr() const override { return rule.lr; }
    int slots() const override { return rule.slots(); }
    void update(const Update& u) const override { rule.update(u); }
    T rule;
  };
  std::shared_ptr<const Rule> rule_;
};

namespace optim {

/// Stochastic gradient descent, as PyTorch defines it: weight decay is added to the gradient.
struct INGOT_API Sgd {
  static constexpr const char* kName = "sgd";
  float lr = 1e-2f;
  double momentum = 0, weight_decay = 0;
  bool nesterov = false;
  double clip_norm = 0, clip_value = 0;  // 0: no clipping
  int slots() const { return momentum != 0 ? 1 : 0; }
  void update(const Update& u) const;
};

/// Adam (Kingma and Ba); weight decay is added to the gradient.
struct INGOT_API Adam {
  static constexpr const char* kName = "adam";
  float lr = 1e-3f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
  int slots() const { return 2; }
  void update(const Update& u) const;
};

/// Adam with decoupled weight decay (Loshchilov and Hutter).
struct INGOT_API AdamW {
  static constexpr const char* kName = "adamw";
  float lr = 1e-3f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2;
  double clip_norm = 0, clip_value = 0;
  int slots() const { return 2; }
  void update(const Update& u) const;
};

/// RMSProp (Tieleman and Hinton), as PyTorch defines it.
struct INGOT_API RmsProp {
  static constexpr const char* kName = "rmsprop";
  float lr = 1e-2f;
  double alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
  int slots() const { return momentum != 0 ? 2 : 1; }
  void update(const Update& u) const;
};

/// Adagrad (Duchi, Hazan and Singer).
struct INGOT_API Adagrad {
  static constexpr const char* kName = "adagrad";
  float lr = 1e-2f;
  double eps = 1e-10, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
  int slots() const { return 1; }
  void update(const Update& u) const;
};

/// Lion (Chen et al. 2023): the sign of a moving mean; weight decay is decoupled.
struct INGOT_API Lion {
  static constexpr const char* kName = "lion";
  float lr = 1e-4f;
  double beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
  double clip_norm = 0, clip_value = 0;
  int slots() const { return 1; }
  void update(const Update& u) const;
};

}  // namespace optim

/// What an optimiser keeps for all parameters of a slab, zero: [slots, slab.values().numel()]; undefined if nothing.
INGOT_API Tensor make_state(const Optimizer& optimizer, const ParameterSlab& slab);

/// Updates a slab from its gradients. `lr` and `step` (1 at the first update) are scalars, f32 and i64. In a capture
/// the update is recorded.
INGOT_API void record_update(const Optimizer& optimizer, const ParameterSlab& slab, const Tensor& state,
                             const Tensor& lr, const Tensor& step);

}  // namespace ingot
