// How a body is solved: steps that bind variables from relations, each the cheapest next one by the sizes that relations have
// now, and checks as soon as what they look at is bound.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "logic/relation.h"

namespace ingot::logic {

/// A slot, or a constant.
struct Operand {
  int slot = -1;
  Value value = 0;
};

struct JoinPlan;

constexpr size_t kMostSieves = 16;  // of one kUnite that works on whole sets

struct Step {
  enum class Kind : uint8_t {
    kKeys,       // rows: each first number
    kRow,        // rows: each second number of a first one
    kColumn,     // rows: each first number of a second one
    kScan,       // tuples: each
    kLookup,     // tuples: each with these columns
    kContains,   // is the fact there? (or not)
    kExists,     // is there a fact with these columns? (or none)
    kCompare,    // of two terms
    kAssign,     // a slot becomes the value of a term
    kRange,      // a slot becomes each number of a range
    kAggregate,  // a slot becomes what is folded (or is compared with it)
    kEmit,       // the head is a fact
    kUnite,      // rows: a whole row goes into the head at once
    kSolved,     // somebody is told
  };
  Kind kind;
  const Literal* literal = nullptr;
  Relation* relation = nullptr;
  bool fresh = false;  // only what was new in the last round
  bool negated = false;
  Operand key = {};                                 // of kRow, kColumn
  int slot = -1;                                    // what is bound
  std::vector<Operand> operands = {};               // of kContains: all columns
  int index = -1;                                   // of kLookup, kExists
  std::vector<std::pair<int, Operand>> known = {};  // columns that must have a value: the index' first
  std::vector<std::pair<int, int>> binds = {};      // columns and the slots that take them
  std::vector<std::pair<int, int>> equal = {};      // columns that must be as other ones
  const Term* term = nullptr;                       // of kAssign, kRange
  std::unique_ptr<JoinPlan> inner = {};             // of kAggregate
  std::vector<Step> sieves = {};                    // of kUnite: its kContains
  Kind source = Kind::kRow;                         // of kUnite
  double estimate = 0;
};

struct JoinPlan {
  std::vector<Step> steps;
  int slots = 0;
  std::string text() const;  // for people
};

struct PlanRequest {
  const Unit& unit;
  const Rule& rule;
  const Body& body;
  std::vector<Relation*> relations;
  int fresh = -1;           // the literal that reads only what is new
  int first = -1;           // the literal to begin with
  std::vector<bool> bound;  // slots
  bool enumerate = false;   // `_` takes each of its values, because solutions are counted
  bool as_written = false;  // in the order of the text
  bool sets = true;         // whole sets may be united
  Step::Kind end = Step::Kind::kEmit;
};

JoinPlan plan_join(const PlanRequest& request);

/// How workers can share a plan in a round, each with rows of the head for itself.
struct Shards {
  int slot;            // the number of the head's row
  size_t step;         // that binds it
  uint32_t keys, top;  // what rows and members of the head are at most
};
/// Nothing if the plan may write anything else than rows whose numbers some row or column gives it.
std::optional<Shards> shards_of(const Rule& rule, const JoinPlan& plan, const Relation& head);

}  // namespace ingot::logic
