#include "ingot/gates/circuit_io.h"

#include "fuzz.h"

// What is read can be written, and read again as the same.
INGOT_FUZZ(const ingot::gates::Circuit c = ingot::gates::parse_circuit(b);
           const std::string again = ingot::gates::to_json(c);
           if (ingot::gates::parse_circuit(std::as_bytes(std::span(again))).gates != c.gates) std::abort())
