// Are two circuits equal? By trying everything, or by SAT: signals that agree on random assignments are proved equal
// from the inputs on, each with the help of those before (SAT sweeping), until the outputs' turn comes.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "gates/network.h"
#include "gates/sat.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/random.h"
#include "ingot/gates/simplify.h"

namespace ingot::gates {
namespace {

constexpr size_t kExhaustiveInputs = 24;
constexpr double kExhaustiveWords = 2e9;  // gates times words of assignments: about a second

// Signals that the given outputs depend on. Bits, because hostile files have millions of inputs for nothing.
std::vector<bool> cone(const Circuit& c, const std::vector<uint32_t>& outputs) {
  std::vector<bool> needed(c.signals());
  for (const uint32_t o : outputs) needed[o] = true;
  for (size_t i = c.gates.size(); i-- > 0;) {
    if (!needed[c.inputs + i]) continue;
    const Gate& g = c.gates[i];
    if (reads_a(g.function)) needed[g.a] = true;
    if (reads_b(g.function)) needed[g.b] = true;
  }
  return needed;
}

// The inputs that are marked, in ascending order.
std::vector<uint32_t> marked(const std::vector<bool>& needed, uint32_t inputs) {
  std::vector<uint32_t> list;
  for (uint32_t i = 0; i < inputs; i++)
    if (needed[i]) list.push_back(i);
  return list;
}

// The circuit of these outputs over the inputs of `support`: of its gates, only those that are needed.
Circuit part(const Circuit& c, const std::vector<uint32_t>& outputs, const std::vector<uint32_t>& support,
             const std::vector<bool>& needed) {
  Circuit result{.inputs = static_cast<uint32_t>(support.size())};
  std::vector<uint32_t> number(c.gates.size());  // of a gate in the result
  const auto moved = [&](uint32_t signal) {
    if (signal >= c.inputs) return number[signal - c.inputs];
    return static_cast<uint32_t>(std::lower_bound(support.begin(), support.end(), signal) - support.begin());
  };
  for (size_t i = 0; i < c.gates.size(); i++) {
    if (!needed[c.inputs + i]) continue;
    const Gate& g = c.gates[i];
    number[i] = result.signals();
    result.gates.push_back({g.function, reads_a(g.function) ? moved(g.a) : 0, reads_b(g.function) ? moved(g.b) : 0});
  }
  for (const uint32_t o : outputs) result.outputs.push_back(moved(o));
  return result;
}

// Two circuits over the same inputs, all of which are needed, and so are all gates.
struct Pair {
  Circuit a, b;
};

// Values of every signal for a block of words of assignments.
constexpr size_t kBlock = 16;
using Block = std::array<uint64_t, kBlock>;

void run_block(const Circuit& c, std::vector<Block>& signals) {
  for (size_t i = 0; i < c.gates.size(); i++) {
    const Gate& g = c.gates[i];
    const Block &a = signals[g.a], &b = signals[g.b];
    Block& out = signals[c.inputs + i];
    for (size_t w = 0; w < kBlock; w++) out[w] = apply(g.function, a[w], b[w]);
  }
}

void try_all(const Pair& pair, Proof& proof) {
  const uint32_t inputs = pair.a.inputs;
  std::vector<Block> a(pair.a.signals()), b(pair.b.signals());
  const uint64_t words = inputs <= 6 ? 1 : 1ULL << (inputs - 6);
  for (uint64_t word = 0; word < words; word += kBlock) {
    for (size_t i = 0; i < inputs; i++)
      for (size_t w = 0; w < kBlock; w++) a[i][w] = b[i][w] = counted(i, word + w);
    run_block(pair.a, a);
    run_block(pair.b, b);
    for (size_t o = 0; o < pair.a.outputs.size(); o++)
      for (size_t w = 0; w < kBlock; w++) {
        const uint64_t wrong = a[pair.a.outputs[o]][w] ^ b[pair.b.outputs[o]][w];
        if (wrong == 0) continue;
        const int bit = __builtin_ctzll(wrong);
        for (size_t i = 0; i < inputs; i++) proof.counterexample.push_back((counted(i, word + w) >> bit & 1) != 0);
        proof.method = "a counterexample";
        return;
      }
  }
  proof.equal = true;
  proof.method = "all " + std::to_string(1ULL << inputs) + " assignments of " + std::to_string(inputs) + " inputs";
}

// Both circuits in one solver. A signal is a literal; copies, negations and repetitions of a gate take no variable.
class Sweep {
 public:
  Sweep(const Pair& pair, const GoOn& go_on) : pair_(pair), sat_(asking(go_on)), truth_(sat_.variable()) {
    sat_.clause({truth_});
    patterns_[truth_].fill(~0ULL);
    for (uint32_t i = 0; i < pair.a.inputs; i++) {
      inputs_.push_back(sat_.variable());
      Block& bits = patterns_[inputs_.back()];
      for (size_t w = 0; w < kBlock; w++) {
        const auto drawn = philox({i, static_cast<uint32_t>(w), 0, 0}, {2024, 5});
        bits[w] = static_cast<uint64_t>(drawn[0]) << 32 | drawn[1];
      }
    }
    literals_a_ = encode(pair.a);
    literals_b_ = encode(pair.b);
  }

  void decide(Proof& proof) {
    for (size_t o = 0; o < pair_.a.outputs.size(); o++, proved_++) {
      const int x = literals_a_[pair_.a.outputs[o]], y = literals_b_[pair_.b.outputs[o]];
      const Sat::Answer differ = x == y ? Sat::Answer::kUnsatisfiable : prove_same(x, y, -1);
      if (differ == Sat::Answer::kUnsatisfiable) continue;
      if (differ == Sat::Answer::kGaveUp) {
        proof.decided = false;
        proof.method = "given up after " + std::to_string(proved_) + " of " + std::to_string(pair_.a.outputs.size()) +
                       " outputs were proved equal by SAT";
        return;
      }
      for (const int input : inputs_) proof.counterexample.push_back(sat_.value(input));
      proof.method = "a counterexample by SAT";
      return;
    }
    proof.equal = true;
    proof.method = "SAT, " + std::to_string(queries_) + (queries_ == 1 ? " query" : " queries");
  }

 private:
  std::function<bool()> asking(const GoOn& go_on) {
    if (!go_on) return {};
    return [this, &go_on] { return go_on(proved_, std::ssize(pair_.a.outputs)); };
  }

  std::vector<int> encode(const Circuit& c) {
    std::vector<int> literals(inputs_);
    literals.resize(c.signals(), truth_);
    for (size_t i = 0; i < c.gates.size(); i++) {
      const Gate& g = c.gates[i];
      literals[c.inputs + i] = gate(g.function, literals[g.a], literals[g.b]);
    }
    return literals;
  }

  // Folds as Builder::add does, and is not it on purpose: a mistake there must not be made here as well.
  int gate(Function f, int a, int b) {
    if (a < 0) f = negate_a(f), a = -a;
    if (b < 0) f = negate_b(f), b = -b;
    const auto unary = [&](int of, bool at0, bool at1) {
      return at0 == at1 ? (at0 ? truth_ : -truth_) : at0 ? -of : of;
    };
    if (a == b) return unary(a, value(f, false, false), value(f, true, true));
    if (a == truth_) return unary(b, value(f, true, false), value(f, true, true));
    if (b == truth_) return unary(a, value(f, false, true), value(f, true, true));
    if (!reads_b(f)) return unary(a, value(f, false, false), value(f, true, false));
    if (!reads_a(f)) return unary(b, value(f, false, false), value(f, false, true));
    if (a > b) f = swapped(f), std::swap(a, b);
    if (value(f, false, false)) return -gate(negate(f), a, b);
    const uint64_t key = static_cast<uint64_t>(a) << 36 | static_cast<uint64_t>(b) << 4 | static_cast<uint64_t>(f);
    if (const auto found = gates_.find(key); found != gates_.end()) return found->second;
    const int out = sat_.variable();
    for (const bool x : {false, true})
      for (const bool y : {false, true}) sat_.clause({x ? -a : a, y ? -b : b, value(f, x, y) ? out : -out});
    Block& bits = patterns_[out];
    const Block &pa = patterns_[a], &pb = patterns_[b];
    for (size_t w = 0; w < kBlock; w++) bits[w] = apply(f, pa[w], pb[w]);
    return gates_[key] = merge(out, bits);
  }

  // The literal of an earlier signal that this one equals, or itself.
  int merge(int out, const Block& bits) {
    const bool flip = (bits[0] & 1) != 0;  // of a signal and its negation, the one that starts with 0 is looked up
    uint64_t h = 0;
    for (const uint64_t w : bits) h = (h ^ (flip ? ~w : w)) * 0x9E3779B97F4A7C15ULL, h ^= h >> 31;
    const auto [found, fresh] = classes_.try_emplace(h, flip ? -out : out);
    if (fresh) return out;
    const int twin = flip ? -found->second : found->second;
    return prove_same(out, twin, kSweepConflicts) == Sat::Answer::kUnsatisfiable ? twin : out;
  }

  Sat::Answer prove_same(int x, int y, int conflicts) {
    queries_++;
    auto answer = sat_.solve({x, -y}, conflicts);
    if (answer != Sat::Answer::kUnsatisfiable) return answer;
    sat_.clause({-x, y});
    answer = sat_.solve({-x, y}, conflicts);
    if (answer == Sat::Answer::kUnsatisfiable) sat_.clause({x, -y});
    return answer;
  }

  static constexpr int kSweepConflicts = 100;
  const Pair& pair_;
  int64_t queries_ = 0, proved_ = 0;
  Sat sat_;
  int truth_;
  std::vector<int> inputs_, literals_a_, literals_b_;
  std::unordered_map<uint64_t, int> gates_, classes_;
  std::unordered_map<int, Block> patterns_;
};

// Are these outputs of two circuits over the same inputs equal?
Proof prove(const Circuit& a, const std::vector<uint32_t>& outputs_a, const Circuit& b,
            const std::vector<uint32_t>& outputs_b, const GoOn& go_on) {
  const int64_t start = now_ns();
  std::vector<bool> needed_a = cone(a, outputs_a), needed_b = cone(b, outputs_b);
  for (uint32_t i = 0; i < a.inputs; i++) needed_a[i] = needed_a[i] || needed_b[i];
  const std::vector<uint32_t> support = marked(needed_a, a.inputs);
  const Pair pair{part(a, outputs_a, support, needed_a), part(b, outputs_b, support, needed_b)};
  Proof proof;
  const double gates = static_cast<double>(pair.a.gates.size() + pair.b.gates.size());
  if (support.size() <= kExhaustiveInputs &&
      gates * static_cast<double>(1ULL << support.size()) / 64 <= kExhaustiveWords)
    try_all(pair, proof);
  else
    Sweep(pair, go_on).decide(proof);
  if (proof.decided && !proof.equal) {
    std::vector<bool> all(a.inputs);
    for (size_t i = 0; i < support.size(); i++) all[support[i]] = proof.counterexample[i];
    proof.counterexample = std::move(all);
  }
  proof.seconds = static_cast<double>(now_ns() - start) * 1e-9;
  return proof;
}

void check_pair(const Circuit& a, const Circuit& b) {
  check(a);
  check(b);
  if (a.inputs != b.inputs || a.outputs.size() != b.outputs.size())
    throw Error("prove_equal: a circuit of " + std::to_string(a.inputs) + " inputs and " +
                std::to_string(a.outputs.size()) + " outputs against one of " + std::to_string(b.inputs) + " and " +
                std::to_string(b.outputs.size()) + " — compare circuits with the same inputs and outputs");
}

}  // namespace

Proof prove_equal(const Circuit& a, const Circuit& b, const GoOn& go_on) {
  check_pair(a, b);
  return prove(a, a.outputs, b, b.outputs, go_on);
}

Proof prove_equal_visible(const Circuit& a, const Circuit& b, const GoOn& go_on) {
  check_pair(a, b);
  if (!a.cell || !b.cell || a.cell->visible != b.cell->visible || a.cell->border != b.cell->border ||
      a.cell->fire_rate != b.cell->fire_rate)
    throw Error(
        "prove_equal_visible: not two cell rules with the same visible channels, border and fire rate — use "
        "prove_equal for other circuits");
  std::vector<uint32_t> outputs_a, outputs_b;
  for (const int32_t channel : needed_channels(a)) {
    outputs_a.push_back(a.outputs[static_cast<size_t>(channel)]);
    outputs_b.push_back(b.outputs[static_cast<size_t>(channel)]);
  }
  return prove(a, outputs_a, b, outputs_b, go_on);
}

std::vector<uint32_t> support(const Circuit& circuit) {
  check(circuit);
  return marked(cone(circuit, circuit.outputs), circuit.inputs);
}

std::vector<int32_t> needed_channels(const Circuit& circuit) {
  check(circuit);
  if (!circuit.cell) throw Error("needed_channels: the circuit is no cell rule — only those have channels");
  const auto channels = static_cast<size_t>(circuit.cell->channels);
  // Back from the visible channels; what is read of a neighbourhood makes its channel wanted. Each signal once.
  std::vector<bool> wanted(channels), seen(circuit.signals());
  std::vector<uint32_t> open;
  const auto want = [&](size_t channel) {
    if (!wanted[channel]) open.push_back(circuit.outputs[channel]);
    wanted[channel] = true;
  };
  for (size_t c = 0; c < static_cast<size_t>(circuit.cell->visible); c++) want(c);
  while (!open.empty()) {
    const uint32_t signal = open.back();
    open.pop_back();
    if (seen[signal]) continue;
    seen[signal] = true;
    if (signal < circuit.inputs) {
      want(signal / 9);
      continue;
    }
    const Gate& g = circuit.gates[signal - circuit.inputs];
    if (reads_a(g.function)) open.push_back(g.a);
    if (reads_b(g.function)) open.push_back(g.b);
  }
  std::vector<int32_t> result;
  for (size_t c = 0; c < channels; c++)
    if (wanted[c]) result.push_back(static_cast<int32_t>(c));
  return result;
}

}  // namespace ingot::gates
