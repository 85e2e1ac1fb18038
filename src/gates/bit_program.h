// A circuit as instructions of gates/bits.h.
#pragma once
#include <cstdint>
#include <vector>

#include "gates/bits.h"
#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// Operands are numbered: the inputs, the outputs, then slots for signals that are alive at the same time.
struct BitProgram {
  std::vector<BitCode> code;
  int64_t inputs = 0, outputs = 0, slots = 0;
  int64_t gates = 0;             // that are executed
  std::vector<bool> reads = {};  // is an input read at all?
};

/// With `keep_copies` every gate of the circuit is an instruction of its own; else copies, constants and dead gates go
/// away, and two or three gates become one instruction where nobody else reads what is between them.
BitProgram compile(const Circuit& circuit, bool keep_copies);

}  // namespace ingot::gates
