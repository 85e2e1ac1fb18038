// The loader's thread beside the user's: redirected, stopped, left alone, and next to a plan on all threads.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ingot/base/threads.h"
#include "ingot/data.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::data {
namespace {

TensorDataset numbered(int64_t n) { return {reshape(arange(0, n), {n, 1}), arange(0, n, 1, kI64)}; }

// What a loader without a thread gives at a position.
std::vector<int64_t> samples_at(const Dataset& set, LoaderOptions options, Position position) {
  options.prefetch = 0;
  Loader loader(set, options);
  loader.seek(position);
  const Batch* batch = loader.next();
  return batch == nullptr ? std::vector<int64_t>{} : batch->y.to_vector<int64_t>();
}

TEST(LoaderThreads, SeekRedirectsAtAnyMoment) {
  const TensorDataset set = numbered(37);
  const LoaderOptions options{.batch = 5, .shuffle = true, .seed = 1, .prefetch = 3};
  Loader loader(set, options);
  uint32_t state = 1;
  const auto draw = [&](uint32_t n) { return static_cast<int64_t>((state = state * 1664525 + 1013904223) >> 16) % n; };
  for (int round = 0; round < 300; round++) {
    const Position to{draw(4), draw(9)};
    loader.seek(to);
    for (int64_t take = draw(4); take > 0; take--) {
      const Position at = loader.position();
      const Batch* batch = loader.next();
      ASSERT_EQ(batch == nullptr ? std::vector<int64_t>{} : batch->y.to_vector<int64_t>(),
                samples_at(set, options, at));
    }
  }
}

TEST(LoaderThreads, MayGoAtAnyMoment) {
  const TensorDataset set = numbered(1000);
  for (int taken = 0; taken < 30; taken++) {
    Loader loader(set, {.batch = 10, .shuffle = true, .prefetch = 1 + taken % 4});
    for (int i = 0; i < taken; i++) loader.next();
  }
  Loader unused(set), sought(set);
  sought.seek({3, 2});
}

// Waits inside fetch until it is let go on.
class Gate : public Dataset {
 public:
  int64_t size() const override { return set_.size(); }
  std::vector<InputSpec> fields() const override { return set_.fields(); }
  void fetch(std::span<const int64_t> samples, const Batch& batch) const override {
    {
      std::unique_lock lock(mutex_);
      started_++;
      changed_.notify_all();
      changed_.wait(lock, [&] { return allowed_ >= started_; });
    }
    set_.fetch(samples, batch);
  }
  void allow(int fetches) {
    const std::lock_guard lock(mutex_);
    allowed_ = fetches;
    changed_.notify_all();
  }
  void wait_for(int fetches) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return started_ >= fetches; });
  }
  int started() const {
    const std::lock_guard lock(mutex_);
    return started_;
  }

 private:
  TensorDataset set_ = numbered(100);
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int started_ = 0;
  int allowed_ = 0;
};

// While the user holds a batch, the thread makes others: as many as it may, and no more. A thread without a bound would be far
// ahead after a few of these rounds.
TEST(LoaderThreads, WorksAheadUpToItsBound) {
  Gate set;
  Loader loader(set, {.batch = 1, .prefetch = 3});
  set.allow(1);
  const Batch* batch = loader.next();  // gets through only because one fetch is allowed
  set.wait_for(2);                     // the next is being made while the first is in our hands
  set.allow(1000);
  for (int taken = 1; taken < 100; taken++, batch = loader.next()) {
    set.wait_for(taken + 3);
    EXPECT_EQ(set.started(), taken + 3) << "one in our hands, three ahead";
    EXPECT_EQ(batch->y.at<int64_t>({0}), taken - 1);
  }
}

TEST(LoaderThreads, GoesOnIntoTheNextEpoch) {
  Gate set;
  set.allow(1000);
  Loader loader(set, {.batch = 50, .prefetch = 2});
  EXPECT_NE(loader.next(), nullptr);
  EXPECT_NE(loader.next(), nullptr);
  set.wait_for(4);  // batches of the second epoch, before the first was said to be over
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(LoaderThreads, SeekAndTheEndWaitForABatchUnderWay) {
  Gate set;
  set.allow(1);
  Loader loader(set, {.batch = 10, .prefetch = 2});
  loader.next();
  set.wait_for(2);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    set.allow(1000);
  });
  loader.seek({0, 7});
  EXPECT_EQ(loader.next()->y.at<int64_t>({0}), 70);
  later.join();
}

class Failing : public Dataset {
 public:
  int64_t size() const override { return 100; }
  std::vector<InputSpec> fields() const override { return {{Dims{1}, kF32, "x"}, {Dims{}, kF32, "y"}}; }
  void fetch(std::span<const int64_t>, const Batch&) const override { throw Error("Failing: always"); }
};

TEST(LoaderThreads, ErrorsCrossOver) {
  const Failing set;
  Loader loader(set, {.batch = 10, .prefetch = 2});
  for (int i = 0; i < 50; i++) {
    EXPECT_EQ(error_of([&] { loader.next(); }), "Failing: always");
    if (i % 7 == 0) loader.seek({i, 0});
  }
}

// Two loaders and a plan on two threads: the same sums as without any thread.
TEST(LoaderThreads, BesideAPlanGivesTheSameBits) {
  const int before = threads();
  const int64_t n = 200;
  const TensorDataset set(uniform({n, 1, 12, 12}, 1), arange(0, n, 1, kI64));
  const auto run = [&](int prefetch, int thread_count) {
    set_threads(thread_count);
    Plan plan = compile(
        [](const Tensor& x) {
          return sum(square(matmul(reshape(x, {16, 144}), uniform({144, 64}, 2))));
        },
        {{16, 1, 12, 12}});
    const std::vector<TransformPtr> transforms = {shift(2), flip(), noise(0.1f)};
    Loader one(set, {.batch = 16, .shuffle = true, .drop_last = true, .prefetch = prefetch, .transforms = transforms});
    Loader two(set, {.batch = 16, .drop_last = true, .seed = 2, .prefetch = prefetch, .transforms = transforms});
    std::vector<float> sums;
    for (int epoch = 0; epoch < 3; epoch++)
      for (Loader* loader : {&one, &two})
        for (const Batch& batch : *loader) sums.push_back(plan.run(batch.x)[0].item());
    return sums;
  };
  const std::vector<float> alone = run(0, 1);
  EXPECT_EQ(alone.size(), 72u);
  EXPECT_EQ(run(2, 2), alone);
  EXPECT_EQ(run(1, 3), alone);
  set_threads(before);
}

}  // namespace
}  // namespace ingot::data
