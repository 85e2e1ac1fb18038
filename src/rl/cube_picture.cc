#include "ingot/rl/cube_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "rl/cubies.h"

namespace ingot::rl {
namespace {

using Colour = std::array<uint8_t, 3>;
constexpr Colour kColours[6] = {{248, 248, 248}, {196, 30, 58}, {0, 158, 96},
                                {255, 213, 0},   {255, 108, 0}, {0, 81, 186}};
constexpr Colour kBackground = {255, 255, 255}, kBody = {18, 18, 20};

struct Point {
  double x = 0, y = 0;
};
struct Vector {
  double x = 0, y = 0, z = 0;
  Vector operator+(const Vector& o) const { return {x + o.x, y + o.y, z + o.z}; }
  Vector operator*(double f) const { return {f * x, f * y, f * z}; }
};
double dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Face {
  Vector out, right, down;  // x to the right, y up, z towards us
};
constexpr Face kSides[6] = {{{0, 1, 0}, {1, 0, 0}, {0, 0, 1}},   {{1, 0, 0}, {0, 0, -1}, {0, -1, 0}},
                            {{0, 0, 1}, {1, 0, 0}, {0, -1, 0}},  {{0, -1, 0}, {1, 0, 0}, {0, 0, -1}},
                            {{-1, 0, 0}, {0, 0, 1}, {0, -1, 0}}, {{0, 0, -1}, {-1, 0, 0}, {0, -1, 0}}};

// Where the faces lie when unfolded: column and row, in faces.
constexpr int kNetColumn[6] = {1, 2, 1, 1, 0, 3}, kNetRow[6] = {0, 1, 1, 2, 1, 1};

int side_of(std::string_view facelets) {
  if (facelets.find_first_not_of(kFaces) == std::string::npos) {
    if (facelets.size() == 24) return 2;
    if (facelets.size() == 54) return 3;
  }
  throw Error("cube picture: " + in_quotes(facelets) + " — give 24 or 54 letters of U R F D L B");
}

const Colour& colour_at(std::string_view facelets, int sticker) {
  return kColours[face_of(facelets[static_cast<size_t>(sticker)])];
}

// Pixels with polygons on them, drawn larger than they are: each pixel is the mean of nine.
class Canvas {
 public:
  Canvas(int64_t height, int64_t width)
      : height_(height), width_(width), fine_(static_cast<size_t>(9 * height * width), kBackground) {}

  // Convex, corners in pixels, either way round.
  void fill(std::span<const Point> corners, const Colour& colour) {
    double low_x = 1e9, high_x = -1e9, low_y = 1e9, high_y = -1e9;
    for (const Point& p : corners)
      low_x = std::min(low_x, p.x), high_x = std::max(high_x, p.x), low_y = std::min(low_y, p.y),
      high_y = std::max(high_y, p.y);
    const auto clamped = [](double value, int64_t most) {
      return static_cast<int64_t>(std::clamp(3 * value, 0.0, static_cast<double>(3 * most)));
    };
    for (int64_t y = clamped(low_y, height_); y < clamped(high_y + 1, height_); y++)
      for (int64_t x = clamped(low_x, width_); x < clamped(high_x + 1, width_); x++)
        if (inside(corners, {(static_cast<double>(x) + 0.5) / 3, (static_cast<double>(y) + 0.5) / 3}))
          fine_[static_cast<size_t>(y * 3 * width_ + x)] = colour;
  }

  Tensor picture() const {
    Tensor out = Tensor::empty({3, height_, width_}, kU8);
    uint8_t* pixels = out.data<uint8_t>();
    for (int64_t y = 0; y < height_; y++)
      for (int64_t x = 0; x < width_; x++)
        for (size_t c = 0; c < 3; c++) {
          int sum = 4;
          for (int64_t k = 0; k < 9; k++)
            sum += fine_[static_cast<size_t>((3 * y + k / 3) * 3 * width_ + 3 * x + k % 3)][c];
          pixels[(static_cast<int64_t>(c) * height_ + y) * width_ + x] = static_cast<uint8_t>(sum / 9);
        }
    return out;
  }

 private:
  static bool inside(std::span<const Point> corners, const Point& p) {
    int left = 0, right = 0;
    for (size_t i = 0; i < corners.size(); i++) {
      const Point &a = corners[i], &b = corners[(i + 1) % corners.size()];
      ((b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x) < 0 ? left : right)++;
    }
    return left == 0 || right == 0;
  }

  int64_t height_, width_;
  std::vector<Colour> fine_;
};

// A pinhole camera that looks at the middle of the cube.
class Camera {
 public:
  Camera(const CubeCamera& c, int64_t size) : size_(static_cast<double>(size)) {
    const double right = c.right * std::numbers::pi / 180, up = c.up * std::numbers::pi / 180;
    back_ = {std::sin(right) * std::cos(up), std::sin(up), std::cos(right) * std::cos(up)};
    across_ = {std::cos(right), 0, -std::sin(right)};
    upward_ = {-std::sin(right) * std::sin(up), std::cos(up), -std::cos(right) * std::sin(up)};
  }
  bool sees(const Vector& middle, const Vector& out) const { return dot(back_ * kDistance + middle * -1, out) > 0; }
  Point project(const Vector& v) const {
    const double scale = size_ * kZoom / (kDistance - dot(v, back_));
    return {size_ / 2 + scale * dot(v, across_), size_ / 2 - scale * dot(v, upward_)};
  }

 private:
  static constexpr double kDistance = 7, kZoom = 1.75;
  double size_;
  Vector back_, across_, upward_;
};

void draw_perspective(Canvas& canvas, std::string_view facelets, int64_t size, const CubeCamera& from) {
  const int n = side_of(facelets);
  const Camera camera(from, size);
  for (int face = 0; face < 6; face++) {
    const Face& side = kSides[face];
    if (!camera.sees(side.out, side.out)) continue;
    // A rectangle of the face, in parts of its width.
    const auto quad = [&](double left, double top, double right, double bottom, const Colour& colour) {
      const auto corner = [&](double x, double y) {
        return camera.project(side.out + side.right * (2 * x - 1) + side.down * (2 * y - 1));
      };
      canvas.fill(std::array{corner(left, top), corner(right, top), corner(right, bottom), corner(left, bottom)},
                  colour);
    };
    quad(0, 0, 1, 1, kBody);
    const double gap = 0.07 / n;
    for (int row = 0; row < n; row++)
      for (int column = 0; column < n; column++)
        quad(static_cast<double>(column) / n + gap, static_cast<double>(row) / n + gap,
             static_cast<double>(column + 1) / n - gap, static_cast<double>(row + 1) / n - gap,
             colour_at(facelets, face * n * n + row * n + column));
  }
}

}  // namespace

std::string cube_net_text(std::string_view facelets, bool colours) {
  const int n = side_of(facelets);
  std::string out;
  for (int y = 0; y < 3 * n; y++) {
    for (int x = 0; x < 4 * n; x++) {
      const auto* face = std::find_if(std::begin(kNetColumn), std::end(kNetColumn), [&](const int& column) {
        return column == x / n && kNetRow[&column - kNetColumn] == y / n;
      });
      if (face == std::end(kNetColumn)) {
        if (x < 2 * n) out += "  ";  // nothing but blanks to the right of U and D
        continue;
      }
      const int sticker = static_cast<int>(face - kNetColumn) * n * n + y % n * n + x % n;
      if (colours) {
        const Colour& c = colour_at(facelets, sticker);
        out += formatted("\033[48;2;%d;%d;%dm  ", c[0], c[1], c[2]);
      } else {
        (out += facelets[static_cast<size_t>(sticker)]) += ' ';
      }
      if (colours && x % n == n - 1) out += "\033[0m";
    }
    out += '\n';
  }
  return out;
}

Tensor cube_net(std::string_view facelets, int64_t sticker) {
  const int n = side_of(facelets);
  if (sticker < 1 || sticker > 1024) throw Error("cube net: stickers have 1 to 1024 pixels");
  const auto pixels = static_cast<double>(sticker);
  Canvas canvas(3 * n * sticker, 4 * n * sticker);
  const auto square = [&](double x, double y, double width, const Colour& colour) {
    canvas.fill(std::array<Point, 4>{{{x, y}, {x + width, y}, {x + width, y + width}, {x, y + width}}}, colour);
  };
  for (int face = 0; face < 6; face++) {
    const double left = kNetColumn[face] * n * pixels, top = kNetRow[face] * n * pixels;
    square(left, top, n * pixels, kBody);
    for (int row = 0; row < n; row++)
      for (int column = 0; column < n; column++)
        square(left + (column + 0.06) * pixels, top + (row + 0.06) * pixels, 0.88 * pixels,
               colour_at(facelets, face * n * n + row * n + column));
  }
  return canvas.picture();
}

Tensor cube_picture(std::string_view facelets, int64_t size, const CubeCamera& camera) {
  if (size < 4 || size > 4096) throw Error("cube picture: 4 to 4096 pixels");
  Canvas canvas(size, size);
  draw_perspective(canvas, facelets, size, camera);
  return canvas.picture();
}

Tensor cube_film_strip(std::span<const std::string> facelets, int64_t size) {
  if (facelets.empty()) throw Error("cube film strip: there is no cube");
  const auto count = static_cast<int64_t>(facelets.size());
  Tensor out = Tensor::empty({3, size, count * size}, kU8);
  for (int64_t i = 0; i < count; i++) {
    const Tensor one = cube_picture(facelets[static_cast<size_t>(i)], size);
    for (int64_t row = 0; row < 3 * size; row++)
      std::copy_n(one.data<uint8_t>() + row * size, size, out.data<uint8_t>() + (row * count + i) * size);
  }
  return out;
}

Tensor cube_frames(std::span<const std::string> facelets, int64_t size) {
  if (facelets.empty()) throw Error("cube frames: there is no cube");
  Tensor out = Tensor::empty({static_cast<int64_t>(facelets.size()), size, size, 3}, kU8);
  uint8_t* at = out.data<uint8_t>();
  for (const std::string& each : facelets) {
    const Tensor one = cube_picture(each, size);
    const uint8_t* pixels = one.data<uint8_t>();
    for (int64_t i = 0; i < size * size; i++)
      for (int64_t c = 0; c < 3; c++) *at++ = pixels[c * size * size + i];
  }
  return out;
}

std::string picture_text(const Tensor& picture) {
  if (picture.rank() != 3 || picture.size(0) != 3 || picture.dtype() != kU8 || !picture.is_contiguous())
    throw Error("picture_text: " + describe(picture) + " — give a contiguous u8 [3, height, width]");
  const int64_t height = picture.size(1), width = picture.size(2);
  const auto at = [&](int64_t y, int64_t x) {
    Colour c = kBackground;
    if (y < height)
      for (size_t k = 0; k < 3; k++) c[k] = picture.data<uint8_t>()[(static_cast<int64_t>(k) * height + y) * width + x];
    return c;
  };
  std::string out;
  for (int64_t y = 0; y < height; y += 2) {
    for (int64_t x = 0; x < width; x++) {
      const Colour a = at(y, x), b = at(y + 1, x);
      out += a == kBackground && b == kBackground
                 ? "\033[0m "
                 : formatted("\033[38;2;%d;%d;%dm\033[48;2;%d;%d;%dm▀", a[0], a[1], a[2], b[0], b[1], b[2]);
    }
    out += "\033[0m\n";
  }
  return out;
}

}  // namespace ingot::rl
