// Cellular automata whose rule is a network of gates.
#include <algorithm>
#include <numeric>

#include "gates/program.h"
#include "ingot/base/error.h"
#include "ingot/gates/layers.h"
#include "ingot/gates/ops.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

const AutomatonOptions& checked(const AutomatonOptions& o) {
  const auto fail = [](const std::string& what, const std::string& hint) {
    throw Error("Automaton: " + what + " — " + hint);
  };
  for (const int64_t n : {o.channels, o.kernels, o.steps})
    if (n < 1) fail("size " + std::to_string(n), "channels, kernels and steps are 1 or more");
  if (o.perception.empty() || o.perception[0] != 8)
    fail("perception kernels must begin with eight gates", "one for each neighbour");
  if (o.update.empty() || o.update.back() != o.channels)
    fail("the update network must end with a gate per channel", "make its last width " + std::to_string(o.channels));
  if (!(o.fire_rate > 0 && o.fire_rate <= 1))
    fail("fire_rate = " + std::to_string(o.fire_rate), "it is a probability above 0");
  if (o.visible < 1 || o.visible > o.channels)
    fail(std::to_string(o.visible) + " visible channels of " + std::to_string(o.channels), "show at least one");
  return o;
}

int64_t gates_in(const AutomatonOptions& o) {
  const int64_t kernel = std::accumulate(o.perception.begin(), o.perception.end(), int64_t{0});
  return o.kernels * kernel + std::accumulate(o.update.begin(), o.update.end(), int64_t{0});
}

// The kernels on every channel. They share one wiring; each has parameters of its own, which all channels share. The
// results are the cell's own channels, then those of the kernels, ordered by channel, output and kernel.
std::vector<int32_t> add_perception(Program& program, const AutomatonOptions& o) {
  std::vector<Wires> layers{neighbour_wires(nn::next_key())};
  for (size_t l = 1; l < o.perception.size(); l++)
    layers.push_back(unique_wires(o.perception[l - 1], o.perception[l], nn::next_key()));
  const auto kernels = static_cast<size_t>(o.kernels), outputs = static_cast<size_t>(o.perception.back());
  std::vector<int32_t> seen;
  for (int32_t c = 0; c < o.channels; c++) seen.push_back(9 * c + 4);
  const size_t own = seen.size();
  seen.resize(own * (1 + outputs * kernels));
  for (size_t c = 0; c < own; c++) {
    std::vector<std::vector<int32_t>> signals(kernels, std::vector<int32_t>(9));
    for (auto& of_kernel : signals) std::iota(of_kernel.begin(), of_kernel.end(), static_cast<int32_t>(9 * c));
    int32_t row = 0;
    for (const Wires& layer : layers)
      for (auto& of_kernel : signals) {
        of_kernel = program.add_layer(of_kernel, layer, row, false);
        row += static_cast<int32_t>(layer.size());
      }
    for (size_t k = 0; k < kernels; k++)
      for (size_t out = 0; out < outputs; out++) seen[own + (c * outputs + out) * kernels + k] = signals[k][out];
  }
  return seen;
}

}  // namespace

Automaton::Automaton(const AutomatonOptions& options)
    : gates(gates_in(checked(options)), options.gates), options_(options) {
  Program program(9 * options.channels);
  std::vector<int32_t> signals = add_perception(program, options);
  auto row = static_cast<int32_t>(gates_in(options) -
                                  std::accumulate(options.update.begin(), options.update.end(), int64_t{0}));
  for (size_t l = 0; l < options.update.size(); l++) {
    const Wires layer = unique_wires(static_cast<int64_t>(signals.size()), options.update[l], nn::next_key());
    signals = program.add_layer(signals, layer, row, l + 1 == options.update.size());
    row += static_cast<int32_t>(layer.size());
  }
  wires_ = program.wires();
}

void Automaton::parts(nn::Parts& p) {
  p("gates", gates);
  p.buffer("wires", wires_);
}

Tensor Automaton::rollout(const Tensor& state, int64_t steps) {
  if (state.rank() != 4 || state.size(1) != options_.channels)
    throw Error(ErrorKind::kShape, "Automaton: a state of " + to_string(state.shape()) + " — it must be [batch, " +
                                       std::to_string(options_.channels) + ", height, width]");
  Tensor fire;
  if (options_.fire_rate < 1) {
    const nn::RandomSource source = nn::next_random();
    fire =
        bernoulli({steps, state.size(0), state.size(2), state.size(3)}, source.seed, options_.fire_rate, source.stream);
  }
  return gate_automaton(state, gates.coefficients(), wires_, fire, steps, options_.border == Border::kWrap);
}

Tensor Automaton::forward(const Tensor& state) { return select(rollout(state, options_.steps), 0, options_.steps); }

Circuit Automaton::circuit() const {
  Circuit circuit = circuit_of(9 * options_.channels, wires_, gates.functions(), options_.channels);
  circuit.cell = CellRule{.channels = static_cast<int32_t>(options_.channels),
                          .border = options_.border,
                          .fire_rate = options_.fire_rate,
                          .visible = static_cast<int32_t>(options_.visible),
                          .steps = static_cast<int32_t>(options_.steps)};
  return circuit;
}

}  // namespace ingot::gates
