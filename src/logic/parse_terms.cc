// Terms: variables, constants, arithmetic by precedence, calls, aggregates.
#include "ingot/base/text.h"
#include "logic/parse.h"

namespace ingot::logic {
namespace {

constexpr int kDeepest = 200;  // brackets in brackets

struct Operator {
  std::string_view sign;
  Code code;
  int level;  // higher binds closer
};
constexpr Operator kOperators[] = {
    {"lor", Code::kLogicalOr, 0},  {"lxor", Code::kLogicalXor, 1}, {"land", Code::kLogicalAnd, 2},
    {"bor", Code::kOr, 3},         {"bxor", Code::kXor, 4},        {"band", Code::kAnd, 5},
    {"bshl", Code::kShiftLeft, 6}, {"bshr", Code::kShiftRight, 6}, {"bshru", Code::kShiftRightUnsigned, 6},
    {"+", Code::kAdd, 7},          {"-", Code::kSubtract, 7},      {"*", Code::kMultiply, 8},
    {"/", Code::kDivide, 8},       {"%", Code::kModulo, 8},        {"^", Code::kPower, 9}};

constexpr std::pair<std::string_view, Fold> kFolds[] = {
    {"count", Fold::kCount}, {"sum", Fold::kSum},       {"min", Fold::kMin},      {"max", Fold::kMax},
    {"mean", Fold::kMean},   {"argmin", Fold::kArgMin}, {"argmax", Fold::kArgMax}};

// Soufflé does not have the last two.
bool is_own(Fold fold) { return fold == Fold::kArgMin || fold == Fold::kArgMax; }

}  // namespace

bool Parser::at_aggregate() const {
  for (const auto& [word, fold] : kFolds)
    if (now().is(word))
      return unit_.dialect == Dialect::kRules ? ahead().is("{")
                                              : !is_own(fold) && (!ahead().is("(") || fold == Fold::kCount);
  return false;
}

Term Parser::term(int level) {
  depth_++;
  if (depth_ > kDeepest) fail("too many brackets within brackets");
  Term left = factor();
  int longest = 0;
  for (;;) {
    const Operator* found = nullptr;
    for (const Operator& o : kOperators)
      if (o.level >= level && now().is(o.sign)) found = &o;
    if (found == nullptr) break;
    const int at = now().at;
    i_++;
    Term right = term(found->code == Code::kPower ? found->level : found->level + 1);
    Term both{.kind = Term::Kind::kCall, .at = at, .function = function_of(found->code)};
    both.parts.push_back(std::move(left));
    both.parts.push_back(std::move(right));
    left = std::move(both);
    // A sum of thousands of terms is a tree as deep, which others walk.
    if (++longest > kDeepest) fail_at(at, "a term of more than " + std::to_string(kDeepest) + " operations in a row");
  }
  depth_--;
  return left;
}

Term Parser::constant(bool negative) {
  const Token& t = tokens_[i_++];
  Term c{.at = t.at, .name = std::string(t.text)};
  if (t.kind == Token::Kind::kText) {
    c.kind = Term::Kind::kText;
    c.name = unquoted(t.text);
    return c;
  }
  c.kind = t.kind == Token::Kind::kReal ? Term::Kind::kReal : Term::Kind::kInteger;
  if (negative) {
    c.name = "-" + c.name;
    c.at = tokens_[i_ - 2].at;
  }
  return c;
}

Term Parser::factor() {
  const Token& t = now();
  switch (t.kind) {
    case Token::Kind::kInteger:
    case Token::Kind::kReal:
    case Token::Kind::kText: return constant(false);
    case Token::Kind::kEnd: fail("the text ends where a term should be");
    case Token::Kind::kSign:
      if (t.is("(")) {
        i_++;
        Term inner = term();
        expect(")", "behind this term");
        return inner;
      }
      if (t.is("-")) {
        i_++;
        if ((now().kind == Token::Kind::kInteger || now().kind == Token::Kind::kReal) && !ahead().is("^"))
          return constant(true);
        Term minus{.kind = Term::Kind::kCall, .at = t.at, .function = function_of(Code::kNegate)};
        minus.parts.push_back(term(8));
        return minus;
      }
      if (t.is("[")) fail("records, as in [a, b]", "Ingot does not have them; use more columns");
      if (t.is("$")) fail("algebraic types and counters, as in $Name(x)", "Ingot does not have them; use more columns");
      if (t.is("@")) fail("functors written in C++", "Ingot runs no foreign code; use its own functions");
      fail("a term should be here, but there is " + in_quotes(t.text));
    case Token::Kind::kName: break;
  }
  if (at_aggregate()) {
    for (const auto& [word, fold] : kFolds)
      if (t.is(word)) return aggregate_of(fold);
  }
  if (t.is("_")) return i_++, Term{.kind = Term::Kind::kAny, .at = t.at};
  if (t.is("nil")) fail("records and their nil", "Ingot does not have them; use more columns");
  if (t.is("as") && ahead().is("(")) {  // another type for the same word
    i_ += 2;
    Term inner = term();
    expect(",", "and a type");
    const std::string type = name("the name of a type");
    expect(")", "behind the type");
    Term cast{.kind = Term::Kind::kCall, .at = t.at, .name = type};
    cast.parts.push_back(std::move(inner));
    return cast;
  }
  const Function* function = find_function(t.text);
  if (function != nullptr && (ahead().is("(") || function->code == Code::kNot || function->code == Code::kLogicalNot))
    return call(*function);
  if (ahead().is("("))
    fail("there is no function " + in_quotes(t.text),
         "an atom cannot stand inside a term; functions are cat, strlen, substr, ord, min, max, …");
  i_++;
  return {.kind = Term::Kind::kVariable, .at = t.at, .name = std::string(t.text)};
}

Term Parser::call(const Function& function) {
  Term c{.kind = Term::Kind::kCall, .at = now().at, .function = &function};
  i_++;
  if (!now().is("(")) {  // bnot x
    c.parts.push_back(term(8));
    return c;
  }
  expect("(", "behind the function");
  do c.parts.push_back(term());
  while (take(","));
  expect(")", "behind the arguments of " + in_quotes(function.name));
  const size_t least = function.code == Code::kRange ? 2 : function.takes.size();
  const size_t most = function.code == Code::kRange ? 3 : function.variadic ? 1000 : least;
  const bool fold = unit_.dialect == Dialect::kRules && c.parts.size() == 1 && function.variadic;  // min(d) in a head
  if ((c.parts.size() < least || c.parts.size() > most) && !fold)
    fail_at(c.at, in_quotes(function.name) + " takes " + counted(static_cast<int64_t>(least), "argument") +
                      (function.variadic ? " or more" : "") + ", here are " + std::to_string(c.parts.size()));
  return c;
}

// Soufflé: sum x : { body }, count : { body }, count : atom. Ingot: sum{ x : body }, count{ y : body }, count{ body }.
Term Parser::aggregate_of(Fold fold) {
  depth_++;
  if (depth_ > kDeepest) fail("too many brackets within brackets");
  Term t{.kind = Term::Kind::kAggregate, .at = now().at, .aggregate = std::make_shared<Aggregate>()};
  Aggregate& a = *t.aggregate;
  a.fold = fold;
  i_++;
  bool braces = true;
  if (unit_.dialect == Dialect::kRules) {
    expect("{", "behind the aggregate");
    size_t colon = i_;  // `terms :` comes first, if there is a colon before the brackets end
    for (int open = 0; tokens_[colon].kind != Token::Kind::kEnd && open >= 0 && !(open == 0 && tokens_[colon].is(":"));
         colon++)
      open += tokens_[colon].is("{") || tokens_[colon].is("(")   ? 1
              : tokens_[colon].is("}") || tokens_[colon].is(")") ? -1
                                                                 : 0;
    if (tokens_[colon].is(":")) {
      do a.terms.push_back(term());
      while (take(","));
      expect(":", "behind what is folded");
      a.distinct = true;
    }
  } else {
    if (!now().is(":")) a.terms.push_back(term());
    expect(":", "and a body in braces");
    braces = take("{");
  }
  if (a.terms.size() > 30) fail_at(t.at, "an aggregate of more than 30 terms");
  if (a.terms.empty() && fold != Fold::kCount)
    fail_at(t.at, "what should be folded is missing", "write sum x, min x, …");
  if (a.is_arg() && a.terms.size() != 2)
    fail_at(t.at, "argmin and argmax take what is compared and what is wanted", "argmin{ d, c : road(x, c, d) }");
  if (!braces) {
    a.body.push_back(literal());
  } else {
    Alternatives bodies = disjunction();
    if (bodies.size() > 1) fail_at(t.at, "alternatives inside an aggregate", "give them a name of their own");
    a.body = std::move(bodies[0]);
    expect("}", "behind the body of the aggregate");
  }
  depth_--;
  return t;
}

}  // namespace ingot::logic
