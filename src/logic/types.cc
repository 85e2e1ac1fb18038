// Types: what is compared, joined or computed together has one type. Every term is a node of a union-find; a node knows
// which types it may still have.
#include <algorithm>
#include <string>
#include <vector>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

constexpr unsigned kAnyType = 15, kNumeric = 7;

unsigned mask_of(Type type) { return 1u << static_cast<unsigned>(type); }

std::string mask_text(unsigned mask) {
  if (mask == kNumeric) return "number";
  std::vector<std::string> names;
  for (unsigned t = 0; t < 4; t++)
    if ((mask >> t & 1) != 0) names.emplace_back(type_name(static_cast<Type>(t)));
  return join(names, " or ");
}

class Types {
 public:
  explicit Types(Unit& unit) : unit_(unit) {}

  void infer() {
    for (const Declaration& d : unit_.relations) {
      columns_.emplace_back();
      for (const Column& c : d.columns) columns_.back().push_back(made(c.typed ? mask_of(c.type) : kAnyType));
    }
    std::vector<std::vector<int>> variables;
    for (Rule& r : unit_.rules) {
      slots_.assign(static_cast<size_t>(r.slots), -1);
      for (int& s : slots_) s = made(kAnyType);
      atom(r.head);
      body(r.body);
      variables.push_back(slots_);
    }
    for (size_t i = 0; i < unit_.relations.size(); i++)
      for (size_t c = 0; c < columns_[i].size(); c++) unit_.relations[i].columns[c].type = type_of(columns_[i][c]);
    for (size_t i = 0; i < unit_.rules.size(); i++) {
      slots_ = variables[i];
      Rule& r = unit_.rules[i];
      for (Term& t : r.head.arguments) settle(t);
      settle(r.body);
      if (r.is_fact()) domains(r.head);
    }
    for (const Declaration& d : unit_.relations)
      if (d.best != Best::kAll && d.columns.back().type == Type::kSymbol)
        unit_.sources.fail(d.at,
                           "the last column of " + in_quotes(d.name) + " keeps the best value, so it must be a number");
  }

 private:
  int made(unsigned mask) {
    nodes_.push_back({static_cast<int>(nodes_.size()), mask});
    return static_cast<int>(nodes_.size()) - 1;
  }
  int root(int n) {
    while (nodes_[static_cast<size_t>(n)].parent != n) {
      int& parent = nodes_[static_cast<size_t>(n)].parent;
      parent = nodes_[static_cast<size_t>(parent)].parent;
      n = parent;
    }
    return n;
  }
  Type type_of(int n) {
    const unsigned mask = nodes_[static_cast<size_t>(root(n))].mask;
    for (unsigned t = 0; t < 4; t++)
      if ((mask >> t & 1) != 0) return static_cast<Type>(t);
    return Type::kNumber;
  }
  void unite(int a, int b, int at, const std::string& where) {
    a = root(a), b = root(b);
    if (a == b) return;
    Node &x = nodes_[static_cast<size_t>(a)], &y = nodes_[static_cast<size_t>(b)];
    if ((x.mask & y.mask) == 0)
      unit_.sources.fail(at, "a " + mask_text(x.mask) + " here, but " + where + " is a " + mask_text(y.mask));
    x.parent = b;
    y.mask &= x.mask;
  }

  int term(Term& t) {
    int node = 0;
    switch (t.kind) {
      case Term::Kind::kVariable: return slots_[static_cast<size_t>(t.slot)];
      case Term::Kind::kAny: return made(kAnyType);
      case Term::Kind::kInteger: node = made(kNumeric); break;
      case Term::Kind::kReal: node = made(mask_of(Type::kFloat)); break;
      case Term::Kind::kText: return made(mask_of(Type::kSymbol));
      case Term::Kind::kAggregate: return aggregate(*t.aggregate);
      case Term::Kind::kCall: node = call(t); break;
    }
    t.slot = node;  // not a variable: where settle() finds its type
    return node;
  }

  int call(Term& t) {
    if (t.function == nullptr) return cast(t);
    int same = -1;
    for (size_t i = 0; i < t.parts.size(); i++) {
      const std::string_view takes = t.function->takes;
      const int given = term(t.parts[i]), wanted = letter(takes[std::min(i, takes.size() - 1)], same);
      unite(given, wanted, t.parts[i].at, "what " + in_quotes(t.function->name) + " takes");
    }
    return letter(t.function->gives, same);
  }
  int letter(char c, int& same) {
    switch (c) {
      case 'n': return made(mask_of(Type::kNumber));
      case 'u': return made(mask_of(Type::kUnsigned));
      case 'f': return made(mask_of(Type::kFloat));
      case 's': return made(mask_of(Type::kSymbol));
      default: return same = same < 0 ? made(kNumeric) : same;
    }
  }
  int cast(Term& t) {
    term(t.parts[0]);
    std::string name = t.name;
    for (int i = 0; i < 100 && unit_.types.count(name) > 0; i++) name = unit_.types.find(name)->second;
    for (const Type type : {Type::kNumber, Type::kUnsigned, Type::kFloat, Type::kSymbol})
      if (name == type_name(type)) return made(mask_of(type));
    unit_.sources.fail(t.at, "there is no type " + in_quotes(t.name));
  }

  int aggregate(Aggregate& a) {
    std::vector<int> terms;
    for (Term& t : a.terms) terms.push_back(term(t));
    body(a.body);
    if (a.fold == Fold::kCount) return made(mask_of(Type::kNumber));
    if (a.is_arg()) return terms[1];
    const int value = terms[0];
    unite(value, made(kNumeric), a.terms[0].at, "what is folded");
    return a.fold == Fold::kMean ? made(mask_of(Type::kFloat)) : value;
  }

  void atom(Atom& a) {
    const Declaration& d = unit_.relations[static_cast<size_t>(a.relation)];
    for (size_t c = 0; c < a.arguments.size(); c++)
      unite(term(a.arguments[c]), columns_[static_cast<size_t>(a.relation)][c], a.arguments[c].at,
            "column " + std::to_string(c + 1) + " of " + in_quotes(d.coin_of.empty() ? d.name : d.coin_of));
  }
  void body(Body& literals) {
    for (Literal& l : literals) {
      if (l.kind != Literal::Kind::kCompare) {
        atom(l.atom);
        continue;
      }
      const int left = term(l.left);
      unite(term(l.right), left, l.right.at, "the other side");
    }
  }

  // Types and values into the tree.
  void settle(Term& t) {
    for (Term& part : t.parts) settle(part);
    if (t.aggregate) {
      for (Term& inner : t.aggregate->terms) settle(inner);
      settle(t.aggregate->body);
      const Aggregate& a = *t.aggregate;
      t.type = a.fold == Fold::kCount ? Type::kNumber : a.fold == Fold::kMean ? Type::kFloat : a.value().type;
      return;
    }
    if (t.kind == Term::Kind::kAny) return;
    if (t.kind == Term::Kind::kText) {
      t.type = Type::kSymbol;
      t.value = unit_.symbols.intern(t.name);
      return;
    }
    t.type = type_of(t.is_variable() ? slots_[static_cast<size_t>(t.slot)] : t.slot);
    if (t.is_constant() && !parse_value(t.type, t.name, t.value, unit_.symbols))
      unit_.sources.fail(t.at, in_quotes(t.name) + " does not fit into a " + std::string(type_name(t.type)));
  }
  void settle(Body& literals) {
    for (Literal& l : literals) {
      for (Term& t : l.atom.arguments) settle(t);
      if (l.kind != Literal::Kind::kCompare) continue;
      settle(l.left);
      settle(l.right);
    }
  }

  // Constants of facts are members of the domains of their columns.
  void domains(const Atom& head) {
    const Declaration& own = unit_.relations[static_cast<size_t>(head.relation)];
    const Declaration& d = own.coin_of.empty() ? own : unit_.relations[static_cast<size_t>(unit_.find(own.coin_of))];
    for (size_t c = 0; c < d.columns.size(); c++) {
      if (d.columns[c].domain < 0) continue;
      const Domain& domain = unit_.domains[static_cast<size_t>(d.columns[c].domain)];
      const Term& t = head.arguments[c];
      if (domain.size >= 0) {
        if (t.kind == Term::Kind::kInteger && (as_number(t.value) < 0 || as_number(t.value) >= domain.size))
          unit_.sources.fail(t.at, t.name + " is not in domain " + in_quotes(domain.name) + ", which has 0 … " +
                                       std::to_string(domain.size - 1));
      } else if (std::find(domain.members.begin(), domain.members.end(), t.name) == domain.members.end()) {
        unit_.sources.fail(t.at, in_quotes(t.name) + " is not in domain " + in_quotes(domain.name),
                           did_you_mean(t.name, domain.members));
      }
    }
  }

  struct Node {
    int parent;
    unsigned mask;
  };
  Unit& unit_;
  std::vector<Node> nodes_;
  std::vector<std::vector<int>> columns_;
  std::vector<int> slots_;
};

}  // namespace

void infer_types(Unit& unit) { Types(unit).infer(); }

}  // namespace ingot::logic
