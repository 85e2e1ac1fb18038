// One plan, many runs at once: contexts and batches give the bits of Plan::run.
#include <gtest/gtest.h>

#include <thread>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

Tensor normals(const Dims& shape, int64_t seed) { return normal(shape, seed); }

struct Net {
  Tensor w1 = normals({64, 32}, 1), b1 = normals({64}, 2), w2 = normals({10, 64}, 3);
  Plan plan(PlanOptions options = {}) const {
    return compile(
        [*this](const Tensor& x) { return softmax(matmul(relu(linear(x, w1, b1)), transpose(w2, 0, 1)), -1); },
        {{{16, 32}, kF32, "x"}}, options);
  }
};

std::vector<float> run(Plan& plan, const Tensor& x) { return plan.run(x)[0].to_vector<float>(); }

TEST(Context, ThreadsRunOnePlanAtOnce) {
  for (const bool frozen : {false, true}) {
    Plan plan = Net().plan({.frozen = frozen});
    constexpr int kThreads = 4, kInputs = 8;
    std::vector<std::vector<float>> expected;
    expected.reserve(kThreads * kInputs);
    for (int i = 0; i < kThreads * kInputs; i++) expected.push_back(run(plan, normals({16, 32}, 100 + i)));
    std::vector<std::vector<float>> got(expected.size());
    std::vector<std::thread> threads;
    threads.reserve(kThreads);
    for (int t = 0; t < kThreads; t++)
      threads.emplace_back([&, t] {
        ExecutionContext context(plan);
        for (int i = t * kInputs; i < (t + 1) * kInputs; i++)
          got[static_cast<size_t>(i)] = context.run(normals({16, 32}, 100 + i))[0].to_vector<float>();
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(got, expected);
  }
}

TEST(Context, OutlivesItsPlanAndAllocatesNothing) {
  std::vector<float> expected;
  const Tensor x = normals({16, 32}, 5);
  const auto make = [&] {
    Plan plan = Net().plan();
    expected = run(plan, x);
    return ExecutionContext(plan);
  };
  ExecutionContext context = make();
  context.run(x);
  const auto before = memory_stats().allocations;
  EXPECT_EQ(context.run(x)[0].to_vector<float>(), expected);
  EXPECT_EQ(memory_stats().allocations, before);
}

TEST(Context, SeedsAreOfTheRun) {
  Plan plan = compile([](const Tensor& x, const Tensor& seed) { return dropout(x, 0.5, seed); },
                      {{{40}, kF32, "x"}, {Dims(), kI64, "seed"}});
  ExecutionContext a(plan), b(plan);
  const Tensor x = ones({40}), one = Tensor::from<int64_t>({1}, {}), two = Tensor::from<int64_t>({2}, {});
  const std::vector<float> first = a.run(x, one)[0].to_vector<float>(), second = b.run(x, two)[0].to_vector<float>();
  EXPECT_NE(first, second);
  EXPECT_EQ(plan.run(x, one)[0].to_vector<float>(), first);
  EXPECT_EQ(a.run(x, two)[0].to_vector<float>(), second);
}

TEST(Context, APlanThatWritesMemoryOfTheUsersRefuses) {
  const Tensor state = zeros({4});
  Plan plan = compile([&](const Tensor& x) { copy_into(state, state + x); }, {{4}}, {.names = {{"state", state}}});
  for (const bool batch : {false, true}) try {
      if (batch)
        plan.run_batch(ones({2, 4}));
      else
        ExecutionContext context(plan);
      FAIL() << "accepted";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("\"state\""), std::string::npos) << e.what();
    }
}

TEST(RunBatch, GivesTheBitsOfSingleRuns) {
  Plan plan = Net().plan();
  const int before = threads();
  for (const int workers : {1, 3}) {
    set_threads(workers);
    for (const int64_t count : {0, 1, 7}) {
      const Tensor xs = normals({count, 16, 32}, 9);
      const std::vector<Tensor> ys = plan.run_batch(xs);
      ASSERT_EQ(ys.size(), 1u);
      EXPECT_EQ(ys[0].shape(), (Dims{count, 16, 10}));
      for (int64_t i = 0; i < count; i++)
        EXPECT_EQ(squeeze(slice(ys[0], 0, i, i + 1), {0}).to_vector<float>(),
                  run(plan, squeeze(slice(xs, 0, i, i + 1), {0})));
    }
  }
  set_threads(before);
}

TEST(RunBatch, BadInputGetsASentence) {
  Plan plan = Net().plan();
  EXPECT_THROW(plan.run_batch(ones({16, 32})), Error);
  EXPECT_THROW(plan.run_batch(ones({2, 16, 32}), ones({2, 16, 32})), Error);
  Plan index =
      compile([table = normals({5}, 4)](const Tensor& i) { return index_select(table, i); }, {{{2}, kI64, "i"}});
  EXPECT_THROW(index.run_batch(Tensor::from<int64_t>({0, 1, 2, 9}, {2, 2})), Error);
  EXPECT_EQ(index.run_batch(Tensor::from<int64_t>({0, 1, 2, 3}, {2, 2}))[0].numel(), 4);
}

}  // namespace
}  // namespace ingot
