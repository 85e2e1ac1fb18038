// Circuits made smaller, and proofs that two circuits compute the same.
//
//   gates::Simplified small = gates::simplify(life);            // every pass is proved
//   gates::Proof proof = gates::prove_equal(life, small.circuit);
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// What a proof found out about two circuits.
struct Proof {
  bool equal = false;
  bool decided = true;                    // false: it was given up, and they may be equal or not
  std::string method = {};                // "all 512 assignments of 9 inputs", "SAT, 812 queries"
  std::vector<bool> counterexample = {};  // inputs [inputs] that make an output differ; empty if equal
  double seconds = 0;
};

/// Asked now and then while a SAT solver works, with the outputs that are proved equal so far; false ends the proof
/// undecided.
using GoOn = std::function<bool(int64_t proved, int64_t outputs)>;

/// Are all outputs of `a` and `b` equal for every assignment of their inputs? All assignments are tried if the outputs
/// depend on up to 24 inputs through wires and the gates that they need, of both circuits together, times the
/// assignments are at most 1.28e11 (about a second; 7,629 gates at 24 inputs, 125,000,000 at 10). Else a SAT solver
/// decides.
INGOT_API Proof prove_equal(const Circuit& a, const Circuit& b, const GoOn& go_on = {});

/// Do two cell rules show the same visible channels at every step, whatever the start? Proved by the equality of all
/// channels that the visible ones of `a` depend on.
INGOT_API Proof prove_equal_visible(const Circuit& a, const Circuit& b, const GoOn& go_on = {});

/// The channels of a cell rule that its visible ones depend on, now or through later steps, in ascending order.
INGOT_API std::vector<int32_t> needed_channels(const Circuit& circuit);

/// The inputs that the outputs depend on through wires, in ascending order.
INGOT_API std::vector<uint32_t> support(const Circuit& circuit);

struct SimplifyOptions {
  bool dont_cares = true;       // replace gates by functions that differ only where no output can see it
  bool prove = true;            // prove every pass; an Error if one is wrong
  bool unused_channels = true;  // channels of a cell rule that never reach the visible ones keep their state
  int32_t rounds = 8;           // random orders in which gates are replaced; the best result counts; 0: replace none
  uint64_t seed = 1;            // of those orders
};

/// What one pass left.
struct PassResult {
  std::string pass;
  int64_t gates = 0;       // after it
  double seconds = 0;      // with its proof
  std::string proof = {};  // how it was proved equal to what was before; empty if it was not asked for
};

struct Simplified {
  Circuit circuit;
  std::vector<PassResult> passes;
};

/// A circuit with the same inputs and outputs and as few gates as its passes find. Negations are part of the gates'
/// functions: there is a gate "not" only where an output is a negated input, and a constant one only where an output is
/// constant.
INGOT_API Simplified simplify(const Circuit& circuit, const SimplifyOptions& options = {});

}  // namespace ingot::gates
