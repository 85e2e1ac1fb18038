// Batches of named tensors: through datasets, subsets, transforms and the loader.
#include <gtest/gtest.h>

#include "ingot/data.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::data {
namespace {

// Transitions of a walk: sample i goes from state i to i + 1 by action i mod 3. No "y".
TensorDataset transitions(int64_t n) {
  std::vector<int32_t> action;
  for (int32_t i = 0; i < n; i++) action.push_back(i % 3);
  return TensorDataset(std::vector<NamedTensor>{{"x", reshape(arange(0, n), {n, 1})},
                                                {"action", Tensor::from(action)},
                                                {"next", reshape(arange(1, n + 1), {n, 1})},
                                                {"done", zeros({n}, kBool)}});
}

TEST(Batch, FindsTensorsByName) {
  Batch batch{ones({2, 3}), zeros({2})};
  batch.set("reward", full({2}, 5));
  batch.set("y", full({2}, 4));
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(batch["reward"].at<float>({1}), 5);
  EXPECT_EQ(batch["y"].at<float>({1}), 4);
  EXPECT_EQ(&batch["x"], &batch.x);
  EXPECT_FALSE(batch.has("done"));
  EXPECT_REFUSED(batch["done"], "no tensor \"done\" — it has x, y, reward");
}

TEST(Fields, ComeThroughSubsetsAndLoaders) {
  const TensorDataset all = transitions(100);
  const Subset part = split(all, 0.3, 1).train;
  const Subset part_of_part = split(part, 0.5, 2).train;
  for (const int prefetch : {0, 2}) {
    Loader loader(part_of_part, {.batch = 8, .shuffle = true, .prefetch = prefetch});
    ASSERT_EQ(loader.fields().size(), 4u);
    EXPECT_EQ(loader.field("action").dtype, kI64);
    EXPECT_EQ(loader.field("next").shape, (Dims{8, 1}));
    EXPECT_EQ(loader.field("done").dtype, kF32);
    EXPECT_REFUSED(loader.target(), "no tensor \"y\" — batches have x, action, next, done");
    loader.next();
    const uint64_t mallocs = harness::malloc_calls();
    int64_t samples = 8;
    while (const Batch* batch = loader.next()) {
      samples += batch->size();
      for (int64_t i = 0; i < batch->size(); i++) {
        const auto state = static_cast<int64_t>(batch->x.at<float>({i, 0}));
        ASSERT_EQ((*batch)["action"].at<int64_t>({i}), state % 3);
        ASSERT_EQ((*batch)["next"].at<float>({i, 0}), static_cast<float>(state + 1));
      }
    }
    EXPECT_EQ(harness::malloc_calls(), mallocs);
    EXPECT_EQ(samples, 35);
  }
}

// A picture and its mask go through the same random changes; what is not named stays as it is.
TEST(Fields, TransformsReachTheFieldsTheyName) {
  const Tensor pictures = uniform({50, 6, 6}, 1);
  const TensorDataset set(std::vector<NamedTensor>{
      {"x", pictures}, {"y", arange(0, 50, 1, kI64)}, {"mask", pictures}, {"as_is", pictures}});
  const std::vector<std::string> both = {"x", "mask"};
  Loader loader(set, {.batch = 20,
                      .shuffle = true,
                      .transforms = {on(both, flip()), on(both, shift(1)), on(both, crop(4, 4)), noise(0.1f)}});
  EXPECT_EQ(loader.field("mask").shape, (Dims{20, 4, 4}));
  int64_t moved = 0;
  for (const Batch& batch : loader)
    for (int64_t i = 0; i < batch.size(); i++) {
      const int64_t sample = batch.y.at<int64_t>({i});
      const Tensor x = slice(batch.x, 0, i, i + 1), mask = slice(batch["mask"], 0, i, i + 1);
      EXPECT_GT(max(abs(x - mask)).item(), 0) << "noise is x's alone";
      EXPECT_LT(max(abs(x - mask)).item(), 0.7f) << "but both are the same part of the picture";
      const Tensor original = slice(pictures, 0, sample, sample + 1);
      EXPECT_EQ(max(abs(slice(batch["as_is"], 0, i, i + 1) - original)).item(), 0);
      moved += max(abs(mask - slice(slice(original, 1, 1, 5), 2, 1, 5))).item() > 0 ? 1 : 0;
    }
  EXPECT_GT(moved, 20);
}

TEST(Fields, MistakesAreSentences) {
  const TensorDataset all = transitions(10);
  EXPECT_REFUSED(TensorDataset(std::vector<NamedTensor>{}), "no tensors");
  EXPECT_REFUSED(TensorDataset(std::vector<NamedTensor>{{"x", ones({2})}, {"x", ones({2})}}), "two tensors are called");
  EXPECT_REFUSED(TensorDataset(std::vector<NamedTensor>{{"x", ones({2})}, {"r", ones({3})}}), "x [2] has 2 samples, r");
  EXPECT_REFUSED(all.target(), "no tensor \"y\" — samples have x f32 [1], action i64 []");
  EXPECT_REFUSED(Loader(all, {.transforms = {on({"action"}, noise(1))}}), "the samples are i64");
  EXPECT_REFUSED(Loader(all, {.transforms = {on({"speed"}, noise(1))}}), "no tensor \"speed\"");
  EXPECT_REFUSED(on({}, noise(1)), "give the names");
  EXPECT_REFUSED(all.fetch(std::vector<int64_t>{1}, {ones({1, 1}), {}}), "into action (none)");
}

}  // namespace
}  // namespace ingot::data
