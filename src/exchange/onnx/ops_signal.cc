// Spectra and the windows for them; determinants.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// A window of cosines: a0 - a1 cos(x) + a2 cos(2x) over a period, or over one element less if it is symmetric.
void cosine_window(Use& u, double a0, double a1, double a2) {
  const auto size = saturate<int64_t>(u.known_real(0));
  const auto type = static_cast<Type>(u.integer("output_datatype", 1));
  u.small_shape({size});
  const double period = static_cast<double>(u.integer("periodic", 1) != 0 ? size : size - 1);
  std::vector<double> values;
  for (int64_t i = 0; i < size; i++) {
    const double x = kTurn * static_cast<double>(i) / period;
    values.push_back(a0 - a1 * std::cos(x) + a2 * std::cos(2 * x));
  }
  u.out(from_reals(values, {size}, type), type);
}

// Cosines and sines [k, n] of a transform of n elements to k frequencies.
struct Waves {
  Tensor cosines, sines;
  Waves(int64_t n, int64_t k, DType dtype) {
    std::vector<double> c, s;
    for (int64_t f = 0; f < k; f++)
      for (int64_t i = 0; i < n; i++) {
        const double angle = kTurn * static_cast<double>(f * i % n) / static_cast<double>(n);
        c.push_back(std::cos(angle)), s.push_back(std::sin(angle));
      }
    cosines = from_reals(c, {k, n}, type_of(dtype)), sines = from_reals(s, {k, n}, type_of(dtype));
  }
};

// Real and imaginary parts [..., n] of signals (imaginary may be undefined) to [..., k, 2].
Tensor transformed(const Tensor& real, const Tensor& imaginary, int64_t k, bool inverse) {
  const int64_t n = real.size(-1);
  const Waves waves(n, k, real.dtype());
  const double sign = inverse ? 1 : -1;
  Tensor re = linear(real, waves.cosines), im = multiply(linear(real, waves.sines), sign);
  if (imaginary.defined()) {
    re = subtract(re, multiply(linear(imaginary, waves.sines), sign));
    im = add(im, linear(imaginary, waves.cosines));
  }
  const Tensor y = stack({re, im}, -1);
  return inverse ? divide(y, static_cast<double>(n)) : y;
}

// x with its axis cut off or filled up with zeros to a length.
Tensor of_length(const Tensor& x, int axis, int64_t length) {
  Dims none = Dims::filled(x.rank(), 0), behind = none;
  behind[axis] = std::max<int64_t>(0, length - x.shape()[axis]);
  return pad(slice(x, axis, 0, length), none, behind);
}

void dft_op(Use& u) {
  Tensor x = u.in();
  // From opset 20 on the axis is an input.
  const int axis = u.opset() < 20 ? u.axis("axis", 1, x.rank())
                                  : u.axis(u.has(2) ? saturate<int64_t>(u.known_real(2)) : -2, x.rank());
  if (axis == x.rank() - 1) u.fail("a transform along the last axis", "it holds real and imaginary parts");
  const bool inverse = u.integer("inverse", 0) != 0, half = u.integer("onesided", 0) != 0;
  const int64_t length = u.has(1) ? saturate<int64_t>(u.known_real(1)) : x.shape()[axis];
  if (length < 1 || length > 65536)
    u.fail("a transform of " + std::to_string(length) + " elements", "1 to 65536 are supported");
  x = of_length(x, axis, length);
  u.small_shape({length, length});
  const bool complex = x.size(-1) == 2;
  const Tensor y =
      transformed(transpose(select(x, -1, 0), axis, -1), complex ? transpose(select(x, -1, 1), axis, -1) : Tensor(),
                  half ? length / 2 + 1 : length, inverse);  // [..., k, 2] with the axis before the last
  u.out(transpose(y, axis, -2));
}

void stft_op(Use& u) {
  const Tensor x = u.in();
  const auto step = saturate<int64_t>(u.known_real(1));
  const bool half = u.integer("onesided", 1) != 0;
  const int64_t size = u.has(3) ? saturate<int64_t>(u.known_real(3)) : u.has(2) ? u.in(2).numel() : 0;
  if (size < 1 || size > 65536 || step < 1 || x.rank() != 3 || x.shape()[1] < size)
    u.fail("the frames do not fit", "the signal is [batch, length, 1 or 2]");
  u.small_shape({size, size});
  const int64_t frames = (x.shape()[1] - size) / step + 1;
  std::vector<int64_t> places;
  for (int64_t f = 0; f < frames; f++)
    for (int64_t i = 0; i < size; i++) places.push_back(f * step + i);
  const auto cut = [&](int64_t part) {
    Tensor y = reshaped(index_select(select(x, -1, part), Tensor::from(places), 1), {x.shape()[0], frames, size});
    return u.has(2) ? multiply(y, u.in(2)) : y;
  };
  u.out(transformed(cut(0), x.size(-1) == 2 ? cut(1) : Tensor(), half ? size / 2 + 1 : size, false));
}

// Triangles of frequencies that are equally far apart for the ear.
void mel_op(Use& u) {
  const auto bins = saturate<int64_t>(u.known_real(0)), length = saturate<int64_t>(u.known_real(1));
  const double rate = u.known_real(2), low = u.known_real(3), high = u.known_real(4);
  const auto type = static_cast<Type>(u.integer("output_datatype", 1));
  if (bins < 1 || length < 1) u.fail("no bins or no signal", "both numbers are above 0");
  const int64_t spectrum = length / 2 + 1;
  u.small_shape({spectrum, bins});
  const auto mel = [](double hz) { return 2595 * std::log10(1 + hz / 700); };
  const double low_mel = mel(low), step = (mel(high) - low_mel) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bins + 2; i++) {
    const double hz = 700 * (std::pow(10, (low_mel + static_cast<double>(i) * step) / 2595) - 1);
    edges.push_back(saturate<int64_t>(std::floor(static_cast<double>(length + 1) * hz / rate)));
  }
  std::vector<double> y(static_cast<size_t>(spectrum * bins), 0);
  const auto put = [&](int64_t f, int64_t b, double value) {
    if (f >= 0 && f < spectrum) y[static_cast<size_t>(f * bins + b)] = value;
  };
  for (int64_t b = 0; b < bins; b++) {
    const int64_t l = edges[static_cast<size_t>(b)], c = edges[static_cast<size_t>(b) + 1],
                  h = edges[static_cast<size_t>(b) + 2];
    if (c == l) put(c, b, 1);
    const auto distance = [](int64_t from, int64_t to) { return static_cast<double>(to) - static_cast<double>(from); };
    for (int64_t f = std::max<int64_t>(l, 0); f <= std::min(c, spectrum - 1) && c != l; f++)
      put(f, b, distance(l, f) / distance(l, c));
    for (int64_t f = std::max<int64_t>(c, 0); f < std::min(h, spectrum) && h != c; f++)
      put(f, b, distance(f, h) / distance(c, h));
  }
  u.out(from_reals(y, {spectrum, bins}, type), type);
}

// By elimination, with the largest pivot of a column.
double determinant(std::vector<double> m, int64_t n) {
  const auto at = [&](int64_t i, int64_t j) -> double& { return m[static_cast<size_t>(i * n + j)]; };
  double result = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; i++)
      if (std::fabs(at(i, k)) > std::fabs(at(best, k))) best = i;
    if (at(best, k) == 0) return 0;
    if (best != k) {
      result = -result;
      for (int64_t j = 0; j < n; j++) std::swap(at(best, j), at(k, j));
    }
    result *= at(k, k);
    for (int64_t i = k + 1; i < n; i++) {
      const double factor = at(i, k) / at(k, k);
      for (int64_t j = k; j < n; j++) at(i, j) -= factor * at(k, j);
    }
  }
  return result;
}

void det_op(Use& u) {
  const Dims shape = u.in().shape();
  if (shape.size() < 2 || shape.back() != shape[shape.size() - 2])
    u.fail("no square matrices", "the op takes [..., n, n]");
  const std::vector<double> x = u.known_reals(0);
  const int64_t n = shape.back(), count = n == 0 ? 0 : u.in().numel() / (n * n);
  std::vector<double> y;
  y.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; i++) y.push_back(determinant({x.begin() + i * n * n, x.begin() + (i + 1) * n * n}, n));
  Dims rest;
  for (int a = 0; a + 2 < shape.size(); a++) rest.push_back(shape[a]);
  u.out(from_reals(y, rest, u.type()));
}

}  // namespace

std::span<const Row> signal_rows() {
  static constexpr Row kRows[] = {
      {"HannWindow", 17, [](Use& u) { cosine_window(u, 0.5, 0.5, 0); }},
      {"HammingWindow", 17, [](Use& u) { cosine_window(u, 25.0 / 46, 21.0 / 46, 0); }},
      {"BlackmanWindow", 17, [](Use& u) { cosine_window(u, 0.42, 0.5, 0.08); }},
      {"DFT", 17, dft_op},
      {"STFT", 17, stft_op},
      {"MelWeightMatrix", 17, mel_op},
      {"Det", 11, det_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
