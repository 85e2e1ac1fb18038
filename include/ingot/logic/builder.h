// A program written in C++. It means what the same text would: it is checked by the same check, and text() shows it.
//
//   logic::Builder b;
//   const auto parent = b.relation("parent", {Type::kSymbol, Type::kSymbol}), ancestor = b.relation("ancestor", {…});
//   const logic::Variable x("x"), y("y"), z("z");
//   b.fact(parent("ann", "bob"));
//   b.rule(ancestor(x, y), {parent(x, y)});
//   b.rule(ancestor(x, z), {ancestor(x, y), parent(y, z)});
//   logic::Engine engine(b.program());
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/logic/program.h"

namespace ingot::logic {

/// What stands in a column or in a comparison: a variable, a constant, arithmetic of them.
class INGOT_API Expression {
 public:
  Expression(const char* text) : Expression(std::string(text)) {}  // NOLINT: constants are expressions
  Expression(const std::string& text) : text_(quoted(text)) {}     // NOLINT
  template <std::integral T>
  Expression(T number) : text_(std::to_string(number)) {}  // NOLINT
  Expression(double number);                               // NOLINT
  const std::string& text() const { return text_; }

  friend Expression operator+(const Expression& a, const Expression& b) { return joined(a, "+", b); }
  friend Expression operator-(const Expression& a, const Expression& b) { return joined(a, "-", b); }
  friend Expression operator*(const Expression& a, const Expression& b) { return joined(a, "*", b); }
  friend Expression operator/(const Expression& a, const Expression& b) { return joined(a, "/", b); }
  friend Expression operator%(const Expression& a, const Expression& b) { return joined(a, "%", b); }

 protected:
  struct Raw {
    std::string text;
  };
  explicit Expression(Raw raw) : text_(std::move(raw.text)) {}

 private:
  friend Expression least(const Expression& e);
  friend Expression greatest(const Expression& e);
  static Expression joined(const Expression& a, const char* sign, const Expression& b);
  static std::string quoted(const std::string& text);
  std::string text_;
};

/// In the last column of a head: facts that agree in the other columns keep its least (greatest) value.
INGOT_API Expression least(const Expression& e);
INGOT_API Expression greatest(const Expression& e);

/// A name that has a value in each solution; `_` is any value.
class INGOT_API Variable : public Expression {
 public:
  explicit Variable(const std::string& name);
};

/// One part of a body: a fact that must hold, or must not (operator!), or a comparison.
class Condition {
 public:
  explicit Condition(std::string text) : text_(std::move(text)) {}
  const std::string& text() const { return text_; }
  Condition operator!() const { return Condition("not " + text_); }

 private:
  std::string text_;
};

inline Condition operator==(const Expression& a, const Expression& b) { return Condition(a.text() + " = " + b.text()); }
inline Condition operator!=(const Expression& a, const Expression& b) {
  return Condition(a.text() + " != " + b.text());
}
inline Condition operator<(const Expression& a, const Expression& b) { return Condition(a.text() + " < " + b.text()); }
inline Condition operator<=(const Expression& a, const Expression& b) {
  return Condition(a.text() + " <= " + b.text());
}
inline Condition operator>(const Expression& a, const Expression& b) { return Condition(a.text() + " > " + b.text()); }
inline Condition operator>=(const Expression& a, const Expression& b) {
  return Condition(a.text() + " >= " + b.text());
}

// Formulas of theories (theory.h).
inline Condition operator&&(const Condition& a, const Condition& b) {
  return Condition("(" + a.text() + " and " + b.text() + ")");
}
inline Condition operator||(const Condition& a, const Condition& b) {
  return Condition("(" + a.text() + " or " + b.text() + ")");
}
inline Condition implies(const Condition& a, const Condition& b) {
  return Condition("(" + a.text() + " -> " + b.text() + ")");
}
inline Condition equivalent(const Condition& a, const Condition& b) {
  return Condition("(" + a.text() + " <-> " + b.text() + ")");
}
/// For all values of the variables, or for those where the guard holds.
INGOT_API Condition for_all(const std::vector<Variable>& variables, const Condition& what, const Condition& guard);
INGOT_API Condition for_all(const std::vector<Variable>& variables, const Condition& what);
INGOT_API Condition there_is(const std::vector<Variable>& variables, const Condition& what, const Condition& guard);
INGOT_API Condition there_is(const std::vector<Variable>& variables, const Condition& what);

class INGOT_API Builder {
 public:
  /// relation(x, "ann", 3) is a fact of it, or a condition.
  class Name {
   public:
    template <class... T>
    Condition operator()(const T&... arguments) const {
      return with({Expression(arguments)...});
    }

   private:
    friend class Builder;
    explicit Name(std::string name) : name_(std::move(name)) {}
    INGOT_API Condition with(const std::vector<Expression>& arguments) const;
    std::string name_;
  };

  void domain(const std::string& name, const std::vector<std::string>& members);
  void domain(const std::string& name, int64_t size);
  Name relation(const std::string& name, const std::vector<Type>& columns);
  /// A relation over declared domains.
  Name relation_of(const std::string& name, const std::vector<std::string>& domains);
  /// Of theories: a relation whose truths are learned, and what ought to be true. Theory::parse(text()) is the theory.
  Name parameter(const std::string& name, const std::vector<std::string>& domains);
  void assertion(const std::string& name, const Condition& formula, double weight = 1);
  void fact(const Condition& fact);
  void rule(const Condition& head, const std::vector<Condition>& body);
  void query(const std::vector<Condition>& body);
  const std::string& text() const { return text_; }
  Program program() const { return Program::parse(text_, Dialect::kRules, "builder"); }

 private:
  std::string text_;
};

}  // namespace ingot::logic
