// How well a solver of the 2 x 2 x 2 does on every state, by the state's true distance.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ingot/recipe/report.h"
#include "ingot/recipe/value.h"
#include "ingot/rl/cube2.h"
#include "ingot/rl/distance.h"
#include "ingot/rl/net.h"

namespace ingot::rl::door {

/// Of the states at one distance: how many were tried, how many solved; all their moves and nodes together.
struct DistanceRow {
  int64_t tried = 0, solved = 0, optimal = 0, moves = 0, nodes = 0;
};

/// A solver's results, by distance (0 is left out).
struct DistanceTable {
  std::string solver;  // "greedy", "beam 64"
  std::vector<DistanceRow> rows = {};
  DistanceRow all() const;
};

const std::vector<uint8_t>& cube2_distances();

/// Every state, always by the move that `move_of` its code names; what comes back to where it was is not solved.
DistanceTable follow_moves(const Cube2& cube, std::span<const uint8_t> move_of);
/// The moves that a network's values make: of actions, the best one; of states, to the least neighbour.
std::vector<uint8_t> moves_of_actions(const Cube2& cube, QNet& net);
std::vector<float> values_of_states(const Cube2& cube, QNet& net);
std::vector<uint8_t> moves_of_values(const Cube2& cube, std::span<const float> values);
/// Beam search over tabulated values on `states` states (0: all; else spread evenly over the codes). Workers share them.
DistanceTable beam_on_states(const Cube2& cube, std::span<const float> values, int64_t width, int64_t states);
/// The share that random turns solve within `limit`, from states of each distance.
std::vector<double> random_policy(const Cube2& cube, int limit);

std::string table_text(std::span<const DistanceTable> tables);
recipe::Value table_record(std::span<const DistanceTable> tables);
/// A section of the report: the solved share by distance beside what anybody gets.
std::string table_section(const Cube2& cube, std::span<const DistanceTable> tables);

}  // namespace ingot::rl::door
