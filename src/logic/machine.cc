#include "logic/machine.h"

#include <algorithm>
#include <array>

#include "ingot/base/error.h"

namespace ingot::logic {
namespace {

// What an aggregate has seen so far.
class Folded {
 public:
  Folded(const Aggregate& a, const Symbols& symbols)
      : fold_(a.fold),
        type_(a.terms.empty() ? Type::kNumber : a.terms[0].type),
        wanted_(a.is_arg() ? a.value().type : Type::kNumber),
        symbols_(symbols) {}
  // What the terms are; of more than one, the second is what an argmin wants.
  void add(const Value* terms) {
    const Value v = terms[0];
    count_++;
    switch (fold_) {
      case Fold::kCount: return;
      case Fold::kMean:
        sum_ += type_ == Type::kFloat      ? as_float(v)
                : type_ == Type::kUnsigned ? static_cast<double>(v)
                                           : static_cast<double>(as_number(v));
        return;
      case Fold::kSum: whole_ = type_ == Type::kFloat ? of_float(as_float(whole_) + as_float(v)) : whole_ + v; return;
      default: break;
    }
    const bool arg = fold_ == Fold::kArgMin || fold_ == Fold::kArgMax;
    const int order = count_ == 1 ? 0 : compare(type_, v, whole_, symbols_);
    const bool least = fold_ == Fold::kMin || fold_ == Fold::kArgMin;
    const bool first = arg && order == 0 && count_ > 1 && compare(wanted_, terms[1], where_, symbols_) < 0;
    if (count_ > 1 && !first && !(least ? order < 0 : order > 0)) return;
    whole_ = v;
    if (arg) where_ = terms[1];
  }
  bool result(Value& v) const {
    if (count_ == 0 && fold_ != Fold::kCount && fold_ != Fold::kSum) return false;
    switch (fold_) {
      case Fold::kCount: v = count_; break;
      case Fold::kMean: v = of_float(sum_ / static_cast<double>(count_)); break;
      case Fold::kArgMin:
      case Fold::kArgMax: v = where_; break;
      default: v = whole_;
    }
    return true;
  }

 private:
  Fold fold_;
  Type type_, wanted_;
  const Symbols& symbols_;
  uint64_t count_ = 0;
  double sum_ = 0;
  Value whole_ = 0;  // 0.0 is the same word
  Value where_ = 0;
};

}  // namespace

Machine::Machine(Unit& unit, const Rule& rule, const JoinPlan& plan, Relation* head, const std::atomic<bool>* cancel)
    : unit_(unit),
      rule_(rule),
      steps_(&plan.steps),
      head_(head),
      slots_(static_cast<size_t>(plan.slots), 0),
      cancel_(cancel) {}

void Machine::look() {
  next_look_ = work_ + kLook;
  if (work_ > most_work_) throw TooMuchWork{};
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed))
    throw Error(ErrorKind::kCancelled, "logic: stopped");
}

void Machine::share(const Shards& shards, const Team& team, Rows::Found& found) {
  shard_slot_ = shards.slot;
  counted_from_ = team.rank() == 0 ? 0 : shards.step;
  team_ = team;
  found_ = &found;
}

// False if the row of the head that the step has bound is another member's.
bool Machine::bound(const Step& s, size_t i, Value v) {
  slots_[static_cast<size_t>(s.slot)] = v;
  if (s.slot == shard_slot_ && team_.size() > 1 && shard_of(v, team_.size()) != team_.rank()) return false;
  tick(i);
  return true;
}

bool Machine::holds(Comparison comparison, int order) {
  switch (comparison) {
    case Comparison::kEqual: return order == 0;
    case Comparison::kNotEqual: return order != 0;
    case Comparison::kLess: return order < 0;
    case Comparison::kLessEqual: return order <= 0;
    case Comparison::kGreater: return order > 0;
    case Comparison::kGreaterEqual: return order >= 0;
  }
  return false;
}

Value value_of(Unit& unit, const Term& t, std::span<const Value> slots) {
  if (t.is_variable()) return slots[static_cast<size_t>(t.slot)];
  if (t.kind != Term::Kind::kCall) return t.value;
  if (t.function == nullptr) return value_of(unit, t.parts[0], slots);
  std::array<Value, 8> few{};
  std::vector<Value> many(t.parts.size() > few.size() ? t.parts.size() : 0);
  const std::span<Value> arguments = many.empty() ? std::span(few.data(), t.parts.size()) : std::span(many);
  for (size_t i = 0; i < t.parts.size(); i++) arguments[i] = value_of(unit, t.parts[i], slots);
  try {
    return call(t.function->code, t.parts[0].type, t.type, arguments, unit.symbols);
  } catch (const NoValue& none) {
    unit.sources.fail(t.at, "no value: " + none.why);
  }
}

bool Machine::compare(const Literal& l) {
  const Value a = value(l.left), b = value(l.right);
  if (l.comparison == Comparison::kEqual && l.left.type != Type::kFloat) return a == b;
  if (l.comparison == Comparison::kNotEqual && l.left.type != Type::kFloat) return a != b;
  return holds(l.comparison, logic::compare(l.left.type, a, b, unit_.symbols));
}

const IdSet& Machine::set_of(const Step& s) const {
  const Rows& rows = *s.relation->rows();
  const Value key = value(s.key);
  if ((s.kind == Kind::kUnite ? s.source : s.kind) == Kind::kColumn) return rows.column(key);
  return s.fresh ? rows.fresh(key) : rows.row(key);
}

void Machine::step(size_t i) {
  const Step& s = (*steps_)[i];
  if (watching_ && i > deepest_) {
    deepest_ = i;
    deepest_slots_ = slots_;
  }
  switch (s.kind) {
    case Kind::kKeys: return keys(s, i);
    case Kind::kRow:
    case Kind::kColumn: return each(s, set_of(s), i);
    case Kind::kScan:
    case Kind::kLookup: return scan(s, i);
    case Kind::kContains: {
      Value fact[32];
      for (size_t c = 0; c < s.operands.size(); c++) fact[c] = value(s.operands[c]);
      if (s.relation->contains(fact) != s.negated) step(i + 1);
      return;
    }
    case Kind::kExists:
      if (exists(s) != s.negated) step(i + 1);
      return;
    case Kind::kCompare:
      if (compare(*s.literal)) step(i + 1);
      return;
    case Kind::kAssign: slots_[static_cast<size_t>(s.slot)] = value(*s.term); return step(i + 1);
    case Kind::kRange: return range(s, i);
    case Kind::kAggregate: return aggregate(s, i);
    case Kind::kEmit: return emit();
    case Kind::kUnite: return unite(s, i);
    case Kind::kSolved: stopped_ = !solved(); return;
  }
}

void Machine::keys(const Step& s, size_t i) {
  const Rows& rows = *s.relation->rows();
  const auto next = [&](uint32_t x) {
    if (bound(s, i, x)) step(i + 1);
  };
  if (s.fresh) {
    for (const uint32_t x : rows.fresh_keys())
      if (!stopped_) next(x);
    return;
  }
  for (uint32_t x = 0; x < rows.key_count() && !stopped_; x++)
    if (!rows.row(x).empty()) next(x);
}

void Machine::each(const Step& s, const IdSet& set, size_t i) {
  set.for_each([&](uint32_t y) {
    if (!stopped_ && bound(s, i, y)) step(i + 1);
  });
}

bool Machine::tuple(const Step& s, uint32_t t, size_t i) {
  const Tuples& tuples = *s.relation->tuples();
  for (const auto& [column, wanted] : s.known)
    if (tuples.at(t, column) != value(wanted)) return true;
  for (const auto& [column, other] : s.equal)
    if (tuples.at(t, column) != tuples.at(t, other)) return true;
  for (const auto& [column, slot] : s.binds) slots_[static_cast<size_t>(slot)] = tuples.at(t, column);
  tick(i);
  step(i + 1);
  return !stopped_;
}

void Machine::scan(const Step& s, size_t i) {
  const Tuples& tuples = *s.relation->tuples();
  if (s.kind == Kind::kLookup) {
    Value key[32];
    size_t n = 0;
    const int last = s.relation->best() == Best::kAll ? -1 : s.relation->arity() - 1;
    for (const auto& [column, wanted] : s.known)
      if (column != last) key[n++] = value(wanted);
    tuples.lookup(s.index, key, [&](uint32_t t) { return tuple(s, t, i); });
    return;
  }
  const uint32_t size = s.fresh ? tuples.fresh_size() : tuples.size();
  for (uint32_t t = 0; t < size && !stopped_; t++) tuple(s, s.fresh ? tuples.fresh(t) : t, i);
}

bool Machine::exists(const Step& s) const {
  if (s.known.empty()) return s.relation->size() > 0;
  const Value first = value(s.known[0].second);
  if (const Rows* rows = s.relation->rows())
    return s.known[0].first == 0 ? !rows->row(first).empty() : !rows->column(first).empty();
  const Tuples& tuples = *s.relation->tuples();
  const auto fits = [&](uint32_t t) {
    for (const auto& [column, wanted] : s.known)
      if (tuples.at(t, column) != value(wanted)) return false;
    return true;
  };
  bool found = false;
  if (s.index < 0) {
    for (uint32_t t = 0; t < tuples.size() && !found; t++) found = fits(t);
    return found;
  }
  Value key[32];
  size_t n = 0;
  const int last = s.relation->best() == Best::kAll ? -1 : s.relation->arity() - 1;
  for (const auto& [column, wanted] : s.known)
    if (column != last) key[n++] = value(wanted);
  tuples.lookup(s.index, key, [&](uint32_t t) { return !(found = fits(t)); });
  return found;
}

// range(a, b) is a, a + 1 … below b; range(a, b, c) goes by steps of c, which may lead down.
void Machine::range(const Step& s, size_t i) {
  const std::vector<Term>& p = s.term->parts;
  const Type type = s.term->type;
  const bool real = type == Type::kFloat;
  const Value one = real ? of_float(1) : 1;
  const Value begin = value(p[0]), end = value(p[1]);
  Value by = p.size() > 2 ? value(p[2]) : one;
  int direction =
      p.size() > 2 ? logic::compare(type, by, 0, unit_.symbols) : logic::compare(type, end, begin, unit_.symbols);
  if (direction == 0) return;
  if (p.size() == 2 && direction < 0) by = real ? of_float(-1) : of_number(-1);
  const Value arguments[2] = {begin, by};
  Value v = begin;
  while (logic::compare(type, v, end, unit_.symbols) == -direction && !stopped_) {
    tick(i);
    if (s.slot >= 0) {
      slots_[static_cast<size_t>(s.slot)] = v;
      step(i + 1);
    } else if (value(s.key) == v) {
      return step(i + 1);
    }
    const Value next[2] = {v, arguments[1]};
    const Value sum = call(Code::kAdd, type, type, next, unit_.symbols);
    if (logic::compare(type, sum, v, unit_.symbols) != direction) return;  // it went around, or stands still
    v = sum;
  }
}

void Machine::aggregate(const Step& s, size_t i) {
  const Aggregate& a = *s.term->aggregate;
  Folded folded(a, unit_.symbols);
  Meter none;
  Tuples seen(std::max(1, static_cast<int>(a.terms.size())), Best::kAll, Type::kNumber,
              unit_.symbols.meter() != nullptr ? *unit_.symbols.meter() : none);
  Machine inner(unit_, rule_, *s.inner, nullptr, cancel_);
  std::copy(slots_.begin(), slots_.begin() + std::min<ptrdiff_t>(std::ssize(slots_), std::ssize(inner.slots_)),
            inner.slots_.begin());
  inner.solved = [&] {
    Value values[32] = {};
    for (size_t t = 0; t < a.terms.size() && t < 32; t++) values[t] = inner.value(a.terms[t]);
    if (!a.distinct || seen.insert(values)) folded.add(values);
    return true;
  };
  if (most_work_ != UINT64_MAX) inner.set_most_work(most_work_ - std::min(most_work_, work_));
  inner.run();
  tick(i, inner.work());
  Value result = 0;
  if (!folded.result(result)) return;
  if (s.slot >= 0)
    slots_[static_cast<size_t>(s.slot)] = result;
  else if (value(s.key) != result)
    return;
  step(i + 1);
}

void Machine::emit() {
  Value fact[32];
  size_t n = 0;
  for (const Term& t : rule_.head.arguments) fact[n++] = value(t);
  if (found_ == nullptr)
    head_->insert(fact);
  else
    head_->rows()->insert(static_cast<uint32_t>(fact[0]), static_cast<uint32_t>(fact[1]), *found_);
}

void Machine::unite(const Step& s, size_t i) {
  Rows& into = *head_->rows();
  const Value x = s.operands.empty() ? 0 : value(s.operands[0]);
  std::array<Sieve, kMostSieves> sieves{};
  const bool whole = head_->fits(x, 0) && s.sieves.size() <= kMostSieves;
  const IdSet& source = set_of(s);
  tick(i, 1 + (source.is_bits() ? source.word_count() / 8 : source.size()));
  if (whole) {
    size_t n = 0;
    for (const Step& sieve : s.sieves) {
      const Rows& rows = *sieve.relation->rows();
      sieves[n++] = {&rows.row(sieve.operands.size() == 1 ? 0 : value(sieve.operands[0])), sieve.negated};
    }
    const std::span<const Sieve> some(sieves.data(), n);
    if (found_ == nullptr) return into.unite(static_cast<uint32_t>(x), source, some);
    return into.unite(static_cast<uint32_t>(x), source, some, *found_);
  }
  source.for_each([&](uint32_t z) {
    Value fact[2] = {x, z};
    for (const Step& sieve : s.sieves)
      if (sieve.relation->rows()->contains(sieve.operands.size() == 1 ? 0 : value(sieve.operands[0]), z) ==
          sieve.negated)
        return;
    head_->insert(s.operands.empty() ? fact + 1 : fact);
  });
}

}  // namespace ingot::logic
