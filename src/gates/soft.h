// Networks of soft logic gates, w0 + w1·a + w2·b + w3·ab each, and cellular automata whose rule is one. Gates are the
// outer loop and samples (or cells) the lanes: a tile of lanes keeps all its signals in a near cache, and on the way
// back they are computed again, so nothing but the operands is ever stored. f32 and f64; all operands contiguous.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::gates::soft {

/// Signal k is input k, or for k ≥ inputs the result of gate k - inputs. The last gates are the outputs. A gate of the
/// row -1 - r adds w1·a + w2·b to the result of the gate before it, which nobody else reads; it is no output.
struct GateProgram {
  int64_t inputs = 0, gates = 0, outputs = 0;
  int64_t rows = 0;                // of the coefficients, which gates may share
  const int32_t* wires = nullptr;  // [gates][3]: two signals before the gate's own, and its row
  bool adds(int64_t gate) const { return wires[3 * gate + 2] < 0; }
  int32_t row(int64_t gate) const { return adds(gate) ? -1 - wires[3 * gate + 2] : wires[3 * gate + 2]; }
};

template <class T>
struct GateNetwork {
  GateProgram program;
  int64_t batch;
  const T *x, *coefficients;  // [batch, inputs], [rows, 4]
  T* y;                       // [batch, outputs]
};

template <class T>
struct GateNetworkGrad {
  GateProgram program;
  int64_t batch;
  const T *dy, *x, *coefficients;
  T *dx, *dcoefficients;
};

/// A field of cells: [batch, channels, height, width] states. The program's inputs are the 3×3 neighbourhood of every
/// channel, its outputs the channels.
struct CellField {
  int64_t steps = 0, batch = 0, channels = 0, height = 0, width = 0;
  bool wrap = true;
  int64_t cells() const { return batch * height * width; }
  int64_t elements() const { return cells() * channels; }
};

template <class T>
struct GateAutomaton {
  GateProgram program;
  CellField field;
  const T *state, *coefficients;
  const uint8_t* fire;  // [steps, batch, height, width]: the cells that take their next state; null: all
  T* states;            // [steps + 1, batch, channels, height, width]
};

template <class T>
struct GateAutomatonGrad {
  GateProgram program;
  CellField field;
  const T *dstates, *states, *coefficients;
  const uint8_t* fire;
  T *dstate, *dcoefficients;
};

/// Bytes of scratch (64-byte aligned), for a team of so many.
size_t gate_network_scratch(const GateProgram& p, int64_t batch, bool backward, size_t element_size, int team);
size_t gate_automaton_scratch(const GateProgram& p, const CellField& f, bool backward, size_t element_size, int team);

template <class T>
void gate_network(const GateNetwork<T>& n, void* scratch, const Team& team);
template <class T>
void gate_network_grad(const GateNetworkGrad<T>& n, void* scratch, const Team& team);
template <class T>
void gate_automaton(const GateAutomaton<T>& a, void* scratch, const Team& team);
template <class T>
void gate_automaton_grad(const GateAutomatonGrad<T>& a, void* scratch, const Team& team);

}  // namespace ingot::gates::soft
