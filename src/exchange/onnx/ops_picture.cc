// Pictures of other sizes: resizing, sampling on a grid, regions.
#include <algorithm>
#include <cmath>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::onnx {
namespace {

struct Sampling {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75, outside_value = 0;
  bool exclude_outside = false;
};

// Where along an axis of n elements element i of `size` new ones lies. In f32, as others compute it: another rounding is
// another pixel.
float source_of(const Sampling& s, int64_t i, int64_t n, int64_t size, float scale, float begin, float end) {
  const auto x = static_cast<float>(i), last = static_cast<float>(n - 1), new_last = static_cast<float>(size - 1);
  if (s.coordinates == "asymmetric") return x / scale;
  if (s.coordinates == "align_corners") return size == 1 ? 0 : x * last / new_last;
  if (s.coordinates == "pytorch_half_pixel") return size > 1 ? (x + 0.5F) / scale - 0.5F : 0;
  if (s.coordinates == "tf_half_pixel_for_nn") return (x + 0.5F) / scale;
  if (s.coordinates == "tf_crop_and_resize")
    return size > 1 ? begin * last + x * (end - begin) * last / new_last : 0.5F * (begin + end) * last;
  return (x + 0.5F) / scale - 0.5F;  // half_pixel
}

double nearest_place(const std::string& how, double x) {
  const double below = std::floor(x);
  if (how == "floor") return below;
  if (how == "ceil") return std::ceil(x);
  if (how == "round_prefer_ceil") return std::floor(x + 0.5);
  return x - below == 0.5 ? below : std::floor(x + 0.5);  // round_prefer_floor
}

// What one new element is made of: places with weights. None: the value for what lies outside.
struct Taps {
  std::vector<int64_t> places;
  std::vector<double> weights;
};

double cubic_weight(double a, double distance) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps taps_at(const Sampling& s, double x, int64_t n) {
  Taps t;
  if (s.mode == "nearest")
    return {{std::clamp<int64_t>(saturate<int64_t>(nearest_place(s.nearest, x)), 0, n - 1)}, {1}};
  const double below = std::floor(x);
  const int64_t first = saturate<int64_t>(below) - (s.mode == "cubic" ? 1 : 0), count = s.mode == "cubic" ? 4 : 2;
  double total = 0;
  for (int64_t k = 0; k < count; k++) {
    const double distance = x - static_cast<double>(first + k);
    double weight = s.mode == "cubic" ? cubic_weight(s.cubic_a, distance) : std::max(0.0, 1 - std::fabs(distance));
    if (s.exclude_outside && (first + k < 0 || first + k >= n)) weight = 0;
    t.places.push_back(std::clamp<int64_t>(first + k, 0, n - 1));
    t.weights.push_back(weight);
    total += weight;
  }
  if (s.exclude_outside && total != 0)
    for (double& w : t.weights) w /= total;
  return t;
}

// One axis of x in another size: tap by tap, so that gradients and plans come by themselves.
Tensor resampled(const Tensor& x, int axis, const std::vector<Taps>& taps) {
  Tensor y;
  const size_t count = taps.empty() ? 0 : taps[0].places.size();
  for (size_t k = 0; k < count; k++) {
    std::vector<int64_t> places;
    std::vector<double> weights;
    bool plain = true;
    for (const Taps& t : taps)
      places.push_back(t.places[k]), weights.push_back(t.weights[k]), plain &= t.weights[k] == 1;
    Tensor part = index_select(x, Tensor::from(places), axis);
    if (!plain) {
      Dims shape = Dims::filled(x.rank(), 1);
      shape[axis] = static_cast<int64_t>(taps.size());
      part = multiply(part, from_reals(weights, shape, type_of(x.dtype())));
    }
    y = y.defined() ? add(y, part) : part;
  }
  return y;
}

struct Target {
  std::vector<float> scales;  // one per axis
  std::vector<int64_t> sizes;
};

Tensor resized(Use& u, Tensor x, const Sampling& s, const Target& target, const std::vector<double>& region) {
  for (int a = 0; a < x.rank(); a++) {
    const auto i = static_cast<size_t>(a);
    const int64_t n = x.shape()[a], size = target.sizes[i];
    const auto begin = static_cast<float>(region.empty() ? 0 : region[i]),
               end = static_cast<float>(region.empty() ? 1 : region[i + region.size() / 2]);
    const bool crops = s.coordinates == "tf_crop_and_resize" && (begin != 0 || end != 1);
    if (size == n && target.scales[i] == 1 && !crops) continue;
    if (n == 0 || size == 0) u.fail("an empty axis", "there is nothing to sample");
    if (size > 1 << 20) u.fail("an axis of " + std::to_string(size), "for this op it may have 2²⁰ places");
    std::vector<Taps> taps;
    std::vector<double> there;
    for (int64_t k = 0; k < size; k++) {
      const double at = source_of(s, k, n, size, target.scales[i], begin, end);
      taps.push_back(taps_at(s, at, n));
      there.push_back(at >= 0 && at <= static_cast<double>(n - 1) ? 1 : 0);
    }
    const Tensor real = s.mode == "nearest" || is_float(x.dtype()) ? x : as(x, kF64);
    x = resampled(real, a, taps);
    if (!crops || std::find(there.begin(), there.end(), 0.0) == there.end()) continue;
    Dims shape = Dims::filled(x.rank(), 1);
    shape[a] = size;
    x = where(from_reals(there, shape, Type::kBool), x, scalar_like(x, s.outside_value));
  }
  return x;
}

Sampling sampling_of(Use& u) {
  Sampling s;
  s.mode = u.text("mode", "nearest");
  s.coordinates = u.text("coordinate_transformation_mode", u.opset() < 11 ? "asymmetric" : "half_pixel");
  s.nearest = u.text("nearest_mode", u.opset() < 11 ? "floor" : "round_prefer_floor");
  s.cubic_a = u.real("cubic_coeff_a", -0.75);
  s.outside_value = u.real("extrapolation_value", 0);
  s.exclude_outside = u.integer("exclude_outside", 0) != 0;
  const auto refuse_other = [&](const char* what, const std::string& value, const std::vector<std::string>& known) {
    if (std::find(known.begin(), known.end(), value) == known.end())
      u.fail(std::string(what) + " " + in_quotes(value), "there are " + join(known));
  };
  refuse_other("coordinate_transformation_mode", s.coordinates,
               {"asymmetric", "align_corners", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn",
                "tf_crop_and_resize"});
  refuse_other("nearest_mode", s.nearest, {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  refuse_other("keep_aspect_ratio_policy", u.text("keep_aspect_ratio_policy", "stretch"), {"stretch"});
  if (u.integer("antialias", 0) != 0) u.fail("sampling with antialias", "it is not supported");
  if (s.mode == "bilinear" || s.mode == "trilinear") s.mode = "linear";
  if (s.mode != "nearest" && s.mode != "linear" && s.mode != "cubic")
    u.fail("the mode \"" + s.mode + "\"", "nearest, linear and cubic are supported");
  return s;
}

void resize_op(Use& u) {
  const Tensor& x = u.in();
  const bool old = u.opset() < 11;  // Upsample, and Resize of opset 10: only scales
  const int scales_at = old ? 1 : 2;
  Target target;
  const auto n = static_cast<size_t>(x.rank());
  std::vector<double> scales;
  if (u.has(scales_at) && u.in(scales_at).numel() > 0) scales = u.known_reals(scales_at);
  if (scales.empty()) scales = u.reals("scales");
  std::vector<int64_t> sizes, axes = u.integers("axes");
  if (!old && u.has(3) && u.in(3).numel() > 0) sizes = u.known_integers(3);
  if (axes.empty())
    for (int a = 0; a < x.rank(); a++) axes.push_back(a);
  if ((scales.empty() ? sizes.size() : scales.size()) != axes.size())
    u.fail("the scales or sizes do not fit", "give one per axis");
  target.scales.assign(n, 1);
  target.sizes.assign(x.shape().begin(), x.shape().end());
  for (size_t i = 0; i < axes.size(); i++) {
    const int a = u.axis(axes[i], x.rank());
    const auto at = static_cast<size_t>(a);
    const auto size = static_cast<float>(x.shape()[a]);
    const float scale = scales.empty() ? static_cast<float>(sizes[i]) / size : static_cast<float>(scales[i]);
    if (!scales.empty() && !(scale > 0 && size * scale < 1e9F)) u.fail("a scale that is none", "scales are above 0");
    target.scales[at] = scale;
    target.sizes[at] = scales.empty() ? sizes[i] : saturate<int64_t>(std::floor(size * scale));
  }
  u.shape(target.sizes);
  const Sampling s = sampling_of(u);
  std::vector<double> region;
  if (s.coordinates == "tf_crop_and_resize") {
    region = u.known_reals(1);
    if (region.size() != 2 * n) u.fail("the region does not fit", "it has two numbers per axis");
  }
  u.out(resized(u, x, s, target, region));
}

// A picture at places that need not be whole: [n, c, h, w] at known points, one by one. What lies outside is what the
// padding says.
struct Plane {
  const double* data;
  int64_t h, w;
};

double reflected(double x, double low, double high) {
  const double span = high - low;
  if (span <= 0) return low;
  x = std::fabs(x - low);
  const double rest = std::fmod(x, span);
  return std::fmod(std::floor(x / span), 2) == 0 ? rest + low : high - rest;
}

double pixel(const Plane& p, int64_t y, int64_t x, const std::string& padding, bool align) {
  if (padding == "border") {
    y = std::clamp<int64_t>(y, 0, p.h - 1), x = std::clamp<int64_t>(x, 0, p.w - 1);
  } else if (padding == "reflection") {
    const double edge = align ? 0 : -0.5;
    const auto inside = [&](int64_t v, int64_t n) {
      return std::clamp<int64_t>(
          saturate<int64_t>(std::nearbyint(reflected(static_cast<double>(v), edge, static_cast<double>(n) - 1 - edge))),
          0, n - 1);
    };
    y = inside(y, p.h), x = inside(x, p.w);
  }
  return y < 0 || x < 0 || y >= p.h || x >= p.w ? 0 : p.data[y * p.w + x];
}

double sampled(const Plane& p, double y, double x, const std::string& mode, const std::string& padding, bool align) {
  if (mode == "nearest")
    return pixel(p, saturate<int64_t>(std::nearbyint(y)), saturate<int64_t>(std::nearbyint(x)), padding, align);
  const int64_t reach = mode == "bicubic" ? 2 : 1;
  const auto top = saturate<int64_t>(std::floor(y)), left = saturate<int64_t>(std::floor(x));
  double sum = 0;
  for (int64_t i = top - reach + 1; i <= top + reach; i++)
    for (int64_t j = left - reach + 1; j <= left + reach; j++) {
      const double dy = y - static_cast<double>(i), dx = x - static_cast<double>(j);
      const double weight =
          reach == 2 ? cubic_weight(-0.75, dy) * cubic_weight(-0.75, dx) : (1 - std::fabs(dy)) * (1 - std::fabs(dx));
      sum += weight * pixel(p, i, j, padding, align);
    }
  return sum;
}

void grid_sample_op(Use& u) {
  const Dims x = u.in(0).shape(), grid = u.in(1).shape();
  if (x.size() != 4 || grid.size() != 4 || grid[3] != 2 || grid[0] != x[0])
    u.fail("the shapes do not fit", "x is [n, c, h, w], the grid [n, h', w', 2]");
  const std::vector<double> pixels = u.known_reals(0), points = u.known_reals(1);
  std::string mode = u.text("mode", "bilinear");
  if (mode == "linear" || mode == "cubic") mode = "bi" + mode;
  const std::string padding = u.text("padding_mode", "zeros");
  const bool align = u.integer("align_corners", 0) != 0;
  u.small_shape({x[0], x[1], grid[1], grid[2]});
  std::vector<double> y;
  for (int64_t n = 0; n < x[0]; n++)
    for (int64_t c = 0; c < x[1]; c++) {
      const Plane plane{pixels.data() + (n * x[1] + c) * x[2] * x[3], x[2], x[3]};
      for (int64_t k = 0; k < grid[1] * grid[2]; k++) {
        const auto at = static_cast<size_t>((n * grid[1] * grid[2] + k) * 2);
        const auto place = [&](double g, int64_t size) {
          const auto s = static_cast<double>(size);
          double v = align ? (g + 1) / 2 * (s - 1) : ((g + 1) * s - 1) / 2;
          const double edge = align ? 0 : -0.5;
          if (padding == "border") v = std::clamp(v, 0.0, s - 1);
          if (padding == "reflection") v = std::clamp(reflected(v, edge, s - 1 - edge), 0.0, s - 1);
          return v;
        };
        y.push_back(sampled(plane, place(points[at + 1], x[2]), place(points[at], x[3]), mode, padding, align));
      }
    }
  u.out(from_reals(y, {x[0], x[1], grid[1], grid[2]}, u.type()));
}

// The mean (or largest) of points in every cell of a grid over a region.
void roi_align_op(Use& u) {
  const Dims x = u.in(0).shape();
  const std::vector<double> pixels = u.known_reals(0), regions = u.known_reals(1);
  const std::vector<int64_t> which = u.known_integers(2);
  const int64_t rows = u.integer("output_height", 1), columns = u.integer("output_width", 1),
                ratio = u.integer("sampling_ratio", 0);
  const double scale = u.real("spatial_scale", 1);
  const bool mean = u.text("mode", "avg") == "avg";
  const bool half = u.opset() >= 16 && u.text("coordinate_transformation_mode", "half_pixel") == "half_pixel";
  if (x.size() != 4 || regions.size() != 4 * which.size())
    u.fail("the shapes do not fit", "x is [n, c, h, w], the regions [k, 4]");
  u.small_shape({static_cast<int64_t>(which.size()), x[1], rows, columns});
  std::vector<double> y;
  for (size_t r = 0; r < which.size(); r++) {
    const double offset = half ? 0.5 : 0;
    const double left = regions[4 * r] * scale - offset, top = regions[4 * r + 1] * scale - offset;
    double width = regions[4 * r + 2] * scale - offset - left, height = regions[4 * r + 3] * scale - offset - top;
    if (!half) width = std::max(width, 1.0), height = std::max(height, 1.0);
    const double cell_h = height / static_cast<double>(rows), cell_w = width / static_cast<double>(columns);
    const int64_t down = std::max<int64_t>(1, ratio > 0 ? ratio : saturate<int64_t>(std::ceil(cell_h))),
                  across = std::max<int64_t>(1, ratio > 0 ? ratio : saturate<int64_t>(std::ceil(cell_w)));
    if (which[r] < 0 || which[r] >= x[0] || down > 4096 || across > 4096)
      u.fail("a region outside of all pictures", "regions lie in them");
    for (int64_t c = 0; c < x[1]; c++) {
      const Plane plane{pixels.data() + (which[r] * x[1] + c) * x[2] * x[3], x[2], x[3]};
      for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
          double sum = 0, largest = -HUGE_VAL;
          for (int64_t a = 0; a < down; a++)
            for (int64_t b = 0; b < across; b++) {
              double py =
                  top + (static_cast<double>(i) + (static_cast<double>(a) + 0.5) / static_cast<double>(down)) * cell_h;
              double px =
                  left +
                  (static_cast<double>(j) + (static_cast<double>(b) + 0.5) / static_cast<double>(across)) * cell_w;
              if (py < -1 || px < -1 || py > static_cast<double>(x[2]) || px > static_cast<double>(x[3])) {
                largest = std::max(largest, 0.0);
                continue;
              }
              py = std::clamp(py, 0.0, static_cast<double>(x[2] - 1)),
              px = std::clamp(px, 0.0, static_cast<double>(x[3] - 1));
              const double value = sampled(plane, py, px, "bilinear", "border", true);
              sum += value, largest = std::max(largest, value);
            }
          y.push_back(mean ? sum / static_cast<double>(down * across) : largest);
        }
    }
  }
  u.out(from_reals(y, {static_cast<int64_t>(which.size()), x[1], rows, columns}, u.type()));
}

}  // namespace

std::span<const Row> picture_rows() {
  static constexpr Row kRows[] = {
      {"Upsample", 1, resize_op},
      {"Resize", 10, resize_op},
      {"GridSample", 16, grid_sample_op},
      {"RoiAlign", 10, roi_align_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
