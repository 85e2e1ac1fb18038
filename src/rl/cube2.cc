#include "ingot/rl/cube2.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "rl/cubies.h"

namespace ingot::rl {
namespace {

constexpr std::array<int, 7> kSlots = {0, 1, 2, 3, 4, 5, 7};  // all corners but the one that is held, DBL
constexpr int kHeld = 6;
constexpr int kFacesTurned[3] = {1, 0, 2};  // R, U, F

constexpr uint8_t slot_number(int corner) { return static_cast<uint8_t>(corner == 7 ? 6 : corner); }

uint16_t rank_of(const uint8_t* corners) {
  int rank = 0;
  for (int i = 0; i < 7; i++) {
    int smaller = 0;
    for (int j = i + 1; j < 7; j++) smaller += corners[j] < corners[i] ? 1 : 0;
    rank = rank * (7 - i) + smaller;
  }
  return static_cast<uint16_t>(rank);
}

void unrank(int rank, uint8_t* corners) {
  int digits[7];
  for (int i = 6; i >= 0; i--) digits[i] = rank % (7 - i), rank /= 7 - i;
  uint8_t left[7];
  std::iota(left, left + 7, uint8_t{0});
  for (int i = 0; i < 7; i++) {
    corners[i] = left[digits[i]];
    std::copy(left + digits[i] + 1, left + 7 - i, left + digits[i]);
  }
}

uint16_t twist_number(const uint8_t* twists) {  // the seventh follows from the others
  return static_cast<uint16_t>(std::accumulate(twists, twists + 6, 0, [](int n, uint8_t t) { return 3 * n + t; }));
}

void untwist(int number, uint8_t* twists) {
  int sum = 0;
  for (int i = 5; i >= 0; i--) twists[i] = static_cast<uint8_t>(number % 3), sum += number % 3, number /= 3;
  twists[6] = static_cast<uint8_t>((18 - sum) % 3);
}

template <class Tables>
Pieces pieces_of(const Tables& t, const Cube2::State& s) {
  Pieces p;
  for (size_t i = 0; i < 7; i++) {
    const auto slot = static_cast<size_t>(kSlots[i]);
    p.corner[slot] = static_cast<uint8_t>(kSlots[t.corners[s.permutation][i]]), p.twist[slot] = t.twists[s.twist][i];
  }
  return p;
}

Cube2::State state_of(const Pieces& p) {
  uint8_t corners[7], twists[7];
  for (size_t i = 0; i < 7; i++) {
    const auto slot = static_cast<size_t>(kSlots[i]);
    corners[i] = slot_number(p.corner[slot]), twists[i] = p.twist[slot];
  }
  return {rank_of(corners), twist_number(twists)};
}

// The six ways to place the cube that leave the held corner where it is.
const std::array<Placement, 6>& placements_of_held_corner() {
  static const std::array<Placement, 6> all = [] {
    std::array<Placement, 6> kept{};
    size_t count = 0;
    for (const Placement& p : placements())
      if (p.faces[0] < 3 && p.faces[1] < 3 && p.faces[2] < 3) kept[count++] = p;  // U, R and F stay among themselves
    return kept;
  }();
  return all;
}

}  // namespace

const Cube2::Tables& Cube2::tables() {
  static const std::unique_ptr<const Tables> all = [] {
    auto t = std::make_unique<Tables>();
    for (int i = 0; i < 5040; i++) unrank(i, t->corners[i]);
    for (int i = 0; i < 729; i++) untwist(i, t->twists[i]);
    const auto after = [](Pieces p, int move) {  // a turn back is three turns
      for (int k = 0; k < (move % 2 == 0 ? 1 : 3); k++)
        p = turned(p, kFaceTurns[static_cast<size_t>(kFacesTurned[move / 2])]);
      return state_of(p);
    };
    for (int move = 0; move < 6; move++) {
      for (uint16_t i = 0; i < 5040; i++) t->permutation[i][move] = after(pieces_of(*t, {i, 0}), move).permutation;
      for (uint16_t i = 0; i < 729; i++) t->twist[i][move] = after(pieces_of(*t, {0, i}), move).twist;
    }
    for (int slot = 0; slot < 7; slot++)
      for (int corner = 0; corner < 7; corner++)
        for (int twist = 0; twist < 3; twist++)
          for (int k = 0; k < 3; k++) {
            const int colour =
                face_of(kCorners[static_cast<size_t>(kSlots[static_cast<size_t>(corner)])][static_cast<size_t>(k)]);
            const int place = corner_sticker(2, kSlots[static_cast<size_t>(slot)], (k + twist) % 3);
            t->facelets[slot][corner][twist][k] = static_cast<int16_t>(place * 6 + colour);
          }
    for (int k = 0; k < 3; k++) {
      const int colour = face_of(kCorners[kHeld][static_cast<size_t>(k)]);
      t->held[k] = static_cast<int16_t>(corner_sticker(2, kHeld, k) * 6 + colour);
    }
    for (size_t k = 0; k < 6; k++)
      for (int move = 0; move < 9; move++) {  // a mirror turns the other way; half turns have no way
        const int axis = move < 6 ? move / 2 : move - 6, way = move % 2;
        const Placement& p = placements_of_held_corner()[k];
        const int face = p.faces[static_cast<size_t>(kFacesTurned[axis])];
        const auto to = static_cast<int>(std::find(kFacesTurned, kFacesTurned + 3, face) - kFacesTurned);
        t->moves[k][move] = static_cast<uint8_t>(move < 6 ? 2 * to + (p.mirror ? 1 - way : way) : 6 + to);
      }
    return t;
  }();
  return *all;
}

Cube2::Cube2(CubeMetric metric, CubeEncoding encoding)
    : tables_(&tables()), moves_(metric == CubeMetric::kQuarter ? 6 : 9), encoding_(encoding) {}

std::string_view Cube2::move_name(int move) const {
  constexpr std::string_view kNames[] = {"R", "R'", "U", "U'", "F", "F'", "R2", "U2", "F2"};
  return kNames[move];
}

void Cube2::hot(const State& seen, std::span<int32_t> out) const {
  const State s = encoding_ == CubeEncoding::kCanonical ? canonical(seen)
                  : encoding_ == CubeEncoding::kTurned  ? state(shown(seen) & 0xFFFFFF)
                                                        : seen;
  const uint8_t *corners = tables_->corners[s.permutation], *twists = tables_->twists[s.twist];
  if (encoding_ != CubeEncoding::kFacelets) {
    for (int i = 0; i < 7; i++) out[static_cast<size_t>(i)] = i * 21 + corners[i] * 3 + twists[i];
    return;
  }
  for (size_t i = 0; i < 7; i++)
    for (size_t k = 0; k < 3; k++) out[3 * i + k] = tables_->facelets[i][corners[i]][twists[i]][k];
  std::copy(tables_->held, tables_->held + 3, out.begin() + 21);
}

void Cube2::observe(const State& s, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  std::array<int32_t, 24> ones;
  hot(s, ones);
  for (int64_t i = 0; i < hot_count(); i++) out[static_cast<size_t>(ones[static_cast<size_t>(i)])] = 1;
}

double Cube2::potential(const State& s) const {
  const uint8_t *corners = tables_->corners[s.permutation], *twists = tables_->twists[s.twist];
  int home = 0;
  for (int i = 0; i < 7; i++) home += corners[i] == i && twists[i] == 0 ? 1 : 0;
  return home / 7.0;
}

Cube2::State Cube2::symmetric(const State& s, int k) const {
  const Pieces p = pieces_of(*tables_, s);
  return state_of(placed(k < 6 ? p : inverse_of(p), placements_of_held_corner()[static_cast<size_t>(k % 6)]));
}

Cube2::State Cube2::canonical(const State& s) const {
  static const std::vector<uint32_t> codes = [this] {
    std::vector<uint32_t> least(kStates, kStates);
    for (uint32_t code = 0; code < kStates; code++)
      if (least[code] == kStates)  // the first of its kind
        for (int k = 0; k < symmetry_count(); k++) least[this->code(symmetric(state(code), k))] = code;
    return least;
  }();
  return state(codes[code(s)]);
}

uint32_t Cube2::shown(const State& s) const {
  static const std::vector<uint32_t> all = [this] {
    std::array<uint32_t, 6> back{};  // what undoes a placement: it brings every face home
    for (uint32_t i = 0; i < 6; i++)
      for (uint32_t k = 0; k < 6; k++) {
        const FaceMap &to = placements_of_held_corner()[k].faces, &from = placements_of_held_corner()[i].faces;
        if (from[to[0]] == 0 && from[to[1]] == 1 && from[to[2]] == 2) back[k] = i;
      }
    std::vector<uint32_t> least(kStates, kStates);
    for (uint32_t code = 0; code < kStates; code++)
      if (least[code] == kStates)  // the first of its kind
        for (uint32_t k = 6; k-- > 0;)
          least[this->code(symmetric(state(code), static_cast<int>(k)))] = code | back[k] << 24;
    return least;
  }();
  return all[code(s)];
}

std::string Cube2::facelets(const State& s) const {
  std::array<uint8_t, 24> colours{};
  put_corner_colours(pieces_of(*tables_, s), 2, colours.data());
  std::string out;
  for (const uint8_t c : colours) out += kFaces[c];
  return out;
}

Cube2::State Cube2::parse_facelets(std::string_view text) const {
  std::array<uint8_t, 24> colours{};
  parse_colours("cube 2x2x2", text, 2, colours.data());
  const Pieces p = corners_from("cube 2x2x2", 2, colours.data());
  if (p.corner[kHeld] != kHeld || p.twist[kHeld] != 0)
    throw Error(
        "cube 2x2x2: the corner DBL is not at down-back-left — hold the cube so that the colours D, B and L lie "
        "there, D below (any 2x2x2 can be held so)");
  return state_of(p);
}

}  // namespace ingot::rl
