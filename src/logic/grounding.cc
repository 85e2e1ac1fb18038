#include "logic/grounding.h"

#include "ingot/base/text.h"

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

}  // namespace

Grounding::Grounding(Evaluation& e, bool uncertain_only) : e_(e), uncertain_only_(uncertain_only) {
  rules_of_.resize(e.unit().relations.size());
  for (size_t i = 0; i < e.unit().rules.size(); i++) {
    const Rule& r = e.unit().rules[i];
    if (r.is_fact()) continue;
    rules_of_[static_cast<size_t>(r.head.relation)].push_back(rules_.size());
    rules_.push_back(named(r));
    written_.push_back(named(e.unit_as_written().rules[i]));
  }
  plans_.resize(rules_.size());
}

size_t Grounding::node(int relation, const std::vector<Value>& fact) {
  const auto [found, made] = numbers_.emplace(std::pair(relation, fact), nodes_.size());
  if (made)
    nodes_.push_back(
        {relation, fact, e_.is_given(relation, fact.data()), e_.unit().relations[static_cast<size_t>(relation)].coin});
  return found->second;
}

bool Grounding::bind(const Rule& r, const std::vector<Value>& fact, std::vector<bool>& bound,
                     std::vector<Value>& values) {
  bound.assign(static_cast<size_t>(r.slots), false);
  values.assign(static_cast<size_t>(r.slots), 0);
  bool same = true;
  for (size_t c = 0; c < fact.size(); c++) {
    const Term& t = r.head.arguments[c];
    if (t.is_constant() && t.value != fact[c]) same = false;
    if (!t.is_variable()) continue;
    const auto slot = static_cast<size_t>(t.slot);
    if (bound[slot] && values[slot] != fact[c]) same = false;
    bound[slot] = true;
    values[slot] = fact[c];
  }
  return same;
}

const JoinPlan& Grounding::plan_of(size_t rule, const std::vector<bool>& bound) {
  if (!plans_[rule]) plans_[rule] = std::make_unique<JoinPlan>(e_.plan_for(rules_[rule], bound, false));
  return *plans_[rule];
}

void Grounding::expand() {
  for (; expanded_ < nodes_.size(); expanded_++) expand(expanded_);
}

void Grounding::expand(size_t number) {
  if (nodes_[number].given) return;
  const int relation = nodes_[number].relation;
  if (uncertain_only_ && !is_uncertain(relation)) return;
  const std::vector<Value> fact = nodes_[number].fact;
  for (const size_t rule : rules_of_[static_cast<size_t>(relation)]) {
    const Rule& r = rules_[rule];
    std::vector<bool> bound;
    std::vector<Value> values;
    if (!bind(r, fact, bound, values)) continue;
    Machine machine(e_.unit(), r, plan_of(rule, bound), nullptr, e_.cancel());
    for (size_t s = 0; s < values.size(); s++) machine.slot(static_cast<int>(s)) = values[s];
    std::vector<std::vector<Value>> solutions;  // first, because instances look into relations themselves
    machine.solved = [&] {
      std::vector<Value> slots;
      slots.reserve(static_cast<size_t>(r.slots));
      for (int s = 0; s < r.slots; s++) slots.push_back(machine.slot(s));
      for (size_t c = 0; c < fact.size(); c++)
        if (value_of(e_.unit(), r.head.arguments[c], slots) != fact[c]) return true;
      solutions.push_back(std::move(slots));
      return instances_.size() + solutions.size() <= kMostInstances;
    };
    machine.run();
    for (auto& slots : solutions) instances_.push_back(instance(written_[rule], number, std::move(slots)));
    if (instances_.size() > kMostInstances)
      throw Error("logic: " + text_of(nodes_[0].relation, nodes_[0].fact) + " has more than " +
                  grouped(kMostInstances) + " steps that lead to it — ask for a fact with fewer");
  }
}

Grounding::Instance Grounding::instance(const Rule& r, size_t head, std::vector<Value> slots) {
  Instance i{&r, head, {}, {}, {}};
  for (const Literal& l : r.body) {
    if (l.kind == Literal::Kind::kCompare) continue;
    if (l.kind == Literal::Kind::kNegated) {
      if (is_uncertain(l.atom.relation)) absent_facts(l, r, slots, i.absent);
    } else if (!uncertain_only_ || is_uncertain(l.atom.relation)) {
      std::vector<Value> premise;
      for (const Term& t : l.atom.arguments) premise.push_back(value_of(e_.unit(), t, slots));
      i.premises.push_back(node(l.atom.relation, premise));
    }
  }
  i.slots = std::move(slots);
  return i;
}

// All facts that a negated atom speaks of; `_` is any value.
void Grounding::absent_facts(const Literal& l, const Rule& r, const std::vector<Value>& slots,
                             std::vector<size_t>& into) {
  Rule asked{.head = r.head, .body = {l}, .at = r.at, .slots = r.slots, .names = r.names};
  asked.body[0].kind = Literal::Kind::kAtom;
  asked = named(asked);
  std::vector<bool> bound(static_cast<size_t>(asked.slots), false);
  std::fill(bound.begin(), bound.begin() + r.slots, true);
  const JoinPlan plan = e_.plan_for(asked, bound, false);
  Machine machine(e_.unit(), asked, plan, nullptr, e_.cancel());
  for (int s = 0; s < r.slots; s++) machine.slot(s) = slots[static_cast<size_t>(s)];
  std::vector<std::vector<Value>> found;
  machine.solved = [&] {
    found.emplace_back();
    for (const Term& t : asked.body[0].atom.arguments)
      found.back().push_back(t.is_variable() ? machine.slot(t.slot) : t.value);
    return found.size() <= kMostInstances;
  };
  machine.run();
  for (const auto& fact : found) into.push_back(node(l.atom.relation, fact));
}

std::string Grounding::term_text(const Term& t, const Rule& r, const std::vector<Value>& slots,
                                 const std::vector<bool>& bound) const {
  if (t.kind == Term::Kind::kAny) return "_";
  if (t.kind == Term::Kind::kAggregate) return "the aggregate of line " + std::to_string(e_.unit().sources.line(t.at));
  bool known = true;
  each_variable(t, [&](const Term& v) { known = known && (bound.empty() || bound[static_cast<size_t>(v.slot)]); });
  if (!known) return t.is_variable() ? r.names[static_cast<size_t>(t.slot)] : "…";
  return value_in_program(t.type, value_of(e_.unit(), t, slots), e_.unit().symbols);
}

std::string Grounding::literal_text(const Literal& l, const Rule& r, const std::vector<Value>& slots,
                                    const std::vector<bool>& bound) const {
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

std::string Grounding::text_of(int relation, const std::vector<Value>& fact) const {
  std::vector<std::string> parts;
  const Declaration& d = e_.unit().relations[static_cast<size_t>(relation)];
  for (size_t c = 0; c < fact.size(); c++)
    parts.push_back(value_in_program(d.columns[c].type, fact[c], e_.unit().symbols));
  return d.name + "(" + join(parts) + ")";
}

}  // namespace ingot::logic
