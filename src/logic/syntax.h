// A program as a tree: one for both ways to write it. The parser fills in names; the check adds slots, numbers and types.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "logic/functions.h"
#include "logic/source.h"
#include "logic/value.h"

namespace ingot::logic {

struct Aggregate;

struct Term {
  enum class Kind : uint8_t { kVariable, kAny, kInteger, kReal, kText, kCall, kAggregate };
  Kind kind = Kind::kAny;
  int at = 0;
  std::string name = {};                      // of a variable; the text of a constant
  const Function* function = nullptr;         // of a call
  std::vector<Term> parts = {};               // its arguments
  std::shared_ptr<Aggregate> aggregate = {};  // of an aggregate
  // Added by the check:
  int slot = -1;  // of a variable
  Type type = Type::kNumber;
  Value value = 0;  // of a constant

  bool is_variable() const { return kind == Kind::kVariable; }
  bool is_constant() const { return kind == Kind::kInteger || kind == Kind::kReal || kind == Kind::kText; }
};

struct Atom {
  std::string name = {};
  int at = 0;
  std::vector<Term> arguments = {};
  int relation = -1;  // its number
};

enum class Comparison : uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct Literal {
  enum class Kind : uint8_t { kAtom, kNegated, kCompare };
  Kind kind = Kind::kAtom;
  int at = 0;
  Atom atom = {};
  Comparison comparison = Comparison::kEqual;
  Term left = {}, right = {};
};

using Body = std::vector<Literal>;

enum class Fold : uint8_t { kCount, kSum, kMin, kMax, kMean, kArgMin, kArgMax };

/// `sum x : { body }`: folds the values of the first term over all different solutions; with other terms, over all different
/// values of the terms. `argmin{ d, y : … }` is the y whose d is least, and of several the least.
struct Aggregate {
  Fold fold = Fold::kCount;
  std::vector<Term> terms = {};
  Body body = {};
  bool distinct = false;  // over the terms alone: count{ y : parent(x, y) }
  bool is_arg() const { return fold == Fold::kArgMin || fold == Fold::kArgMax; }
  const Term& value() const { return terms[is_arg() ? 1 : 0]; }
};

/// What becomes of facts that agree in all columns but the last.
enum class Best : uint8_t { kAll, kMin, kMax };

struct Rule {
  Atom head = {};
  Body body = {};
  int at = 0;
  int slots = 0;                        // variables
  std::vector<std::string> names = {};  // of the slots, for people
  bool chance = false;                  // made by the parser: from a coin to what it decides
  bool is_fact() const { return body.empty(); }
};

struct Column {
  std::string name = {}, type_name = {};
  int at = 0;
  Type type = Type::kNumber;
  bool typed = false;
  int domain = -1;
};

/// `.input edge(filename="e.csv")`: what is asked of a relation, and how.
struct Request {
  enum class Kind : uint8_t { kInput, kOutput, kPrintSize };
  Kind kind;
  int at;
  std::map<std::string, std::string> options = {};
};

struct Declaration {
  std::string name = {};
  int at = 0;
  std::vector<Column> columns = {};
  std::vector<Request> requests = {};
  Best best = Best::kAll;
  bool hidden = false;       // made by the compiler
  bool declared = false;     // with its columns
  bool coin = false;         // its facts are true by chance, with the probability in their last column
  std::string coin_of = {};  // the relation whose facts these are; empty: a rule's
  bool uncertain = false;    // some coin decides about its facts
  int arity() const { return static_cast<int>(columns.size()); }
};

/// `domain person = {ann, bob}.`, `domain node: 4000.`
struct Domain {
  std::string name;
  int at;
  std::vector<std::string> members = {};
  int64_t size = -1;  // of a range
};

struct Query {
  int at = 0;
  std::string text = {};  // as it was written
  Body body = {};
  std::vector<std::string> names = {};  // of the variables that are shown
  int relation = -1;                    // a hidden one, which has the answers
  bool explain = false;
};

struct Unit {
  Sources sources = {};
  Dialect dialect = Dialect::kRules;
  std::vector<Declaration> relations = {};
  std::vector<Domain> domains = {};
  std::vector<Rule> rules = {};
  std::vector<Query> queries = {};
  std::map<std::string, std::string, std::less<>> types = {};  // name: what it stands for
  Symbols symbols = {};
  std::map<std::string, int, std::less<>> numbers = {};  // of relations
  int proofs = 0;                                        // that are kept of an uncertain fact; 0: all

  int find(std::string_view name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? -1 : found->second;
  }
  int add(Declaration declaration) {
    const int number = static_cast<int>(relations.size());
    numbers.emplace(declaration.name, number);
    relations.push_back(std::move(declaration));
    return number;
  }
};

}  // namespace ingot::logic
