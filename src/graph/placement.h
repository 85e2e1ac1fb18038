// Which values need memory, from when to when, and where each gets it.
#pragma once
#include <vector>

#include "graph/fuse.h"
#include "graph/graph.h"
#include "graph/program.h"

namespace ingot::graph {

/// Where the elements of a root value are.
struct Place {
  Space space = Space::kNone;  // none: only in registers; bound: stored to memory of the user's
  size_t bytes = 0, offset = 0;
  int first = -1, last = -1;  // groups, both included
  ValueId shares = -1;        // a value whose memory it takes over
  int buffer = -1;            // of the arena
};

struct Placement {
  struct Scratch {
    size_t offset = 0, bytes = 0;
  };
  std::vector<Place> places;     // by value
  std::vector<Scratch> scratch;  // by group, in the arena
  std::vector<Buffer> buffers;   // the values in the arena
  size_t arena_bytes = 0, live_peak = 0, output_bytes = 0;
  int in_place = 0;

  const Place& of(ValueId v) const { return places[static_cast<size_t>(v)]; }
};

/// Offsets for all values of the groups and for the scratch of a team of `threads`; results stand where an operand of
/// theirs stood if `in_place` and the kernel allows it.
Placement place_values(const Graph& graph, const std::vector<Group>& groups, bool in_place, int threads);

}  // namespace ingot::graph
