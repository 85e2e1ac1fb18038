// Constants of a call, wherever it comes from: decoded once and kept, or by name now.
#pragma once
#include "ingot/ops/op.h"

namespace ingot {

/// What `decode` makes of the call's attributes: as `prepare` left it where there is a prepared call (kernels), decoded
/// now where there is none (shape rules, gradients, references).
template <auto decode>
auto decoded(const Call& call) {
  return call.prepared != nullptr ? call.params<decltype(decode(call))>() : decode(call);
}

}  // namespace ingot
