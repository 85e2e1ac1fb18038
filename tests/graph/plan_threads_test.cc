// Plans on several threads: the same bits as on one, whoever runs them and however many cores there are. The thread
// sanitizer runs this file, so a barrier that the scheduler left out is a failure here.
#include <cstdlib>
#include <thread>

#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "tests/graph/random_graph.h"
#include "tests/graph/training_plan.h"

namespace ingot::harness {
namespace {

class PlanThreads : public testing::Test {
 protected:
  void SetUp() override { graph::share_every_step = true; }
  void TearDown() override {
    graph::share_every_step = false;
    set_threads(before_);
  }
  int before_ = threads();
};

#if defined(__SANITIZE_THREAD__)
constexpr int kRuns = 5, kSeeds = 40;
#else
constexpr int kRuns = 60, kSeeds = 60;
#endif

// Losses of the first runs, then all that training left in memory.
std::vector<Tensor> trained(int threads, int runs, const PlanOptions& options = {}) {
  set_threads(threads);
  TrainingPlan training(options);
  std::vector<float> losses;
  for (int i = 0; i < runs; i++) losses.push_back(training.run());
  std::vector<Tensor> all = {Tensor::from(losses)};
  for (const Tensor& t : training.memory()) all.push_back(clone(t));
  return all;
}

void expect_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); i++) ASSERT_TRUE(same_bits(a[i], b[i])) << what << ", tensor " << i;
}

TEST_F(PlanThreads, TrainingIsTheSameAtAnyCount) {
  const std::vector<Tensor> alone = trained(1, kRuns);
  for (int n : {2, 3, 4}) expect_same(trained(n, kRuns), alone, std::to_string(n) + " threads");
}

TEST_F(PlanThreads, TrainingIsTheSameWithoutEveryPass) {
  for (const char* pass : pass_names()) {
    const PlanOptions options{.without = {pass}};
    const std::vector<Tensor> alone = trained(1, 3, options);
    for (int n : {2, 4})
      expect_same(trained(n, 3, options), alone,
                  std::string("without ") + pass + ", " + std::to_string(n) + " threads");
  }
}

// A plan laid out for some threads runs with fewer, when somebody changed the number since.
TEST_F(PlanThreads, FewerThreadsThanThePlanWasMadeFor) {
  const std::vector<Tensor> alone = trained(1, 12);
  for (int made_for : {2, 3, 4}) {
    set_threads(made_for);
    TrainingPlan training;
    std::vector<float> losses;
    for (int i = 0; i < 12; i++) {
      set_threads(1 + i % made_for);
      losses.push_back(training.run());
    }
    std::vector<Tensor> all = {Tensor::from(losses)};
    for (const Tensor& t : training.memory()) all.push_back(t);
    expect_same(all, alone, "made for " + std::to_string(made_for));
  }
}

TEST_F(PlanThreads, RandomGraphsOversubscribed) {
  const char* from = std::getenv("INGOT_SEED");  // for a longer look: other graphs
  const uint64_t first_seed = from == nullptr ? 500 : std::strtoull(from, nullptr, 10);
  for (uint64_t seed = first_seed; seed < first_seed + kSeeds; seed++) {
    RandomGraphOptions options;
    options.ops = 20;
    const RandomGraph graph(seed, options);
    std::vector<Tensor> first;
    for (int n : {1, 2, 3, 4}) {
      set_threads(n);
      Plan plan = compile([&](std::span<const Tensor> in) { return graph(in); }, graph.specs());
      for (int run = 0; run < (n == 1 ? 1 : 3); run++) {
        graph.reset_states();
        std::vector<Tensor> results;
        for (const Tensor& t : plan.run(graph.input_pointers())) results.push_back(clone(t));
        for (const Tensor& t : graph.states()) results.push_back(clone(t));
        if (first.empty()) first = results;
        expect_same(results, first,
                    "seed " + std::to_string(seed) + ", " + std::to_string(n) + " threads\n" + graph.text() +
                        plan.describe(true));
        if (HasFatalFailure()) return;
      }
    }
  }
}

// Whoever finds the pool taken works alone: with the same bits.
TEST_F(PlanThreads, SeveralPlansAtOnce) {
  const std::vector<Tensor> alone = trained(1, kRuns);
  set_threads(4);
  std::vector<std::vector<Tensor>> results(3);
  std::vector<std::thread> users;
  for (size_t u = 0; u < results.size(); u++)
    users.emplace_back([&, u] {
      TrainingPlan training;  // captures go on at the same time, too
      std::vector<float> losses;
      for (int i = 0; i < kRuns; i++) losses.push_back(training.run());
      results[u] = {Tensor::from(losses)};
      for (const Tensor& t : training.memory()) results[u].push_back(clone(t));
    });
  for (std::thread& t : users) t.join();
  for (size_t u = 0; u < results.size(); u++) expect_same(results[u], alone, "user " + std::to_string(u));
}

// A plan may move from thread to thread as long as one runs it at a time.
TEST_F(PlanThreads, OnePlanFromThreadToThread) {
  set_threads(3);
  const Tensor w = uniform({64, 64}, 1, -0.2, 0.2), x = uniform({64, 64}, 2, -1, 1);
  Plan plan = compile([&](const Tensor& in) { return softmax(tanh(matmul(in, w)) + in, 1); }, {{64, 64}});
  const Tensor expected = clone(plan.run(x)[0]);
  for (int i = 0; i < 8; i++) {
    std::thread([&] { plan.run(x); }).join();
    ASSERT_TRUE(same_bits(plan.outputs()[0], expected));
  }
}

TEST_F(PlanThreads, ParametersSharedByReaders) {
  set_threads(2);
  const Tensor w = uniform({32, 32}, 1, -0.3, 0.3);
  const auto f = [&](const Tensor& in) { return tanh(linear(in, w)); };
  std::vector<std::thread> users;
  for (int u = 0; u < 3; u++)
    users.emplace_back([&, u] {
      const Tensor x = uniform({8, 32}, 10 + u, -1, 1);
      Plan plan = compile(f, {{8, 32}});
      const Tensor expected = f(x);
      for (int i = 0; i < kRuns; i++) ASSERT_TRUE(close(plan.run(x)[0], expected, {0, 64}, 1));
    });
  for (std::thread& t : users) t.join();
}

// Two checks with no barrier for data between them: who is late may not mistake what the second finds for the first one's.
TEST_F(PlanThreads, AMemberThatIsLateLooksAtTheRightCheck) {
  graph::share_every_step = false;
  set_threads(4);
  const Tensor table = ones({4, 2});
  Plan plan = compile(
      [&](const Tensor& i, const Tensor& k, const Tensor& x) {
        return std::vector<Tensor>{index_select(table, i + i), index_select(table, k + k), sum(exp(x), {1})};
      },
      {{{1}, kI64}, {{1}, kI64}, {{256, 256}}});
  ASSERT_GT(plan.threads(), 1);
  const Tensor good = Tensor::from<int64_t>({1}), bad = Tensor::from<int64_t>({2}), x = ones({256, 256});
  for (int run = 0; run < kRuns * 20; run++) {
    EXPECT_THROW(plan.run(good, bad, x), Error);
    plan.run(good, good, x);
  }
}

// Large enough to be shared out without being told to.
TEST_F(PlanThreads, LargeEnoughByItself) {
  graph::share_every_step = false;
  std::vector<Tensor> first;
  for (int n : {1, 2, 4}) {
    set_threads(n);
    TrainingPlan training({}, 512);
    EXPECT_EQ(training.plan().threads(), n);
    for (int i = 0; i < 3; i++) training.run();
    std::vector<Tensor> all;
    for (const Tensor& t : training.memory()) all.push_back(clone(t));
    if (first.empty()) first = all;
    expect_same(all, first, std::to_string(n) + " threads");
  }
  set_threads(4);
  EXPECT_EQ(compile([](const Tensor& x) { return x + x; }, {{8}}).threads(), 1) << "small plans choose one";
}

}  // namespace
}  // namespace ingot::harness
