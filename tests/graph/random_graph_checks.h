// What must hold for every random function; the fast and the slow tier ask it of different seeds.
#pragma once
#include <cstdint>

#include "tests/graph/random_graph.h"

namespace ingot::harness {

/// Eager and planned agree for all passes, every pass off, some off and all off, on strided inputs, run after run, and
/// bit for bit at 1, 2 and 3 threads.
void check_planned(uint64_t seed);
/// Planned gradients agree with central differences, with and without passes, at 1 and 3 threads.
void check_gradients(uint64_t seed);
/// Arenas of the same graphs and of their gradients against the live peak: sums over seeds, and the worst.
struct ArenaWaste {
  double worst = 1, arena = 0, peak = 0;
  int above = 0, plans = 0;  // above 1.10
};
void add_waste(uint64_t seed, ArenaWaste& waste);

}  // namespace ingot::harness
