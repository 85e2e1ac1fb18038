#include "gates/network.h"

#include <array>
#include <utility>

namespace ingot::gates {
namespace {

// What a function of one node is, by its values at 0 and 1.
Literal unary(uint32_t node, bool at0, bool at1) { return at0 == at1 ? literal(0, at0) : literal(node, at0); }

uint64_t hash(const Gate& g) {
  uint64_t h = (static_cast<uint64_t>(g.a) << 32 | g.b) * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(g.function);
  h ^= h >> 29;
  h *= 0xBF58476D1CE4E5B9ULL;
  return h ^ h >> 32;
}

}  // namespace

Builder::Builder(uint32_t inputs, bool share) : share_(share), table_(64) { network_.inputs = inputs; }

Literal Builder::add(Function f, Literal a, Literal b) {
  if (negated(a)) f = negate_a(f);
  if (negated(b)) f = negate_b(f);
  uint32_t x = node_of(a), y = node_of(b);
  if (x == y) return unary(x, value(f, false, false), value(f, true, true));
  if (x == 0 || !reads_a(f)) return unary(y, value(f, false, false), value(f, false, true));
  if (y == 0 || !reads_b(f)) return unary(x, value(f, false, false), value(f, true, false));
  if (x > y) {
    std::swap(x, y);
    f = swapped(f);
  }
  const bool inverted = value(f, false, false);
  const Literal made = find_or_add({inverted ? negate(f) : f, x, y});
  return made ^ (inverted ? 1U : 0U);
}

Literal Builder::find_or_add(const Gate& gate) {
  auto& gates = network_.gates;
  if (share_) {
    if (2 * (gates.size() + 1) > table_.size()) grow();
    const uint64_t mask = table_.size() - 1;
    uint64_t at = hash(gate) & mask;
    for (; table_[at] != 0; at = (at + 1) & mask)
      if (gates[table_[at] - 1] == gate) return literal(network_.first_gate() + table_[at] - 1);
    table_[at] = static_cast<uint32_t>(gates.size()) + 1;
  }
  gates.push_back(gate);
  return literal(network_.nodes() - 1);
}

void Builder::grow() {
  std::vector<uint32_t> larger(2 * table_.size());
  const uint64_t mask = larger.size() - 1;
  for (uint32_t i = 0; i < network_.gates.size(); i++) {
    uint64_t at = hash(network_.gates[i]) & mask;
    while (larger[at] != 0) at = (at + 1) & mask;
    larger[at] = i + 1;
  }
  table_ = std::move(larger);
}

Network Builder::take(std::vector<Literal> outputs) {
  network_.outputs = std::move(outputs);
  return std::move(network_);
}

Network to_network(const Circuit& circuit, bool share) {
  Builder builder(circuit.inputs, share);
  std::vector<Literal> made(circuit.signals());
  for (uint32_t i = 0; i < circuit.inputs; i++) made[i] = literal(1 + i);
  for (size_t i = 0; i < circuit.gates.size(); i++) {
    const Gate& g = circuit.gates[i];
    made[circuit.inputs + i] = builder.add(g.function, made[g.a], made[g.b]);
  }
  std::vector<Literal> outputs;
  for (const uint32_t signal : circuit.outputs) outputs.push_back(made[signal]);
  return rebuilt(builder.take(std::move(outputs)), nullptr, share);
}

Network rebuilt(const Network& network, const Edit* edit, bool share) {
  constexpr Literal kUnknown = ~0U;
  Builder builder(network.inputs, share);
  const uint32_t nodes = network.nodes(), all = nodes + (edit ? static_cast<uint32_t>(edit->added.size()) : 0);
  std::vector<Literal> made(all, kUnknown);
  for (uint32_t n = 0; n < network.first_gate(); n++) made[n] = literal(n);
  std::vector<uint32_t> stack;
  const auto need = [&](uint32_t root) {
    stack.push_back(root);
    while (!stack.empty()) {
      const uint32_t n = stack.back();
      if (made[n] != kUnknown) {
        stack.pop_back();
        continue;
      }
      const bool replaced = edit && n == edit->node;
      const Gate g = replaced     ? Gate{negated(edit->root) ? Function::kNotA : Function::kA, node_of(edit->root),
                                     node_of(edit->root)}
                     : n >= nodes ? edit->added[n - nodes]
                                  : network.gate(n);
      if (made[g.a] == kUnknown || made[g.b] == kUnknown) {
        if (made[g.b] == kUnknown) stack.push_back(g.b);
        if (made[g.a] == kUnknown) stack.push_back(g.a);
        continue;
      }
      made[n] = builder.add(g.function, made[g.a], made[g.b]);
      stack.pop_back();
    }
    return made[root];
  };
  std::vector<Literal> outputs;
  for (const Literal l : network.outputs) outputs.push_back(need(node_of(l)) ^ (l & 1));
  Network result = builder.take(std::move(outputs));

  // Sharing and folding may have left gates that nobody needs.
  std::vector<bool> needed(result.nodes());
  for (const Literal l : result.outputs) needed[node_of(l)] = true;
  bool dead = false;
  for (uint32_t n = result.nodes(); n-- > result.first_gate();)
    if (needed[n])
      needed[result.gate(n).a] = needed[result.gate(n).b] = true;
    else
      dead = true;
  return dead ? rebuilt(result, nullptr, share) : result;
}

Circuit to_circuit(const Network& network, const Circuit& like) {
  Circuit c{.inputs = network.inputs, .gates = {}, .outputs = {}, .cell = like.cell, .name = like.name};
  std::vector<bool> flipped(network.nodes());  // gates that are made negated, because their first output is
  std::vector<bool> seen(network.nodes());
  for (const Literal l : network.outputs) {
    const uint32_t n = node_of(l);
    if (n >= network.first_gate() && !seen[n]) flipped[n] = negated(l);
    seen[n] = true;
  }
  for (uint32_t n = network.first_gate(); n < network.nodes(); n++) {
    const Gate& g = network.gate(n);
    Function f = g.function;
    if (flipped[g.a]) f = negate_a(f);
    if (flipped[g.b]) f = negate_b(f);
    c.gates.push_back({flipped[n] ? negate(f) : f, g.a - 1, g.b - 1});
  }
  std::vector<std::array<uint32_t, 2>> extra(network.nodes());  // signals of added gates; 0: none, or input 0
  for (const Literal l : network.outputs) {
    const uint32_t n = node_of(l);
    if (n != 0 && negated(l) == flipped[n]) {
      c.outputs.push_back(n - 1);
      continue;
    }
    uint32_t& signal = extra[n][negated(l) ? 1 : 0];
    if (signal == 0) {
      signal = c.signals();
      c.gates.push_back(n == 0 ? Gate{negated(l) ? Function::kTrue : Function::kFalse, 0, 0}
                               : Gate{Function::kNotA, n - 1, n - 1});
    }
    c.outputs.push_back(signal);
  }
  return c;
}

}  // namespace ingot::gates
