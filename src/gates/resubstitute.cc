#include "gates/resubstitute.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "gates/tables.h"

namespace ingot::gates {
namespace {

// SplitMix64: the walk is sequential, so a sequential generator is all it needs.
struct Dice {
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ z >> 27) * 0x94D049BB133111EBULL;
    return z ^ z >> 31;
  }
  uint32_t below(size_t n) { return static_cast<uint32_t>((next() >> 32) * n >> 32); }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; i--) std::swap(items[i - 1], items[below(i)]);
  }
};

using Words = std::vector<uint64_t>;

// What a function must be: true on `on`, false on `off`, anything elsewhere.
struct Target {
  Words on, off;
};

class Walk {
 public:
  Walk(const Network& network, const ResubstituteOptions& options)
      : options_(options), dice_{options.seed}, network_(network), tables_(network) {
    tables_.simulate(network_);
    prepare();
  }

  Network run() {
    for (int64_t move = 0; move<options_.moves&& * options_.work> 0 && !network_.gates.empty(); move++) {
      const uint32_t node = network_.first_gate() + dice_.below(network_.gates.size());
      *options_.work -= kPairsOfNode * network_.nodes();
      if (const std::optional<Edit> edit = find(node)) accept(*edit);
    }
    return std::move(network_);
  }

 private:
  void prepare() {
    fanouts_.assign(network_.nodes(), 0);
    for (const Gate& g : network_.gates) fanouts_[g.a]++, fanouts_[g.b]++;
    for (const Literal l : network_.outputs) fanouts_[node_of(l)]++;
  }

  void accept(const Edit& edit) {
    Network next = rebuilt(network_, &edit);
    if (next.gates.size() > network_.gates.size()) return;
    if (!tables_.complete()) {
      *options_.work -= kPairsOfSat + kPairsOfSatNode * network_.nodes();
      std::vector<bool> counterexample;
      if (!same_outputs(network_, next, counterexample)) {
        if (!counterexample.empty()) {
          tables_.add(counterexample);
          tables_.simulate(network_);
        }
        return;
      }
    }
    network_ = std::move(next);
    tables_.simulate(network_);
    prepare();
  }

  // Marks what may not be read (the gate, what depends on it, what dies with it); the number of gates that die.
  size_t forbid(uint32_t node) {
    forbidden_.assign(network_.nodes(), false);
    forbidden_[node] = true;
    for (uint32_t n = node + 1; n < network_.nodes(); n++)
      if (forbidden_[network_.gate(n).a] || forbidden_[network_.gate(n).b]) forbidden_[n] = true;
    std::vector<uint32_t> stack{node};
    std::vector<std::pair<uint32_t, uint32_t>> lost;
    size_t dying = 0;
    while (!stack.empty()) {
      const Gate g = network_.gate(stack.back());
      stack.pop_back();
      dying++;
      for (const uint32_t from : {g.a, g.b})
        if (from >= network_.first_gate()) {
          lost.emplace_back(from, 0);
          if (--fanouts_[from] == 0) {
            forbidden_[from] = true;
            stack.push_back(from);
          }
        }
    }
    for (const auto& [from, unused] : lost) fanouts_[from]++;
    return dying;
  }

  // Where the outputs see the gate's value.
  Target target_of(uint32_t node) {
    const size_t words = tables_.words();
    const uint64_t* own = tables_.of(node);
    Target target{Words(own, own + words), Words(words)};
    Words care(words, options_.dont_cares ? 0 : ~0ULL);
    if (options_.dont_cares) tables_.observability(network_, node, care.data());
    for (size_t w = 0; w < words; w++) {
      target.off[w] = ~own[w] & care[w];
      target.on[w] = own[w] & care[w];
    }
    return target;
  }

  std::optional<Edit> find(uint32_t node) {
    const size_t dying = forbid(node);
    const Target target = target_of(node);
    divisors_.clear();
    for (uint32_t n = 0; n < network_.nodes(); n++) {
      const bool input = n > 0 && n < network_.first_gate();
      if (!forbidden_[n] && (!input || (fanouts_[n] > 0 && tables_.knows(n)))) divisors_.push_back(n);
    }
    dice_.shuffle(divisors_);
    Edit edit{.node = node};
    if (single(target, edit)) return edit;
    divisors_.erase(std::find(divisors_.begin(), divisors_.end(), 0U));
    if (divisors_.size() > kMostDivisors) keep_nearest(node);
    own_ = dying == 1 ? network_.gate(node) : Gate{};
    if (pair(target, edit)) return edit;
    if (dying >= 2 && two_gates(target, edit)) return edit;
    return std::nullopt;
  }

  // Nodes are numbered from depth to depth, so neighbours by number mostly are neighbours by wires.
  void keep_nearest(uint32_t node) {
    const auto distance = [node](uint32_t n) { return n < node ? node - n : n - node; };
    std::nth_element(divisors_.begin(), divisors_.begin() + kMostDivisors, divisors_.end(),
                     [&](uint32_t x, uint32_t y) { return distance(x) < distance(y); });
    divisors_.resize(kMostDivisors);
    dice_.shuffle(divisors_);
  }

  bool single(const Target& target, Edit& edit) {
    const size_t words = tables_.words();
    for (const uint32_t n : divisors_) {
      const uint64_t* x = tables_.of(n);
      bool same = true, opposite = true;
      for (size_t w = 0; w < words && (same || opposite); w++) {
        const uint64_t wrong = (target.on[w] & ~x[w]) | (target.off[w] & x[w]);
        const uint64_t wrong_negated = (target.on[w] & x[w]) | (target.off[w] & ~x[w]);
        same = same && wrong == 0;
        opposite = opposite && wrong_negated == 0;
      }
      if (same || opposite) {
        edit.root = literal(n, !same);
        return true;
      }
    }
    return false;
  }

  // One gate on two divisors: in each of the four cases, the target may not be both true and false.
  bool pair(const Target& target, Edit& edit) {
    const size_t words = tables_.words();
    std::vector<std::array<uint64_t, 4>> parts(words);  // on and off where x, on and off where not x
    for (size_t i = 1; i < divisors_.size(); i++) {
      const uint64_t* x = tables_.of(divisors_[i]);
      for (size_t w = 0; w < words; w++)
        parts[w] = {target.on[w] & x[w], target.off[w] & x[w], target.on[w] & ~x[w], target.off[w] & ~x[w]};
      *options_.work -= static_cast<double>(i);
      for (size_t j = 0; j < i; j++) {
        const int function = fit(parts, tables_.of(divisors_[j]));
        if (function < 0) continue;
        const Gate gate{static_cast<Function>(function), divisors_[i], divisors_[j]};
        if (std::minmax(gate.a, gate.b) == std::minmax(own_.a, own_.b)) continue;  // what it is already
        edit.root = literal(network_.nodes() + static_cast<uint32_t>(edit.added.size()));
        edit.added.push_back(gate);
        return true;
      }
    }
    return false;
  }

  // The function of (x, y) that fits the parts of the target by x, or -1.
  static int fit(const std::vector<std::array<uint64_t, 4>>& parts, const uint64_t* y) {
    uint64_t on11 = 0, on10 = 0, on01 = 0, on00 = 0, off11 = 0, off10 = 0, off01 = 0, off00 = 0;
    for (size_t w = 0; w < parts.size(); w++) {
      const auto& [on1, off1, on0, off0] = parts[w];
      on11 |= on1 & y[w], off11 |= off1 & y[w];
      on10 |= on1 & ~y[w], off10 |= off1 & ~y[w];
      on01 |= on0 & y[w], off01 |= off0 & y[w];
      on00 |= on0 & ~y[w], off00 |= off0 & ~y[w];
      if ((on11 && off11) || (on10 && off10) || (on01 && off01) || (on00 && off00)) return -1;
    }
    return (on00 ? 8 : 0) | (on01 ? 4 : 0) | (on10 ? 2 : 0) | (on11 ? 1 : 0);
  }

  // A gate on a divisor x and on a new gate. Where x decides, the new gate is free.
  bool two_gates(const Target& target, Edit& edit) {
    own_ = {};
    const size_t words = tables_.words();
    const double enough = *options_.work - kPairsOfTwo;
    for (size_t i = 0; i < divisors_.size() && *options_.work > enough; i++) {
      const uint32_t n = divisors_[i];
      const uint64_t* x = tables_.of(n);
      bool covers = true, covered = true, negation_covers = true, negation_covered = true;
      for (size_t w = 0; w < words; w++) {
        covers = covers && (target.on[w] & ~x[w]) == 0;
        covered = covered && (target.off[w] & x[w]) == 0;
        negation_covers = negation_covers && (target.on[w] & x[w]) == 0;
        negation_covered = negation_covered && (target.off[w] & ~x[w]) == 0;
      }
      Function f = Function::kXor;  // of x and the new gate
      if (covers) f = Function::kAnd;
      if (covered) f = Function::kOr;
      if (negation_covers) f = Function::kNotAnd;
      if (negation_covered) f = Function::kNotOr;
      if (f == Function::kXor && divisors_.size() > kXorDivisors) continue;
      Target rest{Words(words), Words(words)};
      for (size_t w = 0; w < words; w++) {
        const uint64_t if_on = apply(f, x[w], ~0ULL), if_off = apply(f, x[w], 0);  // the result by the new gate's value
        const uint64_t counts = if_on ^ if_off;
        rest.on[w] = counts & ((target.on[w] & if_on) | (target.off[w] & ~if_on));
        rest.off[w] = counts & ((target.on[w] & if_off) | (target.off[w] & ~if_off));
      }
      if (!pair(rest, edit)) continue;
      edit.added.push_back({f, n, node_of(edit.root)});
      edit.root = literal(network_.nodes() + 1);
      return true;
    }
    return false;
  }

  // What things cost, in pairs looked at: a question to the SAT solver, and for each node; a move for each node.
  static constexpr double kPairsOfSat = 150'000, kPairsOfSatNode = 300, kPairsOfNode = 10;
  static constexpr double kPairsOfTwo = 60'000;  // what a search for two gates may cost
  static constexpr size_t kMostDivisors = 200;   // for two at a time
  static constexpr size_t kXorDivisors = 60;
  ResubstituteOptions options_;
  Dice dice_;
  Network network_;
  Tables tables_;
  Gate own_ = {};
  std::vector<uint32_t> fanouts_, divisors_;
  std::vector<bool> forbidden_;
};

}  // namespace

Network resubstitute(const Network& network, const ResubstituteOptions& options) {
  return Walk(network, options).run();
}

}  // namespace ingot::gates
