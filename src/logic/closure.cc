#include "logic/closure.h"

#include <algorithm>

namespace ingot::logic {
namespace {

// name(a, b) with two different variables.
bool is_pair(const Atom& a) {
  return a.arguments.size() == 2 && a.arguments[0].is_variable() && a.arguments[1].is_variable() &&
         a.arguments[0].slot != a.arguments[1].slot;
}

// p(x, z) <- a(x, y), b(y, z), in whichever order.
bool is_composition(const Rule& r, int& a, int& b) {
  if (r.body.size() != 2 || !is_pair(r.head)) return false;
  for (const Literal& l : r.body)
    if (l.kind != Literal::Kind::kAtom || !is_pair(l.atom)) return false;
  for (const auto& [first, second] : {std::pair(0, 1), std::pair(1, 0)}) {
    const Atom &f = r.body[static_cast<size_t>(first)].atom, &s = r.body[static_cast<size_t>(second)].atom;
    const int x = r.head.arguments[0].slot, z = r.head.arguments[1].slot, y = f.arguments[1].slot;
    if (f.arguments[0].slot != x || s.arguments[1].slot != z || s.arguments[0].slot != y || y == x || y == z) continue;
    a = f.relation;
    b = s.relation;
    return true;
  }
  return false;
}

// The place of the next id of a set, from `position` on.
bool next_id(const IdSet& set, uint32_t& position, uint32_t& id) {
  if (!set.is_bits()) {
    if (position >= set.size()) return false;
    id = set.ids()[position++];
    return true;
  }
  for (uint32_t w = position / 64; w < set.word_count(); w++) {
    const uint64_t bits = w == position / 64 ? set.words()[w] >> (position % 64) << (position % 64) : set.words()[w];
    if (bits == 0) continue;
    id = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
    position = id + 1;
    return true;
  }
  return false;
}

class Closure {
 public:
  Closure(const Rows& edges, Rows& closure, Meter& meter, const std::function<void()>& tick)
      : edges_(edges),
        closure_(closure),
        tick_(tick),
        nodes_(std::max(edges.key_count(), edges.top() + 1)),
        held_(meter, uint64_t{nodes_} * kPerNode) {
    number_.assign(nodes_, 0);
    low_.assign(nodes_, 0);
    first_.assign(nodes_, kOpen);
    mark_.assign(nodes_, 0);
    words_.assign(nodes_ / 64 + size_t{1}, 0);
  }
  uint64_t run() {
    for (uint32_t v = 0; v < edges_.key_count(); v++)
      if (number_[v] == 0 && !edges_.row(v).empty()) visit(v);
    return work_ + edges_.size();
  }

 private:
  static constexpr uint32_t kOpen = UINT32_MAX;
  static constexpr uint64_t kPerNode = 6 * 4 + sizeof(uint64_t) + 1;  // four numbers, the two lists at their longest
  struct Visit {
    uint32_t node, position;
  };

  void visit(uint32_t start) {  // Tarjan's components, without recursion
    path_.push_back({start, 0});
    enter(start);
    while (!path_.empty()) {
      Visit& top = path_.back();
      const uint32_t v = top.node;
      uint32_t to = 0;
      if (next_id(edges_.row(v), top.position, to)) {
        if (number_[to] == 0) {
          path_.push_back({to, 0});
          enter(to);
        } else if (first_[to] == kOpen) {
          low_[v] = std::min(low_[v], number_[to]);
        }
        continue;
      }
      path_.pop_back();
      if (low_[v] == number_[v]) close(v);
      if (!path_.empty()) low_[path_.back().node] = std::min(low_[path_.back().node], low_[v]);
    }
  }
  void enter(uint32_t v) {
    number_[v] = low_[v] = ++count_;
    open_.push_back(v);
  }

  // All successors of the component are closed: its row is theirs, and they themselves.
  void close(uint32_t v) {
    tick_();
    size_t begin = open_.size();
    while (open_[--begin] != v) {
    }
    const std::vector<uint32_t> members(open_.begin() + static_cast<ptrdiff_t>(begin), open_.end());
    open_.resize(begin);
    for (const uint32_t m : members) first_[m] = members[0];
    epoch_++;
    dense_ = false;
    ids_.clear();
    bool cycle = members.size() > 1;
    for (const uint32_t m : members)
      edges_.row(m).for_each([&](uint32_t to) {
        if (first_[to] == members[0])
          cycle = true;
        else if (!has(to))
          add_with_row(to);
      });
    if (cycle)
      for (const uint32_t m : members) add(m);
    store(members);
  }

  bool has(uint32_t id) const { return dense_ ? (words_[id / 64] >> (id % 64) & 1) != 0 : mark_[id] == epoch_; }
  void add(uint32_t id) {
    if (dense_) {
      words_[id / 64] |= uint64_t{1} << (id % 64);
    } else if (mark_[id] != epoch_) {
      mark_[id] = epoch_;
      ids_.push_back(id);
      if (ids_.size() > IdSet::most_ids(nodes_)) make_dense();
    }
  }
  void make_dense() {
    dense_ = true;
    std::fill(words_.begin(), words_.end(), 0);
    for (const uint32_t id : ids_) words_[id / 64] |= uint64_t{1} << (id % 64);
  }
  void add_with_row(uint32_t to) {
    const IdSet& row = closure_.row(first_[to]);
    add(to);
    if (row.is_bits() && !dense_) make_dense();
    work_ += row.is_bits() ? row.word_count() / 8 : row.size();
    if (row.is_bits())
      for (uint32_t w = 0; w < std::min<size_t>(row.word_count(), words_.size()); w++) words_[w] |= row.words()[w];
    else
      row.for_each([&](uint32_t id) { add(id); });
  }

  void store(const std::vector<uint32_t>& members) {
    if (!dense_) {
      std::sort(ids_.begin(), ids_.end());
      if (ids_.empty()) return;
      work_ += members.size() * ids_.size();
      for (const uint32_t m : members) closure_.set_row(m, ids_.data(), static_cast<uint32_t>(ids_.size()), nodes_ - 1);
      return;
    }
    work_ += members.size() * words_.size() / 8;
    uint32_t count = 0;
    for (const uint64_t w : words_) count += static_cast<uint32_t>(std::popcount(w));
    for (const uint32_t m : members)
      closure_.set_row(m, words_.data(), static_cast<uint32_t>(words_.size()), count, nodes_ - 1);
  }

  const Rows& edges_;
  Rows& closure_;
  const std::function<void()>& tick_;
  uint32_t nodes_, count_ = 0, epoch_ = 0;
  Held held_;
  uint64_t work_ = 0;
  std::vector<uint32_t> number_, low_, first_, mark_, open_, ids_;  // first_: of the component, once it is closed
  std::vector<Visit> path_;
  std::vector<uint64_t> words_;
  bool dense_ = false;
};

}  // namespace

int closed_relation(const std::vector<const Rule*>& rules, int p) {
  int base = -1;
  for (const Rule* r : rules) {
    if (r->body.size() != 1) continue;
    const Literal& l = r->body[0];
    const bool same = l.kind == Literal::Kind::kAtom && is_pair(l.atom) && is_pair(r->head) && l.atom.relation != p &&
                      l.atom.arguments[0].slot == r->head.arguments[0].slot &&
                      l.atom.arguments[1].slot == r->head.arguments[1].slot;
    if (!same || base >= 0) return -1;
    base = l.atom.relation;
  }
  if (base < 0) return -1;
  bool recursive = false;
  for (const Rule* r : rules) {
    if (r->body.size() == 1) continue;
    int a = -1, b = -1;
    if (!is_composition(*r, a, b) || (a != p && a != base) || (b != p && b != base) || (a != p && b != p)) return -1;
    recursive = true;
  }
  return recursive ? base : -1;
}

uint64_t transitive_closure(const Rows& edges, Rows& closure, Meter& meter, const std::function<void()>& tick) {
  return edges.size() > 0 ? Closure(edges, closure, meter, tick).run() : 0;
}

}  // namespace ingot::logic
