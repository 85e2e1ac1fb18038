// Which plans can be shared among workers, by the rows of the head.
#include <algorithm>

#include "logic/join_plan.h"

namespace ingot::logic {
namespace {

bool is_plain(const Term& t) { return t.kind != Term::Kind::kCall && t.kind != Term::Kind::kAggregate; }

// Reads only what stays as it is during a round, and nothing that computes: that may make new texts.
bool is_quiet(const Step& s) {
  switch (s.kind) {
    case Step::Kind::kKeys:
    case Step::Kind::kRow:
    case Step::Kind::kColumn:
    case Step::Kind::kUnite:
    case Step::Kind::kEmit:
    case Step::Kind::kScan:
    case Step::Kind::kLookup: return true;
    case Step::Kind::kContains: return s.relation->rows() != nullptr;  // tuples are hashed when somebody asks
    case Step::Kind::kCompare: return is_plain(s.literal->left) && is_plain(s.literal->right);
    default: return false;
  }
}

// The largest number that the step can bind; -1: unknown.
int64_t largest(const Step& s) {
  const Rows* rows = s.relation != nullptr ? s.relation->rows() : nullptr;
  if (rows == nullptr) return -1;
  const Step::Kind kind = s.kind == Step::Kind::kUnite ? s.source : s.kind;
  if (kind == Step::Kind::kKeys || kind == Step::Kind::kColumn) return int64_t{rows->key_count()};
  return kind == Step::Kind::kRow ? int64_t{rows->top()} : -1;
}

}  // namespace

std::optional<Shards> shards_of(const Rule& rule, const JoinPlan& plan, const Relation& head) {
  const std::vector<Term>& to = rule.head.arguments;
  if (head.rows() == nullptr || to.size() != 2 || !to[0].is_variable() || !to[1].is_variable()) return {};
  if (!std::all_of(plan.steps.begin(), plan.steps.end(), is_quiet)) return {};
  const auto binds = [&](const Term& t) {
    return std::find_if(plan.steps.begin(), plan.steps.end(),
                        [&](const Step& s) { return s.slot == t.slot && largest(s) >= 0; });
  };
  const auto x = binds(to[0]), y = binds(to[1]), end = plan.steps.end();
  const bool united = plan.steps.back().kind == Step::Kind::kUnite;
  if (plan.steps.back().sieves.size() > kMostSieves) return {};
  if (x == end || (!united && y == end)) return {};
  const int64_t keys = largest(*x), top = largest(united ? plan.steps.back() : *y);
  if (!head.fits(static_cast<Value>(keys), static_cast<Value>(top))) return {};
  return Shards{to[0].slot, static_cast<size_t>(x - plan.steps.begin()), static_cast<uint32_t>(keys) + 1,
                static_cast<uint32_t>(top)};
}

}  // namespace ingot::logic
