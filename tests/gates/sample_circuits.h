// Circuits for tests: trained ones as training left them, random ones, the Game of Life as a textbook has it.
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "ingot/base/random.h"
#include "ingot/gates/circuit.h"
#include "tests/test_file.h"

namespace ingot::gates {

/// tests/gates/data/NAME.txt: inputs, gates, channels and whether borders wrap; function (hexadecimal), a and b of
/// every gate; outputs. Trained by the study program of docs/gates.md.
inline Circuit trained(const std::string& name) {
  std::ifstream file(test_file("gates/data/" + name + ".txt"));
  size_t gates = 0;
  int channels = 0, wrap = 0;
  Circuit c{.name = name};
  if (!(file >> c.inputs >> gates >> channels >> wrap)) throw std::runtime_error("cannot read " + name);
  c.gates.resize(gates);
  for (Gate& g : c.gates) {
    int function = 0;
    file >> std::hex >> function >> std::dec >> g.a >> g.b;
    g.function = static_cast<Function>(function);
  }
  c.outputs.resize(static_cast<size_t>(channels));
  for (uint32_t& o : c.outputs) file >> o;
  if (!file) throw std::runtime_error("cannot read " + name);
  c.cell = CellRule{.channels = channels, .border = wrap != 0 ? Border::kWrap : Border::kZero};
  return c;
}

/// Numbers from a seed, one after the other.
class Draws {
 public:
  explicit Draws(uint64_t seed) : seed_(static_cast<uint32_t>(seed)) {}
  uint32_t below(uint32_t n) { return philox({count_++, 0, 0, 0}, {seed_, 99})[0] % n; }
  uint64_t word() { return static_cast<uint64_t>(below(~0U)) << 32 | below(~0U); }

 private:
  uint32_t seed_, count_ = 0;
};

/// Gates read any signal before them; one in `copies` + 1 is more than a copy.
inline Circuit random_circuit(uint64_t seed, uint32_t inputs, uint32_t gates, uint32_t outputs, uint32_t copies = 0) {
  Draws draw(seed);
  Circuit c{.inputs = inputs};
  for (uint32_t i = 0; i < gates; i++) {
    const auto function = static_cast<Function>(draw.below(copies + 1) == 0 ? draw.below(kFunctions) : 3);
    c.gates.push_back({function, draw.below(c.signals()), draw.below(c.signals())});
  }
  for (uint32_t o = 0; o < outputs; o++) c.outputs.push_back(draw.below(c.signals()));
  return c;
}

/// A random rule; every cell reads what it likes of its neighbourhood.
inline Circuit random_rule(uint64_t seed, int32_t channels, uint32_t gates, Border border) {
  Circuit c = random_circuit(seed, 9 * static_cast<uint32_t>(channels), gates, static_cast<uint32_t>(channels));
  for (size_t o = 0; o < c.outputs.size(); o++) c.outputs[o] = c.signals() - 1 - static_cast<uint32_t>(o);
  c.cell = CellRule{.channels = channels, .border = border};
  return c;
}

inline bool life_rule(bool alive, int neighbours) { return neighbours == 3 || (alive && neighbours == 2); }

/// Life by counting the eight neighbours one after the other with four-bit ripple adders.
inline Circuit textbook_life() {
  Circuit c{.inputs = 9, .cell = CellRule{}, .name = "life"};
  const auto add = [&](Function f, uint32_t a, uint32_t b) {
    c.gates.push_back({f, a, b});
    return c.signals() - 1;
  };
  const uint32_t zero = add(Function::kFalse, 0, 0);
  std::vector<uint32_t> sum(4, zero);
  for (uint32_t i = 0; i < 9; i++) {
    if (i == 4) continue;
    uint32_t carry = i;
    for (uint32_t& bit : sum) {
      const uint32_t next = add(Function::kAnd, bit, carry);
      bit = add(Function::kXor, bit, carry);
      carry = next;
    }
  }
  const auto equals = [&](uint32_t n) {
    uint32_t all = add(Function::kTrue, 0, 0);
    for (uint32_t k = 0; k < 4; k++) all = add((n >> k & 1) != 0 ? Function::kAnd : Function::kAndNot, all, sum[k]);
    return all;
  };
  const uint32_t three = equals(3), two = equals(2), stays = add(Function::kAnd, two, 4);
  c.outputs = {add(Function::kOr, three, stays)};
  return c;
}

}  // namespace ingot::gates
