// From text to a tree. Two ways to write, one tree: Soufflé's dialect (.dl) and Ingot's own (.rules).
#pragma once
#include <set>
#include <string>
#include <vector>

#include "logic/syntax.h"
#include "logic/tokens.h"

namespace ingot::logic {

class Parser {
 public:
  explicit Parser(Unit& unit) : unit_(unit) {}
  /// Adds what the text says to the unit. The name is for messages, and for files that the text includes.
  void parse(const std::string& name, std::string text);

 private:
  using Alternatives = std::vector<Body>;  // a body with `;` in it is several

  // Both dialects (parse.cc)
  void statements(int begin);
  void clause();
  Literal comparison();
  Literal literal();
  Alternatives conjunction();
  Alternatives disjunction();
  Alternatives joined(const Alternatives& left, const Alternatives& right, int at);
  Atom atom();
  void add_rules(const std::vector<Atom>& heads, const Alternatives& bodies, int at);
  // Terms (parse_terms.cc)
  Term term(int level = 0);
  Term factor();
  Term constant(bool negative);
  Term call(const Function& function);
  Term aggregate_of(Fold fold);
  bool at_aggregate() const;
  // Soufflé's directives (parse_souffle.cc)
  void directive();
  void declare();
  void type_of_souffle();
  void request(Request::Kind kind);
  void qualifier(Declaration& declaration);
  void subsumption(const Atom& worse);
  void equivalence(const Declaration& declaration);
  void include();
  std::map<std::string, std::string> options();
  // Ingot's words (parse_rules.cc)
  bool ingot_statement();
  void domain();
  void relation();
  void query(bool explain);
  void head_fold(Atom& head);
  bool at_chance() const;
  void chance();
  void semantics();

  const Token& now() const { return tokens_[i_]; }
  const Token& ahead(size_t n = 1) const { return tokens_[std::min(i_ + n, tokens_.size() - 1)]; }
  bool take(std::string_view sign);
  void expect(std::string_view sign, const std::string& where);
  std::string name(const std::string& what);
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const;
  [[noreturn]] void fail_at(int at, const std::string& what, const std::string& hint = "") const;
  Declaration& relation_named(const std::string& name, int at);

  Unit& unit_;
  std::vector<Token> tokens_;
  size_t i_ = 0;
  std::string file_;
  int depth_ = 0;        // of brackets
  int included_ = 0;     // files within files
  size_t literals_ = 0;  // made of alternatives
};

}  // namespace ingot::logic
