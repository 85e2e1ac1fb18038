// A theory as a tree. The parser fills in names; the check finds tensors, variables and their axes, and computes masks.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ingot/logic/algebra.h"
#include "ingot/logic/theory.h"
#include "ingot/logic/truth.h"
#include "logic/source.h"
#include "logic/syntax.h"

namespace ingot::logic {

constexpr size_t kMostTensors = 1000;
constexpr int64_t kBatch = -2;  // the size of a domain that is as large as the batch

struct Axis {
  int domain = -1;
  int64_t size = -1;  // of an axis without a domain; -1: not known yet
  bool known() const { return domain >= 0 || size >= 0; }
  bool operator==(const Axis&) const = default;
};

struct Function1;

/// A number, a name, or what is made of others.
struct Node {
  enum class Kind : uint8_t {
    kNumber,
    kName,      // a variable, a constant of a domain, or `_`
    kTensor,    // parts: what stands in its places
    kFunction,  // of one part
    kReduce,    // softmax[q](…): `bound` are the variables
    kNegative,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kModulo,
    kPower,
    kCompare,
    kNot,
    kAnd,
    kOr,
    kImplies,
    kSame,
    kForAll,  // parts: what is said, and the guard if there is one
    kExists,
  };
  struct Bound {
    std::string name;
    int at;
    std::string domain = {};  // where it was said
    int variable = -1;
  };
  Kind kind = Kind::kNumber;
  int at = 0;
  std::string name = {};
  double number = 0;    // of a quantifier: its p, 0 if none was given
  int64_t count = 0;    // exists 3 x: so many
  bool square = false;  // t[i], not r(x)
  Comparison comparison = Comparison::kEqual;
  const Function1* function = nullptr;
  std::vector<Node> parts = {};
  std::vector<Bound> bound = {};
  // Added by the check:
  int tensor = -1, variable = -1;
  std::vector<int> free = {};  // variables that stand in it and are not bound in it
  Tensor mask = {};            // of a comparison of indices: one and zero for all values of `free`

  bool is_any() const { return kind == Kind::kName && name == "_"; }
};

struct TheoryTensor {
  enum class Kind : uint8_t { kGiven, kParam, kInput, kNeural, kEquation, kRules };
  std::string name;
  int at = 0;
  Kind kind = Kind::kGiven;
  bool truths = true;  // a relation
  bool declared = false;
  int arity = 0;
  std::vector<Axis> axes = {};
  std::vector<std::string> axis_names = {};
  std::string file = {};  // that has its elements, or where they begin
  int file_at = 0;
  // Of a neural one: the network, what it is called on, and what becomes of its result.
  std::string network = {}, head = {};
  std::vector<std::string> network_inputs = {};
  std::vector<int> inputs = {};
  // Added by the check:
  Tensor elements = {};              // of facts; of a param what is trained: numbers, or logits of truths
  std::vector<int> statements = {};  // equations or rules with this head
  int component = -1;                // of the recursion that it is in
};

struct TheoryVariable {
  std::string name;
  int at;
  Axis axis = {};
};

struct Statement {
  enum class Kind : uint8_t { kRule, kEquation, kAssert, kAsk };
  Kind kind;
  int at = 0;
  Node head = {};               // of a rule or an equation
  std::vector<Node> body = {};  // of a rule: all must hold; of others one
  // Added by the check:
  std::vector<TheoryVariable> variables = {};
};

struct TheoryFact {
  Node what;  // a tensor and constants
  double value = 1;
  bool has_value = false;
};

/// `output smokes "smokes.npy".`
struct TheoryOutput {
  std::string name, file;
  int at;
};

struct TheoryUnit {
  Sources sources = {};
  std::string text = {};
  DType dtype = kF32;
  std::string folder = ".";  // of the files that it names
  std::string semantics_name = "ltn", algebra = {};
  Semantics semantics = {};
  double temperature = 1;
  std::vector<Domain> domains = {};
  std::vector<TheoryTensor> tensors = {};
  std::map<std::string, int, std::less<>> numbers = {};  // of tensors
  std::vector<TheoryFact> facts = {};
  std::vector<Statement> statements = {};
  std::vector<Assertion> assertions = {};
  std::vector<int> asserted = {};  // their statements
  std::vector<std::string> questions = {};
  std::vector<TheoryOutput> outputs = {};
  std::vector<std::string> files = {};            // that were read
  double elements = 0;                            // of all tensors and masks so far
  std::vector<std::vector<int>> components = {};  // tensors that depend on each other
  std::map<std::string, nn::LayerPtr> layers = {};
  std::map<std::string, std::function<Tensor(Tensors)>> functions = {};

  int find(std::string_view name) const {
    const auto found = numbers.find(name);
    return found == numbers.end() ? -1 : found->second;
  }
  int domain_named(std::string_view name) const {
    for (size_t i = 0; i < domains.size(); i++)
      if (domains[i].name == name) return static_cast<int>(i);
    return -1;
  }
  /// The number of members; kBatch if the batch says it.
  int64_t size_of(const Axis& axis) const;
  /// "person", or "8 values".
  std::string text_of(const Axis& axis) const;
  TheoryTensor& tensor(int number) { return tensors[static_cast<size_t>(number)]; }
  const TheoryTensor& tensor(int number) const { return tensors[static_cast<size_t>(number)]; }
};

/// Functions of one number that equations may call.
struct Function1 {
  const char* name;
  Tensor (*of)(const Tensor& x);
  double (*number)(double x);
};
const Function1* find_function1(std::string_view name);

/// Adds what the text says.
void parse_theory(TheoryUnit& unit, const std::string& name, std::string text);
/// A semantics in place of the program's own: "godel", "ltn 4".
void choose_semantics(TheoryUnit& unit, const std::string& semantics);
/// A question by itself: the sources become those of its text.
Statement parse_question(TheoryUnit& unit, const std::string& text);
/// Tensors, variables, axes, elements, recursions; refuses what makes no sense.
void check_theory(TheoryUnit& unit);
void check_statement(TheoryUnit& unit, Statement& s);

/// What an element of a relation or tensor is stored as (of a learned truth that is its logit), if nothing or a value is said
/// of it. Calls wrong(what, hint), which does not return, where the value makes no sense.
using Complaint = std::function<void(const std::string& what, const std::string& hint)>;
double stored_value(const TheoryUnit& unit, const TheoryTensor& t, const double* value, const Complaint& wrong);

}  // namespace ingot::logic
