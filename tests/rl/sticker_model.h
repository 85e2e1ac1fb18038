// A cube as nothing but stickers in space: a turn rotates those of a layer. Written apart from the library's model of
// corners and edges, to compare with.
#pragma once
#include <array>
#include <string>
#include <vector>

namespace ingot::rl {

class StickerModel {
 public:
  using Vector = std::array<int, 3>;

  explicit StickerModel(int n) : n_(n) {
    for (const char face : std::string("URFDLB")) {
      const Vector out = normal(face), right = right_of(face), down = down_of(face);
      for (int row = 0; row < n; row++)
        for (int column = 0; column < n; column++) {
          Vector at{};
          for (size_t k = 0; k < 3; k++)
            at[k] = out[k] * (n - 1) + right[k] * (2 * column - n + 1) + down[k] * (2 * row - n + 1);
          stickers_.push_back({at, out, face});
        }
    }
    places_ = stickers_;
  }

  void turn(char face, int quarters) {
    const Vector axis = normal(face);
    for (int q = 0; q < ((quarters % 4) + 4) % 4; q++)
      for (Sticker& s : stickers_)
        if (dot(s.at, axis) == n_ - 1) s.at = clockwise(s.at, axis), s.out = clockwise(s.out, axis);
  }

  std::string facelets() const {
    std::string text;
    for (const Sticker& place : places_)
      for (const Sticker& s : stickers_)
        if (s.at == place.at && s.out == place.out) text += s.colour;
    return text;
  }

 private:
  struct Sticker {
    Vector at, out;
    char colour;
  };

  static int dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
  static Vector cross(const Vector& a, const Vector& b) {
    return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  }
  // By a quarter, as seen from outside along `axis`: v with its part across the axis turned from x to -axis × x.
  static Vector clockwise(const Vector& v, const Vector& axis) {
    const Vector side = cross(v, axis);
    const int along = dot(v, axis);
    return {side[0] + along * axis[0], side[1] + along * axis[1], side[2] + along * axis[2]};
  }
  static Vector normal(char face) {  // x to the right, y up, z towards us
    switch (face) {
      case 'U': return {0, 1, 0};
      case 'D': return {0, -1, 0};
      case 'R': return {1, 0, 0};
      case 'L': return {-1, 0, 0};
      case 'F': return {0, 0, 1};
      default: return {0, 0, -1};
    }
  }
  static Vector right_of(char face) {  // as one walks around the cube; U and D as seen from the front
    switch (face) {
      case 'R': return {0, 0, -1};
      case 'L': return {0, 0, 1};
      case 'B': return {-1, 0, 0};
      default: return {1, 0, 0};
    }
  }
  static Vector down_of(char face) {
    if (face == 'U') return {0, 0, 1};
    if (face == 'D') return {0, 0, -1};
    return {0, -1, 0};
  }

  int n_;
  std::vector<Sticker> stickers_, places_;
};

}  // namespace ingot::rl
