// Gates whose wires learn. A mixture of signals is a chain of gates: p0·x0 + p1·x1, and others that add two more each;
// one network of gates computes both, and in evaluation mode chains hand on the signal they chose.
#include <algorithm>
#include <map>

#include "gates/program.h"
#include "ingot/base/error.h"
#include "ingot/gates/layers.h"
#include "ingot/gates/ops.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

constexpr int64_t kMostCandidates = 1024;

[[noreturn]] void refuse(const std::string& what, const std::string& hint) {
  throw Error("LearnedNetwork: " + what + " — " + hint);
}

int64_t gates_in(int64_t in, const std::vector<int64_t>& widths, const Candidates& c) {
  if (c.count < 2 || c.count > kMostCandidates || c.count % 2 != 0)
    refuse(std::to_string(c.count) + " candidates for an end of a wire",
           "give an even number, 2 to " + std::to_string(kMostCandidates));
  if (widths.empty()) refuse("no layers", "give at least one");
  int64_t sum = 0, before = in;
  for (const int64_t width : widths) {
    if (width < 1 || before < c.count)
      refuse("a layer of " + std::to_string(width) + " gates on " + std::to_string(before) + " signals",
             "there are at least as many signals as candidates, " + std::to_string(c.count));
    sum += width, before = width;
  }
  if (c.reach == 0) return sum;
  if (c.reach < 0 || c.height < 1 || c.width < 1 || in % (c.height * c.width) != 0)
    refuse(
        std::to_string(in) + " inputs are no pictures of " + std::to_string(c.height) + " x " + std::to_string(c.width),
        "give their height and width");
  const int64_t corner = std::min(c.reach + 1, c.height) * std::min(c.reach + 1, c.width) * (in / c.height / c.width);
  if (corner < c.count)
    refuse("a reach of " + std::to_string(c.reach) + " has " + std::to_string(corner) + " pixels in a corner",
           "fewer than the candidates, " + std::to_string(c.count) + ": let it reach further");
  return sum;
}

// Signals in turns of all of them, each turn in an order of its own, none twice for one end of a wire.
std::vector<int32_t> draw_anywhere(int64_t in, int64_t ends, int64_t count) {
  const RandomKey key = nn::next_key();
  std::vector<int64_t> order(static_cast<size_t>(in));
  std::vector<int32_t> all;
  size_t at = order.size();
  for (uint64_t turn = 0; static_cast<int64_t>(all.size()) < ends * count;) {
    if (at == order.size()) fill_permutation(order.data(), in, {key.seed, key.stream + (turn++ << 32)}), at = 0;
    const auto own = all.end() - static_cast<int64_t>(all.size()) % count;
    // Where two turns meet, a signal may come twice; another one of the new turn changes places with it.
    for (size_t k = at + 1; std::find(own, all.end(), order[at]) != all.end() && k < order.size(); k++)
      std::swap(order[at], order[k]);
    all.push_back(static_cast<int32_t>(order[at++]));
  }
  return all;
}

// A range of places along one axis.
struct Range {
  int64_t first, count;
  // The middle lies denser towards that of the axis: it is the mean of two draws.
  Range(double draw, double other, int64_t size, int64_t reach) {
    const auto middle = static_cast<int64_t>((draw + other) / 2 * static_cast<double>(size));
    first = std::max<int64_t>(0, middle - reach);
    count = std::min(size, middle + reach + 1) - first;
  }
};

// Pixels near a place of each gate, none twice for one end of a wire.
std::vector<int32_t> draw_nearby(int64_t in, int64_t gates, const Candidates& c) {
  constexpr int64_t kPlace = 4;  // draws for the place
  const int64_t draws = kPlace + 2 * c.count, planes = in / c.height / c.width;
  std::vector<float> drawn(static_cast<size_t>(gates * draws));
  fill_uniform(drawn.data(), gates * draws, 0, 0, 1, nn::next_key());
  std::vector<int32_t> all;
  for (int64_t g = 0; g < gates; g++) {
    const float* u = drawn.data() + g * draws;
    const Range rows(u[0], u[1], c.height, c.reach), columns(u[2], u[3], c.width, c.reach);
    const int64_t pixels = rows.count * columns.count * planes;
    std::vector<bool> taken;
    for (int64_t k = 0; k < 2 * c.count; k++) {
      if (k % c.count == 0) taken.assign(static_cast<size_t>(pixels), false);
      auto pick = static_cast<int64_t>(u[kPlace + k] * static_cast<float>(pixels));
      for (pick %= pixels; taken[static_cast<size_t>(pick)];) pick = (pick + 1) % pixels;
      taken[static_cast<size_t>(pick)] = true;
      const int64_t column = columns.first + pick % columns.count, row = rows.first + pick / columns.count % rows.count;
      const int64_t plane = pick / columns.count / rows.count;
      all.push_back(static_cast<int32_t>((plane * c.height + row) * c.width + column));
    }
  }
  return all;
}

}  // namespace

LearnedNetwork::LearnedNetwork(int64_t in, const std::vector<int64_t>& widths, const Candidates& candidates,
                               const GateOptions& options)
    : gates(gates_in(in, widths, candidates), options), in_(in), out_(widths.back()) {
  const int64_t ends = 2 * gates.count(), count = candidates.count;
  choices = nn::draw_normal({ends, count});
  Program program(in);
  std::vector<int32_t> signals(static_cast<size_t>(in));
  for (size_t k = 0; k < signals.size(); k++) signals[k] = static_cast<int32_t>(k);
  for (size_t l = 0; l < widths.size(); l++) {
    const std::vector<int32_t> drawn = l == 0 && candidates.reach > 0
                                           ? draw_nearby(in, widths[l], candidates)
                                           : draw_anywhere(static_cast<int64_t>(signals.size()), 2 * widths[l], count);
    const bool last = l + 1 == widths.size();  // whose gates must be the last of all
    std::vector<int32_t> mixed, results;
    const auto add_gate = [&](size_t g) {
      const auto row = static_cast<int32_t>(place_.size());
      results.push_back(program.add(mixed[2 * g], mixed[2 * g + 1], row));
      place_.push_back(results.back() - static_cast<int32_t>(in));
    };
    for (int64_t end = 0; end < 2 * widths[l]; end++) {
      const int32_t* from = &drawn[static_cast<size_t>(end * count)];
      auto row = static_cast<int32_t>(gates.count() + static_cast<int64_t>(chain_.size()) * (count / 2));
      for (int64_t k = 0; k < count; k += 2, row++) {
        const int32_t a = signals[static_cast<size_t>(from[k])], b = signals[static_cast<size_t>(from[k + 1])];
        const int32_t sum = program.add(a, b, k == 0 ? row : -1 - row);
        if (k == 0) chain_.push_back(sum - static_cast<int32_t>(in));
        if (k + 2 == count) mixed.push_back(sum);
      }
      if (!last && end % 2 == 1) add_gate(static_cast<size_t>(end / 2));  // at once: what it reads is still near
    }
    for (int64_t g = 0; last && g < widths[l]; g++) add_gate(static_cast<size_t>(g));
    signals = results;
  }
  wires_ = program.wires();
}

void LearnedNetwork::parts(nn::Parts& p) {
  p("gates", gates);
  p("choices", choices);
  p.buffer("wires", wires_);
}

// The coefficients of the chains, [ends · candidates / 2, 4].
Tensor LearnedNetwork::mixtures() {
  const int64_t ends = choices.size(0), count = choices.size(1);
  const Tensor likeliest = one_hot(argmax(choices, {1}), count, choices.dtype());
  Tensor shares = likeliest;
  if (training()) {
    shares = softmax(choices);
    if (gates.options().hardening.most > 0) shares = gates.harden(shares, likeliest);
  }
  const Tensor none = zeros({ends, count / 2}, shares.dtype());
  const Tensor first = slice(shares, 1, 0, count, 2), second = slice(shares, 1, 1, count, 2);
  return reshape(stack({none, first, second, none}, 2), {ends * count / 2, 4});
}

Tensor LearnedNetwork::forward(const Tensor& x) {
  if (x.rank() != 2 || x.size(1) != in_)
    throw Error(ErrorKind::kShape, "LearnedNetwork: an input of " + to_string(x.shape()) + " — it must be [batch, " +
                                       std::to_string(in_) + "]");
  return gate_network(x, concat({gates.coefficients(), mixtures()}, 0), wires_, out_);
}

Circuit LearnedNetwork::circuit() const {
  const Tensor chosen = argmax(choices, {1});
  const int32_t* wires = wires_.data<int32_t>();
  const std::vector<Function> functions = gates.functions();
  Circuit circuit{.inputs = static_cast<uint32_t>(in_)};
  std::map<int32_t, uint32_t> signal_of;  // gates' signals in wires_ to those of the circuit
  const auto end = [&](size_t e) {
    const int64_t k = chosen.data<int64_t>()[e];
    const int32_t signal = wires[3 * (chain_[e] + k / 2) + k % 2];
    return signal < in_ ? static_cast<uint32_t>(signal) : signal_of.at(signal);
  };
  for (size_t g = 0; g < place_.size(); g++) {
    signal_of[place_[g] + static_cast<int32_t>(in_)] = circuit.signals();
    circuit.gates.push_back({functions[g], end(2 * g), end(2 * g + 1)});
  }
  for (int64_t o = out_; o > 0; o--) circuit.outputs.push_back(circuit.signals() - static_cast<uint32_t>(o));
  return circuit;
}

Binarize::Binarize(std::vector<double> levels) : levels_(std::move(levels)) {
  if (levels_.empty()) throw Error("Binarize: no levels — give at least one");
}

Tensor Binarize::forward(const Tensor& x) {
  const Tensor flat = reshape(x, {x.size(0), -1});
  std::vector<Tensor> bits;
  for (const double level : levels_) bits.push_back(ingot::to(greater(flat, level), x.dtype()));
  return bits.size() == 1 ? bits[0] : concat(bits, 1);
}

}  // namespace ingot::gates
