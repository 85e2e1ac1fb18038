// What goes wrong inside compile() and run() is said in a sentence that names the thing, and leaves nothing broken.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/graph/plan_cache.h"
#include "ingot/ops/map.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

// The sentence must hold every one of `words`.
void expect_error(const std::function<void()>& act, std::initializer_list<const char*> words) {
  try {
    act();
  } catch (const Error& e) {
    for (const char* word : words) EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
    return;
  } catch (const std::exception& e) {
    FAIL() << "not an ingot::Error: " << e.what();
  }
  FAIL() << "no Error";
}

// After a failure the thread is as it was: ops compute, and another function compiles.
void expect_unharmed() {
  EXPECT_FALSE(capturing());
  EXPECT_EQ((full({}, 2.0) * 3.0).item(), 6);
  Plan plan = compile([](const Tensor& x) { return x * 3.0; }, {InputSpec{}});
  EXPECT_EQ(plan.run(full({}, 2.0))[0].item(), 6);
}

TEST(CaptureErrors, SymbolicTensorsHaveNoElements) {
  expect_error([] { compile([](const Tensor& x) { return x * sum(x).item<double>(); }, {{3}}); }, {"item", "symbolic"});
  expect_error([] { compile([](const Tensor& x) { return x * static_cast<double>(x.data<float>()[0]); }, {{3}}); },
               {"data", "symbolic", "[3]"});
  expect_error([] { compile([](const Tensor& x) { return x * static_cast<double>(x.at<float>({0})); }, {{3}}); },
               {"symbolic"});
  expect_error([] { compile([](const Tensor& x) { return x * static_cast<double>(x.to_vector<float>()[0]); }, {{3}}); },
               {"symbolic"});
  expect_unharmed();
}

TEST(CaptureErrors, SymbolicTensorsCanBePrinted) {
  std::ostringstream out;
  compile(
      [&](const Tensor& x) {
        out << relu(x) << "; " << sum(x) << "; " << to_string(transpose(x)) << "; " << zeros({0}) << "; "
            << describe(argmax(x));
        return x * 2.0;
      },
      {{2, 3}});
  EXPECT_EQ(out.str(), "symbolic f32 [2, 3]; symbolic f32 []; symbolic f32 [3, 2]; symbolic f32 [0]; i64 []");
  expect_unharmed();
}

TEST(CaptureErrors, SymbolicTensorsEndWithTheirCapture) {
  Tensor escaped;
  Plan plan = compile([&](const Tensor& x) { return escaped = relu(x); }, {{3}});
  expect_error([&] { relu(escaped); }, {"relu", "symbolic", "capture"});
  expect_error([&] { copy_into(zeros({3}), escaped); }, {"copy", "symbolic"});
  expect_error([&] { plan.run(escaped); }, {"symbolic"});
  expect_error([&] { compile([&](const Tensor& x) { return x + escaped; }, {{3}}); }, {"another capture"});
  expect_error([&] { compile([&](const Tensor&) { return escaped; }, {{3}}); }, {"another capture"});
  expect_error([&] { compile([&](const Tensor& x) { return gradients(sum(x), {escaped}); }, {{3}}); },
               {"another capture"});
  expect_unharmed();
}

// A later capture is another one, even where the same call makes it at the same place.
TEST(CaptureErrors, SymbolicTensorsDoNotReturnInALaterCapture) {
  Tensor escaped;
  for (int round = 0; round < 3; round++) {
    bool refused = false;
    try {
      compile(
          [&](const Tensor& x) {
            const Tensor y = escaped.defined() ? x + escaped : x * 2.0;
            escaped = exp(x);
            return y;
          },
          {{3}});
    } catch (const Error& e) {
      refused = std::string(e.what()).find("another capture") != std::string::npos;
    }
    EXPECT_EQ(refused, round > 0) << "round " << round;
  }
}

TEST(CaptureErrors, CompileInsideCompile) {
  const auto inner = [] { return compile([](const Tensor& x) { return x; }, {{3}}); };
  expect_error([&] { compile([&](const Tensor& x) { return inner(), x; }, {{3}}); }, {"compile", "inside"});
  expect_unharmed();
  // Caught by the user's function, it leaves the outer capture going.
  Plan plan = compile(
      [&](const Tensor& x) {
        try {
          inner();
        } catch (const Error&) {
        }
        return x * 2.0;
      },
      {{3}});
  EXPECT_EQ(plan.run(ones({3}))[0].to_vector<float>(), (std::vector<float>{2, 2, 2}));
}

TEST(CaptureErrors, GradientsOutsideACapture) {
  expect_error([] { gradients(ones({}), {ones({})}); }, {"gradients", "no capture"});
}

TEST(CaptureErrors, NumberOfInputs) {
  expect_error([] { compile([](const Tensor& x, const Tensor& y) { return x + y; }, {{3}}); }, {"takes 2", "1 input"});
  Plan plan = compile([](const Tensor& x, const Tensor& y) { return x + y; }, {{3}, {3}}, {.name = "adder"});
  expect_error([&] { plan.run(ones({3})); }, {"adder", "1 input", "2"});
  expect_error([&] { plan.run(ones({3}), ones({3}), ones({3})); }, {"adder", "3 inputs", "2"});
}

TEST(CaptureErrors, AnotherShapeOrTypeAtRun) {
  Plan plan = compile([](const Tensor& x, const Tensor& l) { return softmax_cross_entropy(x, l); },
                      {{{4, 3}, kF32, "logits"}, {{4}, kI64, "labels"}}, {.name = "loss"});
  const Tensor x = zeros({4, 3}), l = zeros({4}, kI64);
  plan.run(x, l);
  expect_error([&] { plan.run(zeros({5, 3}), l); }, {"loss", "\"logits\"", "[5, 3]", "[4, 3]"});
  expect_error([&] { plan.run(x, zeros({4}, kI32)); }, {"\"labels\"", "i32", "i64"});
  expect_error([&] { plan.run(Tensor(), l); }, {"\"logits\"", "undefined", "[4, 3]"});
  Plan unnamed = compile([](const Tensor& t) { return t; }, {{4, 3}});
  expect_error([&] { unnamed.run(zeros({3, 4})); }, {"input 0", "[3, 4]", "[4, 3]"});
  EXPECT_NEAR(plan.run(x, l)[0].to_vector<float>()[0], std::log(3.0), 1e-6);
}

TEST(CaptureErrors, OpsComplainAtCaptureTime) {
  expect_error([] { compile([](const Tensor& x) { return matmul(x, x); }, {{3, 4}}); }, {"matmul", "[3, 4]"});
  expect_error([] { compile([](const Tensor& x) { return x + ones({5}); }, {{4}}); }, {"add", "[4]", "[5]"});
  expect_error([] { compile([](const Tensor& x) { return relu(x + Tensor()); }, {{4}}); }, {"add", "undefined"});
  expect_unharmed();
}

TEST(CaptureErrors, Options) {
  const auto identity = [](const Tensor& x) { return x; };
  expect_error([&] { compile(identity, {{3}}, {.without = {"fusion"}}); }, {"\"fusion\"", "chains", "in_place"});
  expect_error([&] { compile(identity, {{3}}, {.threads = -1}); }, {"-1", "threads"});
  expect_error([&] { compile(identity, {{3}}, {.threads = 1000}); }, {"1000", "threads"});
  expect_unharmed();
}

TEST(CaptureErrors, Outputs) {
  expect_error([] { compile([](const Tensor&) { return Tensor(); }, {{3}}); }, {"undefined", "output 0"});
  using Named = std::vector<NamedTensor>;
  expect_error(
      [] {
        compile([](const Tensor& x) { return Named{{"y", x}, {"z", Tensor()}}; }, {{3}});
      },
      {"\"z\"", "undefined"});
  expect_error([] { compile([](const Tensor& x) { return Named{{"y", x}, {"y", x + x}}; }, {{3}}); }, {"\"y\"", "two"});
  // A name that collides with a given one by number.
  expect_error(
      [] {
        compile([](const Tensor& x) { return Named{{"output 1", x}, {"", x + x}}; }, {{3}});
      },
      {"\"output 1\""});
  Plan plan = compile([](const Tensor& x) { return Named{{"mean", mean(x)}, {"max", max(x)}}; }, {{3}});
  expect_error([&] { plan.output("median"); }, {"\"median\"", "mean", "max"});
}

TEST(CaptureErrors, DestinationsHaveElements) {
  expect_error(
      [] {
        compile(
            [](const Tensor& x) {
              const Tensor y = x * 2.0;
              relu_into(y, x);
              return y;
            },
            {{3}});
      },
      {"relu_into", "symbolic", "relu(…)"});
  const Tensor to = zeros({4});
  expect_error([&] { compile([&](const Tensor& x) { relu_into(to, x); }, {{3}}); }, {"relu", "[3]", "[4]"});
  const Tensor other = zeros({3}, kF64);
  expect_error([&] { compile([&](const Tensor& x) { relu_into(other, x); }, {{3}}); }, {"relu", "f64"});
  expect_error([&] { compile([&](const Tensor& x) { relu_into(broadcast_to(zeros({1}), {3}), x); }, {{3}}); },
               {"relu"});
  expect_unharmed();
}

TEST(CaptureErrors, EmptyPlans) {
  Plan none;
  expect_error([&] { none.run(); }, {"plan", "empty"});
  expect_error([&] { none.bytes(); }, {"plan", "empty"});
  Plan plan = compile([](const Tensor& x) { return x; }, {{3}});
  Plan moved = std::move(plan);
  expect_error([&] { plan.run(ones({3})); }, {"moved"});
  EXPECT_EQ(moved.run(ones({3}))[0].numel(), 3);
}

TEST(CaptureErrors, GradientArguments) {
  const auto with = [](auto f) { return [=] { compile([=](const Tensor& x) { return f(x); }, {{3}}); }; };
  expect_error(with([](const Tensor& x) { return gradients(argmax(x), {x}); }), {"gradients", "floating"});
  expect_error(with([](const Tensor& x) { return gradients(sum(x), {argmax(x)}); }), {"i64"});
  expect_error(with([](const Tensor& x) { return gradients(sum(x), {x, Tensor()}); }), {"undefined"});
  expect_error(with([](const Tensor& x) { return value_and_grad([&] { return x * 2.0; }, {x}).gradients; }),
               {"value_and_grad", "[3]", "sum"});
  expect_unharmed();
}

TEST(CaptureErrors, ParametersWithoutGradientAreListed) {
  const std::vector<NamedTensor> parameters = {
      {"fc1.weight", ones({2, 3})}, {"fc2.weight", ones({2, 3})}, {"fc3.bias", ones({2})}};
  const auto build = [&](Unused unused) {
    return compile(
        [&, unused](const Tensor& x) { return gradients(sum(linear(x, parameters[0].tensor)), parameters, unused); },
        {{4, 3}});
  };
  expect_error([&] { build(Unused::kError); }, {"fc2.weight", "fc3.bias", "kZeros"});
  try {
    build(Unused::kError);
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("fc1.weight"), std::string::npos) << "it has one: " << e.what();
  }
  Plan plan = build(Unused::kZeros);
  plan.run(ones({4, 3}));
  EXPECT_EQ(plan.outputs()[0].to_vector<float>(), std::vector<float>(6, 4));
  EXPECT_EQ(plan.outputs()[1].to_vector<float>(), std::vector<float>(6, 0));
  EXPECT_EQ(plan.outputs()[2].to_vector<float>(), std::vector<float>(2, 0));
}

TEST(CaptureErrors, NoGradientOnTheWay) {
  const Tensor labels = zeros({4}, kI64);
  // The gradient's own gradient, which the op says it has not.
  expect_error(
      [&] {
        compile(
            [&](const Tensor& x) {
              const Scope scope("head");
              const Tensor g = gradients(sum(softmax_cross_entropy(x, labels)), {x})[0];
              return gradients(sum(square(g)), {x});
            },
            {{4, 3}});
      },
      {"head", "softmax_cross_entropy_grad", "not differentiable", "stop_gradient"});
  expect_error([] { compile([](const Tensor& x) { return gradients(to(argmax(x), kF32), {x}); }, {{3}}); }, {"argmax"});
  expect_unharmed();
}

TEST(CaptureErrors, ByteLimitNamesTheLargest) {
  const auto f = [](const Tensor& x) {
    const Scope scope("body");
    const Tensor h = tanh(matmul(x, transpose(x)));
    return sum(softmax(h, 1));
  };
  expect_error(
      [&] {
        compile(f, {{512, 8}}, {.name = "net", .byte_limit = 1 << 19});
      },
      {"\"net\"", "512.0 KiB", "body/", "1.0 MiB"});
  EXPECT_NO_THROW(compile(f, {{512, 8}}, {.byte_limit = size_t{1} << 24}));
  const size_t need = compile(f, {{512, 8}}).bytes().own();
  EXPECT_NO_THROW(compile(f, {{512, 8}}, {.byte_limit = need}));
}

// The limit holds for all that the plan takes: constants and scratch, too.
TEST(CaptureErrors, ByteLimitCountsConstants) {
  const auto f = [](const Tensor& x) { return x + eye(300); };
  const PlanBytes b = compile(f, {{300, 300}}).bytes();
  ASSERT_GE(b.constants, 300u * 300 * 4);
  expect_error([&] { compile(f, {{300, 300}}, {.byte_limit = b.own() - 1}); }, {"limit"});
}

TEST(CaptureErrors, CheckNumericsNamesTheFirstStep) {
  const auto f = [](const Tensor& x) {
    const Scope scope("net");
    const Tensor rows = [&] {
      const Scope inner("first");
      return sum(log(x), {1});
    }();
    const Scope inner("second");
    return softmax(rows * 2.0, 0);
  };
  for (const bool fused : {true, false}) {
    PlanOptions options{.name = "step", .check_numerics = true};
    if (!fused) options.without = {"chains", "reduce"};
    Plan plan = compile(f, {{4, 5}}, options);
    plan.run(ones({4, 5}));
    expect_error([&] { plan.run(zeros({4, 5})); }, {"step", "net/first/", "log", "infinity"});
    expect_error([&] { plan.run(full({4, 5}, -1)); }, {"net/first/", "log", "NaN"});
    EXPECT_NO_THROW(plan.run(ones({4, 5}))) << "a plan that found something runs again";
  }
}

TEST(CaptureErrors, IndicesOutOfRange) {
  const Tensor table = uniform({5, 3}, 1);
  Plan given = compile([&](const Tensor& i) { return embedding(table, i); }, {{{4}, kI64}});
  const auto indices = [](int64_t last) { return Tensor::from(std::vector<int64_t>{0, 1, 4, last}); };
  given.run(indices(2));
  expect_error([&] { given.run(indices(5)); }, {"embedding", "5"});
  expect_error([&] { given.run(indices(-1)); }, {"embedding", "-1"});
  // Computed inside the plan: known only while it runs.
  Plan computed = compile([&](const Tensor& i) { return relu(embedding(table, i + i)); }, {{{4}, kI64}});
  const auto halves = [](int64_t last) { return Tensor::from(std::vector<int64_t>{0, 1, 2, last}); };
  EXPECT_NO_THROW(computed.run(halves(1)));
  expect_error([&] { computed.run(halves(3)); }, {"embedding", "6"});
  const Tensor rows = computed.run(halves(2))[0];
  EXPECT_EQ(rows.at<float>({3, 1}), table.at<float>({4, 1})) << "a plan that found something runs again";
}

// A run that fails in a check has written what the function had written by then, and no more.
TEST(CaptureErrors, ChecksWaitForTheStoresBeforeThem) {
  const Tensor table = uniform({5}, 1), before = zeros({4}), after = zeros({4});
  for (const bool used : {true, false}) {  // a check whose result nobody reads is not made; the other one is
    copy_into(before, zeros({4}));
    copy_into(after, zeros({4}));
    Plan plan = compile(
        [&](const Tensor& x) {
          add_into(before, x, 1.0);  // would be one step with the other store, were it not for the checks
          const Tensor first = index_select(table, to(x, kI64));
          const Tensor second = index_select(table, to(x * 2.0, kI64));
          add_into(after, x, 2.0);
          return used ? first + second : first;
        },
        {{4}});
    EXPECT_NO_THROW(plan.run(ones({4})));
    EXPECT_EQ(before.to_vector<float>(), std::vector<float>(4, 2));
    EXPECT_EQ(after.to_vector<float>(), std::vector<float>(4, 3));
    expect_error([&] { plan.run(full({4}, 7)); }, {"index_select", "7"});
    EXPECT_EQ(before.to_vector<float>(), std::vector<float>(4, 8));
    EXPECT_EQ(after.to_vector<float>(), std::vector<float>(4, 3));
  }
}

// What callers, bindings and exit codes go by.
TEST(CaptureErrors, Kinds) {
  const auto kind_of = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& e) {
      return e.kind();
    }
    return ErrorKind::kInternal;
  };
  const auto compiled = [&](const std::function<void(const Tensor&)>& fn) {
    return kind_of([&] {
      compile(
          [&](const Tensor& x) {
            fn(x);
            return x * 2.0;
          },
          {{2, 3}});
    });
  };
  const Tensor w = ones({2, 3}), turned = ones({3, 2}), integers = zeros({2, 3}, kI64);
  EXPECT_EQ(compiled([&](const Tensor& x) { matmul(x, x); }), ErrorKind::kShape);
  EXPECT_EQ(compiled([&](const Tensor& x) { add(x, integers); }), ErrorKind::kType);
  EXPECT_EQ(compiled([&](const Tensor& x) { copy_into(turned, x); }), ErrorKind::kShape);
  EXPECT_EQ(compiled([&](const Tensor& x) { copy_into(integers, x); }), ErrorKind::kType);
  EXPECT_EQ(compiled([&](const Tensor& x) { copy_into(Tensor(), x); }), ErrorKind::kArgument);
  EXPECT_EQ(compiled([&](const Tensor& x) { gradients(argmax(x), {w}); }), ErrorKind::kType);
  EXPECT_EQ(compiled([&](const Tensor& x) { gradients(sum(x), {integers}); }), ErrorKind::kType);
  EXPECT_EQ(compiled([&](const Tensor& x) { gradients(sum(x), {w}); }), ErrorKind::kArgument);
  EXPECT_EQ(compiled([&](const Tensor& x) { value_and_grad([&] { return x * w; }, {w}); }), ErrorKind::kShape);
  EXPECT_EQ(compiled([&](const Tensor&) { uniform({2}, w); }), ErrorKind::kType);
  EXPECT_EQ(compiled([&](const Tensor&) { uniform({2}, integers); }), ErrorKind::kShape);
  EXPECT_EQ(compiled([&](const Tensor& x) { x.item(); }), ErrorKind::kArgument);
  EXPECT_EQ(kind_of([&] {
              compile([](const Tensor& x) { return relu(x); }, {{9, 9}}, {.byte_limit = 1});
            }),
            ErrorKind::kMemory);
  Plan log_of = compile([](const Tensor& x) { return log(x); }, {{2}}, {.check_numerics = true});
  EXPECT_EQ(kind_of([&] { log_of.run(zeros({2})); }), ErrorKind::kNumeric);
  EXPECT_EQ(kind_of([&] { log_of.run(zeros({3})); }), ErrorKind::kShape);
  EXPECT_EQ(kind_of([&] { log_of.run(zeros({2}, kF64)); }), ErrorKind::kType);
}

TEST(CaptureErrors, TwoRunsAtOnce) {
  // A function that waits inside the plan until the other thread has tried.
  std::atomic<bool> inside{false}, tried{false};
  const MapFunction wait("wait", [&](auto x) {
    inside = true;
    while (!tried) std::this_thread::yield();
    return x;
  });
  Plan plan = compile([&](const Tensor& x) { return map(wait, x); }, {{1}}, {.name = "busy"});
  std::thread runner([&] { plan.run(ones({1})); });
  while (!inside) std::this_thread::yield();
  expect_error([&] { plan.run(ones({1})); }, {"busy", "running"});
  tried = true;
  runner.join();
  EXPECT_NO_THROW(plan.run(ones({1})));
}

TEST(CaptureErrors, UsersExceptionsPassThrough) {
  struct Mine : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const auto thrower = [](const Tensor& x) -> Tensor {
    const Scope scope("a");
    const Scope inner("b");
    checkpoint([&](const Tensor& t) -> Tensor { throw Mine("stop " + to_string(t.shape())); }, x);
    return x;
  };
  EXPECT_THROW(compile(thrower, {{3}}), Mine);
  expect_unharmed();
  Plan plan = compile([](const Tensor& x) { return exp(x); }, {{3}});
  EXPECT_EQ(plan.dump().find("a/b"), std::string::npos);
}

TEST(CaptureErrors, SeedsComeFromOutside) {
  expect_error([] { compile([](const Tensor& s) { return normal({3}, s + s); }, {{{}, kI64}}); }, {"normal", "seed"});
  expect_error([] { compile([](const Tensor& s) { return normal({3}, s); }, {InputSpec{}}); }, {"normal", "i64"});
  expect_unharmed();
}

TEST(CaptureErrors, PlanCacheKeepsAtLeastOne) {
  expect_error([] { PlanCache([](const Tensor& x) { return x; }, 1, {}, 0); }, {"plan cache", "one"});
  PlanCache cache([](const Tensor& x) { return x; }, 1);
  expect_error([&] { cache.run(Tensor()); }, {"undefined"});
}

}  // namespace
}  // namespace ingot
