// The 3 × 3 × 3 cube: 43,252,003,274,489,856,000 states, centres held in place, quarter turns.
#pragma once
#include <string>

#include "ingot/rl/cube2.h"

namespace ingot::rl {

class INGOT_API Cube3 {
 public:
  /// A byte per slot: an edge's number and its flip times 16, a corner's number and its twist times 8. The bytes behind
  /// them stay as they are: a turn is one shuffle of each half.
  struct alignas(16) State {
    std::array<uint8_t, 16> edges{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    std::array<uint8_t, 16> corners{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    bool operator==(const State& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
  };
  /// Five bits a slot.
  struct Code {
    uint64_t edges = 0, corners = 0;
    bool operator==(const Code&) const = default;
  };

  explicit Cube3(CubeEncoding encoding = CubeEncoding::kCubies) : encoding_(encoding) {}

  State solved() const { return {}; }
  bool is_solved(const State& s) const { return s == State{}; }
  int move_count() const { return 12; }  // U U' R R' F F' D D' L L' B B'
  State apply(const State& s, int move) const;
  int inverse(int move) const { return move ^ 1; }
  std::string_view move_name(int move) const;

  /// out[i] = apply(in[i], moves[i]); in place if `out` is `in`.
  void apply_many(std::span<const State> in, const uint8_t* moves, State* out) const;
  /// All twelve neighbours of every state, one state's after another's.
  void expand(std::span<const State> in, State* out) const;

  Code code(const State& s) const;
  State state(const Code& code) const;

  /// Stickers: 54 places × 6 colours = 324 inputs, 54 of them one. Pieces: 12 places × 12 edges × 2 flips and 8 × 8
  /// corners × 3 twists = 480 inputs, 20 of them one.
  CubeEncoding encoding() const { return encoding_; }
  int64_t observation_size() const { return encoding_ == CubeEncoding::kFacelets ? 324 : 480; }
  int64_t hot_count() const { return encoding_ == CubeEncoding::kFacelets ? 54 : 20; }
  void observe(const State& s, std::span<float> out) const;
  void hot(const State& s, std::span<int32_t> out) const;

  /// The cube rotated and mirrored in 48 ways, and the inverse of each: as far from solved as it is.
  int symmetry_count() const { return 96; }
  State symmetric(const State& s, int k) const;

  /// The 54 stickers' faces (U, R, F, D, L, B, each row by row).
  std::string facelets(const State& s) const;
  /// The state that shows these stickers. An Error says why there is none: a twisted corner, a flipped edge, the wrong
  /// parity, wrong colours.
  State parse_facelets(std::string_view text) const;

 private:
  CubeEncoding encoding_;
};

}  // namespace ingot::rl
