#include "ingot/rl/cube3.h"

#include <tuple>

#include "ingot/base/error.h"
#include "rl/cubies.h"

namespace ingot::rl {
namespace {

Pieces pieces_of(const Cube3::State& s) {
  Pieces p;
  for (size_t i = 0; i < 12; i++) p.edge[i] = s.edges[i] % 16, p.flip[i] = static_cast<uint8_t>(s.edges[i] / 16);
  for (size_t i = 0; i < 8; i++) p.corner[i] = s.corners[i] % 8, p.twist[i] = static_cast<uint8_t>(s.corners[i] / 8);
  return p;
}

Cube3::State state_of(const Pieces& p) {
  Cube3::State s;
  for (size_t i = 0; i < 12; i++) s.edges[i] = static_cast<uint8_t>(p.edge[i] + 16 * p.flip[i]);
  for (size_t i = 0; i < 8; i++) s.corners[i] = static_cast<uint8_t>(p.corner[i] + 8 * p.twist[i]);
  return s;
}

// Eight bytes of five bits as forty bits, and back: pairs, pairs of pairs, both halves.
uint64_t packed(const uint8_t* bytes) {
  uint64_t x = 0;
  std::memcpy(&x, bytes, sizeof x);
  x = (x & 0x001F001F001F001F) | (x & 0x1F001F001F001F00) >> 3;
  x = (x & 0x000003FF000003FF) | (x & 0x03FF000003FF0000) >> 6;
  return (x & 0xFFFFF) | x >> 32 << 20;
}

void unpack(uint64_t code, uint8_t* bytes, int count) {
  for (int i = 0; i < count; i++) bytes[i] = static_cast<uint8_t>(code >> (5 * i) & 31);
}

}  // namespace

constexpr std::array<Cube3::Turn, 12> Cube3::all_turns() {
  std::array<Turn, 12> turns{};
  for (size_t move = 0; move < 12; move++) {
    Pieces p;  // a turn back is three turns
    for (size_t k = 0; k < (move % 2 == 0 ? 1U : 3U); k++) p = turned(p, kFaceTurns[move / 2]);
    Turn& t = turns[move];
    for (uint8_t i = 0; i < 16; i++) {
      t.edge_from[i] = i < 12 ? p.edge[i] : i, t.flip[i] = static_cast<uint8_t>(i < 12 ? p.flip[i] * 16 : 0);
      t.corner_from[i] = i < 8 ? p.corner[i] : i, t.twist[i] = static_cast<uint8_t>(i < 8 ? p.twist[i] * 8 : 0);
    }
  }
  return turns;
}
constexpr std::array<Cube3::Turn, 12> Cube3::kTurns = Cube3::all_turns();

bool Cube3::valid(const State& s) const {
  uint32_t edges = 0, corners = 0;
  for (size_t i = 0; i < 16; i++) {
    const uint8_t e = s.edges[i], c = s.corners[i];
    if (i < 12 ? e >= 32 : e != i) return false;
    if (i < 8 ? c >= 24 : c != i) return false;
    edges |= 1U << e % 16, corners |= 1U << (i < 8 ? c % 8 : c);
  }
  return edges == 0xFFFF && corners == 0xFFFF;
}

Cube3::Cube3(CubeEncoding encoding) : encoding_(encoding) {
  if (encoding == CubeEncoding::kTurned)
    throw Error("cube 3x3x3: states are not shown turned — use cubies, or canonical where no moves are valued");
}

std::string_view Cube3::move_name(int move) const {
  constexpr std::string_view kNames[] = {"U", "U'", "R", "R'", "F", "F'", "D", "D'", "L", "L'", "B", "B'"};
  return kNames[move];
}

Cube3::Code Cube3::code(const State& s) const {
  const uint64_t last_edges = packed(s.edges.data() + 8) & 0xFFFFF;
  return {packed(s.edges.data()) | last_edges << 40, packed(s.corners.data())};
}

Cube3::State Cube3::state(const Code& code) const {
  State s;
  unpack(code.edges, s.edges.data(), 12);
  unpack(code.corners, s.corners.data(), 8);
  return s;
}

void Cube3::hot(const State& seen, std::span<int32_t> out) const {
  const State s = hides_symmetry() ? canonical(seen) : seen;
  if (encoding_ != CubeEncoding::kFacelets) {
    for (size_t i = 0; i < 12; i++) out[i] = static_cast<int32_t>(i * 24) + s.edges[i] % 16 * 2 + s.edges[i] / 16;
    for (size_t i = 0; i < 8; i++)
      out[12 + i] = static_cast<int32_t>(288 + i * 24) + s.corners[i] % 8 * 3 + s.corners[i] / 8;
    return;
  }
  std::array<uint8_t, 54> colours{};
  for (uint8_t face = 0; face < 6; face++) colours[face * 9 + 4] = face;
  put_corner_colours(pieces_of(s), 3, colours.data());
  put_edge_colours(pieces_of(s), colours.data());
  for (size_t i = 0; i < 54; i++) out[i] = static_cast<int32_t>(6 * i) + colours[i];
}

void Cube3::observe(const State& s, std::span<float> out) const {
  std::fill(out.begin(), out.end(), 0.0F);
  std::array<int32_t, 54> ones;
  hot(s, ones);
  for (int64_t i = 0; i < hot_count(); i++) out[static_cast<size_t>(ones[static_cast<size_t>(i)])] = 1;
}

double Cube3::potential(const State& s) const {
  int home = 0;
  for (size_t i = 0; i < 12; i++) home += s.edges[i] == i ? 1 : 0;
  for (size_t i = 0; i < 8; i++) home += s.corners[i] == i ? 1 : 0;
  return home / 20.0;
}

Cube3::State Cube3::symmetric(const State& s, int k) const {
  const Pieces p = pieces_of(s);
  return state_of(placed(k < 48 ? p : inverse_of(p), placements()[static_cast<size_t>(k % 48)]));
}

Cube3::State Cube3::canonical(const State& s) const {
  State least = s;
  Code code = this->code(s);
  for (int k = 1; k < symmetry_count(); k++) {
    const State other = symmetric(s, k);
    if (const Code c = this->code(other); std::tie(c.edges, c.corners) < std::tie(code.edges, code.corners))
      least = other, code = c;
  }
  return least;
}

std::string Cube3::facelets(const State& s) const {
  std::array<uint8_t, 54> colours{};
  for (uint8_t face = 0; face < 6; face++) colours[face * 9 + 4] = face;
  put_corner_colours(pieces_of(s), 3, colours.data());
  put_edge_colours(pieces_of(s), colours.data());
  std::string out;
  for (const uint8_t c : colours) out += kFaces[c];
  return out;
}

Cube3::State Cube3::parse_facelets(std::string_view text) const {
  std::array<uint8_t, 54> colours{};
  parse_colours("cube 3x3x3", text, 3, colours.data());
  Pieces p = corners_from("cube 3x3x3", 3, colours.data());
  add_edges_from("cube 3x3x3", colours.data(), p);
  return state_of(p);
}

}  // namespace ingot::rl
