#include "gates/bit_program.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "gates/network.h"
#include "ingot/base/error.h"

namespace ingot::gates {
namespace {

// Instructions before their operands have places. Signals are those of the network: constant, inputs, gates.
struct Step {
  BitCode kind = 0;
  int operands = 2;  // 2, or 4 for trees
  uint32_t out = 0;
  uint32_t in[4] = {};
  uint32_t second = 0;  // the other result of twins
};

struct Form {
  BitKind kind;
  bool swap;
};

// The instruction of a function. Swapped where it is the second input that is copied or negated.
Form form_of(Function f) {
  static constexpr Form kForms[kFunctions] = {
      {kBitZero, false},  {kBitAnd, false},   {kBitAndNot, false}, {kBitCopy, false},
      {kBitAndNot, true}, {kBitCopy, true},   {kBitXor, false},    {kBitOr, false},
      {kBitNor, false},   {kBitXnor, false},  {kBitNot, true},     {kBitNotOr, true},
      {kBitNot, false},   {kBitNotOr, false}, {kBitNand, false},   {kBitOne, false}};
  return kForms[static_cast<int>(f)];
}

Step single(Function f, uint32_t out, uint32_t a, uint32_t b) {
  const Form form = form_of(f);
  if (form.swap) std::swap(a, b);
  if (form.kind == kBitCopy || form.kind == kBitNot) b = a;
  return {form.kind, 2, out, {a, b}};
}

BitPart part_of(Function f) {
  switch (f) {
    case Function::kAnd: return kBitPartAnd;
    case Function::kAndNot:
    case Function::kNotAnd: return kBitPartAndNot;
    case Function::kOr: return kBitPartOr;
    case Function::kXor: return kBitPartXor;
    default: return kBitLeaf;
  }
}

// Every gate as it stands. Within a level, gates of one kind stand together: one jump for all of them.
Network as_it_is(const Circuit& c) {
  Network network{.inputs = c.inputs, .gates = c.gates};
  for (Gate& g : network.gates) g.a++, g.b++;
  for (const uint32_t signal : c.outputs) network.outputs.push_back(literal(signal + 1));
  return network;
}

std::vector<uint32_t> order_by_level(const Network& network) {
  std::vector<uint32_t> level(network.nodes()), order(network.gates.size());
  for (uint32_t n = network.first_gate(); n < network.nodes(); n++)
    level[n] = 1 + std::max(level[network.gate(n).a], level[network.gate(n).b]);
  std::iota(order.begin(), order.end(), network.first_gate());
  std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
    return std::pair(level[x], form_of(network.gate(x).function).kind) <
           std::pair(level[y], form_of(network.gate(y).function).kind);
  });
  return order;
}

class Compiler {
 public:
  Compiler(const Circuit& circuit, bool keep_copies)
      : keep_(keep_copies), network_(keep_copies ? as_it_is(circuit) : to_network(circuit, true)) {
    readers_.assign(network_.nodes(), 0);
    for (const Gate& g : network_.gates) readers_[g.a]++, readers_[g.b]++;
    own_output_.assign(network_.nodes(), -1);
    for (size_t o = 0; o < network_.outputs.size(); o++) readers_[node_of(network_.outputs[o])]++;
  }

  BitProgram compile() {
    claim_outputs();
    make_steps();
    copy_outputs();
    place();
    return std::move(program_);
  }

 private:
  // A gate writes straight into its first output, negated if only the output reads it.
  void claim_outputs() {
    for (size_t o = 0; o < network_.outputs.size(); o++) {
      const Literal l = network_.outputs[o];
      const uint32_t n = node_of(l);
      if (n < network_.first_gate() || own_output_[n] >= 0) continue;
      if (negated(l) && readers_[n] > 1) continue;
      if (negated(l)) network_.gates[n - network_.first_gate()].function = negate(network_.gate(n).function);
      own_output_[n] = static_cast<int64_t>(o);
    }
  }

  void make_steps() {
    std::vector<bool> inside(network_.nodes());  // of another gate's tree
    if (!keep_)
      for (uint32_t n = network_.nodes(); n-- > network_.first_gate();)
        if (!inside[n] && part_of(network_.gate(n).function) != kBitLeaf)
          for (const uint32_t from : {network_.gate(n).a, network_.gate(n).b})
            if (from >= network_.first_gate() && readers_[from] == 1) inside[from] = true;
    std::vector<uint32_t> order(network_.gates.size());
    std::iota(order.begin(), order.end(), network_.first_gate());
    if (keep_) order = order_by_level(network_);
    for (const uint32_t n : order) {
      if (inside[n]) continue;
      const Gate& g = network_.gate(n);
      if (inside[g.a] || inside[g.b])
        steps_.push_back(tree(n, inside[g.a], inside[g.b]));
      else if (keep_ || !join_twin(n))
        steps_.push_back(single(g.function, n, g.a, g.b));
    }
    program_.gates = static_cast<int64_t>(network_.gates.size());
  }

  // Makes one instruction of this gate and of one before it that reads the same.
  bool join_twin(uint32_t n) {
    const Gate& g = network_.gate(n);
    if (part_of(g.function) == kBitLeaf) return false;
    const auto [other, alone] = alone_.try_emplace(std::pair(g.a, g.b), steps_.size());
    if (alone) return false;
    Step& step = steps_[other->second];
    Gate first = network_.gate(step.out), second = g;
    uint32_t first_node = step.out, second_node = n;
    alone_.erase(other);
    if (part_of(first.function) > part_of(second.function)) {
      std::swap(first, second);
      std::swap(first_node, second_node);
    }
    uint32_t a = g.a, b = g.b;  // of twins, "a ∧ ¬b" always has them in this order, but for the second of two
    if (first.function == Function::kNotAnd ||
        (first.function != Function::kAndNot && second.function == Function::kNotAnd))
      std::swap(a, b);
    step = {bit_twins(part_of(first.function), part_of(second.function)), 2, first_node, {a, b}, second_node};
    return true;
  }

  Step tree(uint32_t n, bool a_inside, bool b_inside) const {
    struct Side {
      BitPart part;
      uint32_t x, y;
    };
    const auto side = [&](uint32_t from, bool inside) -> Side {
      if (!inside) return {kBitLeaf, from, from};
      const Gate& g = network_.gate(from);
      return g.function == Function::kNotAnd ? Side{part_of(g.function), g.b, g.a}
                                             : Side{part_of(g.function), g.a, g.b};
    };
    const Gate& g = network_.gate(n);
    Side left = side(g.a, a_inside), right = side(g.b, b_inside);
    if (g.function == Function::kNotAnd) std::swap(left, right);
    const BitPart root = part_of(g.function);
    if (!has_bit_tree(root, left.part, right.part)) std::swap(left, right);
    return {bit_tree(root, left.part, right.part), 4, n, {left.x, left.y, right.x, right.y}};
  }

  // Outputs that no gate writes itself: constants, inputs, negations and second outputs of a signal.
  void copy_outputs() {
    for (size_t o = 0; o < network_.outputs.size(); o++) {
      const Literal l = network_.outputs[o];
      const uint32_t n = node_of(l);
      if (own_output_[n] == static_cast<int64_t>(o)) continue;
      const auto out = network_.nodes() + static_cast<uint32_t>(o);  // not a node: an output alone
      if (n == 0)
        steps_.push_back({negated(l) ? kBitOne : kBitZero, 2, out, {}});
      else
        steps_.push_back(single(negated(l) ? Function::kNotA : Function::kA, out, n, n));
    }
  }

  // Gives every signal an operand: its slot is free again after the last step that reads it.
  void place() {
    const uint32_t inputs = network_.inputs, outputs = static_cast<uint32_t>(network_.outputs.size());
    std::vector<size_t> last(network_.nodes(), 0);
    program_.reads.assign(inputs, false);
    for (size_t s = 0; s < steps_.size(); s++)
      for (int i = 0; i < steps_[s].operands; i++)
        if (steps_[s].kind > kBitOne) last[steps_[s].in[i]] = s;
    std::vector<uint32_t> operand(network_.nodes() + outputs), free;
    for (uint32_t i = 0; i < inputs; i++) operand[1 + i] = i;
    for (uint32_t o = 0; o < outputs; o++) operand[network_.nodes() + o] = inputs + o;
    uint32_t slots = 0;
    for (size_t s = 0; s < steps_.size(); s++) {
      Step& step = steps_[s];
      BitCode in[4] = {};
      for (int i = 0; i < step.operands && step.kind > kBitOne; i++) {
        uint32_t& n = step.in[i];
        in[i] = static_cast<BitCode>(operand[n]);
        if (n >= 1 && n <= inputs) program_.reads[n - 1] = true;
      }
      for (int i = 0; i < step.operands && step.kind > kBitOne; i++) {
        const uint32_t n = step.in[i];
        if (n < network_.first_gate() || own_output_[n] >= 0 || last[n] != s) continue;
        if (std::find(step.in, step.in + i, n) == step.in + i) free.push_back(operand[n]);
      }
      if (step.out < network_.nodes()) operand[step.out] = take(step.out, free, slots);
      program_.code.insert(program_.code.end(), {step.kind, static_cast<BitCode>(operand[step.out])});
      program_.code.insert(program_.code.end(), in, in + step.operands);
      if (step.second != 0) {
        operand[step.second] = take(step.second, free, slots);
        program_.code.push_back(static_cast<BitCode>(operand[step.second]));
      }
      if (step.out < network_.nodes() && own_output_[step.out] < 0 && last[step.out] <= s)  // nobody reads it
        free.push_back(operand[step.out]);
    }
    program_.inputs = inputs;
    program_.outputs = outputs;
    program_.slots = slots;
    if (static_cast<int64_t>(inputs) + outputs + slots > 65536)
      throw Error("Runner: the circuit has " + std::to_string(inputs) + " inputs, " + std::to_string(outputs) +
                  " outputs and " + std::to_string(slots) +
                  " signals alive at once, and 65536 is the most — simplify it, or cut it into parts");
  }

  uint32_t take(uint32_t node, std::vector<uint32_t>& free, uint32_t& slots) const {
    if (own_output_[node] >= 0) return network_.inputs + static_cast<uint32_t>(own_output_[node]);
    if (!free.empty()) {
      const uint32_t place = free.back();
      free.pop_back();
      return place;
    }
    return network_.inputs + static_cast<uint32_t>(network_.outputs.size()) + slots++;
  }

  bool keep_;
  Network network_;
  std::vector<uint32_t> readers_;
  std::vector<int64_t> own_output_;  // of a node: the output that it is written to, or -1
  std::vector<Step> steps_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> alone_;  // steps of one gate, by what they read
  BitProgram program_;
};

}  // namespace

BitProgram compile(const Circuit& circuit, bool keep_copies) { return Compiler(circuit, keep_copies).compile(); }

}  // namespace ingot::gates
