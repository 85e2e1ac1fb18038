// What Ingot's own dialect has besides clauses: domains, relations, queries, folds in heads.
#include "ingot/base/text.h"
#include "logic/parse.h"

namespace ingot::logic {

bool Parser::ingot_statement() {
  const Token& t = now();
  if (at_chance()) return chance(), true;
  if (t.kind == Token::Kind::kInteger || t.kind == Token::Kind::kReal) fail("a statement cannot begin with a number");
  if (t.is("semantics") && ahead().kind == Token::Kind::kName) return semantics(), true;
  if (t.is("param") || t.is("assert") || t.is("tensor") || t.is("neural"))
    if (ahead().kind != Token::Kind::kSign || ahead().is("-"))
      fail("rules that learn (" + std::string(t.text) + ") are a theory, and this reads exact ones",
           "call the file .theory: ingot logic run and learn read it then; in C++ it is logic::Theory");
  if (t.is("domain") && ahead().kind == Token::Kind::kName) return domain(), true;
  if ((t.is("rel") || t.is("input") || t.is("output")) && ahead().kind == Token::Kind::kName) return relation(), true;
  if (t.is("explain") && ahead().kind == Token::Kind::kName) return i_++, query(true), true;
  // What ends in `?` is a query.
  for (size_t i = i_; tokens_[i].kind != Token::Kind::kEnd; i++) {
    if (tokens_[i].is("?")) return query(false), true;
    if (tokens_[i].is(".") || tokens_[i].is("<-") || tokens_[i].is(":-")) break;
  }
  const size_t first = unit_.rules.size();
  clause();
  for (size_t i = first; i < unit_.rules.size(); i++) head_fold(unit_.rules[i].head);
  return true;
}

// domain person = {ann, bob}.   domain node: 4000.
void Parser::domain() {
  i_++;
  Domain d{.name = "", .at = now().at};
  d.name = name("the name of a domain");
  for (const Domain& other : unit_.domains)
    if (other.name == d.name) fail_at(d.at, "domain " + in_quotes(d.name) + " is declared twice");
  if (take(":")) {
    Value size = 0;
    if (now().kind != Token::Kind::kInteger || !parse_value(Type::kUnsigned, now().text, size, unit_.symbols) ||
        size > 100'000'000)
      fail("the size of a domain is a number up to 100,000,000");
    d.size = static_cast<int64_t>(size);
    i_++;
  } else {
    expect("=", "and the members in braces, or : and a size");
    expect("{", "before the members");
    std::map<std::string, int> seen;
    do {
      const int at = now().at;
      const std::string member =
          now().kind == Token::Kind::kText ? unquoted(tokens_[i_++].text) : name("the name of a member");
      if (!seen.emplace(member, at).second) fail_at(at, "member " + in_quotes(member) + " is there twice");
      d.members.push_back(member);
    } while (take(","));
    expect("}", "behind the members");
  }
  expect(".", "behind the domain");
  unit_.domains.push_back(std::move(d));
}

// rel parent(person, person).   input rel edge(number, number) "edges.csv".   output path.
void Parser::relation() {
  const bool input = now().is("input"), output = now().is("output");
  if (input || output) {
    i_++;
    take("rel");
  } else {
    i_++;
  }
  const int at = now().at;
  const std::string relation = name("the name of a relation");
  if (find_function(relation) != nullptr)
    fail_at(at, in_quotes(relation) + " is the name of a function", "choose another");
  Declaration& d = relation_named(relation, at);
  if (take("(")) {
    if (d.declared) fail_at(at, "relation " + in_quotes(relation) + " is declared twice");
    d.declared = true;
    d.at = at;
    while (!take(")")) {
      Column c{.at = now().at};
      c.type_name = name("the name of a domain or a type");
      if (take(":")) {  // name: type
        c.name = c.type_name;
        c.at = now().at;
        c.type_name = name("the name of a domain or a type");
      }
      if (c.name.empty()) c.name = c.type_name;
      d.columns.push_back(std::move(c));
      if (!take(",") && !now().is(")")) expect(")", "behind the columns");
    }
  } else if (!input && !output) {
    expect("(", "and the columns of the relation");
  }
  std::map<std::string, std::string> given;
  if ((input || output) && now().kind == Token::Kind::kText) given["filename"] = unquoted(tokens_[i_++].text);
  expect(".", "behind the relation");
  if (input || output) d.requests.push_back({input ? Request::Kind::kInput : Request::Kind::kOutput, at, given});
}

void Parser::query(bool explain) {
  Query q{.at = now().at, .explain = explain};
  Alternatives bodies = disjunction();
  if (bodies.size() > 1) fail_at(q.at, "a query with alternatives", "ask for each, or give them a name");
  const int end = now().at;
  if (!take("?")) expect(explain ? "." : "?", "behind the query");
  q.text = std::string(unit_.sources.text(q.at).substr(0, static_cast<size_t>(end - q.at)));
  q.body = std::move(bodies[0]);
  if (explain && (q.body.size() != 1 || q.body[0].kind != Literal::Kind::kAtom))
    fail_at(q.at, "explain wants one fact", "explain ancestor(ann, cid)?");
  unit_.queries.push_back(std::move(q));
}

// dist(x, y, min(d)): the last column keeps its least value.
void Parser::head_fold(Atom& head) {
  for (size_t i = 0; i < head.arguments.size(); i++) {
    Term& t = head.arguments[i];
    const bool fold = t.kind == Term::Kind::kCall && t.parts.size() == 1 && t.function != nullptr &&
                      (t.function->code == Code::kMin || t.function->code == Code::kMax);
    if (!fold) continue;
    if (i + 1 != head.arguments.size()) fail_at(t.at, "only the last column can keep the least or greatest value");
    const Best best = t.function->code == Code::kMin ? Best::kMin : Best::kMax;
    Declaration& d = relation_named(head.name, head.at);
    if (d.best != Best::kAll && d.best != best)
      fail_at(t.at, "relation " + in_quotes(head.name) + " cannot keep both min and max");
    d.best = best;
    Term inner = t.parts[0];
    t = std::move(inner);
  }
}

}  // namespace ingot::logic
