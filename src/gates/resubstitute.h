// Resubstitution: a gate is computed anew from signals that exist anyway, where its value counts.
#pragma once
#include <cstdint>
#include <vector>

#include "gates/network.h"

namespace ingot::gates {

struct ResubstituteOptions {
  bool dont_cares = true;
  int64_t moves = 2000;  // tries
  uint64_t seed = 1;
  double work = 1e9;  // pairs of signals looked at, in all
};

/// A network of at most as many gates, after many random moves that never add one: random gates are replaced by signals
/// and by one or two new gates on signals, without changing an output.
Network resubstitute(const Network& network, const ResubstituteOptions& options);

}  // namespace ingot::gates
