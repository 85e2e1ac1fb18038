#include "gates/program.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ingot/base/error.h"

namespace ingot::gates {

int32_t Program::add(int32_t a, int32_t b, int32_t row) {
  wires_.insert(wires_.end(), {a, b, row});
  return static_cast<int32_t>(inputs_) + static_cast<int32_t>(wires_.size() / 3) - 1;
}

std::vector<int32_t> Program::add_layer(const std::vector<int32_t>& signals, const Wires& wires, int32_t row,
                                        bool keep_order) {
  std::vector<size_t> order(static_cast<size_t>(wires.size()));
  std::iota(order.begin(), order.end(), size_t{0});
  const auto a = [&](size_t g) { return signals[static_cast<size_t>(wires.a[g])]; };
  const auto b = [&](size_t g) { return signals[static_cast<size_t>(wires.b[g])]; };
  if (!keep_order)
    std::sort(order.begin(), order.end(),
              [&](size_t g, size_t h) { return std::tuple(a(g), b(g), g) < std::tuple(a(h), b(h), h); });
  std::vector<int32_t> results(order.size());
  for (const size_t g : order) results[g] = add(a(g), b(g), row + static_cast<int32_t>(g));
  return results;
}

Tensor Program::wires() const { return Tensor::from(wires_, {static_cast<int64_t>(wires_.size() / 3), 3}); }

Circuit circuit_of(int64_t inputs, const Tensor& wires, const std::vector<Function>& functions, int64_t outputs) {
  Circuit circuit;
  circuit.inputs = static_cast<uint32_t>(inputs);
  const int32_t* wire = wires.data<int32_t>();
  for (int64_t g = 0; g < wires.size(0); g++, wire += 3) {
    // Wires may come from a file: whoever loads one need not have run the network before.
    if (std::min(wire[0], wire[1]) < 0 || wire[2] < 0 || wire[2] >= std::ssize(functions))
      throw Error("circuit: the wires of gate " + std::to_string(g) + " are none — they came from a broken file");
    circuit.gates.push_back(
        {functions[static_cast<size_t>(wire[2])], static_cast<uint32_t>(wire[0]), static_cast<uint32_t>(wire[1])});
  }
  for (int64_t o = outputs; o > 0; o--) circuit.outputs.push_back(circuit.signals() - static_cast<uint32_t>(o));
  check(circuit);
  return circuit;
}

}  // namespace ingot::gates
