#include "ingot/rl/sum_tree.h"

#include <algorithm>
#include <string>

#include "ingot/base/error.h"

namespace ingot::rl {

SumTree::SumTree(int64_t n) : size_(n) {
  if (n < 1) throw Error("sum tree: " + std::to_string(n) + " numbers — it needs at least one");
  while (leaves_ < n) leaves_ *= 2;
  nodes_.assign(static_cast<size_t>(2 * leaves_), 0);
}

// Level by level from the leaves: whatever is a sum of them is right when the level below is.
void SumTree::set(std::span<const int64_t> which, std::span<const double> values) {
  for (size_t i = 0; i < which.size(); i++) nodes_[static_cast<size_t>(leaves_ + which[i])] = values[i];
  for (int level = 1; leaves_ >> level >= 1; level++)
    for (const int64_t i : which) {
      const auto k = static_cast<size_t>((leaves_ + i) >> level);
      nodes_[k] = nodes_[2 * k] + nodes_[2 * k + 1];
    }
}

void SumTree::find(std::span<double> masses, std::span<int64_t> found) const {
  std::fill(found.begin(), found.end(), 1);
  for (int64_t level = 1; level < leaves_; level *= 2)
    for (size_t i = 0; i < found.size(); i++) {
      const auto k = static_cast<size_t>(2 * found[i]);
      const double left = nodes_[k], right = nodes_[k + 1];
      // Rounding may leave more mass than there is on the right: then its last. No branch: it would be a coin's toss.
      const bool on = static_cast<int>(masses[i] >= left) & static_cast<int>(right > 0);
      masses[i] -= on ? left : 0;
      found[i] = static_cast<int64_t>(k) + (on ? 1 : 0);
    }
  for (int64_t& k : found) k -= leaves_;
}

}  // namespace ingot::rl
