// Loops in plans: against eager rounds and closed forms, with every pass off, on several threads, saved and loaded, without
// allocations, with gradients. The thread sanitizer runs this file.
#include "ingot/graph/loop.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/loop.h"
#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

using harness::same_bits;
using harness::values_of;
using Stop = LoopOptions::Stop;

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

// A contraction: x = tanh(w x) / 2 + b.
Tensor step(const Tensor& x, const Tensor& w, const Tensor& b) { return 0.5 * tanh(matmul(w, x)) + b; }

struct Contraction {
  Tensor w = uniform({12, 12}, 1, -0.3, 0.3, 0, kF64), b = uniform({12, 5}, 2, -1, 1, 0, kF64);
  Tensor eager(int rounds) const {
    Tensor x = zeros({12, 5}, kF64);
    for (int i = 0; i < rounds; i++) x = step(x, w, b);
    return x;
  }
  static LoopOptions settled() { return {.stop = Stop::kClose, .epsilon = 1e-13}; }
  Plan plan(const LoopOptions& options, const PlanOptions& plan = {}) const {
    return compile(
        [&](const Tensor& bias) {
          const LoopResult r = loop([&](std::span<const Tensor> x) { return std::vector<Tensor>{step(x[0], w, bias)}; },
                                    {zeros({12, 5}, kF64)}, options);
          return std::vector<Tensor>{2.0 * r.values[0], r.rounds};
        },
        {{{12, 5}, kF64}}, plan);
  }
};

void expect_near(const Tensor& found, const Tensor& want, const std::string& what = "") {
  const std::vector<double> a = values_of(found), b = values_of(want);
  for (size_t i = 0; i < b.size(); i++) ASSERT_NEAR(a[i], b[i], 1e-12) << what;
}

TEST(Loop, CountedRoundsAreEagerRounds) {
  const Contraction c;
  for (const int rounds : {1, 2, 7}) {
    Plan plan = c.plan({.stop = Stop::kCount, .most = rounds});
    plan.run(c.b);
    EXPECT_TRUE(harness::close(plan.outputs()[0], 2.0 * c.eager(rounds), {4, 4}, 1)) << rounds;
    EXPECT_EQ(plan.outputs()[1].at<int64_t>({}), rounds);
  }
}

// Distances on a line: the k-th is found in round k, and the round after the last changes nothing.
TEST(Loop, StopsWhereNothingChanges) {
  const int64_t n = 30;
  Plan plan = compile(
      [&](const Tensor& start) {
        const LoopResult r = loop(
            [&](std::span<const Tensor> x) {
              const Tensor moved = concat({slice(x[0], 0, 0, 1), slice(x[0], 0, 0, n - 1) + 1.0});
              return std::vector<Tensor>{minimum(x[0], moved)};
            },
            {start});
        return std::vector<Tensor>{r.values[0], r.rounds};
      },
      {{n}});
  Tensor start = full({n}, INFINITY);
  start.at<float>({0}) = 0;
  plan.run(start);
  for (int64_t i = 0; i < n; i++) EXPECT_EQ(plan.outputs()[0].at<float>({i}), static_cast<float>(i));
  EXPECT_EQ(plan.outputs()[1].at<int64_t>({}), n);
}

TEST(Loop, StopsWhereHardlyAnythingChanges) {
  const Contraction c;
  Plan plan = c.plan(Contraction::settled());
  plan.run(c.b);
  const int64_t rounds = plan.outputs()[1].at<int64_t>({});
  EXPECT_GT(rounds, 10);
  EXPECT_LT(rounds, 200);
  expect_near(plan.outputs()[0], 2.0 * c.eager(300));
  Plan close = c.plan({.stop = Stop::kClose, .epsilon = 1e-3});
  close.run(c.b);
  EXPECT_LT(close.outputs()[1].at<int64_t>({}), rounds / 2);
}

TEST(Loop, EveryPassMayBeMissing) {
  const Contraction c;
  const Tensor want = 2.0 * c.eager(300);
  for (const char* pass : pass_names()) {
    Plan plan = c.plan(Contraction::settled(), {.without = {pass}});
    expect_near(plan.run(c.b)[0], want, pass);
  }
}

TEST(Loop, SameBitsAtAnyThreadCount) {
  const int before = threads();
  graph::share_every_step = true;
  const Contraction c;
  Tensor want;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    Plan plan = c.plan(Contraction::settled());
    EXPECT_EQ(plan.threads(), n);
    plan.run(c.b);
    if (n == 1) want = clone(plan.outputs()[0]);
    EXPECT_TRUE(same_bits(plan.outputs()[0], want)) << n;
    ExecutionContext alone(plan);  // a team of one on a plan for more
    EXPECT_TRUE(same_bits(alone.run(c.b)[0], want)) << n;
  }
  graph::share_every_step = false;
  set_threads(before);
}

TEST(Loop, TheCapIsAClearError) {
  const Contraction c;
  Plan plan = c.plan({.most = 5, .name = "settle"});
  const std::string text = message([&] { plan.run(c.b); });
  EXPECT_NE(text.find("settle: after 5 rounds a round still changes something"), std::string::npos) << text;
  Plan open = c.plan({.must_stop = false, .most = 5});
  open.run(c.b);
  EXPECT_EQ(open.outputs()[1].at<int64_t>({}), 5);
  Plan nan = c.plan({.stop = Stop::kClose, .most = 9});
  const std::string found = message([&] { nan.run(full({12, 5}, NAN, kF64)); });
  EXPECT_NE(found.find("not a number"), std::string::npos) << found;
  Plan distance = c.plan({.stop = Stop::kClose, .epsilon = 0, .most = 3});
  EXPECT_NE(message([&] { distance.run(c.b); }).find("(by 0."), std::string::npos);
}

TEST(Loop, RefusesWhatItCannotDo) {
  const Tensor x = ones({3});
  const auto run = [&](const LoopBody& body) { return message([&] { loop(body, {x}); }); };
  EXPECT_NE(run([](auto v) {
              return std::vector<Tensor>{v[0], v[0]};
            }).find("returns 2 values of 1"),
            std::string::npos);
  EXPECT_NE(run([](auto v) { return std::vector<Tensor>{sum(v[0])}; }).find("keep their type and shape"),
            std::string::npos);
  const Tensor mine = zeros({3});
  EXPECT_NE(run([&](auto v) {
              add_into(mine, v[0], v[0]);
              return std::vector<Tensor>{v[0]};
            }).find("writes memory of yours"),
            std::string::npos);
  const Tensor seed = full({}, 3, kI64);
  EXPECT_NE(run([&](auto v) { return std::vector<Tensor>{dropout(v[0], 0.5, seed)}; }).find("draws by a seed"),
            std::string::npos);
  const LoopBody same = [](std::span<const Tensor> v) { return std::vector<Tensor>(v.begin(), v.end()); };
  EXPECT_NE(message([&] { loop(same, std::vector<Tensor>()); }).find("no values"), std::string::npos);
}

// An input of the plan, a strided one, a constant and a view of a computed value reach the body; integers stay exact.
TEST(Loop, ReadsWhateverIsThere) {
  const Tensor x = uniform({4, 6}, 3), t = uniform({6, 4}, 4);
  const auto fn = [&](const Tensor& a, const Tensor& b) {
    const Tensor turned = transpose(exp(a)), slow = transpose(b);
    return loop(
               [&](std::span<const Tensor> v) {
                 const Tensor next = 0.1 * (v[0] + transpose(turned) * slow) + full({4, 6}, 0.25);
                 return std::vector<Tensor>{next, v[1] + 1, transpose(transpose(v[2]))};
               },
               {a, zeros({2}, kI64), b}, {.stop = Stop::kCount, .most = 6})
        .values;
  };
  Plan plan = compile(fn, {{4, 6}, {6, 4}});
  const std::vector<Tensor> at_once = fn(x, t);
  Tensor want = x;
  for (int i = 0; i < 6; i++) want = 0.1 * (want + exp(x) * transpose(t)) + 0.25;
  for (int run = 0; run < 2; run++) {
    plan.run(clone(x), clone(t));  // elsewhere each time
    for (size_t i = 0; i < 3; i++) EXPECT_TRUE(same_bits(plan.outputs()[i], at_once[i])) << i;
  }
  EXPECT_TRUE(harness::close(at_once[0], want, {8, 8}, 1));
  EXPECT_EQ(values_of(at_once[1]), (std::vector<double>{6, 6}));
  EXPECT_TRUE(same_bits(at_once[2], t));
}

// s ← s + Σ of an inner loop's square root of s by Newton.
Tensor nested(const Tensor& s) {
  const auto root = [](const Tensor& a) {
    return loop([&](const Tensor& x) { return 0.5 * (x + a / x); }, a, {.stop = Stop::kClose, .epsilon = 1e-13});
  };
  return loop([&](const Tensor& v) { return 0.5 * root(v + 1.0) + s; }, s, {.stop = Stop::kClose, .epsilon = 1e-13});
}

TEST(Loop, MayNest) {
  const Tensor s = uniform({7}, 5, 1, 2, 0, kF64);
  const Tensor x = nested(s);
  EXPECT_TRUE(harness::close(x, 0.5 * sqrt(x + 1.0) + s, {64, 64}, 1));
  graph::share_every_step = true;
  Plan plan = compile(nested, {{{7}, kF64}}, {.threads = 2});
  EXPECT_TRUE(same_bits(plan.run(s)[0], x));
  graph::share_every_step = false;
}

void expect_gradients(const std::function<Tensor(const Tensor&)>& fn, const Tensor& at, double most = 1e-7) {
  Plan value = compile([&](const Tensor& x) { return sum(fn(x)); }, {{at.shape(), kF64}});
  Plan slope = compile([&](const Tensor& x) { return gradients(sum(fn(x)), {x}); }, {{at.shape(), kF64}});
  const std::vector<double> found = values_of(slope(at));
  for (int64_t i = 0; i < at.numel(); i++) {
    const double h = 1e-5;
    Tensor up = clone(at), down = clone(at);
    static_cast<double*>(up.raw())[i] += h;
    static_cast<double*>(down.raw())[i] -= h;
    const double want = (values_of(value(up))[0] - values_of(value(down))[0]) / (2 * h);
    EXPECT_NEAR(found[static_cast<size_t>(i)], want, most) << i;
  }
}

TEST(Loop, AdjointGradients) {
  const Contraction c;
  const LoopOptions options{.stop = Stop::kClose, .epsilon = 1e-14};
  const auto settled = [&](const Tensor& w, const Tensor& b) {
    const Tensor scaled = 1.5 * w;  // computed, and read twice: by the body and by another input of it
    const Tensor both = scaled * w;
    return square(loop([&](const Tensor& x) { return step(x, scaled, b) + 0.1 * matmul(both, x); },
                       zeros({12, 5}, kF64), options));
  };
  expect_gradients([&](const Tensor& b) { return settled(c.w, b); }, c.b);
  expect_gradients([&](const Tensor& w) { return settled(w, c.b); }, c.w);
  expect_gradients(nested, uniform({7}, 5, 1, 2, 0, kF64));
}

// x = a / (2 - a) is the fixpoint of x = a (1 + x) / 2; its second derivative is 4 / (2 - a)³.
TEST(Loop, DifferentiatesTwice) {
  Plan plan = compile(
      [](const Tensor& a) {
        const Tensor x = loop([&](const Tensor& v) { return 0.5 * a * (1.0 + v); }, zeros({3}, kF64),
                              {.stop = Stop::kClose, .epsilon = 1e-14});
        const Tensor first = gradients(x, {a})[0];
        return std::vector<Tensor>{first, gradients(first, {a})[0]};
      },
      {{{3}, kF64}});
  const Tensor a = Tensor::from<double>({0.1, 0.5, 0.9});
  plan.run(a);
  expect_near(plan.outputs()[0], 2.0 / square(2.0 - a));
  expect_near(plan.outputs()[1], 4.0 / (square(2.0 - a) * (2.0 - a)));
}

TEST(Loop, GradientsThroughTheRounds) {
  const Contraction c;
  const LoopOptions rounds{.stop = Stop::kCount, .gradient = LoopOptions::Gradient::kRounds, .most = 4};
  expect_gradients([&](const Tensor& x) { return loop([&](const Tensor& v) { return step(v, c.w, c.b); }, x, rounds); },
                   c.b);
  const auto fixed = [&](const Tensor& x) {
    return gradients(sum(loop([&](const Tensor& v) { return step(v, c.w, x); }, x, {.stop = Stop::kCount})), {x});
  };
  EXPECT_NE(message([&] { compile(fixed, {{{12, 5}, kF64}}); }).find("no fixpoint"), std::string::npos);
}

TEST(Loop, BytesAreKnownAndNothingIsAllocated) {
  const Contraction c;
  for (const int n : {1, 2}) {
    graph::share_every_step = n > 1;
    const uint64_t before = memory_stats().bytes_in_use;
    Plan plan = c.plan(Contraction::settled(), {.threads = n});
    const uint64_t held = memory_stats().bytes_in_use - before;
    EXPECT_LE(held, plan.bytes().own() + 10240);
    plan.run(c.b);
    const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
    for (int i = 0; i < 50; i++) plan.run(c.b);
    EXPECT_EQ(harness::malloc_calls(), mallocs);
    EXPECT_EQ(memory_stats().allocations, tensors);
  }
  graph::share_every_step = false;
  EXPECT_NE(message([&] { c.plan({}, {.byte_limit = 2000}); }).find("the limit is"), std::string::npos);
}

TEST(Loop, IsSavedWithItsPlan) {
  const Tensor s = uniform({7}, 5, 1, 2, 0, kF64);
  Plan plan = compile([](const Tensor& x) { return nested(x + full({7}, 0.5, kF64)); }, {{{7}, kF64}},
                      {.name = "saved", .frozen = true});
  const std::vector<std::byte> bytes = plan.to_bytes();
  Plan again = Plan::from_bytes(bytes);
  EXPECT_TRUE(same_bits(again(s), plan(s)));
  EXPECT_EQ(again.dump(), plan.dump());
  EXPECT_NE(plan.dump().find("loop"), std::string::npos) << plan.dump();
  // Hostile files: any byte may be wrong.
  for (size_t i = 0; i < bytes.size(); i += 7) {
    std::vector<std::byte> bad = bytes;
    bad[i] ^= std::byte{static_cast<unsigned char>(1 + i % 255)};
    try {
      Plan damaged = Plan::from_bytes(bad, {}, 1 << 24);
    } catch (const Error&) {
    }
  }
}

TEST(Loop, ChecksInItsBodyEndTheRun) {
  const Tensor table = ones({4, 2});
  Plan plan = compile(
      [&](const Tensor& i) {
        return loop([&](std::span<const Tensor> v) { return std::vector<Tensor>{v[0] + index_select(table, i + i)}; },
                    {zeros({1, 2})}, {.stop = Stop::kCount, .most = 3})
            .values[0];
      },
      {{{1}, kI64}});
  EXPECT_EQ(values_of(plan(Tensor::from<int64_t>({1}))), (std::vector<double>{3, 3}));
  EXPECT_NE(message([&] { plan(Tensor::from<int64_t>({2})); }).find("index"), std::string::npos);
  EXPECT_EQ(values_of(plan(Tensor::from<int64_t>({0}))), (std::vector<double>{3, 3}));
}

TEST(Loop, CanBeProfiledAndDrawn) {
  const Contraction c;
  Plan plan = c.plan(Contraction::settled());
  EXPECT_NE(plan.describe().find("until closer than 1e-13, at most 1000 rounds"), std::string::npos) << plan.describe();
  const Tensor* in[] = {&c.b};
  EXPECT_FALSE(plan.profile(3, in).steps.empty());
  EXPECT_FALSE(plan.svg().empty());
  EXPECT_FALSE(plan.svg(false).empty());
}

}  // namespace
}  // namespace ingot
