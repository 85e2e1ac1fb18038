#include "kernels/norm.h"

#include <cmath>

#include "reduce_test_util.h"

namespace ingot::kernels {
namespace {

using NormTest = OnTarget;
INGOT_ON_TARGETS(NormTest);

// The definition, for any partition into sets: element i belongs to set_of[i] and has the weight and bias of
// channel_of[i].
struct Reference {
  std::vector<size_t> set_of, channel_of;
  size_t sets, channels;
  double eps;
  bool rms;
  std::vector<double> mean, variance, y, dx, dweight, dbias;

  template <class T>
  void run(const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& b, const std::vector<T>& dy) {
    std::vector<double> n(sets), g(sets), gx(sets), xhat(x.size());
    mean.assign(sets, 0);
    variance.assign(sets, 0);
    dweight.assign(channels, 0);
    dbias.assign(channels, 0);
    for (size_t i = 0; i < x.size(); ++i) n[set_of[i]] += 1;
    for (size_t i = 0; i < x.size() && !rms; ++i) mean[set_of[i]] += static_cast<double>(x[i]) / n[set_of[i]];
    for (size_t i = 0; i < x.size(); ++i)
      variance[set_of[i]] += std::pow(static_cast<double>(x[i]) - mean[set_of[i]], 2) / n[set_of[i]];
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t s = set_of[i], c = channel_of[i];
      const double weight = w.empty() ? 1 : static_cast<double>(w[c]), bias = b.empty() ? 0 : static_cast<double>(b[c]);
      xhat[i] = (static_cast<double>(x[i]) - mean[s]) / std::sqrt(variance[s] + eps);
      y.push_back(xhat[i] * weight + bias);
      const double d = static_cast<double>(dy[i]);
      if (!rms) g[s] += d * weight / n[s];
      gx[s] += d * weight * xhat[i] / n[s];
      dweight[c] += d * xhat[i];
      dbias[c] += d;
    }
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t s = set_of[i];
      const double weight = w.empty() ? 1 : static_cast<double>(w[channel_of[i]]);
      dx.push_back((static_cast<double>(dy[i]) * weight - g[s] - xhat[i] * gx[s]) / std::sqrt(variance[s] + eps));
    }
  }
};

template <class T>
void expect_all_close(const std::vector<T>& got, const std::vector<double>& want, double ulps, const char* what) {
  ASSERT_EQ(got.size(), want.size());
  double magnitude = 1;
  for (double v : want) magnitude = std::max(magnitude, std::abs(v));
  for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(close(got[i], want[i], magnitude, ulps)) << what << " " << i;
}

template <class T>
void check_rows(int64_t rows, int64_t cols, bool rms, bool weighted, double offset) {
  std::mt19937 rng(static_cast<unsigned>(rows * 100 + cols));
  const int64_t n = rows * cols;
  auto x = normal_values<T>(rng, n);
  const auto dy = normal_values<T>(rng, n);
  for (T& v : x) v += static_cast<T>(offset);
  const auto w = weighted ? normal_values<T>(rng, cols) : std::vector<T>(),
             b = weighted ? normal_values<T>(rng, cols) : w;
  Reference want{{}, {}, static_cast<size_t>(rows), static_cast<size_t>(cols), 1e-5, rms, {}, {}, {}, {}, {}, {}};
  for (int64_t i = 0; i < n; ++i) {
    want.set_of.push_back(static_cast<size_t>(i / cols));
    want.channel_of.push_back(static_cast<size_t>(i % cols));
  }
  want.run(x, w, b, dy);
  const RowNorm norm{rows, cols, 1e-5, rms};
  std::vector<T> y(x.size()), dx(x.size()), dw(static_cast<size_t>(cols)), db(dw);
  const T* weight = weighted ? w.data() : nullptr;
  Scratch scratch(row_norm_grad_scratch(norm, sizeof(T)));
  row_norm(norm, x.data(), weight, weighted ? b.data() : nullptr, y.data(), Team());
  row_norm_grad(norm, x.data(), weight, dy.data(), dx.data(), dw.data(), db.data(), scratch.data(), Team());
  const double ulps = (16 + 2 * offset) * (cols == 1 && !rms ? 300 : 1);
  expect_all_close(y, want.y, ulps, "y");
  expect_all_close(dx, want.dx, ulps * 4, "dx");
  expect_all_close(dw, want.dweight, ulps * 4, "dweight");
  expect_all_close(db, want.dbias, ulps, "dbias");
  std::vector<T> alone = dy;
  row_norm_grad<T>(norm, x.data(), weight, alone.data(), alone.data(), nullptr, nullptr, scratch.data(), Team());
  EXPECT_EQ(alone, dx);
}

TEST_P(NormTest, Rows) {
  for (int64_t rows : {1, 3, 70, 1000})
    for (int64_t cols : {1, 5, 8, 31, 512, 1300}) {
      if (rows * cols > 100'000) continue;
      for (bool rms : {false, true})
        for (bool weighted : {false, true}) {
          check_rows<float>(rows, cols, rms, weighted, cols % 2 == 0 ? 0 : 3);
          check_rows<double>(rows, cols, rms, weighted, 3);
        }
    }
}

template <class T>
void check_channels(int64_t batch, int64_t channels, int64_t positions, int64_t groups, bool weighted) {
  std::mt19937 rng(static_cast<unsigned>(batch * 100 + channels));
  const int64_t n = batch * channels * positions, sets = groups == 0 ? channels : batch * groups;
  const auto x = normal_values<T>(rng, n), dy = normal_values<T>(rng, n);
  const auto w = weighted ? normal_values<T>(rng, channels) : std::vector<T>();
  const auto b = weighted ? normal_values<T>(rng, channels) : w;
  Reference want{{}, {}, static_cast<size_t>(sets), static_cast<size_t>(channels), 1e-3, false, {}, {}, {}, {}, {}, {}};
  for (int64_t i = 0; i < n; ++i) {
    const int64_t c = i / positions % channels, sample = i / positions / channels;
    want.channel_of.push_back(static_cast<size_t>(c));
    want.set_of.push_back(static_cast<size_t>(groups == 0 ? c : sample * groups + c / (channels / groups)));
  }
  want.run(x, w, b, dy);
  const ChannelNorm norm{batch, channels, positions, groups, 1e-3};
  std::vector<T> y(x.size()), dx(x.size()), dw(static_cast<size_t>(channels)), db(dw);
  std::vector<T> mean(static_cast<size_t>(sets)), variance(mean);
  const T* weight = weighted ? w.data() : nullptr;
  Scratch scratch(channel_norm_grad_scratch(norm, sizeof(T)));
  channel_norm(norm, x.data(), weight, weighted ? b.data() : nullptr, y.data(), mean.data(), variance.data(), Team());
  channel_norm_grad(norm, x.data(), weight, dy.data(), dx.data(), dw.data(), db.data(), scratch.data(), Team());
  const double few = groups == 0 ? static_cast<double>(batch * positions) : static_cast<double>(n / sets);
  const double ulps = few < 4 ? 1000 : 32;
  expect_all_close(mean, want.mean, 64, "mean");
  expect_all_close(variance, want.variance, 64, "variance");
  expect_all_close(y, want.y, ulps, "y");
  expect_all_close(dx, want.dx, ulps * 4, "dx");
  expect_all_close(dw, want.dweight, ulps * 4, "dweight");
  expect_all_close(db, want.dbias, ulps, "dbias");
  std::vector<T> in_place = x;
  channel_norm<T>(norm, in_place.data(), weight, weighted ? b.data() : nullptr, in_place.data(), nullptr, nullptr,
                  Team());
  EXPECT_EQ(in_place, y);
}

TEST_P(NormTest, Channels) {
  for (int64_t batch : {1, 2, 33})
    for (int64_t channels : {4, 12, 300})
      for (int64_t positions : {1, 3, 31, 49, 1100})
        for (int64_t groups : {int64_t(0), int64_t(2), channels}) {
          if (batch * channels * positions > 60'000) continue;
          check_channels<float>(batch, channels, positions, groups, positions % 2 == 1);
          check_channels<double>(batch, channels, positions, groups, true);
        }
}

TEST_P(NormTest, SameBitsForEveryTeam) {
  std::mt19937 rng(9);
  for (int64_t rows : {5, 64, 300}) {
    const RowNorm norm{rows, 40, 1e-5};
    const auto x = normal_values<float>(rng, rows * 40), dy = normal_values<float>(rng, rows * 40);
    const auto w = normal_values<float>(rng, 40);
    Scratch scratch(row_norm_grad_scratch(norm, 4));
    expect_same_bits<float>(
        x.size() + 80,
        [&](float* out, const Team& team) {
          row_norm_grad(norm, x.data(), w.data(), dy.data(), out, out + x.size(), out + x.size() + 40, scratch.data(),
                        team);
        },
        "row_norm_grad");
  }
  for (int64_t groups : {0, 3})
    for (int64_t positions : {1, 50}) {
      const ChannelNorm norm{7, 48, positions, groups, 1e-5};
      const auto x = normal_values<float>(rng, 7 * 48 * positions), dy = normal_values<float>(rng, 7 * 48 * positions);
      const auto w = normal_values<float>(rng, 48);
      Scratch scratch(channel_norm_grad_scratch(norm, 4));
      expect_same_bits<float>(
          x.size() + 96,
          [&](float* out, const Team& team) {
            channel_norm_grad(norm, x.data(), w.data(), dy.data(), out, out + x.size(), out + x.size() + 48,
                              scratch.data(), team);
          },
          "channel_norm_grad");
    }
}

}  // namespace
}  // namespace ingot::kernels
