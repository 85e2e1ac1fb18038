#include "gates/tables.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "gates/sat.h"
#include "ingot/base/random.h"

namespace ingot::gates {
namespace {

constexpr size_t kRandomWords = 32;
constexpr int kConflicts = 2000, kSweepConflicts = 200;  // a question that is harder is answered with no

// The clauses of a network's gates, and of a variable per node.
std::vector<int> encode(const Network& network, Sat& sat) {
  std::vector<int> variables(network.nodes());
  for (int& v : variables) v = sat.variable();
  sat.clause({-variables[0]});
  for (uint32_t n = network.first_gate(); n < network.nodes(); n++) {
    const Gate& g = network.gate(n);
    const int a = variables[g.a], b = variables[g.b], out = variables[n];
    for (const bool x : {false, true})
      for (const bool y : {false, true}) sat.clause({x ? -a : a, y ? -b : b, value(g.function, x, y) ? out : -out});
  }
  return variables;
}

std::vector<bool> model(const Network& network, const std::vector<int>& variables, const Sat& sat) {
  std::vector<bool> inputs(network.inputs);
  for (uint32_t i = 0; i < network.inputs; i++) inputs[i] = sat.value(variables[1 + i]);
  return inputs;
}

// Adds a network's gates; those that are the `same` as another node, if it is given, are not added. Returns its
// outputs.
std::vector<Literal> copy_into(Builder& builder, const Network& network, const std::vector<Literal>& same) {
  std::vector<Literal> made(network.nodes());
  for (uint32_t n = 0; n < network.nodes(); n++)
    if (n < network.first_gate())
      made[n] = literal(n);
    else if (!same.empty() && node_of(same[n]) != n)
      made[n] = made[node_of(same[n])] ^ (same[n] & 1);
    else
      made[n] = builder.add(network.gate(n).function, made[network.gate(n).a], made[network.gate(n).b]);
  std::vector<Literal> outputs;
  for (const Literal l : network.outputs) outputs.push_back(made[node_of(l)] ^ (l & 1));
  return outputs;
}

// For one node after the other: an earlier one that it equals, or whose negation it is.
class EqualNodes {
 public:
  explicit EqualNodes(const Network& network) : network_(network), tables_(network) {
    tables_.simulate(network);
    if (!tables_.complete()) variables_ = encode(network, sat_);
  }

  /// The earlier node, or the node itself.
  Literal find(uint32_t n) {
    const uint64_t* x = tables_.of(n);
    const uint64_t flip = -(x[0] & 1);  // of a table and its negation, the one that starts with 0 is looked up
    uint64_t h = 0;
    for (size_t w = 0; w < tables_.words(); w++) h = (h ^ x[w] ^ flip) * 0x9E3779B97F4A7C15ULL, h ^= h >> 31;
    auto& twins = classes_[h];
    for (const uint32_t twin : twins) {
      const bool opposite = (x[0] & 1) != (tables_.of(twin)[0] & 1);
      if (n >= network_.first_gate() && same_table(n, twin, opposite) &&
          (tables_.complete() || prove(n, twin, opposite)))
        return literal(twin, opposite);
    }
    if (twins.size() < kTwins) twins.push_back(n);
    return literal(n);
  }

 private:
  bool same_table(uint32_t n, uint32_t twin, bool opposite) const {
    const uint64_t turn = opposite ? ~uint64_t{0} : 0;
    return std::equal(tables_.of(n), tables_.of(n) + tables_.words(), tables_.of(twin),
                      [turn](uint64_t x, uint64_t y) { return (x ^ turn) == y; });
  }
  bool prove(uint32_t n, uint32_t twin, bool opposite) {
    const int a = variables_[n], b = opposite ? -variables_[twin] : variables_[twin];
    if (sat_.solve({a, -b}, kSweepConflicts) != Sat::Answer::kUnsatisfiable ||
        sat_.solve({-a, b}, kSweepConflicts) != Sat::Answer::kUnsatisfiable)
      return false;
    sat_.clause({a, -b});
    sat_.clause({-a, b});
    return true;
  }

  static constexpr size_t kTwins = 4;  // nodes of one table that are no proved equals: more are not worth asking
  const Network& network_;
  Tables tables_;
  Sat sat_;
  std::vector<int> variables_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> classes_;
};

}  // namespace

Tables::Tables(const Network& network) : inputs_(network.inputs), read_(network.first_gate()) {
  for (const Gate& g : network.gates)
    for (const uint32_t from : {g.a, g.b})
      if (from < network.first_gate()) read_[from] = true;
  const auto count = static_cast<size_t>(std::count(read_.begin(), read_.end(), true));
  complete_ = count <= kAllInputs;
  words_ = complete_ ? std::max<size_t>(1, (1ULL << count) / 64) : kRandomWords;
  values_.assign(network.nodes() * words_, 0);
  size_t index = 0;
  for (uint32_t n = 1; n < network.first_gate(); n++) {
    if (!knows(n)) continue;
    for (size_t w = 0; w < words_; w++) {
      const auto drawn = philox({n, static_cast<uint32_t>(w), 0, 0}, {77, 7});
      values_[n * words_ + w] = complete_ ? counted(index, w) : static_cast<uint64_t>(drawn[0]) << 32 | drawn[1];
    }
    index++;
  }
}

void Tables::simulate(const Network& network) {
  values_.resize(network.nodes() * words_);
  for (uint32_t n = network.first_gate(); n < network.nodes(); n++) {
    const Gate& g = network.gate(n);
    const uint64_t *a = of(g.a), *b = of(g.b);
    uint64_t* out = values_.data() + n * words_;
    for (size_t w = 0; w < words_; w++) out[w] = apply(g.function, a[w], b[w]);
  }
}

void Tables::observability(const Network& network, uint32_t node, uint64_t* care) const {
  std::vector<uint32_t> place(network.nodes(), 0);  // of changed nodes, from 1 on
  std::vector<uint64_t> changed;
  const auto flipped = [&](uint32_t n) { return place[n] != 0 ? changed.data() + (place[n] - 1) * words_ : of(n); };
  for (uint32_t n = node; n < network.nodes(); n++) {
    if (n != node && place[network.gate(n).a] == 0 && place[network.gate(n).b] == 0) continue;
    changed.resize(changed.size() + words_);
    const auto at = static_cast<uint32_t>(changed.size() / words_);
    uint64_t* out = changed.data() + (at - 1) * words_;
    for (size_t w = 0; w < words_; w++)
      out[w] = n == node
                   ? ~of(n)[w]
                   : apply(network.gate(n).function, flipped(network.gate(n).a)[w], flipped(network.gate(n).b)[w]);
    place[n] = at;
  }
  for (const Literal l : network.outputs)
    if (const uint32_t n = node_of(l); place[n] != 0)
      for (size_t w = 0; w < words_; w++) care[w] |= flipped(n)[w] ^ of(n)[w];
}

void Tables::add(const std::vector<bool>& inputs) {
  // A random assignment makes room, the oldest addition first.
  const size_t at = added_++ % (words_ * 64);
  for (uint32_t i = 0; i < inputs_; i++) {
    uint64_t& word = values_[(1 + i) * words_ + at / 64];
    word = (word & ~(1ULL << at % 64)) | static_cast<uint64_t>(inputs[i]) << at % 64;
  }
}

bool same_outputs(const Network& a, const Network& b, std::vector<bool>& counterexample) {
  // Both in one network, so that what they share is there once.
  Builder builder(a.inputs, true);
  const std::vector<Literal> x = copy_into(builder, a, {}), y = copy_into(builder, b, {});
  std::vector<Literal> differences;
  for (size_t o = 0; o < x.size(); o++)
    if (x[o] != y[o]) differences.push_back(builder.add(Function::kXor, x[o], y[o]));
  if (differences.empty()) return true;
  const Network miter = rebuilt(builder.take(std::move(differences)), nullptr);
  Sat sat;
  const std::vector<int> variables = encode(miter, sat);
  for (const Literal l : miter.outputs) {
    const int variable = variables[node_of(l)];
    switch (sat.solve({negated(l) ? -variable : variable}, kConflicts)) {
      case Sat::Answer::kUnsatisfiable: break;
      case Sat::Answer::kSatisfiable: counterexample = model(miter, variables, sat); return false;
      case Sat::Answer::kGaveUp: return false;
    }
  }
  return true;
}

Network merge_equal(const Network& network) {
  EqualNodes equal(network);
  std::vector<Literal> same(network.nodes());
  for (uint32_t n = 0; n < network.nodes(); n++) same[n] = equal.find(n);
  Builder builder(network.inputs, true);
  std::vector<Literal> outputs = copy_into(builder, network, same);
  return rebuilt(builder.take(std::move(outputs)), nullptr);
}

}  // namespace ingot::gates
