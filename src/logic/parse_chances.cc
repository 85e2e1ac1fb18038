// Facts and rules with probabilities. Each is a coin, a hidden relation whose last column is the probability, and a rule from
// the coin to what it decides:
//   0.9 :: edge(1, 2).                   coin of edge(1, 2, 0.9).          edge(x, y) <- coin of edge(x, y, _).
//   w :: edge(x, y) <- raw(x, y, w).     coin 7(x, y, w, w) <- raw(x, y, w).    edge(x, y) <- coin 7(x, y, w, _).
#include <algorithm>

#include "ingot/base/text.h"
#include "logic/check.h"
#include "logic/parse.h"

namespace ingot::logic {
namespace {

constexpr const char* kOfFacts = "coin of ";

Declaration coin_relation(const std::string& name, int at, size_t columns) {
  Declaration d{.name = name, .at = at, .hidden = true, .coin = true};
  d.columns.resize(columns + 1);
  d.columns.back() = {.name = "probability", .type_name = "float", .at = at};
  return d;
}

Term variable(const std::string& name, int at) { return {.kind = Term::Kind::kVariable, .at = at, .name = name}; }

}  // namespace

// Does a term and `::` begin here?
bool Parser::at_chance() const {
  if (now().kind == Token::Kind::kName && ahead().kind != Token::Kind::kSign) return false;  // assert 0.8 :: …
  for (size_t i = i_; tokens_[i].kind != Token::Kind::kEnd; i++) {
    if (tokens_[i].is("::")) return true;
    if (tokens_[i].is(".") || tokens_[i].is("<-") || tokens_[i].is(":-") || tokens_[i].is("?") || tokens_[i].is("{"))
      return false;
  }
  return false;
}

void Parser::chance() {
  const int at = now().at;
  Term weight = term();
  expect("::", "behind a probability");
  const size_t first = unit_.rules.size();
  clause();
  const std::vector<Rule> rules(unit_.rules.begin() + static_cast<ptrdiff_t>(first), unit_.rules.end());
  unit_.rules.resize(first);
  if (rules.size() != 1)
    fail_at(at, "one probability for several rules", "write a statement for each head and each alternative");
  const Rule& rule = rules[0];
  for (const Term& t : rule.head.arguments)
    if (t.kind == Term::Kind::kCall && t.parts.size() == 1 && t.function != nullptr &&
        (t.function->code == Code::kMin || t.function->code == Code::kMax))
      fail_at(t.at, "a best value with a probability", "best values are of certain facts");
  if (rule.is_fact() && !weight.is_constant())
    fail_at(weight.at, "the probability of a fact is a number", "0.9 :: edge(1, 2).");

  std::vector<Term> columns = rule.head.arguments;
  Rule decided{.head = rule.head, .at = rule.at, .chance = true};
  std::string name = kOfFacts + rule.head.name;
  if (rule.is_fact()) {
    decided.head.arguments.clear();
    for (size_t c = 0; c < columns.size(); c++) decided.head.arguments.push_back(variable(" " + std::to_string(c), at));
  } else {
    name = "coin " + std::to_string(unit_.rules.size());
    columns.clear();
    const auto add = [&](const Term& t) {
      if (std::none_of(columns.begin(), columns.end(), [&](const Term& c) { return c.name == t.name; }))
        columns.push_back(variable(t.name, t.at));
    };
    for (const Term& t : rule.head.arguments) each_variable(t, add);
    for (const Literal& l : rule.body)
      if (l.kind == Literal::Kind::kAtom) each_variable(l, add);
    each_variable(weight, add);
  }
  const bool made = unit_.find(name) < 0;
  if (made) {
    Declaration d = coin_relation(name, rule.at, columns.size());
    if (rule.is_fact()) d.coin_of = rule.head.name;
    for (size_t c = 0; c < columns.size(); c++) d.columns[c].name = columns[c].name;
    unit_.add(std::move(d));
  }
  Rule coin{.head = {.name = name, .at = rule.head.at, .arguments = columns}, .body = rule.body, .at = rule.at};
  coin.head.arguments.push_back(std::move(weight));
  if (made) {
    Literal from{.kind = Literal::Kind::kAtom, .at = rule.at, .atom = {.name = name, .at = rule.head.at}};
    from.atom.arguments = rule.is_fact() ? decided.head.arguments : columns;
    from.atom.arguments.push_back({.kind = Term::Kind::kAny, .at = rule.at});
    decided.body.push_back(std::move(from));
    relation_named(rule.head.name, rule.head.at);
    unit_.rules.push_back(std::move(decided));
  }
  unit_.rules.push_back(std::move(coin));
}

// semantics proofs 20.   semantics exact.
void Parser::semantics() {
  i_++;
  if (take("exact")) {
    unit_.proofs = 0;
  } else if (take("proofs")) {
    Value most = 0;
    if (now().kind != Token::Kind::kInteger || !parse_value(Type::kUnsigned, now().text, most, unit_.symbols) ||
        most == 0 || most > 100000)
      fail("how many proofs are kept of a fact is a number from 1 to 100,000");
    unit_.proofs = static_cast<int>(most);
    i_++;
  } else {
    const std::vector<std::string> known = {"exact", "proofs"};
    fail("there is no semantics " + in_quotes(now().text) + " for rules", did_you_mean(now().text, known));
  }
  expect(".", "behind the semantics");
}

}  // namespace ingot::logic
