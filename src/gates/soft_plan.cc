#include "gates/soft_plan.h"

namespace ingot::gates::soft {
namespace {

// Rows of memory that are taken and given back; the last one given is the next one taken, while it is still near.
class Rows {
 public:
  Rows(int32_t first, int32_t* freed) : next_(first), freed_(freed) {}
  int32_t take() { return count_ > 0 ? freed_[--count_] : next_++; }
  void give(int32_t row) { freed_[count_++] = row; }

 private:
  int32_t next_, count_ = 0;
  int32_t* freed_;
};

constexpr int32_t kNone = -1;

int32_t coefficients_of(const GateProgram& p, int64_t gate) {
  const int32_t place = p.row(gate) * 4;
  return p.adds(gate) ? -1 - place : place;
}

size_t common_scratch(const GateProgram& p, const Tiling& tiling, bool backward, size_t element_size, int team) {
  Pieces pieces(nullptr);
  const int64_t signals = p.inputs + p.gates;
  pieces.take_bytes(1, sizeof(int64_t));
  pieces.take_bytes(signals * tiling.tile * team, element_size);
  pieces.take_bytes(p.gates, sizeof(GateStep));
  pieces.take_bytes(2 * signals, sizeof(int32_t));
  pieces.take_bytes(signals, sizeof(int32_t));
  if (!backward) return pieces.used();
  pieces.take_bytes((signals + 1) * tiling.tile * team, element_size);
  pieces.take_bytes(p.gates, sizeof(GateBack));
  pieces.take_bytes(tiling.groups * p.gates * 4, element_size);
  return pieces.used();
}

}  // namespace

void plan_forward(const GateProgram& p, int32_t tile, GateStep* steps, int32_t* row_of) {
  const auto inputs = static_cast<int32_t>(p.inputs);
  for (int32_t k = 0; k < inputs; ++k) row_of[k] = k;
  int32_t rows = inputs;
  for (int64_t i = 0; i < p.gates; ++i) {
    const int32_t* wire = p.wires + 3 * i;
    const int32_t result = p.adds(i) ? rows - 1 : rows++;
    row_of[inputs + i] = result;
    steps[i] = {row_of[wire[0]] * tile, row_of[wire[1]] * tile, coefficients_of(p, i), result * tile};
  }
}

int64_t plan_forward_only(const GateProgram& p, int32_t tile, GateStep* steps, int32_t* row_of, int32_t* freed) {
  const auto inputs = static_cast<int32_t>(p.inputs), outputs = static_cast<int32_t>(p.outputs);
  const auto gates = static_cast<int32_t>(p.gates);
  int32_t* last_use = row_of + inputs + gates;  // the gate behind which a signal's row is free; kNone: nobody reads it
  std::fill(last_use, last_use + inputs + gates, kNone);
  std::fill(last_use + inputs + gates - outputs, last_use + inputs + gates, gates);
  for (int32_t i = gates - 1; i >= 0; --i) {
    if (last_use[inputs + i] == kNone) continue;
    for (int k = 0; k < 2; ++k) {
      int32_t& use = last_use[p.wires[3 * static_cast<int64_t>(i) + k]];
      if (use == kNone) use = i;
    }
    if (p.adds(i)) last_use[inputs + i - 1] = i;
  }
  Rows rows(inputs + outputs, freed);
  int64_t count = 0;
  for (int32_t i = 0; i < gates; ++i) {
    const int32_t* wire = p.wires + 3 * static_cast<int64_t>(i);
    if (last_use[inputs + i] == kNone) continue;
    GateStep& step = steps[count++];
    int32_t place[2];
    for (int k = 0; k < 2; ++k) place[k] = wire[k] < inputs ? wire[k] : row_of[wire[k]];
    const bool output = i >= gates - outputs;
    const int32_t result = output ? inputs + i - (gates - outputs) : p.adds(i) ? row_of[inputs + i - 1] : rows.take();
    step = {place[0] * tile, place[1] * tile, coefficients_of(p, i), result * tile};
    row_of[inputs + i] = result;
    for (int k = 0; k < 2; ++k) {
      const bool own = wire[k] >= inputs && wire[k] < inputs + gates - outputs && !(k == 1 && wire[0] == wire[1]);
      if (own && last_use[wire[k]] == i) rows.give(place[k]);
    }
  }
  return count;
}

int64_t plan_backward(const GateProgram& p, int32_t tile, const GateStep* steps, GateBack* back, int32_t* row_of,
                      int32_t* freed) {
  const auto inputs = static_cast<int32_t>(p.inputs), gates = static_cast<int32_t>(p.gates);
  const auto outputs = static_cast<int32_t>(p.outputs), zeros = inputs + outputs;
  std::fill(row_of, row_of + inputs + gates, kNone);
  for (int32_t o = 0; o < outputs; ++o) row_of[inputs + gates - outputs + o] = inputs + o;
  Rows rows(zeros + 1, freed);
  int64_t count = 0;
  for (int32_t i = gates - 1; i >= 0; --i) {
    const int32_t* wire = p.wires + 3 * static_cast<int64_t>(i);
    const int32_t result = row_of[inputs + i];
    if (result == kNone) continue;
    GateBack& gate = back[count++];
    gate = {steps[i].a, steps[i].b, steps[i].coefficients, result * tile, 0, 0, 0, 0};
    const auto place = [&](int32_t signal, int32_t& from, int32_t& to) {
      int32_t& row = row_of[signal];
      from = (row == kNone ? zeros : row) * tile;
      if (row == kNone) row = signal < inputs ? signal : rows.take();
      to = row * tile;
    };
    place(wire[0], gate.from_a, gate.to_a);
    place(wire[1], gate.from_b, gate.to_b);
    if (p.adds(i))
      row_of[inputs + i - 1] = result;  // the gradient by a sum is that by its terms
    else
      rows.give(result);
  }
  return count;
}

size_t gate_network_scratch(const GateProgram& p, int64_t batch, bool backward, size_t element_size, int team) {
  return common_scratch(p, Tiling(p, batch, backward, element_size), backward, element_size, team);
}

size_t gate_automaton_scratch(const GateProgram& p, const CellField& f, bool backward, size_t element_size, int team) {
  const Tiling tiling(p, f.cells(), backward, element_size);
  Pieces pieces(nullptr);
  if (backward) pieces.take_bytes(9 * f.channels * tiling.padded(), element_size);
  return pieces.used() + common_scratch(p, tiling, backward, element_size, team);
}

}  // namespace ingot::gates::soft
