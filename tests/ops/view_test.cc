// What the table's tests cannot see of views: that they share memory, when reshape needs a copy, slices as NumPy cuts
// them.
#include <gtest/gtest.h>

#include <numeric>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

using Values = std::vector<float>;

Tensor counting(const Dims& shape) { return reshape(arange(0, static_cast<double>(element_count(shape))), shape); }

TEST(View, SharesMemoryAndAllocatesNothing) {
  const Tensor x = counting({2, 3, 4});
  const uint64_t before = memory_stats().allocations;
  const Tensor views[] = {reshape(x, {6, 4}),
                          permute(x, {2, 0, 1}),
                          transpose(x),
                          slice(x, 1, 1, 3),
                          broadcast_to(x, {5, 2, 3, 4}),
                          unsqueeze(x, 1),
                          squeeze(unsqueeze(x, 1)),
                          diagonal(x, 0, 1),
                          select(x, 0, 1),
                          unpad(x, {0, 1, 1}, {1, 0, 0})};
  EXPECT_EQ(memory_stats().allocations, before);
  for (const Tensor& v : views) EXPECT_TRUE(v.shares_storage(x)) << to_string(v.shape());
  select(x, 0, 1).at<float>({0, 0}) = 99;
  EXPECT_EQ(x.at<float>({1, 0, 0}), 99);
}

TEST(View, LooksAtTheRightElements) {
  const Tensor x = counting({2, 3, 4});
  for (int64_t i = 0; i < 2; i++)
    for (int64_t j = 0; j < 3; j++)
      for (int64_t k = 0; k < 4; k++) {
        const float value = static_cast<float>(12 * i + 4 * j + k);
        ASSERT_EQ(permute(x, {2, 0, 1}).at<float>({k, i, j}), value);
        ASSERT_EQ(transpose(x, 0, -1).at<float>({k, j, i}), value);
        ASSERT_EQ(select(x, 1, j - 3).at<float>({i, k}), value);
        ASSERT_EQ(unsqueeze(x, -2).at<float>({i, j, 0, k}), value);
        ASSERT_EQ(broadcast_to(x, {7, 2, 3, 4}).at<float>({5, i, j, k}), value);
      }
  EXPECT_EQ(diagonal(x, 1, 2).to_vector<float>(), (Values{0, 5, 10, 12, 17, 22}));
  EXPECT_EQ(diagonal(x, 0, 1).shape(), (Dims{4, 2}));
  EXPECT_EQ(diagonal(x, 0, 1).to_vector<float>(), (Values{0, 16, 1, 17, 2, 18, 3, 19}));
  EXPECT_EQ(squeeze(reshape(x, {1, 2, 1, 12}), {2}).shape(), (Dims{1, 2, 12}));
  EXPECT_EQ(unpad(x, {1, 0, 2}, {0, 1, 1}).to_vector<float>(), (Values{14, 18}));
}

TEST(Slice, CutsAsNumPyDoes) {
  const Tensor x = counting({5});
  const auto cut = [&](int64_t start, int64_t stop, int64_t step) {
    return slice(x, 0, start, stop, step).to_vector<float>();
  };
  EXPECT_EQ(cut(1, 4, 1), (Values{1, 2, 3}));
  EXPECT_EQ(cut(0, 5, 2), (Values{0, 2, 4}));
  EXPECT_EQ(cut(-2, 100, 1), (Values{3, 4}));
  EXPECT_EQ(cut(-100, -3, 1), (Values{0, 1}));
  EXPECT_EQ(cut(3, 1, 1), (Values{}));
  EXPECT_EQ(cut(10, 20, 1), (Values{}));
  EXPECT_EQ(cut(-1, -100, -1), (Values{4, 3, 2, 1, 0}));
  EXPECT_EQ(cut(-1, -6, -1), (Values{4, 3, 2, 1, 0}));
  EXPECT_EQ(cut(-1, 0, -1), (Values{4, 3, 2, 1}));
  EXPECT_EQ(cut(4, 0, -2), (Values{4, 2}));
  EXPECT_EQ(cut(100, 2, -1), (Values{4, 3}));
  EXPECT_EQ(cut(0, 3, -1), (Values{}));
  EXPECT_EQ(cut(0, 5, 100), (Values{0}));
  EXPECT_EQ(cut(INT64_MAX, INT64_MIN, INT64_MIN), (Values{4}));
  EXPECT_EQ(cut(INT64_MIN, INT64_MAX, INT64_MAX), (Values{0}));
  EXPECT_NE(error_of([&] { slice(x, 0, 0, 5, 0); }).find("slice: step is 0"), std::string::npos);
  EXPECT_NE(error_of([&] { slice(x, 1, 0, 5); }).find("slice: axis 1"), std::string::npos);
}

TEST(Reshape, CopiesOnlyWhenAsked) {
  const Tensor x = counting({4, 6});
  EXPECT_EQ(reshape(x, {-1}).shape(), (Dims{24}));
  EXPECT_EQ(reshape(x, {2, -1, 3}).shape(), (Dims{2, 4, 3}));
  // Rows with gaps: the rows themselves can be cut and whole rows grouped, nothing across them.
  const Tensor rows = slice(x, 1, 0, 4);
  EXPECT_EQ(reshape(rows, {2, 2, 2, 2}).to_vector<float>(), rows.to_vector<float>());
  EXPECT_EQ(reshape(rows, {4, 1, 4, 1}).to_vector<float>(), rows.to_vector<float>());
  const std::string text = error_of([&] { reshape(rows, {16}); });
  EXPECT_NE(text.find("reshape(contiguous(x), [16])"), std::string::npos) << text;
  EXPECT_EQ(reshape(contiguous(rows), {16}).to_vector<float>(), rows.to_vector<float>());
  // A transposed matrix keeps its columns.
  EXPECT_EQ(reshape(transpose(x), {2, 3, 2, 2}).to_vector<float>(), transpose(x).to_vector<float>());
  EXPECT_NE(error_of([&] { reshape(transpose(x), {24}); }), "no error");
  // Every other element, and backwards, are even steps: one axis.
  EXPECT_EQ(reshape(slice(reshape(x, {24}), 0, 0, 24, 2), {3, 4}).to_vector<float>(),
            slice(reshape(x, {24}), 0, 0, 24, 2).to_vector<float>());
  EXPECT_EQ(reshape(slice(reshape(x, {24}), 0, -1, -100, -1), {6, 4}).at<float>({0, 1}), 22);
  EXPECT_EQ(reshape(broadcast_to(full({}, 3), {4, 6}), {24}).strides(), (Dims{0}));
}

TEST(Reshape, RefusesWhatDoesNotAddUp) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(error_of([&] { reshape(x, {4}); }).find("reshape: shape [4] does not hold 6 elements (f32 [2, 3])"),
            std::string::npos);
  EXPECT_NE(error_of([&] { reshape(x, {-1, -1}); }).find("two sizes open"), std::string::npos);
  EXPECT_NE(error_of([&] { reshape(x, {-2, -3}); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([&] { reshape(x, {4, -1}); }), "no error");
  EXPECT_NE(error_of([&] { reshape(Tensor::empty({0, 3}), {0, -1}); }).find("undetermined"), std::string::npos);
  EXPECT_EQ(reshape(Tensor::empty({0, 3}), {-1, 3}).shape(), (Dims{0, 3}));
  EXPECT_NE(error_of([&] { reshape(x, {int64_t{1} << 40, int64_t{1} << 40}); }), "no error");
}

// The strides that reshape finds, or its refusal, against trying every element: random views of random shapes.
TEST(Reshape, RandomViews) {
  uint64_t state = 1;
  const auto random = [&](uint64_t n) {
    return static_cast<int64_t>((state = state * 6364136223846793005u + 1442695040888963407u) >> 33) %
           static_cast<int64_t>(n);
  };
  int views = 0;
  for (int round = 0; round < 2000; round++) {
    Tensor x = counting({2, 6, 2, 4});
    if (random(2)) x = transpose(x, random(4), random(4));
    if (random(2)) x = slice(x, random(4), 0, 100, 1 + random(2));
    if (random(3) == 0) x = broadcast_to(x, {2, x.size(0), x.size(1), x.size(2), x.size(3)});
    Dims shape;  // random factors of the number of elements
    for (int64_t rest = x.numel(); rest > 1 && shape.size() < 7;) {
      int64_t factor = 1 + random(static_cast<uint64_t>(rest));
      while (rest % factor != 0) factor--;
      shape.push_back(factor);
      rest /= factor;
      if (shape.size() == 7) shape[6] *= rest;
    }
    try {
      const Tensor y = reshape(x, shape);
      ASSERT_EQ(y.to_vector<float>(), x.to_vector<float>())
          << to_string(x.shape()) << to_string(x.strides()) << " to " << to_string(shape);
      views++;
    } catch (const Error&) {
      ASSERT_FALSE(x.is_contiguous());
    }
  }
  EXPECT_GT(views, 500);
}

TEST(View, BadArgumentsAreNamed) {
  const Tensor x = counting({2, 3});
  EXPECT_NE(error_of([&] { permute(x, {0}); }).find("permute"), std::string::npos);
  EXPECT_NE(error_of([&] { permute(x, {0, 0}); }).find("twice"), std::string::npos);
  EXPECT_NE(error_of([&] {
              broadcast_to(x, {3, 3});
            }).find("broadcast_to: does not broadcast to [3, 3] (f32 [2, 3])"),
            std::string::npos);
  EXPECT_NE(error_of([&] { broadcast_to(x, {3}); }).find("[3]"), std::string::npos);
  EXPECT_NE(error_of([&] { broadcast_to(x, {-1, 3}); }).find("negative"), std::string::npos);
  EXPECT_NE(error_of([&] { squeeze(x, {0}); }).find("size 2"), std::string::npos);
  EXPECT_NE(error_of([&] { unsqueeze(x, 3); }).find("axis 3"), std::string::npos);
  EXPECT_NE(error_of([&] {
              unsqueeze(Tensor::empty({1, 1, 1, 1, 1, 1, 1, 1}), 0);
            }).find("at most 8"),
            std::string::npos);
  EXPECT_NE(error_of([&] { diagonal(x, 1, -1); }).find("two different axes"), std::string::npos);
  EXPECT_NE(error_of([&] { select(x, 1, 3); }).find("index 3 is outside axis 1"), std::string::npos);
  EXPECT_NE(error_of([&] { unpad(x, {0, 2}, {0, 2}); }).find("less than nothing"), std::string::npos);
  EXPECT_NE(error_of([&] { transpose(arange(0, 3)); }).find("axis -2"), std::string::npos);
  EXPECT_NE(error_of([&] {
              slice_grad(x, {2, 4}, 1, 0, 2);
            }).find("slice_grad: the part of [2, 4] has shape [2, 2]"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot
