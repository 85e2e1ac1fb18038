// How the commands solve cubes: by a search over what a run learned, or from both ends without any of it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ingot/recipe/command.h"
#include "ingot/recipe/own_run.h"
#include "ingot/rl/best_first.h"
#include "ingot/rl/cube3.h"
#include "ingot/rl/notation.h"
#include "ingot/rl/value_learning.h"
#include "rl/door/cube_run.h"

namespace ingot::rl::door {

/// What was typed: [RUN] CUBE, and how to search.
struct SolverOptions {
  std::vector<std::string> words;  // the folder of a run, if it is to solve; the cube, as moves or stickers
  int64_t size = 2, width = 64;
  std::string search;  // empty: a beam with a run, both ends without
  SearchLimits limits = {.nodes = 20'000'000};

  std::string run, cube;  // found among the words
};

/// The options of a command; the first is its arguments.
std::vector<recipe::Option> solver_options(SolverOptions& o, bool needs_cube);

/// Do these letters name stickers, as opposed to moves? Then of which cube: 2, 3, or 0.
int size_of_facelets(std::string_view text);

/// A cube as it was typed: stickers, or the moves that lead to it.
template <class Cube>
typename Cube::State parse_cube(const Cube& cube, std::string_view text) {
  if (size_of_facelets(text) > 0) return cube.parse_facelets(text);
  return after(cube, cube.solved(), parse_moves(cube, text));
}

/// A finished run's weights, and which cube they know; an Error if they know none.
struct TrainedCube {
  std::unique_ptr<recipe::OwnRun> run;
  CubeKnowledge knowledge;
};
TrainedCube load_trained_cube(const std::string& run);

template <class Cube>
class CubeSolver {
 public:
  using State = typename Cube::State;
  using Solve = std::function<const Solution&(const State&, const SearchLimits&)>;

  CubeSolver(const Cube& cube, const SolverOptions& o, const TrainedCube& trained)
      : name_(!o.search.empty()                      ? o.search
              : trained.knowledge.network != nullptr ? "beam"
                                                     : "both"),
        limits_(o.limits),
        solve_(make(cube, o, trained.knowledge.network)) {
    if (name_ == "beam") name_ += " " + std::to_string(o.width);
  }
  const Solution& operator()(const State& state) { return solve_(state, limits_); }
  /// "beam 64"
  const std::string& name() const { return name_; }
  bool is_shortest() const { return name_ == "both"; }

 private:
  template <class Search>
  static Solve solve_by(Search search) {
    auto kept = std::make_shared<Search>(std::move(search));
    return [kept](const State& state, const SearchLimits& limits) -> const Solution& {
      return kept->solve(state, limits);
    };
  }

  Solve make(const Cube& cube, const SolverOptions& o, QNet* network) const {
    if (name_ == "both") return solve_by(BidirectionalSearch<Cube>(cube));
    if (network == nullptr)
      throw Error("cube: --search " + name_ + " needs what a run has learned — give its folder before the cube");
    auto value = std::make_shared<LearnedValue<Cube>>(cube, *network);
    const ValuesOf<Cube> values = [value](auto states, auto out) { (*value)(states, out); };
    if (name_ == "greedy") return solve_by(GreedySearch<Cube>(cube, values));
    if (name_ == "beam") return solve_by(BeamSearch<Cube>(cube, values, {.width = o.width}));
    if (name_ == "astar") return solve_by(AStarSearch<Cube>(cube, values));
    if (name_ == "tree") return solve_by(TreeSearch<Cube>(cube, values));
    throw Error("cube: --search \"" + name_ + "\" — there are greedy, beam, astar, tree and both");
  }

  std::string name_;
  SearchLimits limits_;
  Solve solve_;
};

/// Finds run and cube among the words, and calls f(cube, trained): the cube that the run knows, or whose stickers were typed, or of --size.
template <class F>
int with_cube(SolverOptions& o, F&& f) {
  TrainedCube trained;
  if (!o.run.empty()) trained = load_trained_cube(o.run);
  const int typed = size_of_facelets(o.cube), known = trained.knowledge.size;
  if (typed > 0 && known > 0 && typed != known)
    throw Error("cube: stickers of the " + std::to_string(typed) + "x" + std::to_string(typed) + "x" +
                std::to_string(typed) + ", but \"" + o.run + "\" has learned another cube");
  const int64_t size = typed > 0 ? typed : known > 0 ? known : o.size;
  return size == 3 ? f(Cube3(trained.knowledge.encoding), trained)
                   : f(Cube2(CubeMetric::kQuarter, trained.knowledge.encoding), trained);
}

/// Which of the words are run and cube.
void read_words(SolverOptions& o, bool needs_cube);

}  // namespace ingot::rl::door
