// What both cubes are made of: corners and edges by their names, what a turn of a face does to them, where their
// stickers are. A corner's or edge's name lists its faces, clockwise from the one that twists are counted from.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace ingot::rl {

constexpr std::string_view kFaces = "URFDLB";  // their order in texts of stickers

constexpr std::array<std::string_view, 8> kCorners = {"URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DBL", "DRB"};
constexpr std::array<std::string_view, 12> kEdges = {"UR", "UF", "UL", "UB", "DR", "DF",
                                                     "DL", "DB", "FR", "FL", "BL", "BR"};

/// Slot i takes the piece from slot `corner[i]`, twisted by `twist[i]` clockwise thirds; edges alike, with flips.
struct FaceTurn {
  std::array<uint8_t, 8> corner, twist;
  std::array<uint8_t, 12> edge, flip;
};

/// Clockwise quarter turns of the faces, in the order of kFaces.
constexpr std::array<FaceTurn, 6> kFaceTurns = {{
    {{3, 0, 1, 2, 4, 5, 6, 7}, {}, {3, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11}, {}},
    {{4, 1, 2, 0, 7, 5, 6, 3}, {2, 0, 0, 1, 1, 0, 0, 2}, {8, 1, 2, 3, 11, 5, 6, 7, 4, 9, 10, 0}, {}},
    {{1, 5, 2, 3, 0, 4, 6, 7},
     {1, 2, 0, 0, 2, 1, 0, 0},
     {0, 9, 2, 3, 4, 8, 6, 7, 1, 5, 10, 11},
     {0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0}},
    {{0, 1, 2, 3, 5, 6, 7, 4}, {}, {0, 1, 2, 3, 5, 6, 7, 4, 8, 9, 10, 11}, {}},
    {{0, 2, 6, 3, 4, 1, 5, 7}, {0, 1, 2, 0, 0, 2, 1, 0}, {0, 1, 10, 3, 4, 5, 9, 7, 8, 2, 6, 11}, {}},
    {{0, 1, 3, 7, 4, 5, 2, 6},
     {0, 0, 1, 2, 0, 0, 2, 1},
     {0, 1, 2, 11, 4, 5, 6, 10, 8, 9, 3, 7},
     {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1}},
}};

/// All pieces of a cube: which one is in each slot, and how it is turned.
struct Pieces {
  std::array<uint8_t, 8> corner{0, 1, 2, 3, 4, 5, 6, 7}, twist{};
  std::array<uint8_t, 12> edge{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, flip{};
  bool operator==(const Pieces&) const = default;
};

constexpr Pieces turned(const Pieces& p, const FaceTurn& t) {
  Pieces out;
  for (size_t i = 0; i < 8; i++)
    out.corner[i] = p.corner[t.corner[i]], out.twist[i] = static_cast<uint8_t>((p.twist[t.corner[i]] + t.twist[i]) % 3);
  for (size_t i = 0; i < 12; i++)
    out.edge[i] = p.edge[t.edge[i]], out.flip[i] = static_cast<uint8_t>(p.flip[t.edge[i]] ^ t.flip[i]);
  return out;
}

/// Takes all turns back that led from the solved cube to `p`.
constexpr Pieces inverse_of(const Pieces& p) {
  Pieces out;
  for (uint8_t i = 0; i < 8; i++)
    out.corner[p.corner[i]] = i, out.twist[p.corner[i]] = static_cast<uint8_t>((3 - p.twist[i]) % 3);
  for (uint8_t i = 0; i < 12; i++) out.edge[p.edge[i]] = i, out.flip[p.edge[i]] = p.flip[i];
  return out;
}

/// Where the faces go when the whole cube is rotated or seen in a mirror: face f of kFaces becomes face to[f].
using FaceMap = std::array<uint8_t, 6>;

/// One way to place a cube: where its faces go, and with them its slots and pieces, and how much these are turned then.
struct Placement {
  FaceMap faces;
  bool mirror;
  std::array<uint8_t, 8> corner, corner_shift;
  std::array<uint8_t, 12> edge, edge_shift;
};

/// The cube as it is after it was placed so: turning face f before is turning face faces[f] (in a mirror, the other way) after.
Pieces placed(const Pieces& p, const Placement& placement);

/// All 48 ways to place a cube; the first changes nothing.
const std::array<Placement, 48>& placements();

/// Number in kFaces.
constexpr uint8_t face_of(char letter) { return static_cast<uint8_t>(kFaces.find(letter)); }

/// The sticker's number (face by face, row by row) on a cube of n × n × n: of corner slot `slot`, on its face number k.
int corner_sticker(int n, int slot, int k);
int edge_sticker(int slot, int k);  // of the 3 × 3 × 3

/// Stickers of a cube of n × n × n as colours, numbers in kFaces: 6 n² of them.
void put_corner_colours(const Pieces& p, int n, uint8_t* colours);
void put_edge_colours(const Pieces& p, uint8_t* colours);

/// The pieces that such stickers show. An Error that begins with `where` and says what is wrong: a piece that does not
/// exist or is there twice, a twisted corner, a flipped edge, two pieces exchanged.
Pieces corners_from(const char* where, int n, const uint8_t* colours);
void add_edges_from(const char* where, const uint8_t* colours, Pieces& p);

/// A text of stickers as colours; faces' letters or those of colours (white, red, green, yellow, orange, blue).
/// `centres`: each face's middle must be there, in place.
void parse_colours(const char* where, std::string_view text, int n, uint8_t* colours);

bool is_even(const uint8_t* permutation, int n);

}  // namespace ingot::rl
