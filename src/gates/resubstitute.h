// Resubstitution: a gate is computed anew from signals that exist anyway, where its value counts.
#pragma once
#include <cstdint>
#include <vector>

#include "gates/network.h"

namespace ingot::gates {

struct ResubstituteOptions {
  bool dont_cares = true;  // replace gates by what differs only where no output sees it
  int64_t moves = 2000;    // gates that are tried
  uint64_t seed = 1;
  double* work =
      nullptr;  // how many more pairs of signals may be looked at; a question to the SAT solver counts for many
};

/// A network of at most as many gates, after random moves that never add one: gates are replaced by signals, and by one
/// or two new gates on signals, without changing an output.
Network resubstitute(const Network& network, const ResubstituteOptions& options);

}  // namespace ingot::gates
