#include "rl/cubies.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::rl {
namespace {

struct Vector {
  int x = 0, y = 0, z = 0;
};
constexpr Vector kNormals[6] = {{0, 1, 0}, {1, 0, 0}, {0, 0, 1}, {0, -1, 0}, {-1, 0, 0}, {0, 0, -1}};
// What lies to the right and below on each face, as texts of stickers unfold the cube.
constexpr Vector kRight[6] = {{1, 0, 0}, {0, 0, -1}, {1, 0, 0}, {1, 0, 0}, {0, 0, 1}, {-1, 0, 0}};
constexpr Vector kDown[6] = {{0, 0, 1}, {0, -1, 0}, {0, -1, 0}, {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};

constexpr int dot(const Vector& a, const Vector& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

Vector place_of(std::string_view piece) {
  Vector sum;
  for (const char letter : piece) {
    const Vector& n = kNormals[face_of(letter)];
    sum.x += n.x, sum.y += n.y, sum.z += n.z;
  }
  return sum;
}

int sticker(int n, std::string_view piece, int k) {
  const Vector place = place_of(piece);
  const int face = face_of(piece[static_cast<size_t>(k)]);
  const auto along = [&](const Vector& axis) { return (dot(place, axis) + 1) * (n - 1) / 2; };
  return face * n * n + along(kDown[face]) * n + along(kRight[face]);
}

// Which piece has these faces, and the place of the first of them in its name.
template <size_t Count>
std::pair<int, int> find_piece(const std::array<std::string_view, Count>& names, std::string_view letters) {
  for (size_t i = 0; i < Count; i++) {
    const size_t first = names[i].find(letters[0]);
    if (first != std::string_view::npos && std::ranges::is_permutation(names[i], letters))
      return {static_cast<int>(i), static_cast<int>(first)};
  }
  return {-1, 0};
}

template <size_t Count>
std::pair<int, int> image(const std::array<std::string_view, Count>& names, int piece, const FaceMap& map) {
  std::string letters;
  for (const char letter : names[static_cast<size_t>(piece)]) letters += kFaces[map[face_of(letter)]];
  return find_piece(names, letters);
}

bool is_mirror(const FaceMap& map) {
  const Vector &u = kNormals[map[0]], &r = kNormals[map[1]], &f = kNormals[map[2]];
  const Vector cross{u.y * r.z - u.z * r.y, u.z * r.x - u.x * r.z, u.x * r.y - u.y * r.x};
  const Vector plain{0, 0, -1};  // U × R of the cube as it is
  return dot(cross, f) != dot(plain, kNormals[2]);
}

Placement placement_of(const FaceMap& faces) {
  Placement way{};
  way.faces = faces, way.mirror = is_mirror(faces);
  for (size_t i = 0; i < 8; i++) {
    const auto [to, shift] = image(kCorners, static_cast<int>(i), faces);
    way.corner[i] = static_cast<uint8_t>(to), way.corner_shift[i] = static_cast<uint8_t>(shift);
  }
  for (size_t i = 0; i < 12; i++) {
    const auto [to, shift] = image(kEdges, static_cast<int>(i), faces);
    way.edge[i] = static_cast<uint8_t>(to), way.edge_shift[i] = static_cast<uint8_t>(shift);
  }
  return way;
}

std::string colours_text(const uint8_t* colours, const int* stickers, int count) {
  std::string out;
  for (int k = 0; k < count; k++) out += kFaces[colours[stickers[k]]];
  return out;
}

void check_even_twist(const char* where, const Pieces& p, int sum) {
  if (sum % 3 == 0) return;
  const auto turned_one = std::ranges::find_if(p.twist, [](uint8_t t) { return t != 0; });
  const auto slot = static_cast<size_t>(turned_one - p.twist.begin());
  throw Error(std::string(where) + ": a corner is twisted (for instance the one at " + std::string(kCorners[slot]) +
              "): no turns lead there — take it out and turn it by a third " +
              (sum % 3 == 1 ? "counter-clockwise" : "clockwise"));
}

}  // namespace

const std::array<Placement, 48>& placements() {
  static const std::array<Placement, 48> all = [] {
    std::array<Placement, 48> ways{};
    size_t count = 0;
    for (uint8_t u = 0; u < 6; u++)
      for (uint8_t r = 0; r < 6; r++)
        for (uint8_t f = 0; f < 6; f++) {
          if (u % 3 == r % 3 || u % 3 == f % 3 || r % 3 == f % 3) continue;
          const auto opposite = [](uint8_t face) { return static_cast<uint8_t>((face + 3) % 6); };
          ways[count++] = placement_of({u, r, f, opposite(u), opposite(r), opposite(f)});
        }
    return ways;
  }();
  return all;
}

Pieces placed(const Pieces& p, const Placement& to) {
  Pieces out;
  for (size_t slot = 0; slot < 8; slot++) {
    const size_t piece = p.corner[slot], at = to.corner[slot];
    const int twist = to.corner_shift[slot] - to.corner_shift[piece] + (to.mirror ? -p.twist[slot] : p.twist[slot]);
    out.corner[at] = to.corner[piece], out.twist[at] = static_cast<uint8_t>((twist + 6) % 3);
  }
  for (size_t slot = 0; slot < 12; slot++) {
    const size_t piece = p.edge[slot], at = to.edge[slot];
    out.edge[at] = to.edge[piece];
    out.flip[at] = static_cast<uint8_t>((to.edge_shift[slot] + to.edge_shift[piece] + p.flip[slot]) % 2);
  }
  return out;
}

int corner_sticker(int n, int slot, int k) { return sticker(n, kCorners[static_cast<size_t>(slot)], k); }
int edge_sticker(int slot, int k) { return sticker(3, kEdges[static_cast<size_t>(slot)], k); }

void put_corner_colours(const Pieces& p, int n, uint8_t* colours) {
  for (int slot = 0; slot < 8; slot++)
    for (int k = 0; k < 3; k++) {
      const auto at = static_cast<size_t>(slot);
      colours[corner_sticker(n, slot, (k + p.twist[at]) % 3)] = face_of(kCorners[p.corner[at]][static_cast<size_t>(k)]);
    }
}

void put_edge_colours(const Pieces& p, uint8_t* colours) {
  for (int slot = 0; slot < 12; slot++)
    for (int k = 0; k < 2; k++) {
      const auto at = static_cast<size_t>(slot);
      colours[edge_sticker(slot, (k + p.flip[at]) % 2)] = face_of(kEdges[p.edge[at]][static_cast<size_t>(k)]);
    }
}

Pieces corners_from(const char* where, int n, const uint8_t* colours) {
  Pieces p;
  std::array<int, 8> seen;
  seen.fill(-1);
  int sum = 0;
  for (int slot = 0; slot < 8; slot++) {
    int stickers[3];
    for (int k = 0; k < 3; k++) stickers[k] = corner_sticker(n, slot, k);
    const std::string shown = colours_text(colours, stickers, 3);
    const std::string at(kCorners[static_cast<size_t>(slot)]);
    const auto [piece, first] = find_piece(kCorners, shown);
    // The colours run clockwise as its name does, or it is a mirror image.
    if (piece < 0 || kCorners[static_cast<size_t>(piece)][static_cast<size_t>(first + 1) % 3] != shown[1])
      throw Error(formatted("%s: wrong colours: no corner has %s clockwise, as the one at %s does", where,
                            shown.c_str(), at.c_str()));
    if (seen[static_cast<size_t>(piece)] >= 0)
      throw Error(std::string(where) + ": wrong colours: the corner " +
                  std::string(kCorners[static_cast<size_t>(piece)]) + " is there twice, at " +
                  std::string(kCorners[static_cast<size_t>(seen[static_cast<size_t>(piece)])]) + " and at " + at);
    seen[static_cast<size_t>(piece)] = slot;
    p.corner[static_cast<size_t>(slot)] = static_cast<uint8_t>(piece);
    // shown[0] is the piece's face number `first`, at the slot's face 0: (first + twist) % 3 = 0.
    p.twist[static_cast<size_t>(slot)] = static_cast<uint8_t>((3 - first) % 3);
    sum += (3 - first) % 3;
  }
  check_even_twist(where, p, sum);
  return p;
}

void add_edges_from(const char* where, const uint8_t* colours, Pieces& p) {
  std::array<int, 12> seen;
  seen.fill(-1);
  int flips = 0;
  for (int slot = 0; slot < 12; slot++) {
    const int stickers[2] = {edge_sticker(slot, 0), edge_sticker(slot, 1)};
    const std::string shown = colours_text(colours, stickers, 2);
    const std::string at(kEdges[static_cast<size_t>(slot)]);
    const auto [piece, first] = find_piece(kEdges, shown);
    if (piece < 0)
      throw Error(
          formatted("%s: wrong colours: no edge has %s, as the one at %s does", where, shown.c_str(), at.c_str()));
    if (seen[static_cast<size_t>(piece)] >= 0)
      throw Error(std::string(where) + ": wrong colours: the edge " + std::string(kEdges[static_cast<size_t>(piece)]) +
                  " is there twice, at " + std::string(kEdges[static_cast<size_t>(seen[static_cast<size_t>(piece)])]) +
                  " and at " + at);
    seen[static_cast<size_t>(piece)] = slot;
    p.edge[static_cast<size_t>(slot)] = static_cast<uint8_t>(piece);
    p.flip[static_cast<size_t>(slot)] = static_cast<uint8_t>(first);
    flips += first;
  }
  if (flips % 2 != 0)
    throw Error(std::string(where) + ": an edge is flipped: no turns lead there — take one out and turn it around");
  if (is_even(p.corner.data(), 8) != is_even(p.edge.data(), 12))
    throw Error(std::string(where) +
                ": wrong parity, two pieces are exchanged: no turns lead there — exchange two edges or two corners");
}

void parse_colours(const char* where, std::string_view text, int n, uint8_t* colours) {
  constexpr std::string_view kColours = "WRGYOB";  // of the faces
  const size_t side = static_cast<size_t>(n), wanted = 6 * side * side;
  size_t count = 0;
  std::array<int, 6> of_colour{};
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    const char letter = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    const size_t colour = std::min(kFaces.find(letter), kColours.find(letter));
    if (colour == std::string_view::npos)
      throw Error(std::string(where) + ": wrong colours: " + in_quotes(std::string_view(&c, 1)) +
                  " is no face (U R F D L B) and no colour (W R G Y O B)");
    if (count < wanted) colours[count] = static_cast<uint8_t>(colour);
    of_colour[colour]++, count++;
  }
  if (count != wanted)
    throw Error(std::string(where) + ": " + std::to_string(count) + " stickers — give " + std::to_string(wanted) +
                ", face by face in the order U R F D L B, each row by row");
  for (size_t i = 0; i < 6; i++)
    if (of_colour[i] != n * n)
      throw Error(std::string(where) + ": wrong colours: " + std::to_string(of_colour[i]) + " stickers are " +
                  kFaces[i] + " (" + kColours[i] + "), not " + std::to_string(n * n));
  if (n % 2 != 0)
    for (int face = 0; face < 6; face++)
      if (const uint8_t centre = colours[face * n * n + n * n / 2]; centre != face)
        throw Error(std::string(where) + ": wrong colours: the middle of face " + kFaces[static_cast<size_t>(face)] +
                    " is " + kFaces[centre] +
                    " — hold the cube with white up and green in front, or name colours by faces");
}

bool is_even(const uint8_t* permutation, int n) {
  int inversions = 0;
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) inversions += permutation[i] > permutation[j] ? 1 : 0;
  return inversions % 2 == 0;
}

}  // namespace ingot::rl
