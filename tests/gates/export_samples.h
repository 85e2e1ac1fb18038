// Circuits to export, and a plain evaluation to compare with.
#pragma once
#include <random>

#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// The Game of Life by adders: counts the eight neighbours.
inline Circuit life_rule(Border border = Border::kWrap) {
  Circuit c{.inputs = 9, .cell = CellRule{.border = border}, .name = "life"};
  const auto gate = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  struct Sum {
    uint32_t one, two;
  };
  const auto half = [&](uint32_t a, uint32_t b) { return Sum{gate(Function::kXor, a, b), gate(Function::kAnd, a, b)}; };
  const auto full = [&](uint32_t a, uint32_t b, uint32_t d) {
    const Sum first = half(a, b), second = half(first.one, d);
    return Sum{second.one, gate(Function::kOr, first.two, second.two)};
  };
  const Sum north = full(0, 1, 2), south = full(6, 7, 8), middle = half(3, 5);
  const Sum ones = full(north.one, south.one, middle.one);
  const Sum twos = full(north.two, south.two, middle.two), all_twos = half(twos.one, ones.two);
  const uint32_t many = gate(Function::kOr, twos.two, all_twos.two);
  const uint32_t two_or_three = gate(Function::kAndNot, all_twos.one, many);
  c.outputs = {gate(Function::kAnd, two_or_three, gate(Function::kOr, ones.one, 4))};
  return c;
}

/// Gates of all sixteen functions that read anything before them; copies and constants among them.
inline Circuit random_circuit(uint32_t inputs, uint32_t gates, uint32_t outputs, uint32_t seed) {
  std::mt19937 random(seed);
  Circuit c{.inputs = inputs, .name = "random"};
  for (uint32_t i = 0; i < gates; i++) {
    const uint32_t near = std::min(c.signals(), std::max(inputs, 40u));  // most read what is close: deep circuits
    const auto signal = [&] { return c.signals() - 1 - random() % (random() % 8 == 0 ? c.signals() : near); };
    // Constants are rare, or nothing but constants would be left.
    const auto f = static_cast<Function>(random() % 32 == 0 ? random() % 16 : 1 + random() % 14);
    const uint32_t a = signal(), b = signal();
    c.gates.push_back({f, a, b});
  }
  for (uint32_t i = 0; i < outputs; i++)
    c.outputs.push_back(c.signals() - 1 - random() % std::min(c.signals(), 3 * outputs));
  return c;
}

inline Circuit random_rule(int32_t channels, uint32_t gates, Border border, double fire_rate, uint32_t seed) {
  const auto n = static_cast<uint32_t>(channels);
  Circuit c = random_circuit(9 * n, gates, n, seed);
  c.cell = CellRule{.channels = channels, .border = border, .fire_rate = fire_rate};
  c.name = "rule";
  return c;
}

/// The outputs of 64 assignments, straight from the truth tables.
inline std::vector<uint64_t> evaluate_words(const Circuit& c, std::vector<uint64_t> signal) {
  for (const Gate& g : c.gates) {
    uint64_t word = 0;
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        if (value(g.function, a, b)) word |= (a ? signal[g.a] : ~signal[g.a]) & (b ? signal[g.b] : ~signal[g.b]);
    signal.push_back(word);
  }
  std::vector<uint64_t> out;
  for (const uint32_t o : c.outputs) out.push_back(signal[o]);
  return out;
}

}  // namespace ingot::gates
