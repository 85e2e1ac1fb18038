#include "rl/door/cube_commands.h"

#include <fmt/format.h>

#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/recipe/terminal.h"
#include "ingot/rl/cube_picture.h"
#include "ingot/rl/distance.h"
#include "rl/door/cube_exam.h"
#include "rl/door/cube_film.h"
#include "rl/door/cube_solver.h"

namespace ingot::rl::door {
namespace {

using recipe::Command;

struct SolveOptions {
  SolverOptions solver;
  std::string film;
  bool json = false, plain = false;
};

struct ScrambleOptions {
  int64_t size = 2, moves = 0, seed = 0, distance = -1;
  bool plain = false;
};

constexpr int kNotSolved = 3;  // an exit code

std::string turns(int64_t n) { return counted(n, "quarter turn"); }

// Every state from the scrambled to the solved one, as an animation or as a strip.
template <class Cube>
void save_film(const Cube& cube, const typename Cube::State& state, std::span<const int> moves,
               const std::string& path) {
  const std::vector<std::string> film = film_of(cube, state, moves);
  if (path.ends_with(".gif"))
    io::save_gif(path, cube_frames(film), {.seconds = 0.5, .last_seconds = 2});
  else if (path.ends_with(".png"))
    io::save_png(path, cube_film_strip(film));
  else
    throw Error("cube solve: --film " + in_quotes(path) + " — give a file that ends in .gif or .png");
}

// The number of turns that it takes at best, where there is a table; else -1.
int64_t optimum(const Cube2& cube, const Cube2::State& state) { return cube2_distances()[cube.code(state)]; }
int64_t optimum(const Cube3& /*cube*/, const Cube3::State& /*state*/) { return -1; }

template <class Cube>
int solve(const Cube& cube, const TrainedCube& trained, const SolveOptions& o) {
  const typename Cube::State state = parse_cube(cube, o.solver.cube);
  CubeSolver<Cube> solver(cube, o.solver, trained);
  const Solution& s = solver(state);
  const std::string moves = moves_text(cube, s.moves);
  const auto length = static_cast<int64_t>(s.moves.size());
  const int64_t best = s.solved && solver.is_shortest() ? length : optimum(cube, state);
  if (!o.film.empty() && s.solved) save_film(cube, state, s.moves, o.film);
  if (o.json) {
    fmt::print(
        "{{\"solved\": {}, \"moves\": \"{}\", \"length\": {}, \"optimum\": {}, \"search\": \"{}\", \"nodes\": {}, "
        "\"seconds\": "
        "{:.6f}}}\n",
        s.solved, json_escaped(moves), length, best < 0 ? "null" : std::to_string(best), solver.name(), s.nodes,
        s.seconds);
    return s.solved ? 0 : kNotSolved;
  }
  fmt::print("{}", cube_net_text(cube.facelets(state), recipe::has_colours() && !o.plain));
  const std::string effort =
      fmt::format("{}: {} looked at, {:.3g} s", solver.name(), counted(s.nodes, "state"), s.seconds);
  if (s.solved && s.moves.empty())
    fmt::print("It is solved already.\n");
  else if (s.solved)
    fmt::print("{}\n{}{}\n{}\n", recipe::bold(moves), turns(length),
               best < 0         ? ""
               : best == length ? ", the fewest there are"
                                : fmt::format("; {} would do", best),
               effort);
  else
    fmt::print("No solution found by {} — allow more by --nodes, --seconds or --width\n", effort);
  return s.solved ? 0 : kNotSolved;
}

// Moves that lead to a state drawn evenly from those at a distance.
std::vector<int> scramble_at(const Cube2& cube, int64_t distance, uint64_t seed) {
  const std::vector<uint8_t>& distances = cube2_distances();
  const auto count = std::count(distances.begin(), distances.end(), static_cast<uint8_t>(distance));
  if (distance > 254 || count == 0)
    throw Error("cube scramble: no 2x2x2 is " + turns(distance) + " away from solved — 14 are the most");
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
int scramble(const Cube& cube, const ScrambleOptions& o) {
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

Command cube_command() {
  auto o = std::make_shared<SolveOptions>();
  Command solved{.name = "solve", .about = "Solve a cube: with what a run has learned, or from both ends"};
  solved.options = solver_options(o->solver, true);
  solved.options.push_back({"--film", &o->film, "an animation (.gif) or a strip (.png) of the solution", "FILE"});
  solved.options.push_back({.name = "--plain", .target = &o->plain, .about = "letters instead of colours"});
  solved.options.push_back({.name = "--json", .target = &o->json, .about = "for programs"});
  solved.run = [o] {
    read_words(o->solver, true);
    return with_cube(o->solver, [&](const auto& cube, const TrainedCube& trained) { return solve(cube, trained, *o); });
  };
  solved.footer = recipe::fixed_text(
      "Stickers are letters of faces (U R F D L B) or colours (W R G Y O B), face by face in that order, each row by "
      "row:\n"
      "24 of the 2x2x2, held with the corner of D, B and L at down-back-left, or 54 of the 3x3x3, white up and green "
      "in "
      "front.\nFrom both ends any 2x2x2 is solved, and a 3x3x3 up to about 12 turns away. Exit code 3: no solution.\n"
      "For instance:\n  ingot cube solve \"R U F' R2\"\n  ingot cube solve runs/cube2 \"R U F' R2\" --width 16\n"
      "  ingot cube solve --size 3 \"R U D' L\" --film solution.gif");

  auto s = std::make_shared<ScrambleOptions>();
  Command scrambled{.name = "scramble", .about = "Moves to scramble a cube with, and how it looks then"};
  scrambled.options = {{.name = "--size",
                        .target = &s->size,
                        .about = "2 for the 2x2x2, 3 for the 3x3x3",
                        .shows_default = true,
                        .least = 2,
                        .most = 3},
                       {.name = "--moves",
                        .target = &s->moves,
                        .about = "quarter turns, none of which takes back the one before (default: 20, or 30)",
                        .least = 1,
                        .most = 10000},
                       {.name = "--distance",
                        .target = &s->distance,
                        .about = "a 2x2x2 exactly so many turns away from solved",
                        .least = 0,
                        .most = 100},
                       {.name = "--seed", .target = &s->seed, .about = "another scramble", .shows_default = true},
                       {.name = "--plain", .target = &s->plain, .about = "letters instead of colours"}};
  scrambled.run = [s] { return s->size == 3 ? scramble(Cube3(), *s) : scramble(Cube2(), *s); };
  return {.name = "cube", .about = "Cubes of 2x2x2 and 3x3x3", .commands = {solved, scrambled, cube_view_command()}};
}

}  // namespace ingot::rl::door
