// Why a fact holds: a proof of least height; or why not: the premise that every rule lacks first.
#include <utility>

#include "ingot/base/text.h"
#include "logic/chances.h"
#include "logic/grounding.h"
#include "logic/parse.h"

namespace ingot::logic {
namespace {

class Prover {
 public:
  explicit Prover(Evaluation& e) : e_(e), grounding_(e, false) {}

  std::string proof(int relation, const std::vector<Value>& fact) {
    const size_t goal = grounding_.node(relation, fact);
    grounding_.expand();
    measure();
    std::string text;
    print(goal, "", "", text);
    return text;
  }

  std::string why_not(int relation, const std::vector<Value>& fact) {
    const Declaration& d = e_.unit().relations[static_cast<size_t>(relation)];
    std::string text = "There is no " + grounding_.text_of(relation, fact) + ".\n";
    bool any = false;
    for (const Rule& r : grounding_.rules()) {
      if (r.head.relation != relation || r.chance) continue;
      any = true;
      text += "  line " + std::to_string(e_.unit().sources.line(r.at)) + ": " + missing(r, fact) + "\n";
    }
    if (!any) text += "  No rule makes facts of " + in_quotes(d.name) + ", and it is not among those given.\n";
    return text;
  }

 private:
  struct Measure {
    int height = -1;
    size_t by = 0;  // an instance
  };

  // Heights level by level: an instance is ready when its last premise is, and then its head is as low as it can be.
  void measure() {
    const auto& nodes = grounding_.nodes();
    const auto& instances = grounding_.instances();
    measures_.assign(nodes.size(), {});
    std::vector<std::vector<size_t>> used(nodes.size());
    std::vector<size_t> waits(instances.size());
    std::vector<size_t> level;
    for (size_t i = 0; i < instances.size(); i++) {
      waits[i] = instances[i].premises.size();
      for (const size_t p : instances[i].premises) used[p].push_back(i);
    }
    const auto settle = [&](size_t n, int height, size_t by) {
      if (measures_[n].height >= 0) return;
      measures_[n] = {height, by};
      level.push_back(n);
    };
    for (size_t n = 0; n < nodes.size(); n++)
      if (nodes[n].given) settle(n, 0, 0);
    for (size_t i = 0; i < instances.size(); i++)
      if (waits[i] == 0) settle(instances[i].head, 1, i);
    for (int height = 1; !level.empty(); height++) {
      const std::vector<size_t> last = std::exchange(level, {});
      for (const size_t n : last)
        for (const size_t i : used[n])
          if (--waits[i] == 0) settle(instances[i].head, height, i);
    }
  }

  void print(size_t number, const std::string& first, const std::string& rest, std::string& text) {
    const Grounding::Node& n = grounding_.nodes()[number];
    text += first + grounding_.text_of(number);
    if (n.given || measures_[number].height < 0) {
      text += n.given ? "   given\n" : "\n";
      return;
    }
    const Grounding::Instance& i = grounding_.instances()[measures_[number].by];
    text += "   by line " + std::to_string(e_.unit().sources.line(i.rule->at)) + "\n";
    std::vector<std::string> conditions;
    for (const Literal& l : i.rule->body)
      if (l.kind != Literal::Kind::kAtom) conditions.push_back(grounding_.literal_text(l, *i.rule, i.slots, {}));
    const size_t lines = i.premises.size() + conditions.size();
    for (size_t p = 0; p < lines; p++) {
      const bool last = p + 1 == lines;
      const std::string branch = rest + (last ? "└─ " : "├─ "), below = rest + (last ? "   " : "│  ");
      if (p < i.premises.size())
        print(i.premises[p], branch, below, text);
      else
        text += branch + conditions[p - i.premises.size()] + "\n";
    }
  }

  // The step of the body, as it is written, that no solution came through.
  std::string missing(const Rule& r, const std::vector<Value>& fact) {
    std::vector<bool> bound;
    std::vector<Value> values;
    if (!Grounding::bind(r, fact, bound, values)) return "its head is about other facts";
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
    return "missing is " + grounding_.literal_text(*step.literal, r, slots, bound);
  }

  Evaluation& e_;
  Grounding grounding_;
  std::vector<Measure> measures_;
};

}  // namespace

std::string explain_fact(Evaluation& e, int relation, const std::vector<Value>& fact) {
  const bool possible = e.relation(relation).contains(fact.data());
  if (possible && e.is_uncertain(relation)) return Chances(e, e.proofs()).explain(relation, fact);
  Prover prover(e);
  return possible ? prover.proof(relation, fact) : prover.why_not(relation, fact);
}

int read_fact(Evaluation& e, const std::string& text, std::vector<Value>& fact) {
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
  fact.assign(types.size(), 0);
  for (size_t c = 0; c < types.size(); c++) {
    const Term& t = a.arguments[c];
    if ((!t.is_constant() && !t.is_variable()) || !parse_value(types[c], t.name, fact[c], e.unit().symbols))
      throw Error("explain: " + in_quotes(t.name) + " is no " + std::string(type_name(types[c])) + " (column " +
                  std::to_string(c + 1) + " of " + in_quotes(a.name) + ")");
  }
  return relation;
}

std::string explain_fact(Evaluation& e, const std::string& text) {
  std::vector<Value> fact;
  const int relation = read_fact(e, text, fact);
  return explain_fact(e, relation, fact);
}

}  // namespace ingot::logic
