// Transforms against plain loops, and that what they draw depends on seed, epoch and sample alone.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "ingot/data.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::data {
namespace {

// What a transform makes of [n, …] pictures with sample numbers from `first` on.
Tensor transformed(const Transform& t, const Tensor& in, RandomKey key, int64_t first = 0) {
  Dims sample = in.shape();
  sample.erase(0);
  const Dims shape = t.shape(sample);
  Dims all = shape;
  all.insert(0, in.size(0));
  const Tensor from = clone(in), to = shape == sample ? from : Tensor::empty(all);
  std::vector<int64_t> samples(static_cast<size_t>(in.size(0)));
  std::iota(samples.begin(), samples.end(), first);
  t.apply(from, to, samples, key);
  return to;
}

// Pixel [c, row, column] of picture k: all different, none 0.
Tensor pictures(int64_t n, int64_t c, int64_t h, int64_t w) {
  return reshape(arange(1, n * c * h * w + 1), {n, c, h, w});
}

TEST(Normalize, IsDifferenceOverDeviation) {
  const Tensor in = uniform({3, 2, 4, 5}, 1);
  const Tensor all = transformed(*normalize({0.25f}, {0.5f}), in, {});
  const Tensor each = transformed(*normalize({0.25f, -1}, {0.5f, 3}), in, {});
  for (int64_t i = 0; i < in.numel(); i++) {
    const float x = in.data<float>()[i];
    const bool second = i / 20 % 2 == 1;
    ASSERT_EQ(all.data<float>()[i], (x - 0.25f) / 0.5f);
    ASSERT_EQ(each.data<float>()[i], second ? (x + 1) / 3 : (x - 0.25f) / 0.5f);
  }
  const Tensor table = transformed(*normalize({1, 2, 3}, {1, 1, 2}), ones({2, 3}), {});
  EXPECT_EQ(table.to_vector<float>(), (std::vector<float>{0, -1, -1, 0, -1, -1})) << "columns of a table";
}

// How far picture `out` is from `in`, or nothing if it is no shift of it.
std::pair<int64_t, int64_t> shift_between(const Tensor& in, const Tensor& out, int64_t k, int64_t most, float fill) {
  const int64_t channels = in.size(1), height = in.size(2), width = in.size(3);
  for (int64_t down = -most; down <= most; down++)
    for (int64_t right = -most; right <= most; right++) {
      bool same = true;
      for (int64_t c = 0; c < channels; c++)
        for (int64_t row = 0; row < height; row++)
          for (int64_t column = 0; column < width; column++) {
            const int64_t from = row - down, left = column - right;
            const bool inside = from >= 0 && from < height && left >= 0 && left < width;
            same = same && out.at<float>({k, c, row, column}) == (inside ? in.at<float>({k, c, from, left}) : fill);
          }
      if (same) return {down, right};
    }
  return {99, 99};
}

TEST(Shift, MovesWholePicturesEveryWayEquallyOften) {
  const int64_t n = 2500;
  const Tensor in = pictures(n, 2, 5, 4);
  const Tensor out = transformed(*shift(2, -1), in, {3, 4});
  std::map<std::pair<int64_t, int64_t>, int> seen;
  for (int64_t k = 0; k < n; k++) seen[shift_between(in, out, k, 2, -1)]++;
  EXPECT_EQ(seen.count({99, 99}), 0u);
  EXPECT_EQ(seen.size(), 25u);
  double chi = 0;
  for (const auto& [by, count] : seen) chi += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi, 51.2) << "24 degrees of freedom: one in a thousand is above";
}

TEST(Shift, TakesPicturesWithoutChannelsAndMayBeNone) {
  const Tensor in = reshape(pictures(6, 1, 3, 7), {6, 3, 7});
  EXPECT_EQ(transformed(*shift(0), in, {1, 1}).to_vector<float>(), in.to_vector<float>());
  const Tensor out = transformed(*shift(3), in, {1, 1});
  for (int64_t k = 0; k < 6; k++)
    EXPECT_NE(shift_between(reshape(in, {6, 1, 3, 7}), reshape(out, {6, 1, 3, 7}), k, 3, 0).first, 99);
}

TEST(Crop, IsAWindowAtEveryPlaceEquallyOften) {
  const int64_t n = 1200;
  const Tensor in = pictures(n, 2, 5, 6);
  const Tensor out = transformed(*crop(3, 3), in, {3, 4});
  EXPECT_EQ(out.shape(), (Dims{n, 2, 3, 3}));
  std::map<int64_t, int> seen;
  for (int64_t k = 0; k < n; k++) {
    // Values count up along the memory, so the first pixel says where the window is.
    const auto first = static_cast<int64_t>(out.at<float>({k, 0, 0, 0})) - 1 - k * 60;
    const int64_t top = first / 6, left = first % 6;
    seen[first]++;
    for (int64_t c = 0; c < 2; c++)
      for (int64_t row = 0; row < 3; row++)
        for (int64_t column = 0; column < 3; column++)
          ASSERT_EQ(out.at<float>({k, c, row, column}), in.at<float>({k, c, top + row, left + column}));
  }
  EXPECT_EQ(seen.size(), 12u);
  double chi = 0;
  for (const auto& [at, count] : seen) chi += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi, 31.3) << "11 degrees of freedom: one in a thousand is above";
}

TEST(Crop, InTheMiddle) {
  const Tensor in = pictures(2, 3, 6, 7);
  const Tensor out = transformed(*center_crop(4, 3), in, {});
  EXPECT_EQ(out.to_vector<float>(), slice(slice(in, 2, 1, 5), 3, 2, 5).to_vector<float>());
  for (const auto& whole : {crop(6, 7), center_crop(6, 7)})
    EXPECT_EQ(transformed(*whole, in, {}).to_vector<float>(), in.to_vector<float>());
}

TEST(Flip, MirrorsHalfOfThem) {
  const int64_t n = 1000;
  const Tensor in = pictures(n, 2, 3, 4);
  const Tensor out = transformed(*flip(), in, {1, 2});
  int64_t mirrored = 0;
  for (int64_t k = 0; k < n; k++) {
    const bool is = out.at<float>({k, 0, 0, 0}) != in.at<float>({k, 0, 0, 0});
    mirrored += is;
    for (int64_t c = 0; c < 2; c++)
      for (int64_t row = 0; row < 3; row++)
        for (int64_t column = 0; column < 4; column++)
          ASSERT_EQ(out.at<float>({k, c, row, column}), in.at<float>({k, c, row, is ? 3 - column : column}));
  }
  EXPECT_NEAR(static_cast<double>(mirrored), 500, 52) << "3.3 deviations";
}

TEST(Noise, IsNormalAndAnotherForEverySample) {
  const int64_t n = 200, size = 1500;  // more than a piece, no multiple of one
  const Tensor in = full({n, size}, 3);
  const Tensor out = transformed(*noise(0.5f), in, {7, 1});
  const Tensor added = (out - in) / 0.5;
  const double count = static_cast<double>(n * size);
  EXPECT_NEAR(mean(added).item<double>(), 0, 3.3 / std::sqrt(count));
  EXPECT_NEAR(mean(square(added)).item<double>(), 1, 3.3 * std::sqrt(2 / count));
  EXPECT_NEAR(mean(square(square(added))).item<double>(), 3, 3.3 * std::sqrt(96 / count));
  // No two samples, and no two pieces of one, share numbers: all products have mean 0.
  const Tensor first = slice(added, 0, 0, n - 1), second = slice(added, 0, 1, n);
  EXPECT_NEAR(mean(first * second).item<double>(), 0, 3.3 / std::sqrt(count));
  const Tensor head = slice(added, 1, 0, 476), tail = slice(added, 1, 1024, 1500);
  EXPECT_NEAR(mean(head * tail).item<double>(), 0, 3.3 / std::sqrt(static_cast<double>(n * 476)));
  EXPECT_EQ(transformed(*noise(0), in, {7, 1}).to_vector<float>(), in.to_vector<float>());
}

TEST(Transforms, DependOnTheSamplesNumberNotOnItsPlace) {
  const Tensor in = uniform({12, 1, 9, 8}, 1);
  for (const auto& t : {shift(3), crop(5, 5), flip(), noise(1)}) {
    const Tensor whole = transformed(*t, in, {5, 6});
    const Tensor part = transformed(*t, slice(in, 0, 4, 7), {5, 6}, 4);
    EXPECT_EQ(part.to_vector<float>(), slice(whole, 0, 4, 7).to_vector<float>());
    EXPECT_NE(transformed(*t, in, {5, 7}).to_vector<float>(), whole.to_vector<float>());
    EXPECT_NE(transformed(*t, in, {6, 6}).to_vector<float>(), whole.to_vector<float>());
  }
}

// All samples of an epoch, by number.
std::map<int64_t, std::vector<float>> epoch_of(Loader& loader) {
  std::map<int64_t, std::vector<float>> samples;
  for (const Batch& batch : loader)
    for (int64_t i = 0; i < batch.size(); i++)
      samples[batch.y.at<int64_t>({i})] = slice(batch.x, 0, i, i + 1).to_vector<float>();
  return samples;
}

TEST(Transforms, InALoaderDoNotDependOnBatchesThreadsOrOrder) {
  const int64_t n = 50;
  const TensorDataset set(uniform({n, 2, 10, 9}, 1), arange(0, n, 1, kI64));
  const std::vector<TransformPtr> chain = {shift(2),   normalize({0.5f}, {0.25f}), crop(8, 8), flip(), crop(6, 7),
                                           noise(0.1f)};
  Loader plain(set, {.batch = n, .seed = 9, .prefetch = 0, .transforms = chain});
  EXPECT_EQ(plain.input().shape, (Dims{n, 2, 6, 7}));
  const auto first = epoch_of(plain), second = epoch_of(plain);
  ASSERT_EQ(first.size(), static_cast<size_t>(n));
  EXPECT_NE(first, second) << "another epoch, other draws";
  for (const int64_t batch : {1, 7, 16})
    for (const int prefetch : {0, 1, 3})
      for (const bool shuffle : {false, true}) {
        Loader loader(set, {.batch = batch, .shuffle = shuffle, .seed = 9, .prefetch = prefetch, .transforms = chain});
        EXPECT_EQ(epoch_of(loader), first);
        EXPECT_EQ(epoch_of(loader), second);
        loader.seek({1, 0});
        EXPECT_EQ(epoch_of(loader), second);
      }
  Loader reseeded(set, {.batch = n, .seed = 10, .transforms = chain});
  EXPECT_NE(epoch_of(reseeded), first);
}

// The chain by hand: every transform has a key of its own.
TEST(Transforms, OfOneKindDrawIndependently) {
  const int64_t n = 400;
  const TensorDataset set(pictures(n, 1, 2, 2), arange(0, n, 1, kI64));
  Loader once(set, {.batch = n, .transforms = {flip()}}), twice(set, {.batch = n, .transforms = {flip(), flip()}});
  const auto flipped = epoch_of(once), again = epoch_of(twice);
  int differ = 0;
  for (int64_t i = 0; i < n; i++) differ += flipped.at(i) != again.at(i);
  EXPECT_NEAR(differ, 200, 33) << "the second flips half of them back or over";
}

TEST(Transforms, ASampleThatComesTwiceIsDrawnTwice) {
  const TensorDataset set(pictures(1, 1, 8, 8), zeros({1}, kI64));
  Loader loader(set, {.batch = 100, .transforms = {flip()}, .batches = 1});
  const Batch* batch = loader.next();
  int mirrored = 0;
  for (int64_t i = 0; i < 100; i++) mirrored += batch->x.at<float>({i, 0, 0, 0}) != 1;
  EXPECT_NEAR(mirrored, 50, 17);
}

TEST(Transforms, RefuseWithASentence) {
  const auto error = [](const TransformPtr& t, const Dims& sample) { return error_of([&] { t->shape(sample); }); };
  EXPECT_EQ(error(shift(1), {784}),
            "shift: samples of shape [784] — it takes pictures [c, h, w] or [h, w]; reshape the data first");
  EXPECT_NE(error(flip(), {2, 3, 4, 5}), "no error");
  EXPECT_NE(error(crop(2, 2), {}), "no error");
  EXPECT_EQ(error(crop(29, 28), {1, 28, 28}),
            "crop: a window of 29 × 28 out of pictures [1, 28, 28] — it must not be larger than they are");
  EXPECT_NE(error(shift(9), {1, 8, 28}), "no error");
  EXPECT_EQ(error(normalize({1, 2}, {1, 1}), {3, 4, 4}),
            "normalize: 2 means for samples of shape [3, 4, 4] — give one, or one for each place of the first axis");
  EXPECT_NE(error_of([] { normalize({1}, {0}); }), "no error");
  EXPECT_NE(error_of([] { normalize({1}, {1, 2}); }), "no error");
  EXPECT_NE(error_of([] { normalize({}, {}); }), "no error");
  EXPECT_NE(error_of([] { normalize({NAN}, {1}); }), "no error");
  EXPECT_NE(error_of([] { shift(-1); }), "no error");
  EXPECT_NE(error_of([] { crop(0, 5); }), "no error");
  EXPECT_NE(error_of([] { noise(-1); }), "no error");
  EXPECT_NE(error_of([] { noise(INFINITY); }), "no error");
  const TensorDataset flat(zeros({4, 784}), zeros({4}));
  EXPECT_EQ(error_of([&] { Loader loader(flat, {.transforms = {shift(1)}}); }), error(shift(1), {784}))
      << "a loader says so when it is made";
}

}  // namespace
}  // namespace ingot::data
