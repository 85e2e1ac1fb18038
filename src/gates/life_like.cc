// Life-like rules: how many of the eight neighbours live decides.
#include <algorithm>
#include <array>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/io/source.h"

namespace ingot::gates {
namespace {

struct Counts {
  std::array<bool, 9> born{}, survives{};
};

Counts counts_of(const std::string& rule) {
  const std::string text = rule == "life" ? "B3/S23" : rule;
  const size_t slash = text.find('/');
  Counts counts;
  const auto read = [&](std::string_view part, char letter, std::array<bool, 9>& which) {
    if (part.empty() || part[0] != letter) return false;
    for (const char c : part.substr(1)) {
      if (c < '0' || c > '8') return false;
      which[static_cast<size_t>(c - '0')] = true;
    }
    return true;
  };
  if (slash == std::string::npos || !read(std::string_view(text).substr(0, slash), 'B', counts.born) ||
      !read(std::string_view(text).substr(slash + 1), 'S', counts.survives))
    throw Error("life-like automaton: no rule " + in_quotes(rule) +
                " — write \"life\", or numbers of neighbours as in B3/S23");
  return counts;
}

class Builder {
 public:
  explicit Builder(Circuit& circuit) : circuit_(circuit) {}
  uint32_t gate(Function f, uint32_t a, uint32_t b) {
    circuit_.gates.push_back({f, a, b});
    return circuit_.signals() - 1;
  }
  // The sum of bits of one weight, as a bit of that weight; what carries over goes to `carries`.
  uint32_t sum(std::vector<uint32_t> bits, std::vector<uint32_t>& carries) {
    while (bits.size() > 1) {
      const uint32_t a = bits[0], b = bits[1], half = gate(Function::kXor, a, b);
      uint32_t carry = gate(Function::kAnd, a, b);
      bits.erase(bits.begin(), bits.begin() + 2);
      uint32_t total = half;
      if (!bits.empty()) {
        total = gate(Function::kXor, half, bits[0]);
        carry = gate(Function::kOr, carry, gate(Function::kAnd, half, bits[0]));
        bits.erase(bits.begin());
      }
      carries.push_back(carry);
      bits.push_back(total);
    }
    return bits[0];
  }

 private:
  Circuit& circuit_;
};

}  // namespace

Circuit life_like(const std::string& rule, Border border) {
  const Counts counts = counts_of(rule);
  Circuit circuit{.inputs = 9, .cell = CellRule{.border = border}, .name = rule};
  Builder build(circuit);
  std::vector<uint32_t> bits = {0, 1, 2, 3, 5, 6, 7, 8};
  std::array<uint32_t, 4> digit{};
  for (uint32_t& d : digit) {
    std::vector<uint32_t> carries;
    d = build.sum(bits, carries);
    bits = carries;
  }
  constexpr uint32_t kOwn = 4;
  uint32_t next = build.gate(Function::kFalse, 0, 0);
  for (unsigned n = 0; n <= 8; n++) {
    if (!counts.born[n] && !counts.survives[n]) continue;
    const auto when = [&](uint32_t a, bool wanted, uint32_t b) {
      return build.gate(wanted ? Function::kAnd : Function::kNotAnd, a, b);
    };
    uint32_t here = build.gate((n & 8) != 0 ? Function::kA : Function::kNotA, digit[3], digit[3]);
    for (const unsigned k : {0u, 1u, 2u}) here = when(digit[k], (n >> k & 1) != 0, here);
    if (counts.born[n] != counts.survives[n]) here = when(kOwn, counts.survives[n], here);
    next = build.gate(Function::kOr, next, here);
  }
  circuit.outputs = {next};
  return circuit;
}

}  // namespace ingot::gates
