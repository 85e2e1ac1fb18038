// The 3 × 3 × 3 cube: 43,252,003,274,489,856,000 states, centres held in place, quarter turns.
#pragma once
#ifdef __SSSE3__
#include <tmmintrin.h>
#endif

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

  /// Not kTurned, which is the small cube's.
  explicit Cube3(CubeEncoding encoding = CubeEncoding::kCubies);

  State solved() const { return {}; }
  /// Every piece is there once. Whether turns lead there is not asked.
  bool valid(const State& s) const;
  bool is_solved(const State& s) const {  // most often the first eight edges tell
    uint64_t first = 0;
    std::memcpy(&first, s.edges.data(), sizeof first);
    return first == std::bit_cast<std::array<uint64_t, 4>>(State{})[0] && s == State{};
  }
  int move_count() const { return 12; }  // U U' R R' F F' D D' L L' B B'
  State apply(const State& s, int move) const {
    const Turn& t = kTurns[static_cast<size_t>(move)];
    State out;
#ifdef __SSSE3__
    const auto load = [](const std::array<uint8_t, 16>& bytes) {
      return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes.data()));
    };
    const __m128i edges = _mm_shuffle_epi8(load(s.edges), load(t.edge_from));
    const __m128i corners = _mm_add_epi8(_mm_shuffle_epi8(load(s.corners), load(t.corner_from)), load(t.twist));
    const __m128i less = _mm_sub_epi8(corners, _mm_set1_epi8(24));
    _mm_store_si128(reinterpret_cast<__m128i*>(out.edges.data()), _mm_xor_si128(edges, load(t.flip)));
    _mm_store_si128(reinterpret_cast<__m128i*>(out.corners.data()), _mm_min_epu8(corners, less));
#else
    for (size_t i = 0; i < 16; i++) {
      out.edges[i] = s.edges[t.edge_from[i]] ^ t.flip[i];
      const auto twisted = static_cast<uint8_t>(s.corners[t.corner_from[i]] + t.twist[i]);
      out.corners[i] = std::min(twisted, static_cast<uint8_t>(twisted - 24));  // below zero is large
    }
#endif
    return out;
  }
  int inverse(int move) const { return move ^ 1; }
  std::string_view move_name(int move) const;

  Code code(const State& s) const;
  State state(const Code& code) const;

  bool hides_symmetry() const { return encoding_ == CubeEncoding::kCanonical; }
  /// Stickers: 54 places × 6 colours = 324 inputs, 54 of them one. Pieces: 12 places × 12 edges × 2 flips and 8 × 8
  /// corners × 3 twists = 480 inputs, 20 of them one.
  CubeEncoding encoding() const { return encoding_; }
  int64_t observation_size() const { return encoding_ == CubeEncoding::kFacelets ? 324 : 480; }
  int64_t hot_count() const { return encoding_ == CubeEncoding::kFacelets ? 54 : 20; }
  void observe(const State& s, std::span<float> out) const;
  void hot(const State& s, std::span<int32_t> out) const;

  /// The share of the twenty pieces that are at home.
  double potential(const State& s) const;

  /// The cube rotated and mirrored in 48 ways, and the inverse of each: as far from solved as it is.
  int symmetry_count() const { return 96; }
  State symmetric(const State& s, int k) const;
  /// The symmetric state with the least code.
  State canonical(const State& s) const;

  /// The 54 stickers' faces (U, R, F, D, L, B, each row by row).
  std::string facelets(const State& s) const;
  /// The state that shows these stickers. An Error says why there is none: a twisted corner, a flipped edge, the wrong
  /// parity, wrong colours.
  State parse_facelets(std::string_view text) const;

 private:
  // What a move does: where each byte comes from, and what it is changed by: edges flip by an exclusive or, corners
  // twist modulo three.
  struct alignas(16) Turn {
    std::array<uint8_t, 16> edge_from, corner_from, flip, twist;
  };
  static constexpr std::array<Turn, 12> all_turns();
  static const std::array<Turn, 12> kTurns;

  CubeEncoding encoding_;
};

}  // namespace ingot::rl
