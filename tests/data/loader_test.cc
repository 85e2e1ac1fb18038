// The loader: which samples come in which order, where it stands, and that it allocates nothing.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/data.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::data {
namespace {

// n samples whose input and target are their number.
TensorDataset numbered(int64_t n) { return {reshape(arange(0, n), {n, 1}), arange(0, n, 1, kI64)}; }

using Batches = std::vector<std::vector<int64_t>>;

// The samples of the rest of an epoch, batch by batch.
Batches epoch_of(Loader& loader) {
  Batches batches;
  for (const Batch& batch : loader) {
    batches.push_back(batch.y.to_vector<int64_t>());
    for (int64_t i = 0; i < batch.size(); i++)
      EXPECT_EQ(batch.x.at<float>({i, 0}), static_cast<float>(batch.y.at<int64_t>({i}))) << "x and y belong together";
  }
  return batches;
}

std::vector<int64_t> joined(const Batches& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

bool is_permutation_of(std::vector<int64_t> values, int64_t n) {
  std::sort(values.begin(), values.end());
  std::vector<int64_t> all(static_cast<size_t>(n));
  std::iota(all.begin(), all.end(), int64_t{0});
  return values == all;
}

TEST(Loader, GivesEverySampleInOrder) {
  const TensorDataset set = numbered(10);
  for (const int prefetch : {0, 1, 2, 7}) {
    Loader loader(set, {.batch = 4, .prefetch = prefetch});
    EXPECT_EQ(loader.batches(), 3);
    EXPECT_EQ(loader.samples(), 10);
    EXPECT_EQ(loader.input().shape, (Dims{4, 1}));
    EXPECT_EQ(loader.target().shape, Dims{4});
    EXPECT_EQ(loader.target().dtype, kI64);
    for (int epoch = 0; epoch < 3; epoch++)
      EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}})) << prefetch;
  }
}

TEST(Loader, LeavesOutAPartialBatchIfAsked) {
  const TensorDataset set = numbered(10);
  Loader loader(set, {.batch = 4, .drop_last = true});
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_EQ(loader.samples(), 8);
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2, 3}, {4, 5, 6, 7}}));
}

TEST(Loader, ABatchMayBeAllSamples) {
  const TensorDataset set = numbered(3);
  Loader loader(set, {.batch = 100});
  EXPECT_EQ(loader.input().shape, (Dims{3, 1}));
  EXPECT_EQ(epoch_of(loader), (Batches{{0, 1, 2}}));
  Loader one(set, {.batch = 1});
  EXPECT_EQ(epoch_of(one), (Batches{{0}, {1}, {2}}));
}

TEST(Loader, OrderDependsOnSeedAndEpochOnly) {
  const TensorDataset set = numbered(100);
  Loader loader(set, {.batch = 7, .shuffle = true, .seed = 5}),
      other(set, {.batch = 13, .shuffle = true, .seed = 5, .prefetch = 0});
  Loader reseeded(set, {.batch = 7, .shuffle = true, .seed = 6});
  std::set<std::vector<int64_t>> orders;
  for (int epoch = 0; epoch < 5; epoch++) {
    const std::vector<int64_t> order = joined(epoch_of(loader));
    EXPECT_TRUE(is_permutation_of(order, 100));
    EXPECT_EQ(joined(epoch_of(other)), order) << "whatever the batch size and the threads";
    EXPECT_NE(joined(epoch_of(reseeded)), order);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 5u) << "another order every epoch";
}

// All 24 orders of four samples come about equally often.
TEST(Loader, OrdersAreEquallyLikely) {
  const TensorDataset set = numbered(4);
  Loader loader(set, {.batch = 4, .shuffle = true, .prefetch = 0});
  std::map<std::vector<int64_t>, int> seen;
  for (int epoch = 0; epoch < 2400; epoch++) seen[joined(epoch_of(loader))]++;
  EXPECT_EQ(seen.size(), 24u);
  double chi = 0;
  for (const auto& [order, count] : seen) chi += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi, 49.7) << "23 degrees of freedom: one in a thousand is above";
}

TEST(Loader, AnEpochMayHaveMoreOrFewerBatchesThanTheData) {
  const TensorDataset set = numbered(10);
  for (const int prefetch : {0, 2}) {
    Loader few(set, {.batch = 3, .shuffle = true, .prefetch = prefetch, .batches = 2});
    Loader all(set, {.batch = 3, .shuffle = true, .prefetch = prefetch});
    for (int epoch = 0; epoch < 3; epoch++) {
      const std::vector<int64_t> order = joined(epoch_of(all)), start = joined(epoch_of(few));
      EXPECT_EQ(start, std::vector<int64_t>(order.begin(), order.begin() + 6));
    }
    Loader many(set, {.batch = 4, .shuffle = true, .prefetch = prefetch, .batches = 8});
    all.seek({0, 0});
    for (int epoch = 0; epoch < 2; epoch++) {
      const Batches batches = epoch_of(many);
      EXPECT_EQ(batches.size(), 8u);
      const std::vector<int64_t> order = joined(batches);
      ASSERT_EQ(order.size(), 32u) << "all batches are full";
      std::set<std::vector<int64_t>> laps;
      for (int64_t lap = 0; lap < 3; lap++) {
        const std::vector<int64_t> pass(order.begin() + 10 * lap, order.begin() + 10 * (lap + 1));
        EXPECT_TRUE(is_permutation_of(pass, 10));
        laps.insert(pass);
      }
      EXPECT_EQ(laps.size(), 3u) << "each pass has its own order";
      EXPECT_EQ(std::vector<int64_t>(order.begin(), order.begin() + 10), joined(epoch_of(all)));
    }
  }
  const TensorDataset two = numbered(2);
  Loader wide(two, {.batch = 5, .batches = 1});
  EXPECT_EQ(epoch_of(wide), (Batches{{0, 1, 0, 1, 0}})) << "a batch of several passes";
}

TEST(Loader, SaysWhereItIsAndGoesOnFromThere) {
  const TensorDataset set = numbered(23);
  for (const int prefetch : {0, 1, 3}) {
    const LoaderOptions options{.batch = 5, .shuffle = true, .seed = 3, .prefetch = prefetch};
    Loader whole(set, options);
    std::vector<std::pair<Position, std::vector<int64_t>>> log;  // {} stands for the end of an epoch
    for (int i = 0; i < 20; i++) {
      const Position at = whole.position();
      const Batch* batch = whole.next();
      log.emplace_back(at, batch == nullptr ? std::vector<int64_t>{} : batch->y.to_vector<int64_t>());
    }
    EXPECT_EQ(log[5].second.size(), 0u);
    EXPECT_EQ(log[6].first.epoch, 1);
    EXPECT_EQ(log[6].first.batch, 0);
    Loader again(set, options);
    for (const size_t start : {size_t{7}, size_t{0}, size_t{13}, size_t{5}, size_t{4}}) {
      again.seek(log[start].first);
      for (size_t i = start; i < log.size(); i++) {
        EXPECT_EQ(again.position().epoch, log[i].first.epoch);
        EXPECT_EQ(again.position().batch, log[i].first.batch);
        const Batch* batch = again.next();
        ASSERT_EQ(batch == nullptr ? std::vector<int64_t>{} : batch->y.to_vector<int64_t>(), log[i].second)
            << "from " << start << " at " << i << ", prefetch " << prefetch;
      }
    }
  }
}

TEST(Loader, LeavingALoopEarlyIsFine) {
  const TensorDataset set = numbered(10);
  Loader loader(set, {.batch = 2});
  for (const Batch& batch : loader) {
    EXPECT_EQ(batch.y.at<int64_t>({0}), 0);
    break;
  }
  EXPECT_EQ(epoch_of(loader), (Batches{{2, 3}, {4, 5}, {6, 7}, {8, 9}})) << "the rest";
  EXPECT_EQ(epoch_of(loader).size(), 5u) << "and the next epoch";
}

TEST(Loader, RefusesWithASentence) {
  const TensorDataset set = numbered(10), none(zeros({0, 1}), zeros({0}));
  const TokenDataset text({1, 2, 3, 4}, 2);
  const auto error = [](const Dataset& data, const LoaderOptions& options) {
    return error_of([&] { Loader loader(data, options); });
  };
  EXPECT_EQ(error(none, {}), "Loader: the dataset is empty — give it at least one sample");
  EXPECT_EQ(error(set, {.batch = 0}), "Loader: a batch of 0 samples — give 1 or more");
  EXPECT_EQ(error(set, {.batch = 11, .drop_last = true}),
            "Loader: no batch of 11 is full with 10 samples — use a smaller batch, or drop_last = false");
  EXPECT_NE(error(set, {.prefetch = -1}), "no error");
  EXPECT_NE(error(set, {.batches = -1}), "no error");
  EXPECT_NE(error(set, {.batch = INT64_MAX / 2, .batches = 3}), "no error");
  EXPECT_NE(error(set, {.transforms = {nullptr}}), "no error");
  EXPECT_EQ(error(text, {.transforms = {noise(1)}}),
            "Loader: transforms change f32, and the samples are i64 — leave the transforms out");
  Loader loader(set, {.batch = 4});
  EXPECT_EQ(error_of([&] {
              loader.seek({0, 4});
            }),
            "Loader: seek to epoch 0, batch 4 — epochs count from 0, and there are 3 batches in one");
  EXPECT_NE(error_of([&] { loader.seek({-1, 0}); }), "no error");
  EXPECT_NE(error_of([&] { loader.seek({INT64_MAX, 0}); }), "no error");
}

// Fails at one sample as long as it is told to.
class Broken : public Dataset {
 public:
  int64_t size() const override { return 12; }
  std::vector<InputSpec> fields() const override { return good.fields(); }
  void fetch(std::span<const int64_t> samples, const Batch& batch) const override {
    for (const int64_t sample : samples)
      if (sample == 7 && failures > 0) {
        failures--;
        throw Error("Broken: sample 7 cannot be read");
      }
    good.fetch(samples, batch);
  }
  TensorDataset good = numbered(12);
  mutable std::atomic<int> failures{0};
};

TEST(Loader, AnErrorComesWhenItIsTheBatchsTurn) {
  for (const int prefetch : {0, 1, 4}) {
    Broken set;
    Loader loader(set, {.batch = 2, .prefetch = prefetch});
    set.failures = 2;
    for (int i = 0; i < 3; i++) ASSERT_NE(loader.next(), nullptr);
    for (int i = 0; i < 2; i++) {
      EXPECT_EQ(error_of([&] { loader.next(); }), "Broken: sample 7 cannot be read");
      EXPECT_EQ(loader.position().batch, 3) << "still there";
    }
    EXPECT_EQ(epoch_of(loader), (Batches{{6, 7}, {8, 9}, {10, 11}})) << "the call after tries again";
    set.failures = 1000;
    loader.seek({0, 3});
    EXPECT_NE(error_of([&] { loader.next(); }), "no error");
    loader.seek({0, 5});
    EXPECT_EQ(epoch_of(loader), (Batches{{10, 11}})) << "past it";
  }
}

// A transform of the user's that runs an op on all threads if it may.
class Doubled : public Transform {
 public:
  void apply(const Tensor&, const Tensor& out, std::span<const int64_t>, RandomKey) const override {
    multiply_into(out, out, 2.0);
    parallel(true, [&](const Team& team) {
      if (team.rank() == 0) largest_team = std::max(largest_team.load(), team.size());
    });
  }
  mutable std::atomic<int> largest_team{0};
};

TEST(Loader, ItsThreadLeavesThePoolToTheForeground) {
  const int before = threads();
  set_threads(3);
  const TensorDataset set(ones({64, 4096}), zeros({64}));
  for (const int prefetch : {0, 2}) {
    const auto doubled = std::make_shared<Doubled>();
    Loader loader(set, {.batch = 16, .prefetch = prefetch, .transforms = {doubled}});
    for (const Batch& batch : loader) EXPECT_EQ(batch.x.at<float>({15, 4095}), 2);
    EXPECT_EQ(doubled->largest_team, prefetch == 0 ? 3 : 1);
  }
  set_threads(before);
}

TEST(Loader, AllocatesNothingPerBatchOrEpoch) {
  const TensorDataset set(to(uniform({1000, 1, 28, 28}, 1, 0, 255), kU8), to(uniform({1000}, 2, 0, 10), kU8));
  const Subset part = split(set, 0.1, 1).train;
  const TokenDataset text(std::vector<int32_t>(5000, 7), 16);
  const std::vector<TransformPtr> transforms = {normalize({0.1f}, {0.3f}), shift(2), crop(24, 24), flip(), noise(0.1f)};
  for (const int prefetch : {0, 2}) {
    Loader pictures(part, {.batch = 64, .shuffle = true, .prefetch = prefetch, .transforms = transforms});
    Loader tokens(text, {.batch = 32, .shuffle = true, .prefetch = prefetch});
    Loader long_epochs(set, {.batch = 48, .shuffle = true, .prefetch = prefetch, .batches = 50});
    for (Loader* loader : {&pictures, &tokens, &long_epochs}) {
      loader->next();
      const uint64_t mallocs = harness::malloc_calls(), tensors = memory_stats().allocations;
      for (int epoch = 0; epoch < 4; epoch++)
        while (const Batch* batch = loader->next()) ASSERT_GT(batch->size(), 0);
      loader->seek({2, 1});
      loader->next();
      EXPECT_EQ(harness::malloc_calls(), mallocs) << "prefetch " << prefetch;
      EXPECT_EQ(memory_stats().allocations, tensors);
    }
  }
}

TEST(Loader, UsesTheSameMemoryAllTheTime) {
  const TensorDataset set = numbered(10);
  for (const int prefetch : {0, 1, 3}) {
    Loader loader(set, {.batch = 4, .prefetch = prefetch});
    std::set<const void*> places;
    for (int epoch = 0; epoch < 10; epoch++)
      for (const Batch& batch : loader) places.insert(batch.x.raw());
    EXPECT_EQ(places.size(), static_cast<size_t>(prefetch) + 1) << "partial batches lie where full ones do";
  }
}

// A dataset larger than memory is a tensor over a mapped file. The mapping is read-only: nobody may write to it.
TEST(Loader, ReadsAMappedFile) {
  constexpr int64_t kSamples = 100, kPixels = 50;
  std::FILE* file = std::tmpfile();
  ASSERT_NE(file, nullptr);
  for (int64_t i = 0; i < kSamples * kPixels; i++) std::fputc(static_cast<int>(i % 251), file);
  std::fflush(file);
  void* memory = mmap(nullptr, kSamples * kPixels, PROT_READ, MAP_PRIVATE, fileno(file), 0);
  ASSERT_NE(memory, MAP_FAILED);
  bool released = false;
  {
    const Tensor pixels = Tensor::wrap(memory, {kSamples, kPixels}, kU8, {}, [&] { released = true; });
    const TensorDataset set(pixels, arange(0, kSamples, 1, kI64));
    Loader loader(set, {.batch = 16, .shuffle = true});
    for (const Batch& batch : loader)
      for (int64_t i = 0; i < batch.size(); i++)
        for (int64_t j = 0; j < kPixels; j++) {
          const int64_t at = batch.y.at<int64_t>({i}) * kPixels + j;
          ASSERT_EQ(batch.x.at<float>({i, j}), static_cast<float>(at % 251) / 255.0f);
        }
  }
  EXPECT_TRUE(released);
  munmap(memory, kSamples * kPixels);
  std::fclose(file);
}

// A batch is in the user's hands until the next call: nobody writes to it.
TEST(Loader, ABatchHoldsUntilTheNextCall) {
  const TensorDataset set = numbered(1000);
  Loader loader(set, {.batch = 10, .prefetch = 1});
  for (const Batch& batch : loader) {
    const std::vector<int64_t> now = batch.y.to_vector<int64_t>();
    for (int i = 0; i < 20; i++) std::this_thread::yield();
    ASSERT_EQ(batch.y.to_vector<int64_t>(), now);
  }
}

}  // namespace
}  // namespace ingot::data
