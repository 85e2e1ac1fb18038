// Parameter slabs and updates, eagerly; train_step_test.cc has them inside a plan. And what plans make of an update.
#include "ingot/nn/optim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
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

// AdamW as a user writes it.
struct OwnAdamW {
  static constexpr const char* kName = "own adamw";
  float lr = 1e-2f;
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 1e-2, clip_norm = 0, clip_value = 0;
  int slots() const { return 2; }
  void update(const Update& u) const {
    const Tensor g = u.gradient(clip_norm, clip_value);
    const Tensor m = u.slot(0) * beta1 + g * (1 - beta1), v = u.slot(1) * beta2 + square(g) * (1 - beta2);
    const Tensor t = to(u.step(), u.values().dtype());
    const Tensor correct1 = 1.0 - exp(t * std::log(beta1)), correct2 = 1.0 - exp(t * std::log(beta2));
    const Tensor decayed = u.values() * (1.0 - u.rate() * weight_decay);
    u.set(decayed - m / correct1 / (sqrt(v / correct2) + eps) * u.rate(), {m, v});
  }
};

// Reads what it remembers once more after what is to take its place, so that the store must wait for the end.
struct OwnNesterov {
  static constexpr const char* kName = "own nesterov";
  float lr = 1e-2f;
  int slots() const { return 1; }
  void update(const Update& u) const {
    const Tensor v = u.slot(0) * 0.9 - u.gradient() * u.rate();
    u.set(u.values() + v + (v - u.slot(0)) * 0.9, {v});
  }
};

// Keeps the gradient itself: a copy of memory, beside a formula.
struct OwnOptimistic {
  static constexpr const char* kName = "own optimistic";
  float lr = 1e-2f;
  int slots() const { return 1; }
  void update(const Update& u) const {
    u.set(u.values() - (u.gradient() * 2.0 - u.slot(0)) * u.rate(), {u.gradient()});
  }
};

// Stores by itself, and goes on from what it stored.
struct OwnMomentum {
  static constexpr const char* kName = "own momentum";
  float lr = 1e-2f;
  int slots() const { return 1; }
  void update(const Update& u) const {
    copy_into(u.slot(0), u.slot(0) * 0.9 + u.gradient());
    u.set(u.values() - u.slot(0) * u.rate());
  }
};

struct Written {  // with ops, by us or by a user
  const char* name;
  Optimizer optimizer;
  bool clips_norm = false;
};

std::vector<Written> written_with_ops() {
  return {
      {"RMSProp", optim::RmsProp{}},
      {"RMSProp, momentum", optim::RmsProp{.momentum = 0.9}},
      {"RMSProp, all", optim::RmsProp{.momentum = 0.9, .weight_decay = 0.1, .clip_norm = 1, .clip_value = 0.5}, true},
      {"Adagrad", optim::Adagrad{}},
      {"Adagrad, all", optim::Adagrad{.weight_decay = 0.1, .clip_norm = 1, .clip_value = 0.5}, true},
      {"Lion", optim::Lion{}},
      {"Lion, decay", optim::Lion{.weight_decay = 0.1}},
      {"Lion, all", optim::Lion{.weight_decay = 0.1, .clip_norm = 1, .clip_value = 0.5}, true},
      {"AdamW", OwnAdamW{}},
      {"AdamW, all", OwnAdamW{.clip_norm = 1, .clip_value = 0.5}, true},
      {"Nesterov", OwnNesterov{}},
      {"optimistic", OwnOptimistic{}},
      {"momentum", OwnMomentum{}}};
}

struct Slab {
  Tensor w = uniform({37, 11}, 1, -1, 1), b = uniform({37}, 2, -1, 1);
  ParameterSlab slab{{{"w", &w}, {"b", &b}}};
  Tensor loss(const Tensor& x, const Tensor& y) const { return mean(square(tanh(linear(x, w, b)) - y)); }
};

// The lines of a plan's dump that name the slab's length: steps over it. The others are about one number.
std::vector<std::string> over_slab(const std::string& dump, int64_t length) {
  std::vector<std::string> found;
  for (size_t at = 0, end; at < dump.size(); at = end + 1) {
    end = std::min(dump.find('\n', at), dump.size());
    const std::string line = dump.substr(at, end - at);
    if (line.find("1x" + std::to_string(length) + ":") != std::string::npos ||
        line.find("[" + std::to_string(length) + "]") != std::string::npos)
      found.push_back(line);
  }
  return found;
}

// After the gradients one step goes over the slabs: it reads parameters, gradients and slots once each, and writes
// parameters and slots once each. Clipping the norm needs it first, which reads the gradients.
TEST(RecordUpdate, IsOnePassHoweverItIsWritten) {
  for (const Written& w : written_with_ops()) {
    const Slab s;
    const int64_t length = s.slab.values().numel();
    Updates updates(s.slab, w.optimizer);
    TrainStep step([&](const Tensor& x, const Tensor& y) { return s.loss(x, y); }, {&updates}, {{24, 11}, {24, 37}});
    const std::string dump = step.plan().dump();
    const std::vector<std::string> passes = over_slab(dump, length);
    ASSERT_EQ(passes.size(), w.clips_norm ? 2u : 1u) << w.name << "\n" << dump;
    EXPECT_NE(passes.back().find(" fused "), std::string::npos) << w.name << "\n" << dump;
    EXPECT_EQ(passes[0].find("norm") != std::string::npos, w.clips_norm) << w.name << "\n" << dump;
    EXPECT_NE(dump.find(passes.back() + "\narena"), std::string::npos) << w.name << ": it is the last step\n" << dump;

    const Tensor x = uniform({24, 11}, 3, -1, 1), y = uniform({24, 37}, 4, -1, 1);
    const Tensor* inputs[] = {&x, &y};
    const double vectors = 3 + 2.0 * w.optimizer.slots(), bytes = step.profile(1, inputs).steps.back().bytes;
    EXPECT_GE(bytes, vectors * static_cast<double>(length) * 4) << w.name << "\n" << dump;
    EXPECT_LE(bytes, vectors * static_cast<double>(length) * 4 + 64) << w.name << "\n" << dump;
  }
}

// An average of the parameters goes along: it reads what the same step has just computed.
TEST(RecordUpdate, TakesAveragesAlong) {
  const Slab s;
  Updates updates(s.slab, optim::RmsProp{}, {.ema = 0.9});
  const TrainStep step([&](const Tensor& x, const Tensor& y) { return s.loss(x, y); }, {&updates},
                       {{24, 11}, {24, 37}});
  const std::string dump = step.plan().dump();
  EXPECT_EQ(over_slab(dump, s.slab.values().numel()).size(), 1u) << dump;
}

// Bit for bit what its ops compute one after the other, in place or not, at any number of threads.
TEST(RecordUpdate, PlannedEqualsEager) {
  for (const Written& w : written_with_ops())
    for (const int threads : {1, 3})
      for (const char* without : {"", "stores", "chains", "in_place"}) {
        const Slab planned, eager;
        const Tensor state = make_state(w.optimizer, planned.slab), same = make_state(w.optimizer, eager.slab);
        const Tensor lr = full({}, 0.01), number = step_tensor(1);
        PlanOptions options{.threads = threads};
        if (*without != 0) options.without.emplace_back(without);
        Plan plan = compile([&] { record_update(w.optimizer, planned.slab, state, lr, number); }, {}, options);
        for (int64_t k = 1; k <= 3; k++) {
          *number.data<int64_t>() = k;
          for (const Slab* s : {&planned, &eager})
            for (size_t i = 0; i < 2; i++)
              copy_into(s->slab.gradient(i), normal(s->slab.value(i).shape(), 10 * k + static_cast<int64_t>(i)));
          plan.run();
          record_update(w.optimizer, eager.slab, same, lr, number);
          EXPECT_EQ(planned.slab.values().to_vector<float>(), eager.slab.values().to_vector<float>())
              << w.name << ", update " << k << ", without " << without << "\n"
              << plan.dump();
          EXPECT_EQ(state.to_vector<float>(), same.to_vector<float>()) << w.name << ", update " << k;
        }
      }
}

}  // namespace
}  // namespace ingot
