// Parameter slabs and updates, eagerly; train_step_test.cc has them inside a plan.
#include "ingot/nn/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

Tensor count_up(const Dims& shape, DType dtype = kF32) {
  return reshape(arange(1, static_cast<double>(element_count(shape)) + 1, 1, dtype), shape);
}
Tensor step_tensor(int64_t step) { return Tensor::from(std::vector<int64_t>{step}, {}); }

TEST(ParameterSlab, MovesParametersIntoOneBlock) {
  for (DType type : {kF32, kF64}) {
    Tensor a = count_up({3, 5}, type), b = count_up({}, type), c = transpose(count_up({2, 20}, type), 0, 1);
    const Tensor old_c = c;
    const ParameterSlab slab({{"a", &a}, {"b", &b}, {"c", &c}});
    EXPECT_EQ(slab.size(), 3u);
    EXPECT_EQ(slab.count(), 15 + 1 + 40);
    EXPECT_EQ(slab.name(1), "b");
    EXPECT_EQ(slab.gradients().shape(), slab.values().shape());
    for (const Tensor* t : {&a, &b, &c}) {
      EXPECT_TRUE(t->shares_storage(slab.values()));
      EXPECT_TRUE(t->is_contiguous());
      EXPECT_EQ(reinterpret_cast<uintptr_t>(t->raw()) % 64, 0u);
    }
    EXPECT_EQ(to(a, kF64).to_vector<double>(), count_up({3, 5}, kF64).to_vector<double>());
    EXPECT_EQ(to(c, kF64).to_vector<double>(), to(old_c, kF64).to_vector<double>());
    for (size_t i = 0; i < 3; i++) {
      const ptrdiff_t at = static_cast<char*>(slab.value(i).raw()) - static_cast<char*>(slab.values().raw());
      EXPECT_EQ(static_cast<char*>(slab.gradient(i).raw()) - static_cast<char*>(slab.gradients().raw()), at);
      EXPECT_EQ(slab.gradient(i).shape(), slab.value(i).shape());
    }
    // What lies between is zero.
    const double everything = 120 + 1 + 820;
    EXPECT_EQ(sum(slab.values()).item<double>(), everything);
    EXPECT_EQ(sum(abs(slab.gradients())).item<double>(), 0);
  }
}

TEST(ParameterSlab, SharedParametersAreOne) {
  Tensor a = count_up({2, 3}), b = ones({4}), again = a;
  const ParameterSlab slab({{"a", &a}, {"b", &b}, {"again", &again}, {"the same handle", &b}});
  EXPECT_EQ(slab.size(), 2u);
  EXPECT_EQ(slab.count(), 6 + 4);
  EXPECT_EQ(a.raw(), again.raw());
  EXPECT_TRUE(again.shares_storage(slab.values()));
}

TEST(ParameterSlab, ParametersAreInOneSlabAtATime) {
  Tensor a = ones({3});
  {
    const ParameterSlab first({{"a", &a}});
    EXPECT_REFUSED(ParameterSlab({{"a", &a}}), "another training step");
    const ParameterSlab copy = first;
  }
  const ParameterSlab second({{"a", &a}});
  EXPECT_TRUE(a.shares_storage(second.values()));
}

TEST(ParameterSlab, RefusesWithASentence) {
  Tensor a = ones({3}), b = ones({3}), wide = ones({3}, kF64), index = ones({3}, kI64), none;
  Tensor view = slice(a, 0, 1, 3, 1);
  const void* before = a.raw();
  EXPECT_REFUSED(ParameterSlab({}), "empty");
  EXPECT_REFUSED(ParameterSlab({{"a", &a}, {"a", &b}}), "\"a\"");
  EXPECT_REFUSED(ParameterSlab({{"a", &a}, {"n", &none}}), "\"n\" is undefined");
  EXPECT_REFUSED(ParameterSlab({{"a", &a}, {"n", nullptr}}), "\"n\" is undefined");
  EXPECT_REFUSED(ParameterSlab({{"a", &a}, {"w", &wide}}), "one type");
  EXPECT_REFUSED(ParameterSlab({{"i", &index}}), "f32 or f64");
  EXPECT_REFUSED(ParameterSlab({{"a", &a}, {"v", &view}}), "share some of their memory");
  EXPECT_EQ(a.raw(), before) << "a refused list must not move anything";
}

TEST(RecordUpdate, UpdatesEveryParameterAndNothingElse) {
  const Optimizer optimizers[] = {optim::Sgd{.lr = 0.5f},
                                  optim::Sgd{.lr = 0.5f, .momentum = 0.9, .nesterov = true},
                                  optim::Adam{.lr = 0.5f, .weight_decay = 0.1},
                                  optim::AdamW{.lr = 0.5f},
                                  optim::RmsProp{.lr = 0.5f},
                                  optim::RmsProp{.lr = 0.1f, .momentum = 0.9},
                                  optim::Adagrad{.lr = 0.5f},
                                  optim::Lion{.lr = 0.5f, .weight_decay = 0.1}};
  const int slots[] = {0, 1, 2, 2, 1, 2, 1, 1};
  for (size_t k = 0; k < std::size(optimizers); k++) {
    Tensor a = ones({3}), b = ones({2, 2});
    const ParameterSlab slab({{"a", &a}, {"b", &b}});
    EXPECT_EQ(optimizers[k].slots(), slots[k]);
    const Tensor state = make_state(optimizers[k], slab);
    EXPECT_EQ(state.defined(), slots[k] > 0);
    for (int64_t step = 1; step <= 3; step++) {
      fill(slab.gradient(0), 1);
      fill(slab.gradient(1), -1);
      record_update(optimizers[k], slab, state, full({}, 0.5), step_tensor(step));
    }
    EXPECT_LT(max(a).item(), 0.6f) << k;
    EXPECT_GT(min(b).item(), 1.1f) << k;
    EXPECT_EQ(sum(slab.values()).item(), sum(a).item() + sum(b).item()) << "the padding must stay zero, " << k;
    EXPECT_FALSE(std::isnan(sum(slab.values()).item())) << k;
  }
}

TEST(RecordUpdate, ClipsTheNormOfAllGradientsTogether) {
  Tensor a = zeros({1}), b = zeros({1});
  const ParameterSlab slab({{"a", &a}, {"b", &b}});
  for (double clip : {1.0, 100.0}) {  // the norm is 5
    fill(slab.values(), 0);
    fill(slab.gradient(0), 3);
    fill(slab.gradient(1), 4);
    record_update(optim::Sgd{.clip_norm = clip}, slab, {}, full({}, 1), step_tensor(1));
    const double factor = clip < 5 ? clip / (5 + 1e-6) : 1;
    EXPECT_NEAR(a.item<double>(), -3 * factor, 1e-6);
    EXPECT_NEAR(b.item<double>(), -4 * factor, 1e-6);
  }
  fill(slab.values(), 0);
  record_update(optim::Sgd{.clip_value = 3.5}, slab, {}, full({}, 1), step_tensor(1));
  EXPECT_EQ(a.item(), -3.f);
  EXPECT_EQ(b.item(), -3.5f);
}

TEST(RecordUpdate, RefusesWithASentence) {
  Tensor a = ones({3});
  const ParameterSlab slab({{"a", &a}});
  const Tensor lr = full({}, 0.5), step = step_tensor(1), state = zeros({2, slab.values().numel()});
  EXPECT_REFUSED(record_update(optim::Adam{}, slab, {}, lr, step), "make_state()");
  EXPECT_REFUSED(record_update(optim::Adam{}, slab, zeros({1, 16}), lr, step), "make_state()");
  EXPECT_REFUSED(record_update(optim::Adam{.eps = 0}, slab, state, lr, step), "eps");
  EXPECT_REFUSED(record_update(optim::Adam{.beta1 = 1}, slab, state, lr, step), "beta1");
  EXPECT_REFUSED(record_update(optim::AdamW{.clip_norm = -1}, slab, state, lr, step), "clip_norm");
  const Tensor one = zeros({1, slab.values().numel()});
  EXPECT_REFUSED(record_update(optim::RmsProp{.alpha = 1}, slab, one, lr, step), "alpha");
  EXPECT_REFUSED(record_update(optim::RmsProp{.eps = 0}, slab, one, lr, step), "eps");
  EXPECT_REFUSED(record_update(optim::Adagrad{.weight_decay = -1}, slab, one, lr, step), "weight_decay");
  EXPECT_REFUSED(record_update(optim::Lion{.beta2 = 2}, slab, one, lr, step), "beta2");
  EXPECT_REFUSED(record_update(optim::Lion{.clip_value = -2}, slab, one, lr, step), "clip_value");
  EXPECT_REFUSED(record_update(optim::Sgd{.nesterov = true}, slab, {}, lr, step), "nesterov");
}

}  // namespace
}  // namespace ingot
