#include "rl/door/cube_solver.h"

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/rl/door.h"

namespace ingot::rl::door {

std::vector<recipe::Option> solver_options(SolverOptions& o, bool needs_cube) {
  return {
      {.name = "CUBE",
       .target = &o.words,
       .about = "the moves that scrambled it (\"R U F'\"), or its stickers; before it, the folder of a run that shall "
                "solve it",
       .type = "[RUN] CUBE",
       .required = needs_cube},
      {.name = "--size",
       .target = &o.size,
       .about = "2 for the 2x2x2, 3 for the 3x3x3",
       .shows_default = true,
       .least = 2,
       .most = 3},
      {"--search", &o.search,
       "greedy, beam, astar or tree over what a run learned; both: from both ends (default: beam with a run)", "HOW"},
      {.name = "--width", .target = &o.width, .about = "of a beam", .shows_default = true, .least = 1, .most = 1 << 24},
      {.name = "--nodes",
       .target = &o.limits.nodes,
       .about = "states to look at before giving up",
       .shows_default = true,
       .least = 1,
       .most = 1e9},
      {.name = "--seconds",
       .target = &o.limits.seconds,
       .about = "time before giving up",
       .shows_default = true,
       .least = 0,
       .most = 1e6}};
}

void read_words(SolverOptions& o, bool needs_cube) {
  o.run.clear(), o.cube.clear();
  size_t at = 0;
  if (at < o.words.size() && recipe::is_run(o.words[at])) o.run = o.words[at++];
  if (at < o.words.size()) o.cube = o.words[at++];
  if (o.run.empty() && o.words.size() == 2)
    throw Error(ErrorKind::kFile, "cube: there is no run in " + in_quotes(o.words[0]) +
                                      " — `ingot train cube2` makes one; moves belong in quotes: \"R U F'\"");
  if (at < o.words.size())
    throw Error("cube: " + in_quotes(o.words[at == 2 ? 0 : at]) +
                " — give the folder of a run and then a cube, moves in quotes: \"R U F'\"");
  if (needs_cube && o.words.size() == 1 && !o.run.empty())
    throw Error("cube: which cube? — give its moves in quotes, or its stickers");
}

int size_of_facelets(std::string_view text) {
  if (text.size() > 1 && text[1] == ' ') return 0;  // moves have blanks between them: a word of one letter is a move
  int letters = 0;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\t') continue;
    if (std::string_view("URFDLBWGYOurfdlbwgyo").find(c) == std::string_view::npos) return 0;
    letters++;
  }
  return letters == 24 ? 2 : letters == 54 ? 3 : 0;
}

TrainedCube load_trained_cube(const std::string& run) {
  if (recipe::is_run(run) && !recipe::is_file(run + "/model.safetensors"))
    throw Error("cube: " + in_quotes(run) + " is not finished — go on with it: `ingot train " + run + " --resume`");
  TrainedCube out{recipe::load_own_run(run, {&rl::system()}), {}};
  if (auto* knows = dynamic_cast<CubeRun*>(out.run.get())) out.knowledge = knows->knowledge();
  if (out.knowledge.size == 0)
    throw Error("cube: " + in_quotes(run) + " has learned no cube — `ingot train cube2` does");
  return out;
}

}  // namespace ingot::rl::door
