#include "graph/liveness.h"

#include <algorithm>
#include <numeric>

namespace ingot::graph {

Lists Lists::transposed(int items) const {
  Lists t;
  t.begin_.assign(static_cast<size_t>(items) + 1, 0);
  t.items_.resize(items_.size());
  for (const int item : items_) t.begin_[static_cast<size_t>(item) + 1]++;
  for (size_t i = 1; i < t.begin_.size(); i++) t.begin_[i] += t.begin_[i - 1];
  std::vector<int> next(t.begin_.begin(), t.begin_.end() - 1);
  for (int list = 0; list < size(); list++)
    for (const int item : (*this)[list]) t.items_[static_cast<size_t>(next[static_cast<size_t>(item)]++)] = list;
  return t;
}

Liveness find_liveness(const Steps& steps, std::span<const int> order) {
  const size_t values = steps.bytes.size();
  Liveness l{std::vector<int>(values, -1), std::vector<int>(values, -1), std::vector<int>(values), {}, 0};
  std::iota(l.owner.begin(), l.owner.end(), 0);
  l.alive.reserve(order.size());
  for (size_t i = 0; i < order.size(); i++)
    for (const int v : steps.touched[order[i]]) {
      int& first = l.first[static_cast<size_t>(v)];
      if (first < 0) first = static_cast<int>(i);
      l.last[static_cast<size_t>(v)] = static_cast<int>(i);
    }
  std::vector<bool> taken(values, false);
  size_t now = 0;
  for (size_t i = 0; i < order.size(); i++) {
    const int position = static_cast<int>(i), step = order[i];
    const std::span<const int> shares = steps.shares[step];
    for (size_t k = 0; k < shares.size(); k += 2) {
      const size_t result = static_cast<size_t>(shares[k]), operand = static_cast<size_t>(shares[k + 1]);
      if (l.owner[result] != shares[k] || l.last[operand] != position || taken[operand]) continue;
      l.owner[result] = l.owner[operand];
      taken[operand] = true;
      now -= steps.bytes[operand];
    }
    for (const int v : steps.touched[step])
      if (l.first[static_cast<size_t>(v)] == position) now += steps.bytes[static_cast<size_t>(v)];
    l.alive.push_back(now + steps.scratch[static_cast<size_t>(step)]);
    l.peak = std::max(l.peak, l.alive.back());
    for (const int v : steps.touched[step])
      if (l.last[static_cast<size_t>(v)] == position && !taken[static_cast<size_t>(v)])
        now -= steps.bytes[static_cast<size_t>(v)];
  }
  return l;
}

}  // namespace ingot::graph
