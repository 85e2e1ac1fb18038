#include "logic/parse.h"

#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

constexpr int kDeepest = 200;            // brackets in brackets
constexpr size_t kMostLiterals = 20000;  // that alternatives may multiply to

}  // namespace

void Parser::fail_at(int at, const std::string& what, const std::string& hint) const {
  unit_.sources.fail(at, what, hint);
}
void Parser::fail(const std::string& what, const std::string& hint) const { fail_at(now().at, what, hint); }

bool Parser::take(std::string_view sign) {
  if (!now().is(sign)) return false;
  i_++;
  return true;
}

void Parser::expect(std::string_view sign, const std::string& where) {
  if (take(sign)) return;
  const std::string found = now().kind == Token::Kind::kEnd ? "the end of the text" : in_quotes(now().text);
  fail("\"" + std::string(sign) + "\" is missing " + where + ", here is " + found);
}

std::string Parser::name(const std::string& what) {
  if (now().kind != Token::Kind::kName)
    fail("here should be " + what + ", but there is " +
         (now().kind == Token::Kind::kEnd ? "the end of the text" : in_quotes(now().text)));
  return std::string(tokens_[i_++].text);
}

Declaration& Parser::relation_named(const std::string& name, int at) {
  int number = unit_.find(name);
  if (number < 0) number = unit_.add({.name = name, .at = at});
  return unit_.relations[static_cast<size_t>(number)];
}

void Parser::parse(const std::string& name, std::string text) {
  file_ = name;
  statements(unit_.sources.add(name, std::move(text)));
}

void Parser::statements(int begin) {
  tokens_ = tokens_of(unit_.sources, begin, unit_.dialect);
  i_ = 0;
  while (now().kind != Token::Kind::kEnd) {
    if (unit_.dialect == Dialect::kSouffle && now().is("."))
      directive();
    else if (unit_.dialect != Dialect::kRules || !ingot_statement())
      clause();
  }
}

// head, head :- body.
void Parser::clause() {
  const int at = now().at;
  std::vector<Atom> heads;
  if (now().is("$") || now().is("@"))
    fail("functors written in C++", "Ingot runs no foreign code; use its own functions");
  do heads.push_back(atom());
  while (take(","));
  if (unit_.dialect == Dialect::kSouffle && heads.size() == 1 && take("<=")) return subsumption(heads[0]);
  Alternatives bodies(1);
  if (take(":-") || (unit_.dialect == Dialect::kRules && take("<-"))) bodies = disjunction();
  if (unit_.dialect == Dialect::kRules && now().is("?"))
    fail("a query has no head", "write what should hold: ancestor(ann, y)?");
  if (bodies[0].empty() && now().is("?")) {  // which Soufflé does not have
    Query q{.at = at};
    for (const Atom& a : heads) q.body.push_back({.kind = Literal::Kind::kAtom, .at = a.at, .atom = a});
    q.text = std::string(unit_.sources.text(at).substr(0, static_cast<size_t>(now().at - at)));
    unit_.queries.push_back(std::move(q));
    i_++;
    return;
  }
  expect(".", "behind this statement");
  add_rules(heads, bodies, at);
}

void Parser::add_rules(const std::vector<Atom>& heads, const Alternatives& bodies, int at) {
  for (const Atom& head : heads)
    for (const Body& body : bodies) {
      if (heads.size() > 1) literals_ += body.size();
      if (literals_ > kMostLiterals)
        fail_at(at, "heads and alternatives multiply to more than " + grouped(kMostLiterals) + " literals");
      unit_.rules.push_back({.head = head, .body = body, .at = at});
    }
}

Atom Parser::atom() {
  Atom a{.at = now().at};
  a.name = name("the name of a relation");
  if (unit_.dialect == Dialect::kSouffle && now().is(".") && ahead().kind == Token::Kind::kName && ahead(2).is("("))
    fail("components, as in " + a.name + "." + std::string(ahead().text),
         "Ingot does not have them; write relations out");
  if (unit_.dialect == Dialect::kRules && !now().is("(")) return a;  // a proposition
  expect("(", "behind the name of the relation");
  if (take(")")) return a;
  do a.arguments.push_back(term());
  while (take(","));
  expect(")", "behind the arguments of " + in_quotes(a.name));
  return a;
}

Literal Parser::comparison() {
  Literal l{.kind = Literal::Kind::kCompare, .at = now().at};
  l.left = term();
  static constexpr std::pair<std::string_view, Comparison> kSigns[] = {
      {"=", Comparison::kEqual},         {"!=", Comparison::kNotEqual}, {"<=", Comparison::kLessEqual},
      {">=", Comparison::kGreaterEqual}, {"<", Comparison::kLess},      {">", Comparison::kGreater}};
  for (const auto& [sign, comparison] : kSigns)
    if (take(sign)) {
      l.comparison = comparison;
      l.right = term();
      return l;
    }
  const bool test = l.left.kind == Term::Kind::kCall &&
                    (l.left.function->code == Code::kContains || l.left.function->code == Code::kMatch);
  if (!test)
    fail("a comparison is missing behind this term", "a body is made of atoms, comparisons and their negations");
  l.comparison = Comparison::kNotEqual;
  l.right = Term{.kind = Term::Kind::kInteger, .at = l.at, .name = "0"};
  return l;
}

Literal Parser::literal() {
  const int at = now().at;
  const bool negated = take("!") || (unit_.dialect == Dialect::kRules && take("not"));
  if (!negated && (now().is("true") || now().is("false")) && !ahead().is("(")) {
    const Term one{.kind = Term::Kind::kInteger, .at = at, .name = "1"};
    return {.kind = Literal::Kind::kCompare,
            .at = at,
            .comparison = take("true") ? Comparison::kEqual : (i_++, Comparison::kNotEqual),
            .left = one,
            .right = one};
  }
  const bool named = now().kind == Token::Kind::kName;
  const bool is_atom = named && ahead().is("(") && find_function(now().text) == nullptr && !now().is("as");
  const bool proposition =
      named && unit_.dialect == Dialect::kRules && !at_aggregate() &&
      (ahead().is(",") || ahead().is(".") || ahead().is("?") || ahead().is("}") || ahead().is(";") || ahead().is(")"));
  const bool qualified = named && ahead().is(".") && ahead(2).kind == Token::Kind::kName && ahead(3).is("(");
  if (is_atom || proposition || qualified) {
    Literal l{.kind = negated ? Literal::Kind::kNegated : Literal::Kind::kAtom, .at = at};
    l.atom = atom();
    return l;
  }
  Literal l = comparison();
  if (!negated) return l;
  const bool test = l.left.kind == Term::Kind::kCall && l.right.name == "0" && l.comparison == Comparison::kNotEqual;
  if (!test) fail_at(at, "the negation of a comparison", "turn the comparison around: != for =, >= for <");
  l.comparison = Comparison::kEqual;
  return l;
}

Parser::Alternatives Parser::joined(const Alternatives& left, const Alternatives& right, int at) {
  Alternatives all;
  for (const Body& l : left)
    for (const Body& r : right) {
      literals_ += l.size() + r.size();
      if (literals_ > kMostLiterals)
        fail_at(at, "alternatives multiply to more than " + grouped(kMostLiterals) + " literals",
                "give parts names of their own");
      Body both = l;
      both.insert(both.end(), r.begin(), r.end());
      all.push_back(std::move(both));
    }
  return all;
}

Parser::Alternatives Parser::conjunction() {
  Alternatives all(1);
  do {
    const int at = now().at;
    // A bracket opens a group of literals, or the term of a comparison: what stands behind its end tells.
    bool group = false;
    if (now().is("(")) {
      size_t end = i_;
      int open = 0;
      for (; end < tokens_.size(); end++) {
        open += tokens_[end].is("(") ? 1 : tokens_[end].is(")") ? -1 : 0;
        if (open == 0) break;
      }
      const Token& behind = tokens_[std::min(end + 1, tokens_.size() - 1)];
      group = behind.is(",") || behind.is(";") || behind.is(".") || behind.is(")") || behind.is("}") || behind.is("?");
    }
    if (group) {
      if (++depth_ > kDeepest) fail("too many brackets within brackets");
      expect("(", "here");
      all = joined(all, disjunction(), at);
      expect(")", "behind these alternatives");
      depth_--;
    } else {
      all = joined(all, {{literal()}}, at);
    }
  } while (take(","));
  return all;
}

Parser::Alternatives Parser::disjunction() {
  Alternatives all = conjunction();
  while (take(";"))
    for (Body& body : conjunction()) all.push_back(std::move(body));
  return all;
}

}  // namespace ingot::logic
