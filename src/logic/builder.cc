#include "ingot/logic/builder.h"

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "logic/functions.h"

namespace ingot::logic {
namespace {

void check_name(const std::string& name, const char* what) {
  const auto letter = [](char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; };
  const bool good = !name.empty() && letter(name[0]) && find_function(name) == nullptr &&
                    std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || ('0' <= c && c <= '9'); });
  if (!good)
    throw Error("builder: " + in_quotes(name) + " is no name of a " + what +
                " — letters, digits and _, and no function's");
}

std::string listed_texts(const std::vector<Condition>& all) {
  std::vector<std::string> texts;
  texts.reserve(all.size());
  for (const Condition& c : all) texts.push_back(c.text());
  return join(texts);
}

}  // namespace

Expression::Expression(double number) : text_(exact_text(number)) {
  if (!std::isfinite(number)) throw Error("builder: " + text_ + " is no constant");
  if (text_.find_first_of(".e") == std::string::npos) text_ += ".0";
}

std::string Expression::quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n' || c == '\t' || c == '\r')
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    else
      result += c == '"' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  }
  return result + '"';
}

Expression Expression::joined(const Expression& a, const char* sign, const Expression& b) {
  return Expression(Raw{"(" + a.text() + " " + sign + " " + b.text() + ")"});
}

Expression least(const Expression& e) { return Expression(Expression::Raw{"min(" + e.text() + ")"}); }
Expression greatest(const Expression& e) { return Expression(Expression::Raw{"max(" + e.text() + ")"}); }

Variable::Variable(const std::string& name) : Expression(Raw{name}) { check_name(name, "variable"); }

namespace {

Condition quantified(const char* word, const std::vector<Variable>& variables, const std::string& guard,
                     const Condition& what) {
  std::vector<std::string> names;
  names.reserve(variables.size());
  for (const Variable& v : variables) names.push_back(v.text());
  const std::string where = guard.empty() ? "" : " where " + guard;
  return Condition("(" + std::string(word) + " " + join(names) + where + ": " + what.text() + ")");
}

}  // namespace

Condition for_all(const std::vector<Variable>& variables, const Condition& what, const Condition& guard) {
  return quantified("forall", variables, guard.text(), what);
}
Condition for_all(const std::vector<Variable>& variables, const Condition& what) {
  return quantified("forall", variables, "", what);
}
Condition there_is(const std::vector<Variable>& variables, const Condition& what, const Condition& guard) {
  return quantified("exists", variables, guard.text(), what);
}
Condition there_is(const std::vector<Variable>& variables, const Condition& what) {
  return quantified("exists", variables, "", what);
}

Condition Builder::Name::with(const std::vector<Expression>& arguments) const {
  std::vector<std::string> texts;
  texts.reserve(arguments.size());
  for (const Expression& e : arguments) texts.push_back(e.text());
  return Condition(texts.empty() ? name_ : name_ + "(" + join(texts) + ")");
}

Builder::Name Builder::relation(const std::string& name, const std::vector<Type>& columns) {
  check_name(name, "relation");
  std::vector<std::string> types;
  types.reserve(columns.size());
  for (const Type type : columns) types.emplace_back(type_name(type));
  text_ += "rel " + name + "(" + join(types) + ").\n";
  return Name(name);
}

void Builder::domain(const std::string& name, const std::vector<std::string>& members) {
  check_name(name, "domain");
  std::vector<std::string> texts;
  texts.reserve(members.size());
  for (const std::string& m : members) texts.push_back(Expression(m).text());
  text_ += "domain " + name + " = {" + join(texts) + "}.\n";
}

void Builder::domain(const std::string& name, int64_t size) {
  check_name(name, "domain");
  text_ += "domain " + name + ": " + std::to_string(size) + ".\n";
}

Builder::Name Builder::relation_of(const std::string& name, const std::vector<std::string>& domains) {
  check_name(name, "relation");
  text_ += "rel " + name + "(" + join(domains) + ").\n";
  return Name(name);
}

Builder::Name Builder::parameter(const std::string& name, const std::vector<std::string>& domains) {
  check_name(name, "relation");
  text_ += "param rel " + name + "(" + join(domains) + ").\n";
  return Name(name);
}

void Builder::assertion(const std::string& name, const Condition& formula, double weight) {
  check_name(name, "assertion");
  if (!(weight > 0)) throw Error("builder: the weight of an assertion is greater than 0");
  const std::string weighted = weight == 1 ? "" : Expression(weight).text() + " :: ";
  text_ += "assert " + weighted + name + ": " + formula.text() + ".\n";
}

void Builder::fact(const Condition& fact) { text_ += fact.text() + ".\n"; }

void Builder::rule(const Condition& head, const std::vector<Condition>& body) {
  if (body.empty()) throw Error("builder: a rule without a body — use fact()");
  text_ += head.text() + " <- " + listed_texts(body) + ".\n";
}

void Builder::query(const std::vector<Condition>& body) { text_ += listed_texts(body) + "?\n"; }

}  // namespace ingot::logic
