// Hard circuits: simplified, proved, run bit-packed.
#pragma once
#include "harness.h"
#include "ingot/gates/grid.h"
#include "ingot/gates/simplify.h"
#include "tests/gates/sample_circuits.h"

namespace ingot::bench {

// Life as training left it, simplified, on one board of 512²; the checkerboard's rule with all its gates, nothing taken
// away, on as many cells.
inline void run_circuits(Suite& suite) {
  constexpr int64_t kSize = 512, kSteps = 20;
  const auto row = [&](const std::string& label, const gates::Circuit& rule, bool keep_copies, bool count_gates) {
    if (!suite.wants(label)) return;
    gates::Runner runner(rule, {.keep_copies = keep_copies});
    gates::Grid grid(1, rule.cell->channels, kSize, kSize);
    grid.fill_random({.seed = 1});
    const int64_t steps = keep_copies ? 1 : kSteps;
    const double cells = static_cast<double>(kSize * kSize * steps);
    suite.compare(
        label, [&] { runner.step(grid, steps); }, {},
        count_gates ? Amount{cells * static_cast<double>(runner.gates()), "gates"} : Amount{cells, "cells"});
  };
  const gates::Circuit life = gates::simplify(gates::trained("life_trained")).circuit;
  row("run life 512x512, " + std::to_string(life.gates.size()) + " gates, 20 steps", life, false, false);
  const gates::Circuit board = gates::trained("checkerboard_trained");
  row("run checkerboard 512x512, all " + std::to_string(board.gates.size()) + " gates", board, true, true);
}

inline void simplify_circuits(Suite& suite) {
  for (const char* name : {"life_trained", "checkerboard_trained"}) {
    const gates::Circuit raw = gates::trained(name);
    suite.compare("simplify and prove " + std::string(name), [&] { gates::simplify(raw); });
  }
}

}  // namespace ingot::bench
