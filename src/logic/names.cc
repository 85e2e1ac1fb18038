// Names: what columns, atoms and words of the program mean.
#include <algorithm>
#include <set>

#include "ingot/base/text.h"
#include "logic/check.h"

namespace ingot::logic {
namespace {

constexpr int kMostColumns = 30;

class Names {
 public:
  explicit Names(Unit& unit) : unit_(unit) {}

  void resolve() {
    find_constants();
    domains_as_relations();
    for (Declaration& d : unit_.relations)
      for (Column& c : d.columns) column(c);
    queries_as_rules();
    for (Rule& rule : unit_.rules) {
      rule_constants(rule);
      atom(rule.head);
      for (Term& t : rule.head.arguments) term(t);
      body(rule.body);
    }
    if (unit_.dialect == Dialect::kRules) {
      const size_t rules = unit_.rules.size();
      for (size_t i = 0; i < rules; i++) groups(i);
    }
    for (const Declaration& d : unit_.relations) declaration(d);
  }

 private:
  [[noreturn]] void fail(int at, const std::string& what, const std::string& hint = "") const {
    unit_.sources.fail(at, what, hint);
  }

  // Columns ------------------------------------------------------------------------------------------------------------

  void column(Column& c) {
    if (c.typed || c.type_name.empty()) return;
    for (size_t i = 0; i < unit_.domains.size(); i++)
      if (unit_.domains[i].name == c.type_name) {
        c.domain = static_cast<int>(i);
        c.type = unit_.domains[i].size >= 0 ? Type::kNumber : Type::kSymbol;
        c.typed = true;
        return;
      }
    std::string name = c.type_name;
    for (int i = 0; i < 100; i++) {
      for (const Type type : {Type::kNumber, Type::kUnsigned, Type::kFloat, Type::kSymbol})
        if (name == type_name(type)) {
          c.type = type;
          c.typed = true;
          return;
        }
      const auto found = unit_.types.find(name);
      if (found == unit_.types.end()) break;
      name = found->second;
    }
    std::vector<std::string> known = {"number", "unsigned", "float", "symbol"};
    for (const auto& [type, base] : unit_.types) known.push_back(type);
    for (const Domain& d : unit_.domains) known.push_back(d.name);
    fail(c.at, "there is no type " + in_quotes(name), did_you_mean(name, known));
  }

  void declaration(const Declaration& d) {
    if (d.arity() > kMostColumns)
      fail(d.at, "relation " + in_quotes(d.name) + " has more than " + std::to_string(kMostColumns) + " columns");
    if (unit_.dialect == Dialect::kSouffle && !d.declared && !d.hidden)
      fail(d.at, "relation " + in_quotes(d.name) + " is not declared", meant(d.name));
    if (!d.declared && !d.hidden && !d.requests.empty() && d.requests[0].kind == Request::Kind::kInput)
      fail(d.at, "relation " + in_quotes(d.name) + " comes from a file, so its columns must be known",
           "input rel " + d.name + "(number, symbol).");
    if (d.best != Best::kAll && d.columns.empty())
      fail(d.at, "relation " + in_quotes(d.name) + " has no column to keep the best of");
  }

  std::string meant(const std::string& name) const {
    std::vector<std::string> known;
    for (const Declaration& d : unit_.relations)
      if (d.declared && !d.hidden) known.push_back(d.name);
    return known.empty() ? "declare it: .decl " + name + "(…)" : did_you_mean(name, known);
  }

  // Words that are constants -------------------------------------------------------------------------------------------

  void find_constants() {
    if (unit_.dialect != Dialect::kRules) return;
    for (size_t i = 0; i < unit_.domains.size(); i++)
      for (const std::string& m : unit_.domains[i].members) members_.emplace(m, i);
    for (Rule& r : unit_.rules) {
      if (!r.is_fact()) continue;
      for (Term& t : r.head.arguments)
        if (t.is_variable()) {
          fact_words_.emplace(t.name, t.at);
          t.kind = Term::Kind::kText;
        }
    }
  }

  void constants(Term& t, bool query) {
    if (t.is_variable() && members_.count(t.name) > 0) {
      t.kind = Term::Kind::kText;
    } else if (t.is_variable()) {
      const auto fact = fact_words_.find(t.name);
      if (fact != fact_words_.end() && query)
        t.kind = Term::Kind::kText;
      else if (fact != fact_words_.end())
        fail(t.at,
             in_quotes(t.name) + " is a constant in the fact of line " +
                 std::to_string(unit_.sources.line(fact->second)) + ", and would be a variable here",
             "put constants of rules in quotes, or rename the variable");
    }
    for (Term& part : t.parts) constants(part, query);
    if (t.aggregate) {
      for (Term& term : t.aggregate->terms) constants(term, query);
      for (Literal& l : t.aggregate->body) constants(l, query);
    }
  }
  void constants(Literal& l, bool query) {
    for (Term& t : l.atom.arguments) constants(t, query);
    constants(l.left, query);
    constants(l.right, query);
  }

  void rule_constants(Rule& r) {
    if (unit_.dialect != Dialect::kRules || r.is_fact() || r.head.name.starts_with('?')) return;  // queries are done
    for (Term& t : r.head.arguments) constants(t, false);
    for (Literal& l : r.body) constants(l, false);
  }

  // Atoms --------------------------------------------------------------------------------------------------------------

  void atom(Atom& a) {
    a.relation = unit_.find(a.name);
    if (a.relation < 0) {
      if (unit_.dialect == Dialect::kSouffle)
        fail(a.at, "relation " + in_quotes(a.name) + " is not declared", meant(a.name));
      Declaration d{.name = a.name, .at = a.at};
      d.columns.resize(a.arguments.size());
      d.declared = false;
      a.relation = unit_.add(std::move(d));
      if (!heads_.count(a.name))
        fail(a.at, "nothing says what " + in_quotes(a.name) + " is: no fact, no rule, no declaration", near(a.name));
    }
    Declaration& d = unit_.relations[static_cast<size_t>(a.relation)];
    if (unit_.dialect == Dialect::kSouffle && !d.declared && !d.hidden)
      fail(a.at, "relation " + in_quotes(a.name) + " is not declared", meant(a.name));
    if (!d.declared && !d.hidden && d.columns.empty()) d.columns.resize(a.arguments.size());
    const int chance = d.coin_of.empty() ? 0 : 1;  // the last column, of which people do not know
    if (d.columns.size() != a.arguments.size())
      fail(a.at,
           in_quotes(chance == 1 ? d.coin_of : a.name) + " has " + counted(d.arity() - chance, "column") +
               ", here are " + std::to_string(std::ssize(a.arguments) - chance),
           d.declared ? "declared in line " + std::to_string(unit_.sources.line(d.at))
                      : "first used in line " + std::to_string(unit_.sources.line(d.at)));
  }

  std::string near(const std::string& name) const {
    std::vector<std::string> known;
    std::copy_if(heads_.begin(), heads_.end(), std::back_inserter(known),
                 [](const std::string& head) { return head.find(' ') == std::string::npos; });  // no coins
    return known.empty() ? "" : did_you_mean(name, known);
  }

  void term(Term& t) {
    for (Term& part : t.parts) term(part);
    if (!t.aggregate) return;
    for (Term& inner : t.aggregate->terms) term(inner);
    body(t.aggregate->body);
  }

  void body(Body& literals) {
    for (Literal& l : literals) {
      if (l.kind == Literal::Kind::kCompare) {
        term(l.left);
        term(l.right);
        continue;
      }
      atom(l.atom);
      for (Term& t : l.atom.arguments) term(t);
    }
  }

  // Domains and queries ------------------------------------------------------------------------------------------------

  void domains_as_relations() {
    for (const Domain& d : unit_.domains) {
      if (unit_.find(d.name) >= 0) fail(d.at, in_quotes(d.name) + " is a domain and a relation", "rename one of them");
      Declaration r{.name = d.name, .at = d.at, .hidden = true, .declared = true};
      r.columns.push_back({.name = "member", .type_name = d.name, .at = d.at});
      unit_.add(std::move(r));
      heads_.insert(d.name);
      for (const std::string& m : d.members) {
        Rule fact{.head = {.name = d.name, .at = d.at}, .at = d.at};
        fact.head.arguments.push_back({.kind = Term::Kind::kText, .at = d.at, .name = m});
        unit_.rules.push_back(std::move(fact));
      }
    }
    for (const Rule& r : unit_.rules) heads_.insert(r.head.name);
    for (const Declaration& d : unit_.relations)
      if (d.declared) heads_.insert(d.name);
  }

  void queries_as_rules() {
    for (size_t i = 0; i < unit_.queries.size(); i++) {
      Query& q = unit_.queries[i];
      for (Literal& l : q.body) constants(l, true);
      Rule r{.head = {.name = "?" + std::to_string(i + 1), .at = q.at}, .body = q.body, .at = q.at};
      for (const Literal& l : q.body)
        each_variable(l, [&](const Term& t) {
          if (std::find(q.names.begin(), q.names.end(), t.name) != q.names.end()) return;
          q.names.push_back(t.name);
          r.head.arguments.push_back(t);
        });
      Declaration d{.name = r.head.name, .at = q.at, .hidden = true};
      d.columns.resize(r.head.arguments.size());
      q.relation = unit_.add(std::move(d));
      unit_.rules.push_back(std::move(r));
    }
  }

  // n_children(x, n) <- n = count{ y : parent(x, y) }: x takes its values from the aggregate's own body.
  void groups(size_t number) {
    const Rule rule = unit_.rules[number];
    std::set<std::string> outside, bound;
    const auto add = [](std::set<std::string>& to) { return [&to](const Term& t) { to.insert(t.name); }; };
    for (const Term& t : rule.head.arguments) each_variable(t, add(outside));
    for (const Literal& l : rule.body) {
      each_variable(l, add(outside));
      if (l.kind == Literal::Kind::kAtom) each_variable(l, add(bound));
    }
    for (const Literal& l : rule.body) {
      if (l.kind != Literal::Kind::kCompare) continue;
      for (const Term* side : {&l.left, &l.right}) {
        if (side->kind != Term::Kind::kAggregate) continue;
        std::vector<Term> group;
        std::set<std::string> seen;
        for (const Literal& inner : side->aggregate->body)
          each_variable(inner, [&](const Term& t) {
            if (outside.count(t.name) > 0 && bound.count(t.name) == 0 && seen.insert(t.name).second) group.push_back(t);
          });
        if (group.empty()) continue;
        std::string name = "group " + std::to_string(l.at);  // the same in a longer program that begins with this one
        while (unit_.find(name) >= 0) name += '\'';
        Declaration d{.name = name, .at = l.at, .hidden = true};
        d.columns.resize(group.size());
        const Atom head{.name = d.name, .at = l.at, .arguments = group, .relation = unit_.add(std::move(d))};
        unit_.rules.push_back({.head = head, .body = side->aggregate->body, .at = rule.at});
        unit_.rules[number].body.push_back({.kind = Literal::Kind::kAtom, .at = l.at, .atom = head});
      }
    }
  }

  Unit& unit_;
  std::map<std::string, size_t> members_;  // of domains
  std::map<std::string, int> fact_words_;  // constants of facts, and where
  std::set<std::string> heads_;            // relations that have a fact, a rule or a declaration
};

}  // namespace

void resolve_names(Unit& unit) { Names(unit).resolve(); }

}  // namespace ingot::logic
