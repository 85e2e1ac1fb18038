#include <algorithm>
#include <limits>

#include "ingot/base/threads.h"
#include "logic/closure.h"

namespace ingot::logic {
namespace {

constexpr size_t kGroupsAtOnce = 64;
constexpr uint64_t kPerReached = 16;

// d, d + w, w + d, d + 1: what is added to d.
bool added_to(const Term& t, int d, int& weight, int64_t& constant) {
  weight = -1;
  constant = 0;
  if (t.is_variable() && t.slot == d) return true;
  if (t.kind != Term::Kind::kCall || t.function == nullptr || t.function->code != Code::kAdd) return false;
  for (const auto& [value, other] : {std::pair(0, 1), std::pair(1, 0)}) {
    const Term &v = t.parts[static_cast<size_t>(value)], &w = t.parts[static_cast<size_t>(other)];
    if (!v.is_variable() || v.slot != d) continue;
    if (w.is_variable() && w.slot != d) return weight = w.slot, true;
    if (w.is_constant()) return constant = as_number(w.value), true;
  }
  return false;
}

// The rule's edges, if it is one along edges; its node column must be that of the other rules.
bool edges_of(const Rule& r, int p, BestPaths& paths) {
  const Atom *from = nullptr, *edge = nullptr;
  const Term* value = &r.head.arguments.back();
  for (const Literal& l : r.body) {
    if (l.kind == Literal::Kind::kAtom && l.atom.relation == p && from == nullptr)
      from = &l.atom;
    else if (l.kind == Literal::Kind::kAtom && l.atom.relation != p && edge == nullptr)
      edge = &l.atom;
    else if (l.kind == Literal::Kind::kCompare && l.comparison == Comparison::kEqual && value->is_variable() &&
             l.left.is_variable() && l.left.slot == value->slot)
      value = &l.right;
    else
      return false;
  }
  if (from == nullptr || edge == nullptr || edge->arguments.size() > 3) return false;
  for (const Atom* a : {from, edge}) {
    std::vector<int> seen;
    for (const Term& t : a->arguments) {
      if (!t.is_variable() || std::find(seen.begin(), seen.end(), t.slot) != seen.end()) return false;
      seen.push_back(t.slot);
    }
  }
  BestPaths::Edges e{.relation = edge->relation, .from = -1, .to = -1, .weight = -1, .added = 0};
  int weight = -1, node = -1;
  if (!added_to(*value, from->arguments.back().slot, weight, e.added)) return false;
  for (size_t c = 0; c + 1 < r.head.arguments.size(); c++) {
    const Term& h = r.head.arguments[c];
    if (!h.is_variable()) return false;
    if (h.slot == from->arguments[c].slot) continue;
    if (node >= 0) return false;
    node = static_cast<int>(c);
  }
  if (node < 0 || (paths.node >= 0 && paths.node != node)) return false;
  paths.node = node;
  for (size_t c = 0; c < edge->arguments.size(); c++) {
    const int slot = edge->arguments[c].slot;
    if (slot == from->arguments[static_cast<size_t>(node)].slot)
      e.from = static_cast<int>(c);
    else if (slot == r.head.arguments[static_cast<size_t>(node)].slot)
      e.to = static_cast<int>(c);
    else if (slot == weight)
      e.weight = static_cast<int>(c);
    else
      return false;
  }
  if (e.from < 0 || e.to < 0 || (weight >= 0) != (e.weight >= 0)) return false;
  paths.edges.push_back(e);
  return true;
}

// Edges by their first node, and the labels of one group at a time. Values are turned around for `max`, so that least is best.
class Labels {
 public:
  Labels(const BestPaths& paths, const std::vector<Relation*>& relations, Best best)
      : paths_(paths), relations_(relations), sign_(best == Best::kMin ? 1 : -1) {}

  bool prepare(const Relation& best) {
    uint64_t largest = 0, facts = best.size();
    bool worse = true;
    const auto each = [&](const auto& f) {
      for (const BestPaths::Edges& e : paths_.edges)
        relations_[static_cast<size_t>(e.relation)]->for_each([&](const Value* t) {
          const int64_t w = sign_ * ((e.weight >= 0 ? as_number(t[e.weight]) : 0) + e.added);
          f(t[e.from], t[e.to], w);
        });
    };
    each([&](Value from, Value to, int64_t w) {
      largest = std::max({largest, from, to});
      worse = worse && w >= 0 && w < (int64_t{1} << 40);
      facts++;
    });
    best.for_each([&](const Value* t) {
      largest = std::max(largest, t[paths_.node]);
      const int64_t v = as_number(t[best.arity() - 1]);
      worse = worse && v > -(int64_t{1} << 60) && v < (int64_t{1} << 60);
    });
    if (!worse || largest >= std::max<uint64_t>(65536, 8 * facts)) return false;
    begin_.assign(largest + 2, 0);
    each([&](Value from, Value, int64_t) { begin_[from + 1]++; });
    for (size_t i = 1; i < begin_.size(); i++) begin_[i] += begin_[i - 1];
    to_.resize(begin_.back());
    std::vector<uint32_t> at(begin_.begin(), begin_.end() - 1);
    each([&](Value from, Value to, int64_t w) { to_[at[from]++] = {w, static_cast<uint32_t>(to)}; });
    label_.assign(largest + 1, kNone);
    return true;
  }

  // Bytes: of an edge; of a label and its places in the lists at their longest.
  static constexpr uint64_t kPerEdge = 16, kPerNode = 8 + 4 + 3 * 16;
  uint64_t nodes() const { return label_.size(); }

  void begin(uint32_t node, int64_t value) {
    if (improve(node, sign_ * value)) first_.emplace_back(sign_ * value, node);
  }

  // Dijkstra: the best label of all is final. Labels to begin with wait in a sorted list, later ones in a heap, and those that
  // an edge without weight passes on come next.
  template <class F>
  void finish(F&& reached) {
    std::sort(first_.begin(), first_.end());
    for (size_t i = 0; i < first_.size() || !heap_.empty();) {
      if (heap_.empty() || (i < first_.size() && first_[i] < heap_.front())) {
        now_.push_back(first_[i++]);
      } else {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        now_.push_back(heap_.back());
        heap_.pop_back();
      }
      while (!now_.empty()) {
        const auto [value, node] = now_.back();
        now_.pop_back();
        if (label_[node] == value) pass_on(value, node);
      }
    }
    first_.clear();
    std::sort(touched_.begin(), touched_.end());
    for (const uint32_t node : touched_) {
      reached(node, sign_ * label_[node]);
      label_[node] = kNone;
    }
    touched_.clear();
  }

 private:
  static constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  bool improve(uint32_t node, int64_t value) {
    if (value >= label_[node]) return false;
    if (label_[node] == kNone) touched_.push_back(node);
    label_[node] = value;
    return true;
  }
  void pass_on(int64_t value, uint32_t node) {
    for (uint32_t i = begin_[node]; i < begin_[node + size_t{1}]; i++) {
      const auto [weight, to] = to_[i];
      if (!improve(to, value + weight)) continue;
      if (weight == 0) {
        now_.emplace_back(value, to);
      } else {
        heap_.emplace_back(value + weight, to);
        std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
      }
    }
  }

  const BestPaths& paths_;
  const std::vector<Relation*>& relations_;
  int64_t sign_;
  std::vector<uint32_t> begin_;
  std::vector<std::pair<int64_t, uint32_t>> to_;
  std::vector<int64_t> label_;
  std::vector<std::pair<int64_t, uint32_t>> first_, heap_, now_;
  std::vector<uint32_t> touched_;
};

}  // namespace

bool best_paths_of(const std::vector<const Rule*>& rules, int p, const Declaration& d, BestPaths& paths) {
  paths = {.node = -1, .edges = {}};
  if (d.best == Best::kAll || d.arity() < 2 || d.columns.back().type != Type::kNumber) return false;
  for (const Rule* r : rules) {
    bool recursive = false;
    for (const Literal& l : r->body) recursive = recursive || (l.kind == Literal::Kind::kAtom && l.atom.relation == p);
    if (recursive && !edges_of(*r, p, paths)) return false;
  }
  return !paths.edges.empty();
}

bool complete_best_paths(const BestPaths& paths, const std::vector<Relation*>& relations, Relation& best, Meter& meter,
                         const std::function<void()>& tick) {
  const auto arity = static_cast<size_t>(best.arity());
  uint64_t edges = 0;
  for (const BestPaths::Edges& e : paths.edges) edges += relations[static_cast<size_t>(e.relation)]->size();
  const Held facts_held(meter, best.size() * (arity * sizeof(Value) + 2 * sizeof(uint32_t)));
  const Held edges_held(meter, static_cast<uint64_t>(threads()) * edges * Labels::kPerEdge);
  Labels labels(paths, relations, best.best());
  if (!labels.prepare(best)) return false;
  std::vector<Value> facts;  // those to begin with, sorted by group
  best.for_each([&](const Value* t) { facts.insert(facts.end(), t, t + arity); });
  std::vector<uint32_t> order(facts.size() / arity);
  for (uint32_t i = 0; i < order.size(); i++) order[i] = i;
  const auto at = [&](uint32_t i, size_t c) { return facts[i * arity + c]; };
  const auto groups = [&](uint32_t a, uint32_t b) {
    for (size_t c = 0; c + 1 < arity; c++)
      if (static_cast<int>(c) != paths.node && at(a, c) != at(b, c)) return at(a, c) < at(b, c) ? -1 : 1;
    return 0;
  };
  std::stable_sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) { return groups(a, b) < 0; });
  std::vector<size_t> begins = {0};
  for (size_t i = 1; i <= order.size(); i++)
    if (i == order.size() || groups(order[i - 1], order[i]) != 0) begins.push_back(i);
  const Held labels_held(meter, labels.nodes() * (static_cast<uint64_t>(threads()) * Labels::kPerNode +
                                                  std::min(kGroupsAtOnce, begins.size()) * kPerReached));
  Tuples& tuples = *best.tuples();
  tuples.clear();
  std::vector<Value> fact(arity);
  // Groups know nothing of each other: workers take them in turn, and their facts are put together in the order of the groups.
  const bool wide = begins.size() > 16 && threads() > 1;
  std::vector<Labels> workers(wide ? static_cast<size_t>(threads()) : 1, labels);
  std::vector<std::vector<std::pair<uint32_t, int64_t>>> reached(kGroupsAtOnce);
  for (size_t first = 0; first + 1 < begins.size(); first += kGroupsAtOnce) {
    tick();
    const size_t last = std::min(first + kGroupsAtOnce, begins.size() - 1);
    parallel(wide, [&](const Team& team) {
      Labels& mine = workers[static_cast<size_t>(team.rank())];
      for (size_t g = first + static_cast<size_t>(team.rank()); g < last; g += static_cast<size_t>(team.size())) {
        for (size_t i = begins[g]; i < begins[g + 1]; i++)
          mine.begin(static_cast<uint32_t>(at(order[i], static_cast<size_t>(paths.node))),
                     as_number(at(order[i], arity - 1)));
        auto& out = reached[g - first];
        out.clear();
        mine.finish([&](uint32_t node, int64_t value) { out.emplace_back(node, value); });
      }
    });
    for (size_t g = first; g < last; g++) {
      for (size_t c = 0; c + 1 < arity; c++) fact[c] = at(order[begins[g]], c);
      for (const auto& [node, value] : reached[g - first]) {
        fact[static_cast<size_t>(paths.node)] = node;
        fact[arity - 1] = of_number(value);
        tuples.append_new(fact.data());
      }
    }
  }
  return true;
}

}  // namespace ingot::logic
