// Datasets: what fetch gives of every kind of data, and the batch size that a plan recommends.
#include "ingot/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "ingot/base/memory.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::data {
namespace {

// A dataset's samples as two tensors.
std::pair<Tensor, Tensor> fetched(const Dataset& set, const std::vector<int64_t>& samples) {
  InputSpec x = set.input(), y = set.target();
  x.shape.insert(0, static_cast<int64_t>(samples.size()));
  y.shape.insert(0, static_cast<int64_t>(samples.size()));
  std::pair<Tensor, Tensor> result{Tensor::empty(x.shape, x.dtype), Tensor::empty(y.shape, y.dtype)};
  set.fetch(samples, {result.first, result.second});
  return result;
}

TEST(TensorDataset, FetchesTheSamplesAskedFor) {
  const TensorDataset set(Tensor::from(std::vector<float>{0, 1, 10, 11, 20, 21}, {3, 2}),
                          Tensor::from(std::vector<int64_t>{7, 8, 9}));
  EXPECT_EQ(set.size(), 3);
  EXPECT_EQ(set.input().shape, Dims{2});
  EXPECT_EQ(set.target().shape, Dims{});
  const auto [x, y] = fetched(set, {2, 0, 2, 1});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{20, 21, 0, 1, 20, 21, 10, 11}));
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{9, 7, 9, 8}));
  const auto [none_x, none_y] = fetched(set, {});
  EXPECT_EQ(none_x.numel() + none_y.numel(), 0);
}

TEST(TensorDataset, PixelsAreBetweenZeroAndOneAndLabelsAreNumbers) {
  std::vector<uint8_t> pixels(256);
  std::iota(pixels.begin(), pixels.end(), uint8_t{0});
  const TensorDataset set(Tensor::from(pixels, {4, 1, 8, 8}), Tensor::from(std::vector<uint8_t>{3, 0, 255, 1}));
  const auto [x, y] = fetched(set, {0, 1, 2, 3});
  for (int64_t i = 0; i < 256; i++) ASSERT_EQ(x.data<float>()[i], static_cast<float>(i) / 255.0f);
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{3, 0, 255, 1}));
  // Pictures as targets are pixels, too.
  EXPECT_EQ(TensorDataset(Tensor::from(pixels, {4, 64}), Tensor::from(pixels, {4, 64})).target().dtype, kF32);
}

TEST(TensorDataset, TakesEveryType) {
  const Tensor values = Tensor::from(std::vector<float>{0, 1, 3, 100}, {4});
  for (const DType type : {kF32, kF64, kF16, kBF16, kI32, kI64, kU8, kBool}) {
    const Tensor as_type = to(values, type);
    const Tensor column = reshape(as_type, {4, 1});
    const TensorDataset set(column, as_type);
    const bool integer = type == kI32 || type == kI64;
    EXPECT_EQ(set.input().dtype, integer ? kI64 : kF32) << name(type);
    EXPECT_EQ(set.target().dtype, integer || type == kU8 ? kI64 : kF32) << name(type);
    const auto [x, y] = fetched(set, {3, 2, 1, 0});
    for (int64_t i = 0; i < 4; i++) {
      const double value = type == kBool ? (i < 3 ? 1 : 0) : values.at<float>({3 - i});
      EXPECT_EQ(
          load_as_double(static_cast<std::byte*>(y.raw()) + i * static_cast<int64_t>(size_of(y.dtype())), y.dtype()),
          value)
          << name(type);
      if (type == kU8) EXPECT_EQ(x.data<float>()[i], static_cast<float>(value) / 255.0f);
      if (is_float(type)) EXPECT_EQ(x.data<float>()[i], static_cast<float>(value));
    }
  }
}

TEST(TensorDataset, LooksAtViewsAndCopiesOnlyWhatLiesInPieces) {
  const Tensor x = uniform({10, 3, 4}, 1), y = uniform({10}, 2);
  const uint64_t before = memory_stats().allocations;
  const TensorDataset rows(slice(x, 0, 2, 8), slice(y, 0, 2, 8));
  EXPECT_EQ(memory_stats().allocations, before);
  const auto [row_x, row_y] = fetched(rows, {5, 0});
  EXPECT_EQ(row_x.to_vector<float>(), concat({slice(x, 0, 7, 8), slice(x, 0, 2, 3)}, 0).to_vector<float>());
  EXPECT_EQ(row_y.to_vector<float>(), (std::vector<float>{y.at<float>({7}), y.at<float>({2})}));

  const TensorDataset turned(transpose(x, 1, 2), y);
  EXPECT_EQ(turned.input().shape, (Dims{4, 3}));
  EXPECT_EQ(fetched(turned, {9}).first.to_vector<float>(), transpose(slice(x, 0, 9, 10), 1, 2).to_vector<float>());

  *x.data<float>() = 42;  // element 0 of sample 0: looked at, not copied
  const TensorDataset whole(x, y);
  *x.data<float>() = 43;
  EXPECT_EQ(fetched(whole, {0}).first.at<float>({0, 0, 0}), 43);
}

TEST(TensorDataset, RefusesWithASentence) {
  EXPECT_EQ(error_of([] {
              TensorDataset(zeros({3, 2}), zeros({4}));
            }),
            "TensorDataset: x [3, 2] has 3 samples, y [4] has 4 — the first axis of all tensors counts the samples");
  EXPECT_EQ(error_of([] {
              TensorDataset(zeros({3, 2}), Tensor());
            }),
            "TensorDataset: y (undefined) — it needs elements, and samples along its first axis");
  EXPECT_NE(error_of([] { TensorDataset(zeros({}), zeros({})); }), "no error");
  const TensorDataset set(zeros({3, 2}), zeros({3}));
  EXPECT_EQ(error_of([&] { fetched(set, {3}); }), "TensorDataset: sample 3 of 3 — samples are numbered from 0");
  EXPECT_NE(error_of([&] { fetched(set, {-1}); }), "no error");
  EXPECT_EQ(
      error_of([&] {
        set.fetch(std::vector<int64_t>{1}, {zeros({1, 2}, kF64), zeros({1})});
      }),
      "TensorDataset: fetch of 1 samples into x (f64 [1, 2]) — batches have contiguous rows of x f32 [2], y f32 []");
  EXPECT_NE(error_of([&] { set.fetch(std::vector<int64_t>{1}, {zeros({2, 2}), zeros({1})}); }), "no error");
  EXPECT_NE(error_of([&] {
              set.fetch(std::vector<int64_t>{1, 2}, {transpose(zeros({2, 2}), 0, 1), zeros({2})});
            }),
            "no error");
}

TEST(Subset, GivesTheSamplesOfTheWhole) {
  const int64_t n = 1000;
  const TensorDataset all(reshape(arange(0, 2 * n), {n, 2}), arange(0, n, 1, kI64));
  std::vector<int64_t> odd;
  for (int64_t i = 1; i < n; i += 2) odd.push_back(i);
  const Subset some(all, odd);
  const Subset few(some, {499, 0});
  EXPECT_EQ(some.size(), 500);
  std::vector<int64_t> backwards(500);  // more than a piece
  for (int64_t i = 0; i < 500; i++) backwards[static_cast<size_t>(i)] = 499 - i;
  const auto [x, y] = fetched(some, backwards);
  for (int64_t i = 0; i < 500; i++) {
    ASSERT_EQ(y.at<int64_t>({i}), 999 - 2 * i);
    ASSERT_EQ(x.at<float>({i, 1}), static_cast<float>(2 * (999 - 2 * i) + 1));
  }
  EXPECT_EQ(fetched(few, {1, 0}).second.to_vector<int64_t>(), (std::vector<int64_t>{1, 999}));
  EXPECT_EQ(error_of([&] { Subset(all, {0, n}); }), "Subset: sample 1000 of 1000 — samples are numbered from 0");
  EXPECT_EQ(error_of([&] { fetched(few, {2}); }), "Subset: sample 2 of 2 — samples are numbered from 0");
}

TEST(Split, TakesEverySampleOnceAndDependsOnTheSeed) {
  const TensorDataset all(zeros({101, 1}), arange(0, 101, 1, kI64));
  const auto numbers = [](const Dataset& set) {
    std::vector<int64_t> everything(static_cast<size_t>(set.size()));
    std::iota(everything.begin(), everything.end(), int64_t{0});
    return fetched(set, everything).second.to_vector<int64_t>();
  };
  const auto [train, test] = split(all, 0.2, 1);
  EXPECT_EQ(test.size(), 20);
  EXPECT_EQ(train.size(), 81);
  const std::vector<int64_t> kept = numbers(train), held = numbers(test);
  EXPECT_TRUE(std::is_sorted(kept.begin(), kept.end()) && std::is_sorted(held.begin(), held.end()));
  std::set<int64_t> together(kept.begin(), kept.end());
  together.insert(held.begin(), held.end());
  EXPECT_EQ(together.size(), 101u);
  EXPECT_EQ(numbers(split(all, 0.2, 1).test), held);
  EXPECT_NE(numbers(split(all, 0.2, 2).test), held);
  for (const double share : {0.0, 1.0, -0.5, 2.0, 0.001, 0.999, std::nan("")})
    EXPECT_NE(error_of([&] { split(all, share, 1); }), "no error") << share;
}

TEST(TokenDataset, WindowsEverywhere) {
  const TokenDataset text({5, 6, 7, 8, 9}, 3);
  EXPECT_EQ(text.size(), 2);
  EXPECT_EQ(text.input().dtype, kI64);
  EXPECT_EQ(text.input().shape, Dims{3});
  const auto [x, y] = fetched(text, {1, 0});
  EXPECT_EQ(x.to_vector<int64_t>(), (std::vector<int64_t>{6, 7, 8, 5, 6, 7}));
  EXPECT_EQ(y.to_vector<int64_t>(), (std::vector<int64_t>{7, 8, 9, 6, 7, 8}));
}

TEST(TokenDataset, StreamsContinueFromBatchToBatch) {
  std::vector<int32_t> tokens(100);
  std::iota(tokens.begin(), tokens.end(), 0);
  const int64_t streams = 4, length = 5;
  const TokenDataset text(tokens, length, streams);
  EXPECT_EQ(text.size(), 16) << "99 tokens with a next one make rows of 24: four windows each";
  for (int64_t k = 0; k + 1 < text.size() / streams; k++) {
    const auto [x, y] = fetched(text, {4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3});
    const auto [next, unused] = fetched(text, {4 * k + 4, 4 * k + 5, 4 * k + 6, 4 * k + 7});
    for (int64_t r = 0; r < streams; r++) {
      EXPECT_EQ(x.at<int64_t>({r, 0}), 24 * r + 5 * k);
      EXPECT_EQ(y.at<int64_t>({r, length - 1}), next.at<int64_t>({r, 0}));
      for (int64_t i = 0; i < length; i++) EXPECT_EQ(y.at<int64_t>({r, i}), x.at<int64_t>({r, i}) + 1);
    }
  }
  EXPECT_EQ(fetched(text, {15}).second.at<int64_t>({0, 4}), 72 + 20);
}

TEST(TokenDataset, RefusesWithASentence) {
  EXPECT_EQ(TokenDataset({1, 2, 3, 4}, 3).size(), 1);
  EXPECT_EQ(error_of([] {
              TokenDataset({1, 2, 3}, 3);
            }),
            "TokenDataset: 3 tokens are too few for samples of 3 — a sample needs one token more than its length: give "
            "more text, or a shorter length");
  EXPECT_NE(error_of([] { TokenDataset({}, 1, 1); }), "no error");
  EXPECT_NE(error_of([] { TokenDataset({1, 2, 3, 4, 5, 6}, 3, 2); }), "no error");
  EXPECT_EQ(TokenDataset({1, 2, 3, 4, 5, 6, 7}, 3, 2).size(), 2);
  EXPECT_NE(error_of([] { TokenDataset({1, 2, 3}, 0); }), "no error");
  EXPECT_NE(error_of([] { TokenDataset({1, 2, 3}, 1, -1); }), "no error");
  EXPECT_EQ(error_of([] {
              TokenDataset({1, -2, 3}, 1);
            }),
            "TokenDataset: token -2 at place 1 — tokens are numbers from 0 on");
}

TEST(Dataset, FetchAllocatesNothing) {
  const TensorDataset all(to(uniform({500, 28, 28}, 1, 0, 255), kU8), zeros({500}, kU8));
  const TokenDataset text(std::vector<int32_t>(1000, 1), 32);
  const Subset part = split(all, 0.5, 1).train;
  const Tensor x = zeros({64, 28, 28}), y = zeros({64}, kI64), tokens = zeros({64, 32}, kI64);
  std::vector<int64_t> samples(64, 3);
  const uint64_t before = memory_stats().allocations;
  all.fetch(samples, {x, y});
  part.fetch(samples, {x, y});
  text.fetch(samples, {tokens, tokens});
  EXPECT_EQ(memory_stats().allocations, before);
}

MachineInfo machine(uint64_t l2, uint64_t l3) {
  MachineInfo info;
  info.l2_bytes = l2;
  info.l3_bytes = l3;
  return info;
}

TEST(RecommendedBatch, FollowsItsRule) {
  constexpr double kMiB = 1 << 20;
  const MachineInfo desktop = machine(1 << 20, 32 << 20), small = machine(256 << 10, 0), silent = machine(0, 0);
  EXPECT_EQ(recommended_batch({16 * 1024, 0}, 1, desktop), 64) << "1 MiB of L2";
  EXPECT_EQ(recommended_batch({16 * 1024 + 1, 0}, 1, desktop), 32);
  EXPECT_EQ(recommended_batch({16 * 1024, 0}, 4, desktop), 256) << "every worker brings its L2";
  EXPECT_EQ(recommended_batch({16 * 1024, 8 * kMiB}, 1, desktop), 512) << "as many bytes as are fixed";
  EXPECT_EQ(recommended_batch({16 * 1024, 1000 * kMiB}, 1, desktop), 1024) << "but half of L3 at most";
  EXPECT_EQ(recommended_batch({16 * 1024, 1000 * kMiB}, 1, small), 16) << "no L3: no more than L2";
  EXPECT_EQ(recommended_batch({16 * 1024, 0}, 4, silent), 64) << "256 KiB each if nothing is known";
  EXPECT_EQ(recommended_batch({1e12, 0}, 1, desktop), 8);
  EXPECT_EQ(recommended_batch({0, 0}, 1, desktop), 4096);
  MachineInfo full = desktop;
  full.free_bytes = 1 << 20;
  EXPECT_EQ(recommended_batch({100 * 1024, 0}, 1, full), 4) << "half of what is free";
  EXPECT_EQ(recommended_batch({1 << 20, 0}, 1, full), 1);
  EXPECT_EQ(
      error_of([&] {
        recommended_batch({1.5 * kMiB, 0}, 1, full);
      }),
      "recommended_batch: a step on one sample takes 1.5 MiB, and 1.0 MiB of memory are free — use smaller samples "
      "or layers");
  EXPECT_NE(error_of([&] { recommended_batch({-1, 0}, 1, desktop); }), "no error");
  EXPECT_NE(error_of([&] { recommended_batch({1, 0}, 0, desktop); }), "no error");
}

TEST(RecommendedBatch, NeverGrowsWithTheBytes) {
  for (const uint64_t l3 : {uint64_t{0}, uint64_t{4} << 20, uint64_t{64} << 20}) {
    int64_t last = 4096;
    for (double bytes = 1; bytes < 1e9; bytes *= 1.3) {
      const int64_t batch = recommended_batch({bytes, 1e6}, 2, machine(512 << 10, l3));
      EXPECT_LE(batch, last);
      EXPECT_GE(batch, 8);
      EXPECT_EQ(batch & (batch - 1), 0) << "a power of two";
      last = batch;
    }
  }
}

TEST(RecommendedBatch, ReadsAPlan) {
  const auto plan_for = [](int64_t width, int64_t batch) {
    const Tensor w = zeros({width, 64}), v = zeros({64, width});
    return compile([&](const Tensor& x) { return linear(relu(linear(x, w)), v); }, {{batch, 64}});
  };
  const int64_t narrow = recommended_batch(plan_for(64, 64), 64), wide = recommended_batch(plan_for(16384, 64), 64);
  EXPECT_GT(narrow, wide);
  EXPECT_EQ(wide & (wide - 1), 0);
  const TensorDataset set(zeros({64, 64}), zeros({64, 64}));
  const Loader loader(set, {.batch = 64});
  EXPECT_LE(recommended_batch(plan_for(64, 64), loader), narrow) << "batches take room, too";
  EXPECT_NE(error_of([&] { recommended_batch(plan_for(8, 8), 0); }), "no error");
}

}  // namespace
}  // namespace ingot::data
