#include "ingot/rl/sum_tree.h"

#include <string>

#include "ingot/base/error.h"

namespace ingot::rl {

SumTree::SumTree(int64_t n) : size_(n) {
  if (n < 1) throw Error("sum tree: " + std::to_string(n) + " numbers — it needs at least one");
  while (leaves_ < n) leaves_ *= 2;
  nodes_.assign(static_cast<size_t>(2 * leaves_), 0);
}

void SumTree::set(int64_t i, double value) {
  auto k = static_cast<size_t>(leaves_ + i);
  nodes_[k] = value;
  for (k /= 2; k >= 1; k /= 2) nodes_[k] = nodes_[2 * k] + nodes_[2 * k + 1];
}

int64_t SumTree::find(double mass) const {
  size_t k = 1;
  while (k < static_cast<size_t>(leaves_)) {
    const double left = nodes_[2 * k], right = nodes_[2 * k + 1];
    k *= 2;
    if (mass >= left && right > 0) {  // rounding may leave more mass than there is on the right: then its last
      mass -= left;
      k++;
    }
  }
  return static_cast<int64_t>(k) - leaves_;
}

}  // namespace ingot::rl
