// Which values need memory, from when to when, and where each gets it.
#pragma once
#include <span>
#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/liveness.h"
#include "ingot/graph/program.h"

namespace ingot::graph {

/// What groups need in memory, whatever their order.
struct Needs {
  std::vector<Space> spaces;  // by value; none: only in registers; bound: stored to memory of the user's
  Steps steps;                // the groups, and the values in the arena
};

/// Scratch is for a team of `threads`; results may stand where an operand of theirs stood if `in_place` and the kernel
/// allows it.
Needs find_needs(const Graph& graph, const std::vector<Group>& groups, bool in_place, int threads);

struct Placement {
  struct Place {
    Space space = Space::kNone;
    size_t offset = 0;
    int buffer = -1;  // of the arena
  };
  std::vector<Place> places;            // by value
  std::vector<size_t> scratch_offsets;  // by group, in the arena
  std::vector<Buffer> buffers;          // the values in the arena
  size_t arena_bytes = 0, live_peak = 0, output_bytes = 0;
  int in_place = 0;

  const Place& of(ValueId v) const { return places[static_cast<size_t>(v)]; }
};

/// Offsets for all values and for scratch if groups run in that order.
Placement place_values(const Graph& graph, const Needs& needs, std::span<const int> order);

}  // namespace ingot::graph
