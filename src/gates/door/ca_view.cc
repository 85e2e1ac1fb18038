// `ingot ca view`: an automaton at work in the terminal.
#include "gates/door/ca_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "gates/door/board_source.h"
#include "gates/door/circuit.h"
#include "ingot/base/error.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/gates/door.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/screen.h"
#include "ingot/recipe/terminal.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

using Clock = std::chrono::steady_clock;

constexpr int64_t kLargestBoard = 4096;
constexpr double kSlowest = 0.5, kFastest = 120;  // steps a second

struct CaViewOptions {
  std::string path;              // a circuit's file, or the folder of a run
  std::string size;              // "64x64"; empty: as it was trained, or as the terminal is
  std::string start;             // random, centre or zeros; empty: as it was trained, or random
  int64_t seed = 1, frames = 0;  // frames to print instead; 0: an animation
  double speed = 10;             // steps a second
};

struct Colour {
  uint8_t r = 0, g = 0, b = 0;
  bool operator==(const Colour&) const = default;
};

Colour colour_of(const gates::Grid& grid, int64_t visible, const View& v, int64_t y, int64_t x) {
  if (y >= grid.height() || x >= grid.width()) return {};
  const auto level = [&](int64_t channel) { return grid.get(0, channel, y, x) ? uint8_t{235} : uint8_t{28}; };
  Colour c{level(0), level(visible >= 3 ? 1 : 0), level(visible >= 3 ? 2 : 0)};
  const auto inside = [&](int64_t at, int64_t middle) {
    return at >= middle - v.side / 2 && at < middle - v.side / 2 + v.side;
  };
  if (v.side > 0 && inside(y, v.cursor_y) && inside(x, v.cursor_x)) {  // towards copper
    c.r = static_cast<uint8_t>((c.r + 240) / 2), c.g = static_cast<uint8_t>((c.g + 120) / 2);
    c.b = static_cast<uint8_t>((c.b + 30) / 2);
  }
  return c;
}

bool any_set(const gates::Grid& grid, int64_t visible, int64_t y, int64_t x) {
  if (y >= grid.height() || x >= grid.width()) return false;
  for (int64_t channel = 0; channel < visible; channel++)
    if (grid.get(0, channel, y, x)) return true;
  return false;
}

// What is shown, and how it begins.
struct Subject {
  gates::Circuit circuit;
  std::optional<Seed> start;  // of a run
};

Subject load_subject(const CaViewOptions& o) {
  Subject out;
  if (!is_run(o.path)) {
    out.circuit = gates::load_circuit(o.path);
  } else {
    const std::string file = o.path + "/circuit-simple.json";
    if (!is_file(file))
      throw Error(fmt::format("ca view: \"{}\" has no circuit — is it the finished run of an automaton?", o.path));
    out.circuit = gates::load_circuit(file);
    const Description d =
        load_description(o.path + "/config.toml", {}, std::make_shared<Catalogue>(Systems{&gates::system()}));
    const DataSource source = load_data(d.section("data"), *d.catalogue, 1, Targets::kNumbers);
    if (const BoardTask* boards = boards_of(source)) out.start = boards->seed;
  }
  if (!out.circuit.cell)
    throw Error(fmt::format("ca view: \"{}\" is a circuit, but no automaton — give the rule of a cell", o.path));
  return out;
}

class Viewer {
 public:
  Viewer(const CaViewOptions& o, Subject subject, int64_t rows, int64_t columns)
      : subject_(std::move(subject)),
        rule_(*subject_.circuit.cell),
        runner_(subject_.circuit),
        seed_(static_cast<uint64_t>(o.seed)),
        speed_(o.speed),
        grid_(start(o, rows, columns)),
        start_(grid_) {
    cursor_y_ = grid_.height() / 2, cursor_x_ = grid_.width() / 2;
    side_ = std::max<int64_t>(1, std::min(grid_.height(), grid_.width()) / 4);
  }

  void step() { runner_.step(grid_, 1, {seed_, 3}, step_++); }

  std::string frame(int64_t rows, int64_t columns, bool colours) const {
    View v{.rows = std::min(grid_.height(), 2 * rows), .columns = std::min(grid_.width(), columns)};
    // A board larger than the terminal moves with the cursor.
    v.top = std::clamp<int64_t>(cursor_y_ - v.rows / 2, 0, grid_.height() - v.rows) & ~int64_t{1};
    v.left = std::clamp<int64_t>(cursor_x_ - v.columns / 2, 0, grid_.width() - v.columns);
    v.cursor_y = cursor_y_, v.cursor_x = cursor_x_, v.colours = colours;
    v.side = moved_ ? side_ : 0;
    return draw_board(grid_, rule_.visible, v);
  }

  std::string status(int64_t columns) const {
    constexpr size_t kName = 40;  // characters of it
    const std::string head =
        fmt::format("{} step {}{}", printable(subject_.circuit.name, kName), step_, paused_ ? " paused" : "");
    const std::string parts[] = {fmt::format("  {:.3g}/s", speed_),
                                 "  q quit",
                                 "  space pause",
                                 "  s step",
                                 "  arrows d damage",
                                 "  r restart",
                                 "  + - speed"};
    std::string out = printable(head, static_cast<size_t>(std::max<int64_t>(0, columns)));
    for (const std::string& part : parts)
      if (static_cast<int64_t>(out.size() + part.size()) < columns) out += part;
    return out;
  }

  int run(Screen& screen) {
    auto due = Clock::now();
    for (;;) {
      const int rows = screen.rows(), columns = screen.columns();
      const std::string board = rows > 1 ? frame(rows - 1, columns, true) : "";
      screen.show(board + "\033[0m" + status(columns - 1));
      // Keys until the next frame is due.
      const auto frame_time = std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(1 / speed_));
      due = std::max(due + frame_time, Clock::now());
      const auto wait = paused_ ? std::chrono::milliseconds(200)
                                : std::chrono::duration_cast<std::chrono::milliseconds>(due - Clock::now());
      if (const std::optional<KeyPress> key = screen.key(std::max(wait, std::chrono::milliseconds(1)))) {
        if (*key == KeyPress::kQuit || *key == KeyPress{'q'} || *key == KeyPress{'Q'}) return 0;
        press(*key);
        due = std::min(due, Clock::now() + frame_time) - frame_time;  // a key does not hurry the automaton
        continue;
      }
      if (!paused_) step();
    }
  }

 private:
  gates::Grid start(const CaViewOptions& o, int64_t rows, int64_t columns) const {
    // Life is trained on boards too small to watch: it fills the terminal.
    const bool own = rule_.height >= 8 && rule_.width >= 8;
    Size size{.width = own ? rule_.width : std::clamp<int64_t>(columns, 8, 512),
              .height = own ? rule_.height : std::clamp<int64_t>(2 * rows, 8, 512)};
    if (!o.size.empty()) size = parse_size(o.size);
    const int64_t height = size.height, width = size.width;
    if (std::max(height, width) > kLargestBoard)
      throw Error(fmt::format("ca view: boards have sides up to {}", kLargestBoard));
    const gates::Seed kind = !o.start.empty() ? gates::seed_of(o.start) : subject_.start.value_or(gates::Seed::kRandom);
    return gates::seed_grid(rule_.channels, height, width, kind, {seed_, 1}, rule_.channels == 1 ? 0.3 : 0.5);
  }

  void press(KeyPress key) {
    const auto move = [&](int64_t dy, int64_t dx) {
      cursor_y_ = (cursor_y_ + dy + grid_.height()) % grid_.height();
      cursor_x_ = (cursor_x_ + dx + grid_.width()) % grid_.width();
      moved_ = true;
    };
    switch (static_cast<int>(key)) {
      case static_cast<int>(KeyPress::kUp): return move(-1, 0);
      case static_cast<int>(KeyPress::kDown): return move(1, 0);
      case static_cast<int>(KeyPress::kLeft): return move(0, -1);
      case static_cast<int>(KeyPress::kRight): return move(0, 1);
      case ' ': paused_ = !paused_; return;
      case 's':
      case '.': paused_ = true; return step();
      case 'd':
      case '\r':
      case '\n': return grid_.clear_block(cursor_y_ - side_ / 2, cursor_x_ - side_ / 2, side_, side_);
      case 'r': grid_ = start_, step_ = 0; return;
      case '+':
      case '=': speed_ = std::min(kFastest, speed_ * 1.5); return;
      case '-': speed_ = std::max(kSlowest, speed_ / 1.5); return;
      default: return;
    }
  }

  Subject subject_;
  const gates::CellRule& rule_;
  gates::Runner runner_;
  uint64_t seed_;
  double speed_;
  gates::Grid grid_, start_;
  int64_t step_ = 0, cursor_y_ = 0, cursor_x_ = 0, side_ = 1;
  bool paused_ = false, moved_ = false;
};

}  // namespace

std::string draw_board(const gates::Grid& grid, int64_t visible, const View& v) {
  std::string out;
  for (int64_t y = v.top; y < v.top + v.rows; y += 2) {
    Colour top, bottom;
    bool first = true;
    for (int64_t x = v.left; x < v.left + v.columns; x++) {
      if (!v.colours) {
        const char* const blocks[] = {" ", "▄", "▀", "█"};
        out += blocks[2 * (any_set(grid, visible, y, x) ? 1 : 0) + (any_set(grid, visible, y + 1, x) ? 1 : 0)];
        continue;
      }
      const Colour upper = colour_of(grid, visible, v, y, x), lower = colour_of(grid, visible, v, y + 1, x);
      if (first || !(upper == top)) out += fmt::format("\033[38;2;{};{};{}m", upper.r, upper.g, upper.b);
      if (first || !(lower == bottom)) out += fmt::format("\033[48;2;{};{};{}m", lower.r, lower.g, lower.b);
      out += "▀";
      top = upper, bottom = lower, first = false;
    }
    out += v.colours ? "\033[0m\n" : "\n";
  }
  return out;
}

namespace {

int ca_view(const CaViewOptions& o) {
  if (!o.start.empty()) gates::seed_of(o.start);
  Subject subject = load_subject(o);
  if (o.frames == 0 && !Screen::possible())
    throw Error("ca view: this is no terminal to draw in — `--frames 10` prints so many steps instead");
  if (o.frames > 0) {
    Viewer viewer(o, std::move(subject), 16, 64);
    for (int64_t i = 0; i < o.frames; i++) {
      if (i > 0) viewer.step();
      fmt::print("{}\n{}", viewer.status(32), viewer.frame(kLargestBoard, kLargestBoard, has_colours()));
    }
    return 0;
  }
  Screen screen;
  return Viewer(o, std::move(subject), screen.rows() - 1, screen.columns()).run(screen);
}

}  // namespace

recipe::Command ca_command() {
  auto o = std::make_shared<CaViewOptions>();
  Command view{.name = "view", .about = "Watch an automaton in the terminal, and damage it"};
  view.options = {
      {.name = "FILE", .target = &o->path, .about = "a circuit's file, or the folder of a run", .required = true},
      {"--size", &o->size, "cells, as in 64x64 (default: as it was trained, or as the terminal is)", "WIDTHxHEIGHT"},
      {"--start", &o->start, "random, centre or zeros (default: as it was trained, or random)", "HOW"},
      {.name = "--seed", .target = &o->seed, .about = "of random bits", .shows_default = true},
      {.name = "--speed",
       .target = &o->speed,
       .about = "steps a second",
       .shows_default = true,
       .least = kSlowest,
       .most = kFastest},
      {.name = "--frames",
       .target = &o->frames,
       .about = "print so many states instead of an animation",
       .least = 0,
       .most = 100000}};
  view.run = [o] { return ca_view(*o); };
  view.footer = fixed_text(
      "Keys: space pauses, s or . makes one step, arrows move a block, d or Enter clears what is in it, r begins "
      "anew,\n"
      "+ and - change the speed, q or Ctrl-C quits.\n"
      "For instance:\n  ingot ca view runs/checkerboard --size 64x64\n  ingot ca view runs/gol --frames 5");
  return {.name = "ca",
          .about = "Cellular automata that `ingot train` made",
          .footer = fixed_text("For instance:\n  ingot ca view runs/checkerboard --size 64x64"),
          .commands = {view}};
}

}  // namespace ingot::gates::door
