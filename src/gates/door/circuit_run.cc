// `ingot circuit run` and `bench`: cell rules on grids.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "gates/door/circuit.h"
#include "ingot/base/error.h"
#include "ingot/base/threads.h"
#include "ingot/gates/boards.h"
#include "ingot/gates/grid.h"
#include "ingot/io/io.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "ingot/recipe/value.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;
using gates::Circuit;
using gates::Grid;

const gates::CellRule& cell_of(const char* command, const std::string& path, const Circuit& c) {
  if (!c.cell) throw Error(fmt::format("{}: {} is no rule of a cell — only those have a grid", command, path));
  return *c.cell;
}

Size size_or(const std::string& text, Size otherwise) { return text.empty() ? otherwise : parse_size(text); }

// A picture's colours are the first channels of a rule that shows three, its brightness the first channel of others.
Grid from_picture(const std::string& path, const gates::CellRule& rule) {
  const Tensor picture = io::load_png(path);
  const bool grey = picture.rank() == 2;
  const int64_t layers = grey ? 1 : picture.size(0), height = picture.size(grey ? 0 : 1),
                width = picture.size(grey ? 1 : 2);
  const bool colours = layers >= 3;
  const auto* pixel = static_cast<const uint8_t*>(picture.raw());
  const auto at = [&](int64_t layer, int64_t i) { return static_cast<int>(pixel[layer * height * width + i]); };
  Grid grid(1, rule.channels, height, width);
  for (int64_t i = 0; i < height * width; i++) {
    if (colours && rule.visible >= 3)
      for (int64_t c = 0; c < 3; c++) grid.set(0, c, i / width, i % width, at(c, i) >= 128);
    else
      grid.set(0, 0, i / width, i % width, (colours ? (at(0, i) + at(1, i) + at(2, i)) / 3 : at(0, i)) >= 128);
  }
  return grid;
}

Grid start_of(const CircuitOptions& o, const gates::CellRule& rule) {
  if (o.start.ends_with(".png")) {
    if (!o.size.empty()) throw Error("run: a picture has its own size — leave out --size or --start");
    return from_picture(o.start, rule);
  }
  constexpr double kMostBits = 1e9;  // that a file may ask for; a person may ask for more
  const bool known = rule.width > 0 && rule.height > 0;
  if (o.size.empty() && known && 1.0 * rule.width * rule.height * rule.channels > kMostBits)
    throw Error(
        fmt::format("run: the rule says that it was trained on {} x {} cells with {} channels — say --size if it "
                    "is to run on so many",
                    rule.width, rule.height, rule.channels));
  const Size size = size_or(o.size, known ? Size{rule.width, rule.height} : Size{128, 128});
  return gates::seed_grid(rule.channels, size.height, size.width, gates::seed_of(o.start),
                          {.seed = static_cast<uint64_t>(o.seed)}, o.density);
}

// White where the visible channel is on; with three or more of them, their colours.
void save_picture(const std::string& path, const Grid& grid, const gates::CellRule& rule) {
  const int64_t layers = rule.visible >= 3 ? 3 : 1;
  Tensor picture = Tensor::empty({layers, grid.height(), grid.width()}, kU8);
  auto* pixel = static_cast<uint8_t*>(picture.raw());
  for (int64_t c = 0; c < layers; c++)
    for (int64_t y = 0; y < grid.height(); y++)
      for (int64_t x = 0; x < grid.width(); x++) *pixel++ = grid.get(0, c, y, x) ? 255 : 0;
  io::save_png(path, picture);
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Seconds of one run of `body`, the median of those within half a second.
template <class Body>
double median_seconds(Body body) {
  body();
  std::vector<int64_t> times;
  const int64_t end = now_ns() + 500'000'000;
  do {
    const int64_t start = now_ns();
    body();
    times.push_back(now_ns() - start);
  } while (now_ns() < end);
  const auto middle = times.begin() + std::ssize(times) / 2;
  std::nth_element(times.begin(), middle, times.end());
  return static_cast<double>(*middle) / 1e9;
}

}  // namespace

int circuit_run(const CircuitOptions& o) {
  const Circuit c = gates::load_circuit(o.file);
  const gates::CellRule& rule = cell_of("run", o.file, c);
  Grid grid = start_of(o, rule);
  const int64_t steps = o.steps >= 0 ? o.steps : rule.steps > 0 ? rule.steps : 300;
  gates::Runner runner(c);
  const int64_t start = now_ns();
  runner.step(grid, steps, {.seed = static_cast<uint64_t>(o.seed), .stream = 1});  // stream 0 drew the start
  const double seconds = static_cast<double>(now_ns() - start) / 1e9;
  if (!o.png.empty()) save_picture(o.png, grid, rule);
  if (o.json) {
    Value on = empty_list();
    for (int64_t k = 0; k < grid.channels(); k++) on.add(grid.count(k));
    fmt::print(
        "{}\n",
        to_json(record(
            {{"width", grid.width()}, {"height", grid.height()}, {"steps", steps}, {"seconds", seconds}, {"on", on}})));
    return 0;
  }
  fmt::print("{}\n{} x {} cells, {} steps in {}\n", about_circuit(o.file, c), grid.width(), grid.height(),
             grouped(steps), microseconds(1e6 * seconds));
  for (int64_t k = 0; k < rule.visible; k++) {
    const int64_t on = grid.count(k);
    fmt::print("  channel {}: {} cells on ({})\n", k, grouped(on),
               percentage(static_cast<double>(on) / static_cast<double>(grid.width() * grid.height())));
  }
  if (!o.png.empty()) fmt::print("  written to {}\n", printable(o.png));
  return 0;
}

int circuit_bench(const CircuitOptions& o) {
  const Circuit c = gates::load_circuit(o.file);
  gates::Runner runner(c);
  double seconds = 0, items = 0;  // cells, or assignments
  std::string what;
  if (c.cell) {
    const Size size = size_or(o.size, {512, 512});
    Grid grid(1, c.cell->channels, size.height, size.width);
    grid.fill_random({.seed = 1});
    constexpr int64_t kSteps = 16;
    seconds = median_seconds([&] { runner.step(grid, kSteps); }) / kSteps;
    items = static_cast<double>(size.width * size.height);
    what = fmt::format("{} x {} cells", size.width, size.height);
  } else {
    constexpr int64_t kWords = 4096;
    std::vector<uint64_t> in(c.inputs * kWords, 0x123456789abcdef), out(c.outputs.size() * kWords);
    seconds = median_seconds([&] { runner.evaluate(in, out, kWords); });
    items = 64.0 * kWords;
    what = fmt::format("{} assignments", grouped(64 * kWords));
  }
  const double gates = items * static_cast<double>(runner.gates()) / seconds;
  if (o.json) {
    fmt::print("{}\n", to_json(record({{"threads", threads()},
                                       {"items", items},
                                       {"seconds", seconds},
                                       {"items_per_second", items / seconds},
                                       {"gates", c.gates.size()},
                                       {"gates_run", runner.gates()},
                                       {"gates_per_second", gates}})));
    return 0;
  }
  fmt::print("{}\n{}, {} thread{}: {} each (median), {:.2f} G{}/s, {:.1f} G gate evaluations/s ({} gates are run)\n",
             about_circuit(o.file, c), what, threads(), threads() == 1 ? "" : "s", microseconds(1e6 * seconds),
             items / seconds / 1e9, c.cell ? "cell" : "assignment", gates / 1e9, grouped(runner.gates()));
  return 0;
}

}  // namespace ingot::gates::door
