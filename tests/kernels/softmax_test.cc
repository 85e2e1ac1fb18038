#include "kernels/softmax.h"

#include <cmath>

#include "reduce_test_util.h"

namespace ingot::kernels {
namespace {

using SoftmaxTest = OnTarget;
INGOT_ON_TARGETS(SoftmaxTest);

const double kInf = std::numeric_limits<double>::infinity();

// [outer, length, inner] with the axis in the middle; operand k has its elements `gap` apart.
AxisLayout cube(int64_t outer, int64_t length, int64_t inner, int64_t gap, int operands) {
  AxisLayout l;
  l.outer_rank = 2;
  l.outer[0] = outer;
  l.outer[1] = inner;
  l.length = length;
  for (int k = 0; k < operands; ++k) l.operand[k] = {{length * inner * gap, gap}, inner * gap};
  return l;
}

template <class T>
std::vector<double> reference(const std::vector<T>& x, bool log) {
  double max = -kInf, sum = 0;
  for (T v : x) max = max != max || max > static_cast<double>(v) ? max : static_cast<double>(v);
  for (T v : x) sum += std::exp(static_cast<double>(v) - max);
  std::vector<double> y;
  for (T v : x) {
    const double shifted = static_cast<double>(v) - max;
    y.push_back(log ? shifted - std::log(sum) : std::exp(shifted) / sum);
  }
  return y;
}

template <class T>
void check_forward(std::mt19937& rng, int64_t outer, int64_t length, int64_t inner, int64_t gap, bool log,
                   double spread) {
  const AxisLayout l = cube(outer, length, inner, gap, 2);
  auto x = normal_values<T>(rng, outer * length * inner * gap);
  for (T& v : x) v *= static_cast<T>(spread);
  std::vector<T> y(x.size(), T(-9)), in_place = x;
  softmax(l, log, x.data(), y.data(), Team());
  softmax(l, log, in_place.data(), in_place.data(), Team());
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t j = 0; j < inner; ++j) {
      std::vector<T> row;
      std::vector<size_t> at;
      for (int64_t i = 0; i < length; ++i) {
        at.push_back(static_cast<size_t>(((o * length + i) * inner + j) * gap));
        row.push_back(x[at.back()]);
      }
      const auto want = reference(row, log);
      for (size_t i = 0; i < row.size(); ++i) {
        const double magnitude = log ? std::abs(want[i]) + std::abs(static_cast<double>(row[i])) + 1 : want[i] + 1e-30;
        ASSERT_TRUE(close(y[at[i]], want[i], magnitude * (1 + spread), 8)) << outer << "," << length << "," << inner;
        ASSERT_EQ(y[at[i]], in_place[at[i]]);
      }
    }
  for (size_t i = 1; gap > 1 && i < y.size(); i += static_cast<size_t>(gap)) ASSERT_EQ(y[i], T(-9));
}

template <class T>
void check_forwards() {
  std::mt19937 rng(1);
  for (bool log : {false, true})
    for (int64_t length : {1, 2, 7, 10, 33, 1000, 1500})
      for (int64_t inner : {1, 3, 4, 13, 300})
        for (int64_t gap : {1, 2}) {
          if (length * inner > 20000) continue;
          check_forward<T>(rng, length < 100 ? 3 : 1, length, inner, gap, log, length % 2 == 0 ? 1 : 10);
        }
  check_forward<T>(rng, 0, 5, 3, 1, false, 1);
  check_forward<T>(rng, 2, 0, 3, 1, false, 1);
}
TEST_P(SoftmaxTest, ForwardF32) { check_forwards<float>(); }
TEST_P(SoftmaxTest, ForwardF64) { check_forwards<double>(); }

template <class T>
void check_grads() {
  std::mt19937 rng(2);
  for (bool log : {false, true})
    for (int64_t length : {1, 5, 10, 64, 1100})
      for (int64_t inner : {1, 3, 13})
        for (int64_t gap : {1, 2}) {
          const AxisLayout forward = cube(2, length, inner, gap, 2), l = cube(2, length, inner, gap, 3);
          const int64_t n = 2 * length * inner * gap;
          const auto x = normal_values<T>(rng, n), dy = normal_values<T>(rng, n);
          std::vector<T> y(x), dx(x.size()), in_place = dy;
          softmax(forward, log, x.data(), y.data(), Team());
          softmax_grad(l, log, y.data(), dy.data(), dx.data(), Team());
          softmax_grad(l, log, y.data(), in_place.data(), in_place.data(), Team());
          for (int64_t o = 0; o < 2; ++o)
            for (int64_t j = 0; j < inner; ++j) {
              const auto at = [&](int64_t i) { return static_cast<size_t>(((o * length + i) * inner + j) * gap); };
              double sum = 0, absolute = 0;
              for (int64_t i = 0; i < length; ++i) {
                const double term = static_cast<double>(dy[at(i)]) * (log ? 1 : static_cast<double>(y[at(i)]));
                sum += term;
                absolute += std::abs(term);
              }
              for (int64_t i = 0; i < length; ++i) {
                const double v = static_cast<double>(y[at(i)]), g = static_cast<double>(dy[at(i)]);
                const double want = log ? g - std::exp(v) * sum : v * (g - sum);
                const double scale = log ? std::abs(g) + std::exp(v) * absolute : v * (std::abs(g) + absolute);
                ASSERT_TRUE(close(dx[at(i)], want, scale + 1e-30, 8));
                ASSERT_EQ(dx[at(i)], in_place[at(i)]);
              }
            }
        }
}
TEST_P(SoftmaxTest, GradientF32) { check_grads<float>(); }
TEST_P(SoftmaxTest, GradientF64) { check_grads<double>(); }

TEST_P(SoftmaxTest, InfinitiesAndNan) {
  const float inf = static_cast<float>(kInf), nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t inner : {1, 8}) {  // rows and columns
    const auto run = [&](std::vector<float> row, bool log) {
      std::vector<float> x;
      for (float v : row) x.insert(x.end(), static_cast<size_t>(inner), v);
      softmax(cube(1, static_cast<int64_t>(row.size()), inner, 1, 2), log, x.data(), x.data(), Team());
      std::vector<float> y;
      for (size_t i = 0; i < row.size(); ++i) y.push_back(x[i * static_cast<size_t>(inner)]);
      return y;
    };
    EXPECT_EQ(run({-inf, 0, -inf}, false), (std::vector<float>{0, 1, 0}));  // a masked position is exactly 0
    EXPECT_EQ(run({-inf, 0, -inf}, true), (std::vector<float>{-inf, 0, -inf}));
    EXPECT_EQ(run({-1000, 0, 1}, false)[0], 0);
    for (bool log : {false, true}) {
      for (float v : run({-inf, -inf, -inf, -inf}, log)) EXPECT_TRUE(std::isnan(v));
      for (float v : run({1, nan, 2}, log)) EXPECT_TRUE(std::isnan(v));
      EXPECT_TRUE(std::isnan(run({1, inf, 2}, log)[1]));
    }
  }
}

template <class T, class Label>
void check_cross_entropy() {
  std::mt19937 rng(3);
  for (int64_t classes : {1, 2, 10, 33, 1500}) {
    const int64_t rows = 7, stride = classes + 3;
    const auto x = normal_values<T>(rng, rows * stride);
    std::vector<Label> labels;
    for (int64_t r = 0; r < rows; ++r) labels.push_back(r == 4 ? Label(-100) : static_cast<Label>(rng() % classes));
    std::vector<T> loss(static_cast<size_t>(rows)), grad(x.size(), T(5));
    const std::vector<T> scale{1, 2, 3, 4, 5, 6, 7};
    softmax_cross_entropy(rows, classes, x.data(), stride, labels.data(), loss.data(), Team());
    softmax_cross_entropy_grad(rows, classes, x.data(), stride, labels.data(), scale.data(), 1, grad.data(), stride,
                               static_cast<decltype(grad.data())>(nullptr), Team());
    for (int64_t r = 0; r < rows; ++r) {
      const size_t row = static_cast<size_t>(r * stride), i = static_cast<size_t>(r);
      const std::vector<T> logits(x.begin() + r * stride, x.begin() + r * stride + classes);
      const auto p = reference(logits, false), log_p = reference(logits, true);
      const Label label = labels[i];
      EXPECT_TRUE(close(loss[i], label < 0 ? 0 : -log_p[static_cast<size_t>(label)], 8));
      for (size_t c = 0; c < static_cast<size_t>(classes); ++c) {
        const double onehot = static_cast<Label>(c) == label ? 1 : 0;
        EXPECT_TRUE(close(grad[row + c], label < 0 ? 0 : (p[c] - onehot) * static_cast<double>(scale[i]), 8));
      }
      EXPECT_EQ(grad[row + static_cast<size_t>(classes)], T(5));
    }
  }
}
TEST_P(SoftmaxTest, CrossEntropy) {
  check_cross_entropy<float, int64_t>();
  check_cross_entropy<double, int32_t>();
}

TEST_P(SoftmaxTest, SameBitsForEveryTeam) {
  std::mt19937 rng(4);
  for (int64_t inner : {1, 50}) {
    const AxisLayout l = cube(5, 77, inner, 1, 2), l3 = cube(5, 77, inner, 1, 3);
    const auto x = normal_values<float>(rng, 5 * 77 * inner), dy = normal_values<float>(rng, 5 * 77 * inner);
    expect_same_bits<float>(
        x.size(), [&](float* out, const Team& team) { softmax(l, false, x.data(), out, team); }, "softmax");
    expect_same_bits<float>(
        x.size(), [&](float* out, const Team& team) { softmax_grad(l3, true, x.data(), dy.data(), out, team); },
        "grad");
  }
}

}  // namespace
}  // namespace ingot::kernels
