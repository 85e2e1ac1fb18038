#include "rl/door/cube_commands.h"

#include <fmt/format.h>

#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/recipe/terminal.h"
#include "ingot/rl/cube_picture.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/search.h"

namespace ingot::rl::door {
namespace {

using recipe::Command;

struct Options {
  std::string cube;  // moves or stickers
  int64_t size = 2, moves = 0, seed = 0, distance = -1, nodes = 20'000'000;
  double seconds = 60;
  std::string film;
  bool json = false, plain = false;
};

recipe::Option size_option(int64_t& size) {
  return {.name = "--size",
          .target = &size,
          .about = "2 for the 2x2x2, 3 for the 3x3x3",
          .shows_default = true,
          .least = 2,
          .most = 3};
}

std::string turns(size_t n) { return counted(static_cast<int64_t>(n), "quarter turn"); }

// Every state from the scrambled to the solved one, as an animation or as a strip.
template <class Cube>
void save_film(const Cube& cube, typename Cube::State state, std::span<const int> moves, const std::string& path) {
  std::vector<std::string> film = {cube.facelets(state)};
  for (const int move : moves) film.push_back(cube.facelets(state = cube.apply(state, move)));
  if (path.ends_with(".gif"))
    io::save_gif(path, cube_frames(film), {.seconds = 0.5, .last_seconds = 2});
  else if (path.ends_with(".png"))
    io::save_png(path, cube_film_strip(film));
  else
    throw Error("cube solve: --film " + in_quotes(path) + " — give a file that ends in .gif or .png");
}

template <class Cube>
int solve(const Cube& cube, const Options& o) {
  const typename Cube::State state = parse_cube(cube, o.cube);
  BidirectionalSearch<Cube> search(cube);
  const Solution& s = search.solve(state, {.nodes = o.nodes, .seconds = o.seconds});
  const std::string moves = moves_text(cube, s.moves);
  if (!o.film.empty() && s.solved) save_film(cube, state, s.moves, o.film);
  if (o.json) {
    fmt::print(
        "{{\"solved\": {}, \"moves\": \"{}\", \"length\": {}, \"shortest\": {}, \"nodes\": {}, \"seconds\": {:.6f}}}\n",
        s.solved, json_escaped(moves), s.moves.size(), s.solved, s.nodes, s.seconds);
    return s.solved ? 0 : 3;
  }
  fmt::print("{}", cube_net_text(cube.facelets(state), recipe::has_colours() && !o.plain));
  if (s.solved && s.moves.empty())
    fmt::print("It is solved already.\n");
  else if (s.solved)
    fmt::print("{}\n{}, the fewest there are; {} looked at, {:.3g} s\n", recipe::bold(moves), turns(s.moves.size()),
               counted(s.nodes, "state"), s.seconds);
  else
    fmt::print(
        "No solution found: {} looked at, {:.3g} s — it is farther than a search from both ends can go, or allow more "
        "by "
        "--nodes and --seconds\n",
        counted(s.nodes, "state"), s.seconds);
  return s.solved ? 0 : 3;
}

// Moves that lead to a state drawn evenly from those at a distance.
std::vector<int> scramble_at(const Cube2& cube, int64_t distance, uint64_t seed) {
  const std::vector<uint8_t> distances = all_distances(cube);
  const auto count = std::count(distances.begin(), distances.end(), static_cast<uint8_t>(distance));
  if (distance > 254 || count == 0)
    throw Error("cube scramble: no 2x2x2 is " + turns(static_cast<size_t>(distance)) +
                " away from solved — 14 are the most");
  int64_t drawn = 0;
  fill_integers(&drawn, 1, 0, 0, count, {.seed = seed});
  size_t code = 0;
  for (;; code++)
    if (distances[code] == distance && drawn-- == 0) break;
  std::vector<int> moves;
  for (Cube2::State s = cube.state(static_cast<uint32_t>(code)); !cube.is_solved(s);)
    for (int move = 0; move < cube.move_count(); move++)
      if (is_optimal(cube, distances, s, move)) {
        moves.push_back(cube.inverse(move));
        s = cube.apply(s, move);
        break;
      }
  std::reverse(moves.begin(), moves.end());
  return moves;
}

template <class Cube>
int scramble(const Cube& cube, const Options& o) {
  std::vector<int> moves;
  if (o.distance >= 0) {
    if constexpr (CountedPuzzle<Cube>)
      moves = scramble_at(cube, o.distance, static_cast<uint64_t>(o.seed));
    else
      throw Error("cube scramble: only the 2x2x2 has a table of distances — give --moves");
  } else {
    MoveSource source({.seed = static_cast<uint64_t>(o.seed)}, cube.move_count());
    const int64_t count = o.moves > 0 ? o.moves : cube.move_count() == 12 ? 30 : 20;
    for (int64_t i = 0; i < count; i++) moves.push_back(source.next_after(cube, moves.empty() ? -1 : moves.back()));
  }
  const std::string facelets = cube.facelets(after(cube, cube.solved(), moves));
  fmt::print("{}\n{}\n", recipe::bold(moves_text(cube, moves)), facelets);
  fmt::print("{}", cube_net_text(facelets, recipe::has_colours() && !o.plain));
  return 0;
}

}  // namespace

int size_of_facelets(std::string_view text) {
  int letters = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    if (std::string_view("URFDLBWGYOurfdlbwgyo").find(c) == std::string_view::npos) return 0;
    letters++;
  }
  // Moves have blanks between them: a word of one letter is a move.
  if (text.size() > 1 && text.find(' ') == 1) return 0;
  return letters == 24 ? 2 : letters == 54 ? 3 : 0;
}

Command cube_command() {
  auto o = std::make_shared<Options>();
  Command solved{.name = "solve", .about = "Solve a cube in as few turns as there are"};
  solved.options = {{.name = "CUBE",
                     .target = &o->cube,
                     .about = "the moves that scrambled it (\"R U F'\"), or its stickers",
                     .required = true},
                    size_option(o->size),
                    {.name = "--nodes",
                     .target = &o->nodes,
                     .about = "states to look at before giving up",
                     .shows_default = true,
                     .least = 1,
                     .most = 1e9},
                    {.name = "--seconds",
                     .target = &o->seconds,
                     .about = "time before giving up",
                     .shows_default = true,
                     .least = 0,
                     .most = 1e6},
                    {"--film", &o->film, "an animation (.gif) or a strip (.png) of the solution", "FILE"},
                    {.name = "--plain", .target = &o->plain, .about = "letters instead of colours"},
                    {.name = "--json", .target = &o->json, .about = "for programs"}};
  solved.run = [o] { return with_cube(o->size, o->cube, [&](const auto& cube) { return solve(cube, *o); }); };
  solved.footer = recipe::fixed_text(
      "Stickers are letters of faces (U R F D L B) or colours (W R G Y O B), face by face in that order, each row by "
      "row:\n"
      "24 of the 2x2x2, held with the corner of D, B and L at down-back-left, or 54 of the 3x3x3, white up and green "
      "in "
      "front.\nThe search goes from both ends: any 2x2x2, and a 3x3x3 up to about 12 turns away. Exit code 3: not "
      "found.\n"
      "For instance:\n  ingot cube solve \"R U F' R2\"\n  ingot cube solve --size 3 \"R U D' L\" --film solution.gif");

  Command scrambled{.name = "scramble", .about = "Moves to scramble a cube with, and how it looks then"};
  scrambled.options = {size_option(o->size),
                       {.name = "--moves",
                        .target = &o->moves,
                        .about = "quarter turns, none of which takes back the one before (default: 20, or 30)",
                        .least = 1,
                        .most = 10000},
                       {.name = "--distance",
                        .target = &o->distance,
                        .about = "a 2x2x2 exactly so many turns away from solved",
                        .least = 0,
                        .most = 100},
                       {.name = "--seed", .target = &o->seed, .about = "another scramble", .shows_default = true},
                       {.name = "--plain", .target = &o->plain, .about = "letters instead of colours"}};
  scrambled.run = [o] { return with_cube(o->size, "", [&](const auto& cube) { return scramble(cube, *o); }); };
  return {.name = "cube", .about = "Cubes of 2x2x2 and 3x3x3", .commands = {solved, scrambled, cube_view_command()}};
}

}  // namespace ingot::rl::door
