// `ingot cube view`: a cube in the terminal, to turn and to watch being solved.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/recipe/screen.h"
#include "ingot/recipe/terminal.h"
#include "ingot/rl/cube_picture.h"
#include "rl/door/cube_commands.h"
#include "rl/door/cube_solver.h"

namespace ingot::rl::door {
namespace {

using recipe::KeyPress;
using recipe::Screen;

struct Options {
  SolverOptions solver;
  int64_t frames = 0;
};

template <class Cube>
class Viewer {
 public:
  Viewer(const Cube& cube, const TrainedCube& trained, const SolverOptions& o)
      : cube_(cube), solver_(cube, o, trained), state_(parse_cube(cube, o.cube)), start_(state_) {}

  std::string frame(int64_t rows, int64_t columns) const {
    const int64_t size = std::clamp<int64_t>(std::min(2 * (rows - 3), columns), 8, 96);
    return picture_text(cube_picture(cube_.facelets(state_), size, camera_)) + note_ + "\n" +
           shortened("r u f d l b turn, capitals back; arrows look around; space solve; s scramble; z reset; q quit",
                     static_cast<int>(columns));
  }

  /// Without a terminal: so many moves of the solution, printed one after another.
  int print(int64_t frames) {
    solve();
    for (int64_t i = 0; i < frames; i++) {
      fmt::print("{}\n{}", note_, cube_net_text(cube_.facelets(state_), recipe::has_colours()));
      if (!play()) break;
    }
    return 0;
  }

  int run(Screen& screen) {
    for (;;) {
      screen.show(frame(screen.rows(), screen.columns()));
      const auto wait = std::chrono::milliseconds(plan_.empty() ? 1000 : 400);
      if (const std::optional<KeyPress> key = screen.key(wait)) {
        if (*key == KeyPress::kQuit || *key == KeyPress{'q'}) return 0;
        press(*key);
      } else {
        play();
      }
    }
  }

 private:
  void press(KeyPress key) {
    constexpr double kDegrees = 15;
    switch (static_cast<int>(key)) {
      case static_cast<int>(KeyPress::kLeft): camera_.right -= kDegrees; return;
      case static_cast<int>(KeyPress::kRight): camera_.right += kDegrees; return;
      case static_cast<int>(KeyPress::kUp): camera_.up = std::min(75.0, camera_.up + kDegrees); return;
      case static_cast<int>(KeyPress::kDown): camera_.up = std::max(-75.0, camera_.up - kDegrees); return;
      case ' ': return solve();
      case 's': plan_.clear(), state_ = scrambled(cube_, 30, {++seed_}), note_ = "scrambled"; return;
      case 'z': plan_.clear(), state_ = start_, note_ = ""; return;
      default: break;
    }
    // A face's letter turns it; the capital turns it back.
    const auto typed = static_cast<int>(key);
    for (int move = 0; move < cube_.move_count(); move++) {
      const std::string_view name = cube_.move_name(move);
      if (typed == (name.size() == 1 ? name[0] - 'A' + 'a' : name[0])) {
        plan_.clear(), state_ = cube_.apply(state_, move), note_ = std::string(name);
        return;
      }
    }
  }

  void solve() {
    const Solution& s = solver_(state_);
    plan_.assign(s.moves.rbegin(), s.moves.rend());
    note_ = s.solved ? fmt::format("{} to go: {}", plan_.size(), moves_text(cube_, s.moves))
                     : fmt::format("no solution found by {}", solver_.name());
  }

  bool play() {
    if (plan_.empty()) return false;
    const int move = plan_.back();
    plan_.pop_back();
    state_ = cube_.apply(state_, move);
    note_ = fmt::format("{}, {} to go", cube_.move_name(move), plan_.size());
    return true;
  }

  Cube cube_;
  CubeSolver<Cube> solver_;
  typename Cube::State state_, start_;
  CubeCamera camera_;
  std::vector<int> plan_;  // moves still to make, the next one last
  std::string note_;
  uint64_t seed_ = 0;
};

template <class Cube>
int view(const Cube& cube, const TrainedCube& trained, const Options& o) {
  Viewer<Cube> viewer(cube, trained, o.solver);
  if (o.frames > 0) return viewer.print(o.frames);
  if (!Screen::possible())
    throw Error(
        "cube view: this is no terminal to draw in — `--frames 10` prints so many states of the solution instead");
  Screen screen;
  return viewer.run(screen);
}

}  // namespace

recipe::Command cube_view_command() {
  auto o = std::make_shared<Options>();
  recipe::Command command{.name = "view", .about = "Turn a cube in the terminal, and watch it being solved"};
  o->solver.limits.seconds = 10;
  command.options = solver_options(o->solver, false);
  command.options.push_back({.name = "--frames",
                             .target = &o->frames,
                             .about = "print so many states of the solution instead",
                             .least = 0,
                             .most = 1000});
  command.run = [o] {
    read_words(o->solver, false);
    return with_cube(o->solver, [&](const auto& cube, const TrainedCube& trained) { return view(cube, trained, *o); });
  };
  command.footer = recipe::fixed_text(
      "Keys: r u f (d l b) turn a face clockwise, capitals turn it back; arrows look around; space solves it; s "
      "scrambles;\n"
      "z begins anew; q or Ctrl-C quits.\nFor instance:\n  ingot cube view \"R U F'\"\n  ingot cube view runs/cube2");
  return command;
}

}  // namespace ingot::rl::door
