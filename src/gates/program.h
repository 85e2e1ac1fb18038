// Wires as gate ops take them: a list of gates over numbered signals.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/base/tensor.h"
#include "ingot/gates/circuit.h"
#include "ingot/gates/layers.h"

namespace ingot::gates {

/// Gates over signals: the inputs first, then every gate's result.
class Program {
 public:
  explicit Program(int64_t inputs) : inputs_(inputs) {}
  /// Adds a gate that reads two signals and has a row of the parameters; its own signal.
  int32_t add(int32_t a, int32_t b, int32_t row);
  /// Adds a layer on some signals, whose rows follow each other from `row` on; its signals, in the order of the wires.
  /// Gates are put down in the order of what they read, so that a signal that is read again is still near; not so where
  /// their own order counts (`keep_order`).
  std::vector<int32_t> add_layer(const std::vector<int32_t>& signals, const Wires& wires, int32_t row, bool keep_order);
  int64_t inputs() const { return inputs_; }
  /// i32 [gates, 3]: two signals and a row.
  Tensor wires() const;

 private:
  int64_t inputs_;
  std::vector<int32_t> wires_;
};

/// The circuit of these wires when row r has functions[r]; the last gates are the outputs.
Circuit circuit_of(int64_t inputs, const Tensor& wires, const std::vector<Function>& functions, int64_t outputs);

}  // namespace ingot::gates
