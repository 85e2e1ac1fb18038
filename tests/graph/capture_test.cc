// What a capture sees and what a plan gives back.
#include <gtest/gtest.h>

#include <numeric>

#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/graph/plan_cache.h"
#include "ingot/ops/map.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

using harness::same_bits;
using harness::values_of;

Tensor counting(const Dims& shape, DType dtype = kF32) {
  return reshape(arange(0, static_cast<double>(element_count(shape)), 1, dtype), shape);
}

TEST(Capture, ScopesNameTheSteps) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Scope net("encoder");
        Tensor h;
        {
          const Scope layer("fc1");
          h = softmax(x, 1);
        }
        const Scope layer("fc2");
        return cumsum(h, 1);
      },
      {{4, 5}});
  EXPECT_NE(plan.dump().find("encoder/fc1/softmax"), std::string::npos) << plan.dump();
  EXPECT_NE(plan.dump().find("encoder/fc2/cumsum"), std::string::npos) << plan.dump();
  EXPECT_EQ(plan.dump().find("fc1/fc2"), std::string::npos) << plan.dump();
  const Scope outside("nothing");  // outside a capture it does nothing
}

TEST(Capture, DumpIsStable) {
  const Tensor w = uniform({16, 8}, 1);
  const auto f = [&](const Tensor& x) { return gradients(sum(tanh(linear(x, w))), {w}); };
  EXPECT_EQ(compile(f, {{4, 8}}).dump(), compile(f, {{4, 8}}).dump());
}

TEST(Capture, BoundTensorsAreSeenByReference) {
  const Tensor w = ones({3});
  Plan plan = compile([&](const Tensor& x) { return x * w; }, {{3}});
  EXPECT_EQ(values_of(plan.run(ones({3}))[0]), (std::vector<double>{1, 1, 1}));
  fill(w, 5);
  EXPECT_EQ(values_of(plan.run(ones({3}))[0]), (std::vector<double>{5, 5, 5}));
}

TEST(Capture, BoundTensorsOutliveTheirHandles) {
  Plan plan;
  {
    const Tensor w = full({1000}, 3);
    plan = compile([&](const Tensor& x) { return x + w; }, {{1000}});
  }
  const Tensor noise = full({1000}, 9);  // would take the place of what was freed
  EXPECT_EQ(plan.run(zeros({1000}))[0].at<float>({999}), 3);
}

TEST(Capture, StridedInputs) {
  Plan plan = compile([](const Tensor& x) { return reshape(x, {12}) * 1.5; }, {{3, 4}});
  const Tensor x = counting({3, 4});
  const std::vector<double> expected = values_of(plan.run(x)[0]);
  EXPECT_EQ(values_of(plan.run(transpose(copy(transpose(x))))[0]), expected);
  EXPECT_GE(plan.bytes().inputs, 48u);
  const Tensor wide = zeros({3, 8});
  copy_into(slice(wide, 1, 0, 8, 2), x);
  EXPECT_EQ(values_of(plan.run(slice(wide, 1, 0, 8, 2))[0]), expected);
  EXPECT_EQ(values_of(plan.run(broadcast_to(ones({1}), {3, 4}))[0]), std::vector<double>(12, 1.5));
  EXPECT_EQ(values_of(plan.run(x)[0]), expected);
}

TEST(Capture, InputsReturnedAreCopies) {
  Plan plan = compile([](const Tensor& x) { return std::vector<Tensor>{x, transpose(x), x * 1.0}; }, {{2, 3}});
  const Tensor x = counting({2, 3});
  plan.run(x);
  fill(x, -1);
  EXPECT_EQ(values_of(plan.outputs()[0]), (std::vector<double>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(values_of(plan.outputs()[1]), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(values_of(plan.outputs()[2]), (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST(Capture, ConstantsReturned) {
  Plan plan = compile(
      [](const Tensor& x) {
        return std::vector<Tensor>{ones({2, 2}), full({}, 7), broadcast_to(full({1}, 3), {4}), zeros_like(x), eye(2)};
      },
      {{2}});
  for (int run = 0; run < 2; run++) {
    plan.run(ones({2}));
    EXPECT_EQ(values_of(plan.outputs()[0]), (std::vector<double>{1, 1, 1, 1}));
    EXPECT_EQ(plan.outputs()[1].item(), 7);
    EXPECT_EQ(values_of(plan.outputs()[2]), (std::vector<double>{3, 3, 3, 3}));
    EXPECT_EQ(values_of(plan.outputs()[3]), (std::vector<double>{0, 0}));
    EXPECT_EQ(values_of(plan.outputs()[4]), (std::vector<double>{1, 0, 0, 1}));
    fill(plan.outputs()[0], 8);  // a result is the caller's until the next run
  }
}

TEST(Capture, BoundTensorsReturnedAreThemselves) {
  const Tensor w = counting({2, 3});
  Plan plan = compile([&](const Tensor&) { return std::vector<Tensor>{w, transpose(w)}; }, {{1}});
  plan.run(ones({1}));
  fill(w, 4);
  EXPECT_EQ(values_of(plan.outputs()[0]), std::vector<double>(6, 4));
  EXPECT_EQ(values_of(plan.outputs()[1]), std::vector<double>(6, 4));
}

TEST(Capture, TheSameTensorTwice) {
  Plan plan = compile(
      [](const Tensor& x) {
        const Tensor y = exp(x);
        return std::vector<Tensor>{y, y, transpose(y)};
      },
      {{2, 2}});
  plan.run(zeros({2, 2}));
  for (const Tensor& t : plan.outputs()) EXPECT_EQ(values_of(t), std::vector<double>(4, 1));
}

TEST(Capture, NamedOutputs) {
  Plan plan = compile([](const Tensor& x) { return std::vector<NamedTensor>{{"a", x + 1.0}, {"", x + 2.0}}; }, {{1}});
  plan.run(zeros({1}));
  EXPECT_EQ(plan.output("a").item(), 1);
  EXPECT_EQ(plan.output("output 1").item(), 2);
}

TEST(Capture, NothingToDo) {
  Plan plan = compile([] {}, {});
  EXPECT_EQ(plan.run().size(), 0u);
  EXPECT_EQ(plan.step_count(), 0);
  EXPECT_EQ(plan.bytes().own(), 0u);
  Plan unused = compile([](const Tensor& x) { exp(x); }, {{1000}});  // nobody asks for it
  EXPECT_EQ(unused.run(ones({1000})).size(), 0u);
  EXPECT_EQ(unused.step_count(), 0);
}

TEST(Capture, EmptyTensors) {
  const auto f = [](const Tensor& x) {
    return std::vector<Tensor>{exp(x) * 2.0,
                               sum(x * x, {0}),
                               sum(tanh(x)),
                               matmul(x, ones({3, 2})),
                               matmul(transpose(x), x),
                               concat({x, x}, 0),
                               softmax(x, 1),
                               reshape(x, {3, 0}),
                               x};
  };
  for (const bool passes : {true, false}) {
    PlanOptions options;
    if (!passes)
      for (const char* name : pass_names()) options.without.emplace_back(name);
    Plan plan = compile(f, {{0, 3}}, options);
    const Tensor x = zeros({0, 3});
    const std::vector<Tensor> eager = f(x);
    const std::span<const Tensor> planned = plan.run(x);
    for (size_t i = 0; i < eager.size(); i++) EXPECT_TRUE(same_bits(planned[i], eager[i])) << "result " << i;
  }
}

TEST(Capture, Scalars) {
  const auto f = [](const Tensor& x, const Tensor& v) {
    return std::vector<Tensor>{exp(x), x * v, sum(x), mean(x * x), where(greater(x, 0.0), x, -x), sum(v * x)};
  };
  Plan plan = compile(f, {InputSpec{}, {5}});
  const Tensor x = full({}, -1.5), v = counting({5});
  const std::vector<Tensor> eager = f(x, v);
  const std::span<const Tensor> planned = plan.run(x, v);
  for (size_t i = 0; i < eager.size(); i++) EXPECT_TRUE(same_bits(planned[i], eager[i])) << "result " << i;
}

TEST(Capture, IntegersAndBools) {
  const auto f = [](const Tensor& i) {
    return std::vector<Tensor>{i + i,  greater(i, 3.0),  to(greater(i, 3.0), kI32), maximum(i, i * i),
                               sum(i), to(i, kF32) * 0.5};
  };
  Plan plan = compile(f, {{{7}, kI64}});
  const Tensor i = arange(0, 7, 1, kI64);
  const std::vector<Tensor> eager = f(i);
  const std::span<const Tensor> planned = plan.run(i);
  for (size_t k = 0; k < eager.size(); k++) EXPECT_TRUE(same_bits(planned[k], eager[k])) << "result " << k;
}

// The function object of map() may go before the plan does.
TEST(Capture, MapFunctionsAreKept) {
  Plan plan;
  {
    const std::vector<double> table = {1, 10, 100};
    auto fn = std::make_unique<MapFunction>(
        "table", [table](auto x) { return static_cast<decltype(x)>(table[static_cast<size_t>(x)] * 2); },
        [](auto) { return 3.0; });
    plan = compile(
        [&](const Tensor& x) {
          const Tensor y = map(*fn, x);
          return std::vector<Tensor>{y, gradients(sum(y), {x})[0]};
        },
        {{3}});
  }
  const std::vector<double> noise(1000, -1);
  EXPECT_EQ(values_of(plan.run(counting({3}))[0]), (std::vector<double>{2, 20, 200}));
  EXPECT_EQ(values_of(plan.outputs()[1]), (std::vector<double>{3, 3, 3}));
}

TEST(Capture, DifferentMapFunctionsAreNotShared) {
  const auto make = [](double by) {
    return MapFunction("scale", [by](auto x) { return static_cast<decltype(x)>(x * by); });
  };
  Plan plan = compile([&](const Tensor& x) { return std::vector<Tensor>{map(make(2), x), map(make(3), x)}; }, {{1}});
  plan.run(ones({1}));
  EXPECT_EQ(plan.outputs()[0].item(), 2);
  EXPECT_EQ(plan.outputs()[1].item(), 3);
}

TEST(Capture, SeedInputsDriveRandomOps) {
  const Tensor x = ones({500});
  Plan plan = compile(
      [](const Tensor& in, const Tensor& seed) {
        return std::vector<Tensor>{dropout(in, 0.4, seed, 3), normal({500}, seed, 1, 2, 5), uniform({500}, seed, -1, 1),
                                   bernoulli({500}, seed, 0.3, 1)};
      },
      {{500}, {{}, kI64, "seed"}});
  const auto draw = [&](int64_t seed) {
    std::vector<Tensor> results;
    for (const Tensor& t : plan.run(x, full({}, static_cast<double>(seed), kI64))) results.push_back(clone(t));
    return results;
  };
  const std::vector<Tensor> a = draw(1), b = draw(2), again = draw(1);
  const std::vector<Tensor> eager = {dropout(x, 0.4, 1, 3)[0], normal({500}, 1, 1, 2, 5), uniform({500}, 1, -1, 1),
                                     bernoulli({500}, 1, 0.3, 1)};
  for (size_t i = 0; i < a.size(); i++) {
    EXPECT_TRUE(same_bits(a[i], again[i])) << i;
    EXPECT_TRUE(same_bits(a[i], eager[i])) << i;
    EXPECT_FALSE(same_bits(a[i], b[i])) << i;
  }
}

TEST(Capture, BoundSeedsAreReadAtEachRun) {
  const Tensor seed = full({}, 1, kI64);
  Plan plan = compile([&](const Tensor& x) { return dropout(x, 0.5, seed); }, {{200}});
  const Tensor first = clone(plan.run(ones({200}))[0]);
  fill(seed, 2);
  EXPECT_FALSE(same_bits(plan.run(ones({200}))[0], first));
  fill(seed, 1);
  EXPECT_TRUE(same_bits(plan.run(ones({200}))[0], first));
}

TEST(Capture, StoresHappenInTheOrderOfTheCalls) {
  const Tensor s = zeros({4});
  Plan plan = compile(
      [&](const Tensor& x) {
        const Tensor before = s + 0.0;
        copy_into(s, x);
        const Tensor between = s * 10.0;
        add_into(s, s, x);
        return std::vector<Tensor>{before, between, s + 0.0};
      },
      {{4}});
  for (int run = 0; run < 3; run++) {
    fill(s, 100);
    plan.run(full({4}, 3));
    EXPECT_EQ(plan.outputs()[0].at<float>({0}), 100);
    EXPECT_EQ(plan.outputs()[1].at<float>({0}), 30);
    EXPECT_EQ(plan.outputs()[2].at<float>({0}), 6);
    EXPECT_EQ(s.at<float>({0}), 6);
  }
}

// A value that the algebra finds equal to a bound tensor is what that tensor held then, not what it holds later.
TEST(Capture, ValuesAreSnapshotsOfBoundTensors) {
  for (const int form : {0, 1, 2, 3, 4}) {
    const Tensor s = full({4}, 7);
    Plan plan = compile(
        [&](const Tensor& x) {
          const Tensor seen = form == 0   ? s * 1.0
                              : form == 1 ? negative(negative(s))
                              : form == 2 ? pow(s, 1.0)
                              : form == 3 ? s - zeros({4})
                                          : copy(s);
          copy_into(s, x);
          return std::vector<Tensor>{seen, seen + 1.0};
        },
        {{4}});
    plan.run(zeros({4}));
    EXPECT_EQ(plan.outputs()[0].at<float>({0}), 7) << "form " << form << "\n" << plan.describe();
    EXPECT_EQ(plan.outputs()[1].at<float>({0}), 8) << "form " << form << "\n" << plan.describe();
  }
}

// Feeding a plan its own results is what a recurrent loop does.
TEST(Capture, ResultsMayBeTheNextInputs) {
  const Tensor w = uniform({8, 8}, 3, -0.5, 0.5);
  // The first result is written before the second has read the input.
  const auto f = [&](const Tensor& h) { return std::vector<Tensor>{tanh(matmul(h, w)), cumsum(h, 0)}; };
  for (const bool passes : {true, false}) {
    PlanOptions options;
    if (!passes)
      for (const char* name : pass_names()) options.without.emplace_back(name);
    Plan plan = compile(f, {{4, 8}}, options);
    std::vector<Tensor> eager = f(uniform({4, 8}, 4));
    plan.run(uniform({4, 8}, 4));
    for (int step = 0; step < 5; step++) {
      plan.run(plan.outputs()[0]);
      eager = f(eager[0]);
      for (size_t i = 0; i < 2; i++)
        ASSERT_TRUE(harness::close(plan.outputs()[i], eager[i], {0, 64}, 1)) << "step " << step << ", result " << i;
    }
  }
}

TEST(Capture, PlanCacheKeepsTheMostRecentlyUsed) {
  int captures = 0;
  PlanCache cache([&](const Tensor& x) { return captures++, tanh(matmul(x, transpose(x))); }, 1, {}, 2);
  const auto ask = [&](int64_t rows) { return cache.run(ones({rows, 2}))[0].numel(); };
  EXPECT_EQ(ask(1), 1);
  EXPECT_EQ(ask(2), 4);
  EXPECT_EQ(ask(1), 1);  // a hit
  EXPECT_EQ(cache.compiles(), 2);
  EXPECT_EQ(cache.evictions(), 0);
  const size_t bytes = cache.bytes();
  EXPECT_GT(bytes, 0u);
  EXPECT_EQ(ask(30), 900);  // 2 goes: 1 was used later
  EXPECT_EQ(cache.evictions(), 1);
  EXPECT_EQ(cache.size(), 2u);
  EXPECT_GT(cache.bytes(), bytes);
  EXPECT_EQ(ask(1), 1);
  EXPECT_EQ(cache.compiles(), 3);
  EXPECT_EQ(ask(2), 4);
  EXPECT_EQ(cache.compiles(), 4);
  EXPECT_EQ(captures, 4);
  cache.run(ones({2, 2}, kF64));  // another type is another plan
  EXPECT_EQ(cache.compiles(), 5);
}

}  // namespace
}  // namespace ingot
