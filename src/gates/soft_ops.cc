// Networks of logic gates. A gate is w0 + w1·a + w2·b + w3·ab, the multilinear form that all sixteen functions of two
// bits and all their mixtures have; networks and automata are lists of such gates over numbered signals.
#include "gates/soft.h"

#include "ingot/gates/ops.h"
#include "ingot/gates/plumbing.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/own_op.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/plumbing.h"
#include "ingot/ops/samples.h"
#include "ingot/ops/staging.h"

namespace ingot::gates {
namespace {

using soft::CellField;
using soft::GateProgram;

constexpr const char* kFused = "it computes the signals again and keeps none of them; second derivatives are not there";

constexpr int64_t kMostSteps = 1 << 30;
constexpr int64_t kMostSignals = 1 << 24;  // places in a tile of 64 lanes are i32

// Inputs i and i + 1 are the coefficients [rows, 4] and the wires [gates, 3].
GateProgram program_of(const Call& call, int i, int64_t inputs, int64_t outputs) {
  return {.inputs = inputs, .gates = call.in(i + 1).size(0), .outputs = outputs, .rows = call.in(i).size(0)};
}

void require_program(const Call& call, int i, int64_t inputs, int64_t outputs) {
  require_same_type(call, 0, i);
  const Tensor &coefficients = call.in(i), &wires = call.in(i + 1);
  if (coefficients.rank() != 2 || coefficients.size(1) != 4)
    fail(call, "the coefficients are " + to_string(coefficients.shape()), "they must be [rows, 4]");
  if (wires.dtype() != kI32 || wires.rank() != 2 || wires.size(1) != 3)
    fail(call, "the wires are " + to_string(wires.shape()) + " of " + name(wires.dtype()),
         "they must be i32 [gates, 3]: two signals and a row of the coefficients");
  if (inputs + wires.size(0) > kMostSignals || coefficients.size(0) > kMostSignals)
    fail(call, std::to_string(inputs + wires.size(0)) + " signals",
         "a network has up to " + std::to_string(kMostSignals));
  if (outputs < 1 || outputs > wires.size(0))
    fail_argument(call, std::to_string(outputs) + " outputs of " + std::to_string(wires.size(0)) + " gates",
                  "the last gates are the outputs");
}

// Where gates add to the one before them: that one is read by nobody else, and outputs do not add.
void check_sums(const Call& call, const int32_t* w, int64_t s0, int64_t s1, int64_t gates, int64_t inputs,
                int64_t outputs) {
  const auto adds = [&](int64_t g) { return w[g * s0 + 2 * s1] < 0; };
  for (int64_t g = 0; g < gates; g++) {
    if (adds(g) && (g == 0 || g >= gates - outputs))
      fail_argument(call, "gate " + std::to_string(g) + " has a negative row: it would add to the gate before it",
                    g == 0 ? "there is none" : "outputs do not add");
    for (int64_t k = 0; k < 2; k++)
      if (const int64_t signal = w[g * s0 + k * s1]; signal >= inputs && adds(signal - inputs + 1))
        fail_argument(call, "gate " + std::to_string(g) + " reads signal " + std::to_string(signal),
                      "the gate behind that one adds to it, and nothing else may read it");
  }
}

// A gate reads signals before its own.
void check_wires(const Call& call, int i, int64_t inputs, int64_t outputs) {
  const Tensor& wires = call.in(i + 1);
  const int64_t rows = call.in(i).size(0), s0 = wires.strides()[0], s1 = wires.strides()[1], gates = wires.size(0);
  const auto* w = static_cast<const int32_t*>(wires.raw());
  bool sums = false;
  for (int64_t g = 0; g < gates; g++) {
    const int64_t a = w[g * s0], b = w[g * s0 + s1], own = w[g * s0 + 2 * s1], row = own < 0 ? -1 - own : own;
    if (a < 0 || b < 0 || a >= inputs + g || b >= inputs + g)
      fail_argument(call,
                    "gate " + std::to_string(g) + " reads signals " + std::to_string(a) + " and " + std::to_string(b),
                    "it may read those before its own, 0 to " + std::to_string(inputs + g - 1));
    if (row >= rows)
      fail_argument(call, "gate " + std::to_string(g) + " has row " + std::to_string(row),
                    "the coefficients have " + std::to_string(rows) + " rows");
    sums = sums || own < 0;
  }
  if (sums) check_sums(call, w, s0, s1, gates, inputs, outputs);
}

// Operands of other types, as with_staged() hands them on.
template <class T>
const int32_t* wires_in(const T* staged) {
  return reinterpret_cast<const int32_t*>(staged);
}
template <class T>
const uint8_t* fire_in(const T* staged) {
  return reinterpret_cast<const uint8_t*>(staged);
}

double cost_of(const GateProgram& p, int64_t lanes, bool backward) {
  return static_cast<double>(p.gates) * static_cast<double>(lanes) * (backward ? 0.6 : 0.2);
}

CellField field_of(const Tensor& state, int64_t steps, bool wrap) {
  const int r = state.rank();
  return {.steps = steps,
          .batch = state.size(r - 4),
          .channels = state.size(r - 3),
          .height = state.size(r - 2),
          .width = state.size(r - 1),
          .wrap = wrap};
}
CellField decode_automaton(const Call& call) { return field_of(call.in(0), call.integer("steps"), call.flag("wrap")); }
CellField decode_automaton_grad(const Call& call) {
  return field_of(call.in(0), call.in(0).size(0) - 1, call.flag("wrap"));
}
CellField field_forward(const Call& call) { return decoded<decode_automaton>(call); }
CellField field_back(const Call& call) { return decoded<decode_automaton_grad>(call); }

int64_t decode_outputs(const Call& call) { return call.integer("outputs"); }

void require_field(const Call& call, const CellField& f, int coefficients) {
  require_type(call, call.in(0).dtype());
  if (f.channels < 1 || f.height < 1 || f.width < 1)
    fail(call, "a state of " + to_string(call.in(0).shape()), "give at least one channel and one cell");
  require_program(call, coefficients, 9 * f.channels, f.channels);
  const int fire = coefficients + 2;
  if (!call.has(fire)) return;
  const Dims shape{f.steps, f.batch, f.height, f.width};
  if (call.in(fire).dtype() != kBool || !(call.in(fire).shape() == shape))
    fail(call, "fire is " + to_string(call.in(fire).shape()) + " of " + name(call.in(fire).dtype()),
         "it must be bool " + to_string(shape));
}

// The plain loops, in f64, one sample or cell at a time.
using Values = std::vector<double>;
Values values_of(const Tensor& t) {
  Values all;
  for_each_index(t.shape(), [&](const Dims& i) { all.push_back(load_as_double(element_at(t, i), t.dtype())); });
  return all;
}
void store(const Tensor& t, const Values& all) {
  size_t k = 0;
  for_each_index(t.shape(), [&](const Dims& i) { store_from_double(element_at(t, i), t.dtype(), all[k++]); });
}

struct PlainProgram {
  Values coefficients, wires;
  size_t inputs, outputs;
  PlainProgram(const Call& call, int i, int64_t in, int64_t out)
      : coefficients(values_of(call.in(i))),
        wires(values_of(call.in(i + 1))),
        inputs(static_cast<size_t>(in)),
        outputs(static_cast<size_t>(out)) {}
  size_t gates() const { return wires.size() / 3; }
  size_t wire(size_t gate, size_t k) const { return static_cast<size_t>(wires[3 * gate + k]); }
  bool adds(size_t gate) const { return wires[3 * gate + 2] < 0; }
  size_t row(size_t gate) const { return adds(gate) ? static_cast<size_t>(-1 - wires[3 * gate + 2]) : wire(gate, 2); }

  // Appends the gates' results to the inputs.
  void forward(Values& signals) const {
    for (size_t g = 0; g < gates(); g++) {
      const double a = signals[wire(g, 0)], b = signals[wire(g, 1)], *w = &coefficients[4 * row(g)];
      signals.push_back(adds(g) ? signals.back() + w[1] * a + w[2] * b : (w[0] + w[1] * a) + b * (w[2] + w[3] * a));
    }
  }
  // From gradients by all signals (zero but for the outputs) to those by the inputs; adds to the coefficients'. A gate
  // that no output depends on has none, whatever its values.
  void backward(const Values& signals, Values& d, Values& dcoefficients) const {
    std::vector<bool> used(signals.size());
    std::fill(used.end() - static_cast<int64_t>(outputs), used.end(), true);
    for (size_t g = gates(); g-- > 0;) {
      if (!used[inputs + g]) continue;
      used[wire(g, 0)] = used[wire(g, 1)] = true;
      const double a = signals[wire(g, 0)], b = signals[wire(g, 1)], *w = &coefficients[4 * row(g)];
      const double dy = d[inputs + g], both = adds(g) ? 0 : 1;  // does it know 1 and ab?
      const double by[4] = {both * dy, dy * a, dy * b, both * dy * a * b};
      for (size_t k = 0; k < 4; k++) dcoefficients[4 * row(g) + k] += by[k];
      if (adds(g)) d[inputs + g - 1] += dy, used[inputs + g - 1] = true;
      d[wire(g, 0)] += dy * (w[1] + both * w[3] * b);
      d[wire(g, 1)] += dy * (w[2] + both * w[3] * a);
    }
  }
};

void reference_network(const Call& call, const Tensor* out) {
  const int64_t batch = out->size(0), in = call.in(0).size(1), outputs = out->size(1);
  const PlainProgram program(call, 1, in, outputs);
  const Values x = values_of(call.in(0));
  Values y;
  for (int64_t r = 0; r < batch; r++) {
    Values signals(x.begin() + r * in, x.begin() + (r + 1) * in);
    program.forward(signals);
    y.insert(y.end(), signals.end() - outputs, signals.end());
  }
  store(*out, y);
}

void reference_network_grad(const Call& call, const Tensor* out) {
  const int64_t batch = call.in(1).size(0), in = call.in(1).size(1), outputs = call.in(0).size(1);
  const PlainProgram program(call, 2, in, outputs);
  const Values dy = values_of(call.in(0)), x = values_of(call.in(1));
  Values dx, dcoefficients(program.coefficients.size());
  for (int64_t r = 0; r < batch; r++) {
    Values signals(x.begin() + r * in, x.begin() + (r + 1) * in);
    program.forward(signals);
    Values d(signals.size());
    std::copy(dy.begin() + r * outputs, dy.begin() + (r + 1) * outputs, d.end() - outputs);
    program.backward(signals, d, dcoefficients);
    dx.insert(dx.end(), d.begin(), d.begin() + in);
  }
  store(out[0], dx);
  store(out[1], dcoefficients);
}

// Where the neighbourhood of a cell lies in a state: the place of every input, or -1 beyond a border.
std::vector<int64_t> around(const CellField& f, int64_t b, int64_t y, int64_t x) {
  std::vector<int64_t> places;
  for (int64_t c = 0; c < f.channels; c++)
    for (int64_t dy = -1; dy <= 1; dy++)
      for (int64_t dx = -1; dx <= 1; dx++) {
        int64_t row = y + dy, column = x + dx;
        if (f.wrap) row = (row + f.height) % f.height, column = (column + f.width) % f.width;
        const bool inside = row >= 0 && row < f.height && column >= 0 && column < f.width;
        places.push_back(inside ? ((b * f.channels + c) * f.height + row) * f.width + column : -1);
      }
  return places;
}

// Calls f(places of the inputs, place of the cell in a mask) for every cell.
template <class F>
void for_each_cell(const CellField& f, F call) {
  for (int64_t b = 0; b < f.batch; b++)
    for (int64_t y = 0; y < f.height; y++)
      for (int64_t x = 0; x < f.width; x++) call(around(f, b, y, x), (b * f.height + y) * f.width + x);
}

Values inputs_at(const Values& states, int64_t first, const std::vector<int64_t>& places) {
  Values in;
  for (const int64_t p : places) in.push_back(p < 0 ? 0 : states[static_cast<size_t>(first + p)]);
  return in;
}

void reference_automaton(const Call& call, const Tensor* out) {
  const CellField f = field_forward(call);
  const PlainProgram program(call, 1, 9 * f.channels, f.channels);
  const Values fire = call.has(3) ? values_of(call.in(3)) : Values();
  Values states = values_of(call.in(0));
  for (int64_t s = 0; s < f.steps; s++) {
    states.resize(states.size() + static_cast<size_t>(f.elements()));
    for_each_cell(f, [&](const std::vector<int64_t>& places, int64_t cell) {
      Values signals = inputs_at(states, s * f.elements(), places);
      program.forward(signals);
      const bool fires = fire.empty() || fire[static_cast<size_t>(s * f.cells() + cell)] != 0;
      for (int64_t c = 0; c < f.channels; c++) {
        const auto at = static_cast<size_t>(s * f.elements() + places[static_cast<size_t>(9 * c + 4)]);
        const double next = *(signals.end() - f.channels + c);
        states[at + static_cast<size_t>(f.elements())] = fires ? next : states[at];
      }
    });
  }
  store(*out, states);
}

void reference_automaton_grad(const Call& call, const Tensor* out) {
  const CellField f = field_back(call);
  const PlainProgram program(call, 2, 9 * f.channels, f.channels);
  const Values states = values_of(call.in(1)), fire = call.has(4) ? values_of(call.in(4)) : Values();
  Values dstates = values_of(call.in(0)), dcoefficients(program.coefficients.size());
  for (int64_t s = f.steps - 1; s >= 0; s--)
    for_each_cell(f, [&](const std::vector<int64_t>& places, int64_t cell) {
      const int64_t first = s * f.elements();
      Values signals = inputs_at(states, first, places);
      program.forward(signals);
      Values d(signals.size());
      const bool fires = fire.empty() || fire[static_cast<size_t>(s * f.cells() + cell)] != 0;
      for (int64_t c = 0; c < f.channels; c++) {
        const auto at = static_cast<size_t>(first + places[static_cast<size_t>(9 * c + 4)]);
        const double dafter = dstates[at + static_cast<size_t>(f.elements())];
        (fires ? *(d.end() - f.channels + c) : dstates[at]) += dafter;
      }
      program.backward(signals, d, dcoefficients);
      for (size_t k = 0; k < places.size(); k++)
        if (places[k] >= 0) dstates[static_cast<size_t>(first + places[k])] += d[k];
    });
  dstates.resize(static_cast<size_t>(f.elements()));
  store(out[0], dstates);
  store(out[1], dcoefficients);
}

// A gate reads two signals before its own. There are as many rows as signals, so that wires stay right when a layout
// repeats them along an axis.
Tensor sample_wires(Samples& s, int64_t inputs, int64_t gates) {
  const int64_t rows = inputs + gates;
  const Tensor draws = s.indices({gates, 3}, 0, 1 << 30);
  Tensor wires = Tensor::empty({gates, 3}, kI32);
  auto* w = wires.data<int32_t>();
  for (int64_t g = 0; g < gates; g++)
    for (int64_t k = 0; k < 3; k++)
      w[3 * g + k] = static_cast<int32_t>(draws.data<int64_t>()[3 * g + k] % (k < 2 ? inputs + g : rows));
  return wires;
}

struct NetworkSize {
  int64_t batch, inputs, gates, outputs;
  int64_t rows() const { return inputs + gates; }
};
constexpr NetworkSize kNetworks[] = {{1, 1, 1, 1}, {3, 5, 12, 4}, {70, 9, 40, 7}, {0, 4, 6, 2}, {130, 3, 5, 5}};

struct FieldSize {
  int64_t steps, batch, channels, height, width, gates;
  bool wrap, fire;
};
constexpr FieldSize kFields[] = {{1, 1, 1, 1, 1, 3, true, false},   {2, 2, 1, 3, 3, 12, true, false},
                                 {3, 1, 2, 4, 5, 20, false, true},  {2, 3, 2, 5, 3, 15, true, true},
                                 {1, 1, 1, 2, 70, 8, false, false}, {0, 1, 1, 3, 2, 4, false, false},
                                 {2, 0, 1, 3, 2, 4, true, true}};

}  // namespace

INGOT_OP(gate_network) = {
    .name = "gate_network",
    .signature = "gate_network(x, coefficients, wires, outputs:int)",
    .doc =
        "Soft logic gates: x [batch, in] are the first signals, gate g reads signals wires[g, 0] and wires[g, 1] "
        "before "
        "its own, in + g, and gives w0 + w1·a + w2·b + w3·ab with row wires[g, 2] of the coefficients [rows, 4]; one "
        "whose row is -1 - r adds w1·a + w2·b of row r to the result of the gate before it, which nobody else reads; "
        "to "
        "the last `outputs` gates' results, [batch, outputs].",
    .family = "gates",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 2, "[batch, in]");
          require_program(call, 1, call.in(0).size(1), call.integer("outputs"));
          out.add(call.in(0).dtype(), {call.in(0).size(0), call.integer("outputs")});
        },
    .prepare = prepared<decode_outputs>,
    .check = [](const Call& call) { check_wires(call, 1, call.in(0).size(1), call.params<int64_t>()); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            GateProgram p = program_of(call, 1, call.in(0).size(1), out->size(1));
            p.wires = wires_in(in[2]);
            soft::gate_network(soft::GateNetwork<T>{p, out->size(0), in[0], in[1], to[0]}, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          const GateProgram p = program_of(call, 1, call.in(0).size(1), out->size(1));
          return staged_bytes(call, out) +
                 soft::gate_network_scratch(p, out->size(0), false, size_of(out->dtype()), team);
        },
    .reference = reference_network,
    .cost =
        [](const Call& call) { return cost_of(program_of(call, 1, call.in(0).size(1), 1), call.in(0).size(0), false); },
    .gradient =
        [](Gradient& g) {
          const auto [dx, dcoefficients] = gate_network_grad(g.dy(), g.in(0), g.in(1), g.in(2));
          g.set(0, dx);
          g.set(1, dcoefficients);
        },
    .samples =
        [](Samples& s) {
          for (const NetworkSize& n : kNetworks)
            s.add({s.real({n.batch, n.inputs}), s.real({n.rows(), 4}), sample_wires(s, n.inputs, n.gates)},
                  Attrs().set("outputs", n.outputs));
        },
    .low = 0,
    .high = 0.6,
    .multiplies_padding = true,
};

INGOT_OP(gate_network_grad) = {
    .name = "gate_network_grad",
    .signature = "gate_network_grad(dy, x, coefficients, wires) -> dx, dcoefficients",
    .doc = "Gradients of gate_network by x and by the coefficients.",
    .family = "gates",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 2, "[batch, outputs]");
          require_rank(call, 1, 2, "[batch, in]");
          require_same_type(call, 0, 1);
          require_program(call, 2, call.in(1).size(1), call.in(0).size(1));
          if (call.in(0).size(0) != call.in(1).size(0)) fail(call, "dy and x differ in their batch", "give one batch");
          out.add(call.in(1).dtype(), call.in(1).shape());
          out.add(call.in(1).dtype(), call.in(2).shape());
        },
    .check = [](const Call& call) { check_wires(call, 2, call.in(1).size(1), call.in(0).size(1)); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            GateProgram p = program_of(call, 2, call.in(1).size(1), call.in(0).size(1));
            p.wires = wires_in(in[3]);
            const soft::GateNetworkGrad<T> n{p, call.in(1).size(0), in[0], in[1], in[2], to[0], to[1]};
            soft::gate_network_grad(n, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          const GateProgram p = program_of(call, 2, call.in(1).size(1), call.in(0).size(1));
          return staged_bytes(call, out) +
                 soft::gate_network_scratch(p, call.in(1).size(0), true, size_of(out->dtype()), team);
        },
    .reference = reference_network_grad,
    .cost =
        [](const Call& call) { return cost_of(program_of(call, 2, call.in(1).size(1), 1), call.in(1).size(0), true); },
    .not_differentiable = kFused,
    .samples =
        [](Samples& s) {
          for (const NetworkSize& n : kNetworks)
            s.add({s.real({n.batch, n.outputs}), s.real({n.batch, n.inputs}), s.real({n.rows(), 4}),
                   sample_wires(s, n.inputs, n.gates)});
        },
    .low = 0,
    .high = 0.6,
    .multiplies_padding = true,
};

INGOT_OP(gate_automaton) = {
    .name = "gate_automaton",
    .signature = "gate_automaton(state, coefficients, wires, fire?, steps:int=1, wrap:bool=true) -> states",
    .doc =
        "A cellular automaton whose rule is a gate_network: its inputs are the 3×3 neighbourhood of every channel of "
        "state [batch, channels, height, width] (input 9·channel + 3·row + column), its outputs the next channels; "
        "fire "
        "(bool [steps, batch, height, width]) names the cells that take their next state, all if there is none; beyond "
        "the border the grid goes on at its other side (`wrap`) or is zero; to all states [steps + 1, batch, channels, "
        "height, width].",
    .family = "gates",
    .infer =
        [](const Call& call, Specs& out) {
          require_rank(call, 0, 4, "[batch, channels, height, width]");
          if (const int64_t steps = call.integer("steps"); steps < 0 || steps > kMostSteps)
            fail_argument(call, std::to_string(steps) + " steps", "give 0 to " + std::to_string(kMostSteps));
          const CellField f = field_forward(call);
          require_field(call, f, 1);
          const Dims shape{f.steps + 1, f.batch, f.channels, f.height, f.width};
          element_count(shape);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode_automaton>,
    .check = [](const Call& call) { check_wires(call, 1, 9 * call.in(0).size(1), call.in(0).size(1)); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const CellField f = field_forward(call);
            GateProgram p = program_of(call, 1, 9 * f.channels, f.channels);
            p.wires = wires_in(in[2]);
            soft::gate_automaton(soft::GateAutomaton<T>{p, f, in[0], in[1], fire_in(in[3]), to[0]}, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          const CellField f = field_forward(call);
          const GateProgram p = program_of(call, 1, 9 * f.channels, f.channels);
          return staged_bytes(call, out) + soft::gate_automaton_scratch(p, f, false, size_of(out->dtype()), team);
        },
    .reference = reference_automaton,
    .cost =
        [](const Call& call) {
          const CellField f = field_forward(call);
          return cost_of(program_of(call, 1, 9 * f.channels, 1), f.cells() * f.steps, false);
        },
    .gradient =
        [](Gradient& g) {
          const bool fire = g.call().has(3);
          const auto [dstate, dcoefficients] =
              gate_automaton_grad(g.dy(), g.out(), g.in(1), g.in(2), fire ? g.in(3) : Tensor(), g.call().flag("wrap"));
          g.set(0, dstate);
          g.set(1, dcoefficients);
        },
    .samples =
        [](Samples& s) {
          for (const FieldSize& f : kFields)
            s.add({s.real({f.batch, f.channels, f.height, f.width}), s.real({9 * f.channels + f.gates, 4}, 0, 0.4),
                   sample_wires(s, 9 * f.channels, f.gates),
                   f.fire ? s.mask({f.steps, f.batch, f.height, f.width}) : Tensor()},
                  Attrs().set("steps", f.steps).set("wrap", f.wrap));
        },
    .low = 0,
    .high = 1,
    .multiplies_padding = true,
};

INGOT_OP(gate_automaton_grad) = {
    .name = "gate_automaton_grad",
    .signature =
        "gate_automaton_grad(dstates, states, coefficients, wires, fire?, wrap:bool=true) -> dstate, dcoefficients",
    .doc =
        "Gradients of gate_automaton by the first state and by the coefficients, from all states and their gradients.",
    .family = "gates",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_rank(call, 0, 5, "[steps + 1, batch, channels, height, width]");
          require_same_type(call, 0, 1);
          if (!(call.in(0).shape() == call.in(1).shape()) || call.in(0).size(0) < 1)
            fail(call, "states and their gradients differ", "give the result of gate_automaton and its gradient");
          const CellField f = field_back(call);
          require_field(call, f, 2);
          out.add(call.in(0).dtype(), {f.batch, f.channels, f.height, f.width});
          out.add(call.in(0).dtype(), call.in(2).shape());
        },
    .prepare = prepared<decode_automaton_grad>,
    .check = [](const Call& call) { check_wires(call, 2, 9 * call.in(0).size(2), call.in(0).size(2)); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const CellField f = field_back(call);
            GateProgram p = program_of(call, 2, 9 * f.channels, f.channels);
            p.wires = wires_in(in[3]);
            const soft::GateAutomatonGrad<T> a{p, f, in[0], in[1], in[2], fire_in(in[4]), to[0], to[1]};
            soft::gate_automaton_grad(a, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          const CellField f = field_back(call);
          const GateProgram p = program_of(call, 2, 9 * f.channels, f.channels);
          return staged_bytes(call, out) + soft::gate_automaton_scratch(p, f, true, size_of(out->dtype()), team);
        },
    .reference = reference_automaton_grad,
    .cost =
        [](const Call& call) {
          const CellField f = field_back(call);
          return cost_of(program_of(call, 2, 9 * f.channels, 1), f.cells() * f.steps, true);
        },
    .not_differentiable = kFused,
    .samples =
        [](Samples& s) {
          for (const FieldSize& f : kFields) {
            const Dims states{f.steps + 1, f.batch, f.channels, f.height, f.width};
            s.add({s.real(states), s.real(states), s.real({9 * f.channels + f.gates, 4}, 0, 0.4),
                   sample_wires(s, 9 * f.channels, f.gates),
                   f.fire ? s.mask({f.steps, f.batch, f.height, f.width}) : Tensor()},
                  Attrs().set("wrap", f.wrap));
          }
        },
    .low = 0,
    .high = 1,
    .multiplies_padding = true,
};

}  // namespace ingot::gates
