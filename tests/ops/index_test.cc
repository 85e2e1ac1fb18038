// What the table's tests cannot see of indexing: refusals that leave dst alone, sums in a fixed order, large sizes.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

Tensor integers(const std::vector<int64_t>& values) { return Tensor::from(values); }

TEST(Index, SmallCasesByHand) {
  const Tensor x = reshape(arange(0, 6), {2, 3});
  const Tensor places = reshape(integers({2, 0, 1, 1}), {2, 2}), rows = reshape(integers({1, 0, 0, 1}), {2, 2});
  EXPECT_EQ(gather(x, places, 1).to_vector<float>(), (std::vector<float>{2, 0, 4, 4}));
  EXPECT_EQ(scatter_add(zeros({2, 3}), places, ones({2, 2}), 1).to_vector<float>(),
            (std::vector<float>{1, 0, 1, 0, 2, 0}));
  EXPECT_EQ(index_select(x, integers({1, 1, 0}), 0).to_vector<float>(),
            (std::vector<float>{3, 4, 5, 3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(embedding(x, rows).to_vector<float>(), (std::vector<float>{3, 4, 5, 0, 1, 2, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(index_select(x, integers({2}), -1).to_vector<float>(), (std::vector<float>{2, 5}));
}

TEST(Index, OutOfRangeIsNamedAndDestinationUntouched) {
  const Tensor x = reshape(arange(0, 6), {2, 3}), dst = full({3}, 7);
  const Tensor bad = integers({0, 5, 1}), negative = integers({0, -1, 1});
  const Tensor line = arange(0, 3);
  EXPECT_NE(error_of([&] { gather_into(dst, line, bad, 0); }).find("gather: index 5 at position 1"), std::string::npos);
  EXPECT_NE(error_of([&] { gather_into(dst, line, negative, 0); }).find("index -1"), std::string::npos);
  EXPECT_NE(error_of([&] { scatter_add_into(dst, line, bad, line, 0); }).find("scatter_add: index 5"),
            std::string::npos);
  EXPECT_NE(error_of([&] { index_select_into(dst, line, bad); }).find("indices must lie in 0 … 2"), std::string::npos);
  EXPECT_NE(error_of([&] { embedding_into(full({3, 3}, 7), x, bad); }).find("index 5"), std::string::npos);
  EXPECT_NE(error_of([&] { one_hot(bad, 5); }).find("one_hot: index 5"), std::string::npos);
  EXPECT_EQ(dst.to_vector<float>(), (std::vector<float>{7, 7, 7}));
  EXPECT_NE(error_of([&] { gather(line, Tensor::from(std::vector<float>{0}), 0); }).find("i32 or i64"),
            std::string::npos);
  EXPECT_NE(error_of([&] { gather(x, bad, 0); }).find("do not fit"), std::string::npos);
  EXPECT_NE(error_of([&] { index_select(x, reshape(bad, {3, 1})); }).find("vector"), std::string::npos);
  EXPECT_NE(error_of([&] { scatter_add(line, bad, arange(0, 2), 0); }).find("shape"), std::string::npos);
  EXPECT_NE(error_of([&] { scatter_add(to(line, kU8), bad, to(line, kU8), 0); }).find("u8"), std::string::npos);
  EXPECT_NE(error_of([&] { one_hot(integers({0}), -1); }).find("negative"), std::string::npos);
}

// Sums of numbers of very different sizes change with the order: the bits must not, at any thread count.
TEST(ScatterAdd, TheSameBitsAtAnyThreadCount) {
  const int64_t n = 40000;
  const Tensor src = multiply(normal({n, 48}, 1), exp(multiply(normal({n, 1}, 2), 6.0)));
  const Tensor rows = to(multiply(uniform({n}, 3), 100.0), kI64);
  const Tensor places = broadcast_to(unsqueeze(rows, 1), {n, 48});
  const int before = threads();
  std::vector<float> sums, table, flat;
  for (int count : {1, 2, 3}) {
    set_threads(count);
    const std::vector<float> s = scatter_add(zeros({100, 48}), places, src, 0).to_vector<float>();
    const std::vector<float> e = embedding_grad(src, rows, 100).to_vector<float>();
    const std::vector<float> t = scatter_add(zeros({48, 100}), transpose(places), transpose(src), 1).to_vector<float>();
    if (count == 1) sums = s, table = e, flat = t;
    EXPECT_EQ(s, sums);
    EXPECT_EQ(e, table);
    EXPECT_EQ(t, flat);
  }
  set_threads(before);
  EXPECT_EQ(sums, table);
}

TEST(Index, LargeLookupsAgreeWithThePlainLoop) {
  const Tensor table = normal({1000, 67}, 1), rows = to(multiply(uniform({300, 20}, 3), 1000.0), kI32);
  const Tensor found = embedding(table, rows);
  for (int64_t i = 0; i < 300; i++)
    for (int64_t j = 0; j < 20; j++)
      for (int64_t d = 0; d < 67; d += 11)
        ASSERT_EQ(found.at<float>({i, j, d}), table.at<float>({rows.at<int32_t>({i, j}), d}));
  const Tensor columns = index_select(table, permutation(67, 5), 1);
  EXPECT_NEAR(sum(columns).item<double>(), sum(table).item<double>(), 1e-2);
  const Tensor hot = one_hot(rows, 1000, kU8);
  EXPECT_EQ(sum(to(hot, kI64)).item<int64_t>(), 6000);
}

TEST(Index, EmptyTableOrIndices) {
  EXPECT_EQ(embedding(Tensor::empty({0, 4}), Tensor::empty({0}, kI64)).shape(), (Dims{0, 4}));
  EXPECT_NE(error_of([] { embedding(Tensor::empty({0, 4}), integers({0})); }).find("index 0"), std::string::npos);
  EXPECT_EQ(embedding_grad(Tensor::empty({0, 4}), Tensor::empty({0}, kI64), 3).shape(), (Dims{3, 4}));
  EXPECT_EQ(sum(embedding_grad(Tensor::empty({0, 4}), Tensor::empty({0}, kI64), 3)).item(), 0);
}

}  // namespace
}  // namespace ingot
