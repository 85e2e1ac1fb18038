// Soufflé's directives.
#include <filesystem>

#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "logic/parse.h"

namespace ingot::logic {
namespace {

constexpr std::string_view kRefused[][3] = {
    {"comp", "components", "write their relations out"},
    {"init", "components", "write their relations out"},
    {"override", "components", "write their relations out"},
    {"functor", "functors written in C++", "Ingot runs no foreign code; use its own functions"},
    {"lattice", "lattices", "for the least or greatest value use a subsumption: d(x, a) <= d(x, b) :- b < a."},
    {"limitsize", ".limitsize", "use --memory to bound a run"},
};

}  // namespace

void Parser::directive() {
  expect(".", "before a directive");
  const int at = now().at;
  const std::string word = name("a directive");
  for (const auto& [refused, what, hint] : kRefused)
    if (word == refused) fail_at(at, std::string(what) + " are not supported", std::string(hint));
  if (word == "decl") return declare();
  if (word == "type" || word == "symbol_type" || word == "number_type") {
    if (word == "type") return type_of_souffle();
    unit_.types[name("the name of a type")] = word == "symbol_type" ? "symbol" : "number";
    return;
  }
  if (word == "input") return request(Request::Kind::kInput);
  if (word == "output") return request(Request::Kind::kOutput);
  if (word == "printsize") return request(Request::Kind::kPrintSize);
  if (word == "include") return include();
  if (word == "plan") {  // orders are the engine's business
    while (now().kind == Token::Kind::kInteger || now().is(":") || now().is("(") || now().is(")") || now().is(","))
      i_++;
    return;
  }
  if (word == "pragma") {  // of Soufflé's own command line
    while (now().kind == Token::Kind::kText) i_++;
    return;
  }
  const std::vector<std::string> known = {"decl", "type", "input", "output", "printsize", "include"};
  fail_at(at, "there is no directive " + in_quotes("." + word), did_you_mean(word, known));
}

// .decl a, b(x: number, y: symbol) qualifiers
void Parser::declare() {
  std::vector<std::pair<std::string, int>> names;
  do {
    const int at = now().at;
    names.emplace_back(name("the name of a relation"), at);
  } while (take(","));
  std::vector<Column> columns;
  expect("(", "behind the name of the relation");
  while (!take(")")) {
    Column c{.at = now().at};
    c.name = name("the name of a column");
    expect(":", "and a type behind the column's name");
    c.at = now().at;
    c.type_name = name("the name of a type");
    if (now().is(".")) fail("components", "Ingot does not have them");
    columns.push_back(std::move(c));
    if (!take(",") && !now().is(")")) expect(")", "behind the columns");
  }
  const size_t qualifiers = i_;
  for (const auto& [relation, at] : names) {
    i_ = qualifiers;
    Declaration& d = relation_named(relation, at);
    if (d.declared) fail_at(at, "relation " + in_quotes(relation) + " is declared twice");
    d.declared = true;
    d.at = at;
    d.columns = columns;
    qualifier(d);
  }
}

void Parser::qualifier(Declaration& d) {
  bool equivalent = false;
  while (now().kind == Token::Kind::kName && !ahead().is("(") && !ahead().is(":-")) {
    const std::string word(now().text);
    if (word == "eqrel")
      equivalent = true;
    else if (word == "input" || word == "output" || word == "printsize")
      d.requests.push_back({word == "input"    ? Request::Kind::kInput
                            : word == "output" ? Request::Kind::kOutput
                                               : Request::Kind::kPrintSize,
                            now().at});
    else if (word == "choice")
      fail("choice domains are not supported", "say by rules which facts are chosen");
    else if (word != "btree" && word != "brie" && word != "inline" && word != "no_inline" && word != "magic" &&
             word != "no_magic" && word != "btree_delete")
      fail("there is no qualifier " + in_quotes(word) + " of relations");
    i_++;
  }
  if (!equivalent) return;
  if (d.arity() != 2)
    fail_at(d.at,
            "an equivalence relation has two columns, " + in_quotes(d.name) + " has " + std::to_string(d.arity()));
  equivalence(Declaration(d));
}

// What makes a relation an equivalence, as rules.
void Parser::equivalence(const Declaration& d) {
  const auto variable = [&](const char* letter) {
    return Term{.kind = Term::Kind::kVariable, .at = d.at, .name = letter};
  };
  const auto fact = [&](const char* a, const char* b) {
    return Atom{.name = d.name, .at = d.at, .arguments = {variable(a), variable(b)}};
  };
  const auto body = [&](std::vector<Atom> atoms) {
    Body literals;
    for (Atom& a : atoms) literals.push_back({.kind = Literal::Kind::kAtom, .at = d.at, .atom = std::move(a)});
    return literals;
  };
  unit_.rules.push_back({.head = fact("y", "x"), .body = body({fact("x", "y")}), .at = d.at});
  unit_.rules.push_back({.head = fact("x", "z"), .body = body({fact("x", "y"), fact("y", "z")}), .at = d.at});
}

void Parser::type_of_souffle() {
  const int at = now().at;
  const std::string type = name("the name of a type");
  if (!take("<:") && !take("=")) {
    unit_.types[type] = "symbol";
    return;
  }
  if (now().is("[")) fail_at(at, "record types are not supported", "use more columns instead of " + in_quotes(type));
  const std::string base = name("the name of a type");
  if (now().is("{")) fail_at(at, "algebraic types are not supported", "use more columns instead of " + in_quotes(type));
  unit_.types[type] = base;
  while (take("|")) {
    name("the name of a type");
    if (now().is("{"))
      fail_at(at, "algebraic types are not supported", "use more columns instead of " + in_quotes(type));
  }
}

std::map<std::string, std::string> Parser::options() {
  std::map<std::string, std::string> all;
  if (!take("(")) return all;
  while (!take(")")) {
    const std::string key = name("the name of an option");
    expect("=", "and a value behind the option");
    if (now().kind == Token::Kind::kEnd || now().kind == Token::Kind::kSign)
      fail("the value of this option is missing");
    all[key] = now().kind == Token::Kind::kText ? unquoted(now().text) : std::string(now().text);
    i_++;
    if (!take(",") && !now().is(")")) expect(")", "behind the options");
  }
  return all;
}

// .input a, b(delimiter=",")
void Parser::request(Request::Kind kind) {
  std::vector<std::pair<std::string, int>> names;
  do {
    const int at = now().at;
    names.emplace_back(name("the name of a relation"), at);
  } while (take(","));
  const auto given = options();
  for (const auto& [relation, at] : names) relation_named(relation, at).requests.push_back({kind, at, given});
}

void Parser::include() {
  const int at = now().at;
  if (now().kind != Token::Kind::kText) fail("the name of a file should be here, in quotes");
  const std::filesystem::path path = std::filesystem::path(file_).parent_path() / unquoted(now().text);
  i_++;
  if (++included_ > 50) fail_at(at, "more than 50 included files", "does one include itself?");
  std::string text;
  try {
    text = read_file(path.string());
  } catch (const Error& e) {
    fail_at(at, e.what());
  }
  Parser inner(unit_);
  inner.included_ = included_;
  inner.parse(path.string(), std::move(text));
  included_ = inner.included_;
}

// worse(x, a) <= better(x, b) :- b < a. The last column keeps its least (or greatest) value.
void Parser::subsumption(const Atom& worse) {
  const int at = worse.at;
  const Atom better = atom();
  expect(":-", "and when the second fact is the better one");
  const Alternatives bodies = disjunction();
  expect(".", "behind this statement");
  const std::string hint = "supported is d(x, a) <= d(x, b) :- b < a. (or > for the greatest)";
  if (worse.name != better.name || worse.arguments.size() != better.arguments.size() || worse.arguments.empty())
    fail_at(at, "a subsumption between different relations", hint);
  const auto is = [](const Term& t, const Term& u) { return t.is_variable() && u.is_variable() && t.name == u.name; };
  for (size_t i = 0; i + 1 < worse.arguments.size(); i++)
    if (!is(worse.arguments[i], better.arguments[i]))
      fail_at(worse.arguments[i].at, "a subsumption of facts that differ in more than the last column", hint);
  const Term &a = worse.arguments.back(), &b = better.arguments.back();
  const bool single = bodies.size() == 1 && bodies[0].size() == 1 && bodies[0][0].kind == Literal::Kind::kCompare;
  if (!single || !a.is_variable() || !b.is_variable()) fail_at(at, "a subsumption by more than one comparison", hint);
  const Literal& l = bodies[0][0];
  const bool forward = is(l.left, b) && is(l.right, a), backward = is(l.left, a) && is(l.right, b);
  const bool less = l.comparison == Comparison::kLess || l.comparison == Comparison::kLessEqual;
  const bool greater = l.comparison == Comparison::kGreater || l.comparison == Comparison::kGreaterEqual;
  if (!(forward || backward) || !(less || greater)) fail_at(at, "a subsumption that compares something else", hint);
  relation_named(worse.name, at).best = forward == less ? Best::kMin : Best::kMax;
}

}  // namespace ingot::logic
