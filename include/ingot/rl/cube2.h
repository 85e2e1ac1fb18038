// The 2 × 2 × 2 cube: 3,674,160 states, the corner at down-back-left held in place.
//
//   const rl::Cube2 cube;
//   auto state = cube.apply(cube.solved(), 0);        // R
//   auto distances = rl::all_distances(cube);         // every state's, in 0.1 s
#pragma once
#include <string>

#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// What counts as one move: a quarter turn (six of them: R R' U U' F F'), or half turns as well (R2 U2 F2).
enum class CubeMetric : uint8_t { kQuarter, kHalf };
/// What an observation has a one for: each sticker and its colour, or each piece's place and how it is turned there. Of
/// symmetric states, which are as far from solved as each other, the canonical one shows its pieces for all: a network that
/// learns how far states are has fewer to learn. It says nothing about moves, which symmetric states need different ones of.
/// Turned is the same for networks that value moves: of the states that are each other turned or mirrored as a whole, one is
/// shown, and its moves are numbered as there (rl/environment.h: action_in_view).
enum class CubeEncoding : uint8_t { kFacelets, kCubies, kCanonical, kTurned };

class INGOT_API Cube2 {
 public:
  /// The number of an arrangement of the seven corners (below 5,040) and that of their twists (below 729).
  struct State {
    uint16_t permutation = 0, twist = 0;
    bool operator==(const State&) const = default;
  };
  static constexpr int64_t kStates = 3674160;

  explicit Cube2(CubeMetric metric = CubeMetric::kQuarter, CubeEncoding encoding = CubeEncoding::kFacelets);

  State solved() const { return {}; }
  bool valid(const State& s) const { return s.permutation < 5040 && s.twist < 729; }
  bool is_solved(const State& s) const { return (s.permutation | s.twist) == 0; }
  int move_count() const { return moves_; }
  State apply(const State& s, int move) const {
    if (move >= 6) {  // a half turn
      const State once = apply(s, 2 * (move - 6));
      return apply(once, 2 * (move - 6));
    }
    return {tables_->permutation[s.permutation][move], tables_->twist[s.twist][move]};
  }
  int inverse(int move) const { return move < 6 ? move ^ 1 : move; }
  std::string_view move_name(int move) const;

  /// Numbers from 0 to 3,674,159, without gaps; solved is 0.
  uint32_t code(const State& s) const { return s.permutation * uint32_t{729} + s.twist; }
  State state(uint32_t code) const { return {static_cast<uint16_t>(code / 729), static_cast<uint16_t>(code % 729)}; }
  int64_t state_count() const { return kStates; }

  bool hides_symmetry() const { return encoding_ == CubeEncoding::kCanonical; }
  /// Stickers: 24 places × 6 colours = 144 inputs, 24 of them one. Pieces: 7 places × 7 corners × 3 twists = 147
  /// inputs, 7 of them one.
  CubeEncoding encoding() const { return encoding_; }
  int64_t observation_size() const { return encoding_ == CubeEncoding::kFacelets ? 144 : 147; }
  int64_t hot_count() const { return encoding_ == CubeEncoding::kFacelets ? 24 : 7; }
  void observe(const State& s, std::span<float> out) const;
  void hot(const State& s, std::span<int32_t> out) const;

  /// The share of the seven corners that are at home.
  double potential(const State& s) const;

  /// The cube seen along its fixed corner's diagonal, turned by thirds and mirrored: six; and the inverse of each: as
  /// far from solved as it is.
  int symmetry_count() const { return 12; }
  State symmetric(const State& s, int k) const;
  /// The symmetric state with the least code.
  State canonical(const State& s) const;
  /// The first six are turns and mirrors of the whole cube, which permute its moves.
  int turn_count() const { return 6; }
  int symmetric_move(int move, int k) const { return tables_->moves[k][move]; }
  /// Which of the six leads to the one of them with the least code; 0 if the encoding shows states as they are.
  int view(const State& s) const { return encoding_ == CubeEncoding::kTurned ? static_cast<int>(shown(s) >> 24) : 0; }

  /// The 24 stickers' faces: "UUUURRRRFFFFDDDDLLLLBBBB" is solved (U, R, F, D, L, B, each row by row).
  std::string facelets(const State& s) const;
  /// The state that shows these stickers; an Error says why there is none. Held with the D-B-L corner in its place.
  State parse_facelets(std::string_view text) const;

 private:
  struct Tables {
    uint16_t permutation[5040][8], twist[729][8];  // after each quarter turn
    uint8_t corners[5040][8], twists[729][8];      // of the seven slots
    int16_t facelets[7][7][3][3];                  // inputs that are one for a slot, a corner and its twist
    int16_t held[3];                               // those of the held corner
    uint8_t moves[6][9];                           // what each move is in a turned or mirrored cube
  };
  static const Tables& tables();
  uint32_t shown(const State& s) const;  // the least code of the six, and 2²⁴ times which one leads there
  const Tables* tables_;
  uint8_t moves_;
  CubeEncoding encoding_;
};

}  // namespace ingot::rl
