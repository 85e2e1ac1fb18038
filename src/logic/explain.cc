// Why a fact holds: a proof of least height; or why not: the premise that every rule lacks first.
#include <algorithm>
#include <map>

#include "ingot/base/text.h"
#include "logic/evaluate.h"
#include "logic/parse.h"

namespace ingot::logic {
namespace {

constexpr size_t kMostInstances = 500000;

// The rule with a name for every `_`, so that its premises are facts.
Rule named(const Rule& rule) {
  Rule r = rule;
  for (Literal& l : r.body) {
    if (l.kind != Literal::Kind::kAtom) continue;
    for (Term& t : l.atom.arguments) {
      if (t.kind != Term::Kind::kAny) continue;
      t = {.kind = Term::Kind::kVariable, .at = t.at, .name = "_", .slot = r.slots++};
      r.names.emplace_back("_");
    }
  }
  return r;
}

class Prover {
 public:
  explicit Prover(Evaluation& e) : e_(e) {
    for (const Rule& r : e.unit().rules)
      if (!r.is_fact()) rules_.push_back(named(r));
  }

  std::string proof(int relation, const std::vector<Value>& fact) {
    const size_t goal = node(relation, fact);
    for (size_t i = 0; i < nodes_.size(); i++) {
      expand(i);
      if (instances_.size() > kMostInstances)
        throw Error("explain: " + text_of(relation, fact) + " has more than " + grouped(kMostInstances) +
                    " steps that lead to it — explain a fact with fewer");
    }
    measure();
    std::string text;
    print(goal, "", "", text);
    return text;
  }

  std::string why_not(int relation, const std::vector<Value>& fact) {
    const Declaration& d = e_.unit().relations[static_cast<size_t>(relation)];
    std::string text = "There is no " + text_of(relation, fact) + ".\n";
    bool any = false;
    for (const Rule& r : rules_) {
      if (r.head.relation != relation) continue;
      any = true;
      text += "  line " + std::to_string(e_.unit().sources.line(r.at)) + ": " + missing(r, fact) + "\n";
    }
    if (!any) text += "  No rule makes facts of " + in_quotes(d.name) + ", and it is not among those given.\n";
    return text;
  }

 private:
  struct Instance {
    const Rule* rule;
    size_t head;
    std::vector<size_t> premises;
    std::vector<std::string> conditions;
  };
  struct Node {
    int relation;
    std::vector<Value> fact;
    bool given = false;
    int height = -1;
    size_t by = 0;  // an instance
  };

  size_t node(int relation, const std::vector<Value>& fact) {
    const auto [found, made] = numbers_.emplace(std::pair(relation, fact), nodes_.size());
    if (made) nodes_.push_back({relation, fact, e_.is_given(relation, fact.data())});
    return found->second;
  }

  // The head's variables as the fact says; false if its constants are others.
  static bool bind(const Rule& r, const std::vector<Value>& fact, std::vector<bool>& bound,
                   std::vector<Value>& values) {
    bound.assign(static_cast<size_t>(r.slots), false);
    values.assign(static_cast<size_t>(r.slots), 0);
    for (size_t c = 0; c < fact.size(); c++) {
      const Term& t = r.head.arguments[c];
      if (t.is_constant() && t.value != fact[c]) return false;
      if (!t.is_variable()) continue;
      const auto slot = static_cast<size_t>(t.slot);
      if (bound[slot] && values[slot] != fact[c]) return false;
      bound[slot] = true;
      values[slot] = fact[c];
    }
    return true;
  }

  void expand(size_t number) {
    if (nodes_[number].given) return;
    const int relation = nodes_[number].relation;
    const std::vector<Value> fact = nodes_[number].fact;
    for (const Rule& r : rules_) {
      std::vector<bool> bound;
      std::vector<Value> values;
      if (r.head.relation != relation || !bind(r, fact, bound, values)) continue;
      const JoinPlan plan = e_.plan_for(r, bound, false);
      Machine machine(e_.unit(), r, plan, nullptr, e_.cancel());
      for (size_t s = 0; s < values.size(); s++) machine.slot(static_cast<int>(s)) = values[s];
      machine.solved = [&] {
        std::vector<Value> slots;
        slots.reserve(static_cast<size_t>(r.slots));
        for (int s = 0; s < r.slots; s++) slots.push_back(machine.slot(s));
        for (size_t c = 0; c < fact.size(); c++)
          if (value_of(e_.unit(), r.head.arguments[c], slots) != fact[c]) return true;
        instances_.push_back(instance(r, number, slots));
        return instances_.size() <= kMostInstances;
      };
      machine.run();
    }
  }

  Instance instance(const Rule& r, size_t head, const std::vector<Value>& slots) {
    Instance i{&r, head, {}, {}};
    for (const Literal& l : r.body) {
      if (l.kind == Literal::Kind::kAtom) {
        std::vector<Value> premise;
        for (const Term& t : l.atom.arguments) premise.push_back(value_of(e_.unit(), t, slots));
        i.premises.push_back(node(l.atom.relation, premise));
      } else {
        i.conditions.push_back(literal_text(l, r, slots, {}));
      }
    }
    return i;
  }

  // Heights level by level: an instance is ready when its last premise is, and then its head is as low as it can be.
  void measure() {
    std::vector<std::vector<size_t>> used(nodes_.size());
    std::vector<size_t> waits(instances_.size());
    std::vector<size_t> level;
    for (size_t i = 0; i < instances_.size(); i++) {
      waits[i] = instances_[i].premises.size();
      for (const size_t p : instances_[i].premises) used[p].push_back(i);
    }
    const auto settle = [&](size_t n, int height, size_t by) {
      if (nodes_[n].height >= 0) return;
      nodes_[n].height = height;
      nodes_[n].by = by;
      level.push_back(n);
    };
    for (size_t n = 0; n < nodes_.size(); n++)
      if (nodes_[n].given) settle(n, 0, 0);
    for (size_t i = 0; i < instances_.size(); i++)
      if (waits[i] == 0) settle(instances_[i].head, 1, i);
    for (int height = 1; !level.empty(); height++) {
      const std::vector<size_t> last = std::exchange(level, {});
      for (const size_t n : last)
        for (const size_t i : used[n])
          if (--waits[i] == 0) settle(instances_[i].head, height, i);
    }
  }

  void print(size_t number, const std::string& first, const std::string& rest, std::string& text) {
    const Node& n = nodes_[number];
    text += first + text_of(n.relation, n.fact);
    if (n.given || n.height < 0) {
      text += n.given ? "   given\n" : "\n";
      return;
    }
    const Instance& i = instances_[n.by];
    text += "   by line " + std::to_string(e_.unit().sources.line(i.rule->at)) + "\n";
    const size_t lines = i.premises.size() + i.conditions.size();
    for (size_t p = 0; p < lines; p++) {
      const bool last = p + 1 == lines;
      const std::string branch = rest + (last ? "└─ " : "├─ "), below = rest + (last ? "   " : "│  ");
      if (p < i.premises.size())
        print(i.premises[p], branch, below, text);
      else
        text += branch + i.conditions[p - i.premises.size()] + "\n";
    }
  }

  // The step of the body, as it is written, that no solution came through.
  std::string missing(const Rule& r, const std::vector<Value>& fact) {
    std::vector<bool> bound;
    std::vector<Value> values;
    if (!bind(r, fact, bound, values)) return "its head is about other facts";
    const JoinPlan plan = e_.plan_for(r, bound, true);
    Machine machine(e_.unit(), r, plan, nullptr, e_.cancel());
    for (size_t s = 0; s < values.size(); s++) machine.slot(static_cast<int>(s)) = values[s];
    machine.watch_depth();
    machine.solved = [] { return true; };
    machine.run();
    const std::vector<Value> slots = machine.deepest() > 0 ? machine.deepest_slots() : values;
    for (size_t s = 0; s < machine.deepest(); s++) {
      if (plan.steps[s].slot >= 0 && plan.steps[s].slot < r.slots)
        bound[static_cast<size_t>(plan.steps[s].slot)] = true;
      for (const auto& [column, slot] : plan.steps[s].binds)
        if (slot < r.slots) bound[static_cast<size_t>(slot)] = true;
    }
    const Step& step = plan.steps[machine.deepest()];
    if (step.literal == nullptr) return "its premises hold, but for other values of the head";
    return "missing is " + literal_text(*step.literal, r, slots, bound);
  }

  // With values where variables have them. `bound` empty: all have.
  std::string term_text(const Term& t, const Rule& r, const std::vector<Value>& slots, const std::vector<bool>& bound) {
    if (t.kind == Term::Kind::kAny) return "_";
    if (t.kind == Term::Kind::kAggregate)
      return "the aggregate of line " + std::to_string(e_.unit().sources.line(t.at));
    bool known = true;
    each_variable(t, [&](const Term& v) { known = known && (bound.empty() || bound[static_cast<size_t>(v.slot)]); });
    if (!known) return t.is_variable() ? r.names[static_cast<size_t>(t.slot)] : "…";
    return value_in_program(t.type, value_of(e_.unit(), t, slots), e_.unit().symbols);
  }
  std::string literal_text(const Literal& l, const Rule& r, const std::vector<Value>& slots,
                           const std::vector<bool>& bound) {
    if (l.kind == Literal::Kind::kCompare) {
      static constexpr const char* kSigns[] = {" = ", " != ", " < ", " <= ", " > ", " >= "};
      return term_text(l.left, r, slots, bound) + kSigns[static_cast<int>(l.comparison)] +
             term_text(l.right, r, slots, bound);
    }
    std::vector<std::string> parts;
    const Declaration& d = e_.unit().relations[static_cast<size_t>(l.atom.relation)];
    for (size_t c = 0; c < l.atom.arguments.size(); c++) {
      Term t = l.atom.arguments[c];
      t.type = d.columns[c].type;
      parts.push_back(term_text(t, r, slots, bound));
    }
    return (l.kind == Literal::Kind::kNegated ? "not " : "") + d.name + "(" + join(parts) + ")";
  }
  std::string text_of(int relation, const std::vector<Value>& fact) const {
    std::vector<std::string> parts;
    const Declaration& d = e_.unit().relations[static_cast<size_t>(relation)];
    for (size_t c = 0; c < fact.size(); c++)
      parts.push_back(value_in_program(d.columns[c].type, fact[c], e_.unit().symbols));
    return d.name + "(" + join(parts) + ")";
  }

  Evaluation& e_;
  std::vector<Rule> rules_;
  std::vector<Node> nodes_;
  std::vector<Instance> instances_;
  std::map<std::pair<int, std::vector<Value>>, size_t> numbers_;
};

}  // namespace

std::string explain_fact(Evaluation& e, int relation, const std::vector<Value>& fact) {
  Prover prover(e);
  return e.relation(relation).contains(fact.data()) ? prover.proof(relation, fact) : prover.why_not(relation, fact);
}

std::string explain_fact(Evaluation& e, const std::string& text) {
  Unit asked;
  asked.dialect = Dialect::kRules;
  std::string whole(trimmed(text));
  while (!whole.empty() && (whole.back() == '.' || whole.back() == '?')) whole.pop_back();
  Parser(asked).parse("fact", whole + ".");
  if (asked.rules.size() != 1 || !asked.rules[0].is_fact())
    throw Error("explain: " + in_quotes(text) + " is no fact — write one like edge(1, 2)");
  const Atom& a = asked.rules[0].head;
  const int relation = e.number_of(a.name);
  const std::vector<Type>& types = e.relation(relation).types();
  if (types.size() != a.arguments.size())
    throw Error("explain: " + in_quotes(a.name) + " has " + counted(std::ssize(types), "column") + ", here are " +
                std::to_string(a.arguments.size()));
  std::vector<Value> fact(types.size());
  for (size_t c = 0; c < types.size(); c++) {
    const Term& t = a.arguments[c];
    if ((!t.is_constant() && !t.is_variable()) || !parse_value(types[c], t.name, fact[c], e.unit().symbols))
      throw Error("explain: " + in_quotes(t.name) + " is no " + std::string(type_name(types[c])) + " (column " +
                  std::to_string(c + 1) + " of " + in_quotes(a.name) + ")");
  }
  return explain_fact(e, relation, fact);
}

}  // namespace ingot::logic
