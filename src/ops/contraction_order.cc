// Orders of contraction: by dynamic programming over all sets of tensors where that is feasible (the cost of a set does
// not depend on what happens outside it), else by greedy searches with noise, whose trees are then improved piece by
// piece with the exact method. Slices are chosen on top of either.
#include "ingot/ops/contraction_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ingot/base/random.h"

namespace ingot {
namespace {

using Network = ContractionNetwork;
constexpr double kNever = std::numeric_limits<double>::infinity();

double elements(const Network& n, const IndexSet& set) {
  double product = 1;
  set.each([&](int i) { product *= n.sizes[i]; });
  return product;
}

// Multiplications of a pair, and as many additions if anything is summed.
double pair_flops(const Network& n, const IndexSet& a, const IndexSet& b, const IndexSet& kept) {
  const IndexSet all = a | b;
  return elements(n, all) * (all == kept ? 1 : 2);
}

// A tree of pairs: nodes below the network's count are its tensors, others the results of pairs.
struct Tree {
  static constexpr int kNodes = 2 * Network::kMost;
  int leaves = 0, root = 0;
  uint8_t left[kNodes], right[kNodes];
  IndexSet indices[kNodes];
  bool is_leaf(int node) const { return node < leaves; }
  void start(const Network& n) {
    leaves = n.count, root = 0;
    std::copy_n(n.tensors, n.count, indices);
  }
  void join(int node, int a, int b, const IndexSet& kept) {
    left[node] = static_cast<uint8_t>(a), right[node] = static_cast<uint8_t>(b), indices[node] = kept;
  }
  double flops_of(const Network& n, int node) const {
    return pair_flops(n, indices[left[node]], indices[right[node]], indices[node]);
  }
  double flops(const Network& n) const {
    double sum = 0;
    for (int node = leaves; node < 2 * leaves - 1; node++) sum += flops_of(n, node);
    return sum;
  }
};

// The cheapest way to a set of tensors.
struct Best {
  double flops;
  uint32_t left;  // one of the two sets that it is made of
  IndexSet indices;
};

// Fills `best` (2^count entries). Indices that nobody outside a set needs are summed when the set is complete.
void solve(const Network& n, int most_axes, Best* best) {
  const uint32_t all = (1u << n.count) - 1;
  for (uint32_t set = 1; set <= all; set++) {
    IndexSet sides[] = {n.result, {}};  // outside, inside
    for (int i = 0; i < n.count; i++) sides[set >> i & 1] = sides[set >> i & 1] | n.tensors[i];
    Best& b = best[set];
    const bool single = (set & (set - 1)) == 0;
    b = {single ? 0 : kNever, 0, sides[0] & sides[1]};
    if (single || (set != all && b.indices.count() > most_axes)) continue;
    const uint32_t lowest = set & -set;
    for (uint32_t part = (set - 1) & set; part != 0; part = (part - 1) & set) {
      if ((part & lowest) == 0) continue;  // the other half of the same pair
      const Best &l = best[part], &r = best[set ^ part];
      double flops = l.flops + r.flops;
      if (flops >= b.flops) continue;
      flops += pair_flops(n, l.indices, r.indices, b.indices);
      if (flops < b.flops) b.flops = flops, b.left = part;
    }
  }
}

// Writes the tree of a set: its tensors are `leaves`, its results take nodes from `free`, the last of them for the root.
int grow(const Best* best, uint32_t set, const int* leaves, const int* free, Tree& tree) {
  if ((set & (set - 1)) == 0) return leaves[std::countr_zero(set)];
  const uint32_t left = best[set].left, right = set ^ left;
  const int a = grow(best, left, leaves, free, tree);
  const int b = grow(best, right, leaves, free + std::popcount(left) - 1, tree);
  const int node = free[std::popcount(set) - 2];
  tree.join(node, a, b, best[set].indices);
  return node;
}

constexpr int kPiece = 8;  // tensors whose table is small enough for the stack
using PieceTable = std::array<Best, 1 << kPiece>;

bool exact(const Network& n, int most_axes, Tree& tree) {
  PieceTable few;
  std::vector<Best> many(n.count > kPiece ? size_t{1} << n.count : 0);
  Best* best = n.count > kPiece ? many.data() : few.data();
  solve(n, most_axes, best);
  const uint32_t all = (1u << n.count) - 1;
  if (best[all].flops == kNever) return false;
  int leaves[kExactOrder], free[kExactOrder];
  for (int i = 0; i < n.count; i++) leaves[i] = i, free[i] = n.count + i;
  tree.start(n);
  tree.root = grow(best, all, leaves, free, tree);
  return true;
}

// One after another: numbers that depend on the seed and on nothing else.
class Noise {
 public:
  Noise(uint64_t seed, int stream)
      : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}, stream_(static_cast<uint32_t>(stream)) {}
  double uniform() {  // never 0 and never 1
    if (at_ % 4 == 0) block_ = philox({at_ / 4, stream_, 0, 0}, key_);
    return (block_[at_++ % 4] + 0.5) / 4294967296.0;
  }
  double gumbel() { return -std::log(-std::log(uniform())); }

 private:
  std::array<uint32_t, 2> key_;
  uint32_t stream_, at_ = 0;
  std::array<uint32_t, 4> block_;
};

// Pairs one after another, the one that leaves least behind (compared with what it takes away) first, give or take some
// noise. Tries differ in how much both count; the first has no noise.
class Greedy {
 public:
  Greedy(const Network& n, const OrderOptions& options, int turn)
      : n_(n), most_axes_(options.most_axes), noise_(options.seed, turn) {
    if (turn > 0) taken_ = noise_.uniform(), temperature_ = std::pow(10, 2 * noise_.uniform() - 2);
    n.result.each([&](int i) { uses_[i]++; });
    for (int t = 0; t < n.count; t++) {
      live_[t] = t;
      n.tensors[t].each([&](int i) { uses_[i]++; });
    }
    for (int i = 0; i < IndexSet::kMost; i++) recount(i);
  }

  bool run(Tree& tree) {
    tree.start(n_);
    int next = n_.count;
    for (count_ = n_.count; count_ > 1; count_--, next++) {
      const auto [a, b] = best_pair(tree);
      if (b < 0) return false;
      const IndexSet &left = tree.indices[live_[a]], &right = tree.indices[live_[b]];
      tree.join(next, live_[a], live_[b], kept(left, right));
      (left | right).each([&](int i) {
        uses_[i] += tree.indices[next].has(i) - left.has(i) - right.has(i);
        recount(i);
      });
      live_[a] = next, live_[b] = live_[count_ - 1];
    }
    tree.root = live_[0];
    return true;
  }

 private:
  void recount(int i) {
    uses_[i] > 1 ? shared_.add(i) : shared_.remove(i);
    uses_[i] > 2 ? common_.add(i) : common_.remove(i);
  }
  IndexSet kept(const IndexSet& a, const IndexSet& b) const {
    const IndexSet both = a & b;
    return (both & common_) | (((a | b) - both) & shared_);
  }
  std::pair<int, int> best_pair(const Tree& tree) {
    std::pair<int, int> best{0, -1};
    double least = kNever;
    for (const bool connected : {true, false}) {  // tensors without a common index only when none have one
      for (int a = 0; a < count_; a++)
        for (int b = a + 1; b < count_; b++) {
          const IndexSet &left = tree.indices[live_[a]], &right = tree.indices[live_[b]];
          if (connected && (left & right).empty()) continue;
          const IndexSet result = kept(left, right);
          if (count_ > 2 && result.count() > most_axes_) continue;
          double score = std::log(elements(n_, result)) - taken_ * std::log(elements(n_, left) + elements(n_, right));
          if (temperature_ > 0) score -= temperature_ * noise_.gumbel();
          if (score < least) least = score, best = {a, b};
        }
      if (best.second >= 0) break;
    }
    return best;
  }

  const Network& n_;
  const int most_axes_;
  Noise noise_;
  double taken_ = 1, temperature_ = 0;
  int uses_[IndexSet::kMost] = {};
  IndexSet shared_, common_;  // with more than one, and with more than two uses
  int live_[Network::kMost], count_ = 0;
};

// The tree below `node`, down to some nodes, made anew in the best way; is it better?
bool improve_at(const Network& n, int most_axes, int node, Tree& tree, PieceTable& best) {
  int leaves[kPiece] = {tree.left[node], tree.right[node]}, count = 2, free[kPiece] = {node}, inner = 1;
  double old = tree.flops_of(n, node);
  while (count < kPiece) {  // opens the costliest
    int open = -1;
    for (int i = 0; i < count; i++)
      if (!tree.is_leaf(leaves[i]) && (open < 0 || tree.flops_of(n, leaves[i]) > tree.flops_of(n, leaves[open])))
        open = i;
    if (open < 0) break;
    const int opened = leaves[open];
    old += tree.flops_of(n, opened);
    free[inner++] = opened;
    leaves[open] = tree.left[opened], leaves[count++] = tree.right[opened];
  }
  if (count < 3) return false;
  Network piece;
  piece.count = count;
  std::copy_n(n.sizes, IndexSet::kMost, piece.sizes);
  for (int i = 0; i < count; i++) piece.tensors[i] = tree.indices[leaves[i]];
  piece.result = tree.indices[node];
  solve(piece, most_axes, best.data());
  const uint32_t all = (1u << count) - 1;
  if (!(best[all].flops < old * (1 - 1e-12))) return false;
  std::swap(free[0], free[inner - 1]);  // the root of the piece keeps its node
  grow(best.data(), all, leaves, free, tree);
  return true;
}

void improve(const Network& n, int most_axes, Tree& tree) {
  PieceTable best;
  constexpr int kRounds = 20;
  bool better = true;
  for (int round = 0; round < kRounds && better; round++) {
    better = false;
    for (int node = n.count; node < 2 * n.count - 1; node++)
      better = improve_at(n, most_axes, node, tree, best) || better;
  }
}

bool search(const Network& n, const OrderOptions& options, Tree& tree) {
  if (n.count <= kExactOrder) return exact(n, options.most_axes, tree);
  double least = kNever;
  for (int turn = 0; turn < std::max(1, options.tries); turn++) {
    Tree candidate;
    if (!Greedy(n, options, turn).run(candidate)) continue;
    if (turn % 8 == 0) improve(n, options.most_axes, candidate);
    const double flops = candidate.flops(n);
    if (flops < least) least = flops, tree = candidate;
  }
  if (least < kNever) improve(n, options.most_axes, tree);
  return least < kNever;
}

// Elements that must be there at the same time to compute `node`, its own included, if of its two parts the one comes
// first that makes it fewer.
struct Need {
  double peak, own;
};
Need need(const Network& n, const Tree& tree, int node, bool* right_first) {
  if (tree.is_leaf(node)) return {0, 0};
  const Need l = need(n, tree, tree.left[node], right_first), r = need(n, tree, tree.right[node], right_first);
  const double own = node == tree.root ? 0 : elements(n, tree.indices[node]);
  const double left_peak = std::max(l.peak, l.own + r.peak), right_peak = std::max(r.peak, r.own + l.peak);
  right_first[node] = right_peak < left_peak;
  return {std::max(std::min(left_peak, right_peak), l.own + r.own + own), own};
}

int emit(const Tree& tree, int node, const bool* right_first, ContractionSteps& steps) {
  if (tree.is_leaf(node)) return node;
  int place[2];
  for (const bool second : {false, true}) {
    const bool right = second != right_first[node];
    place[right] = emit(tree, right ? tree.right[node] : tree.left[node], right_first, steps);
  }
  steps.left[steps.count] = static_cast<uint8_t>(place[0]);
  steps.right[steps.count++] = static_cast<uint8_t>(place[1]);
  return place[0];
}

ContractionOrder order_of(const Network& n, const Tree& tree) {
  ContractionOrder order;
  bool right_first[Tree::kNodes];
  order.elements = need(n, tree, tree.root, right_first).peak;
  order.flops = tree.flops(n);
  emit(tree, tree.root, right_first, order.steps);
  return order;
}

Network without(const Network& n, int index) {
  Network sliced = n;
  for (int t = 0; t < n.count; t++) sliced.tensors[t].remove(index);
  sliced.result.remove(index);
  return sliced;
}

// The index whose slices cost least for what they save, in this tree; -1 if none saves anything.
int worth_slicing(const Network& n, const Tree& tree, const OrderOptions& options) {
  IndexSet all;
  for (int node = tree.leaves; node < 2 * tree.leaves - 1; node++)
    if (node != tree.root) all = all | tree.indices[node];
  if (!options.slice_result) all = all - n.result;
  const double before = order_of(n, tree).elements;
  int best = -1;
  double least = kNever;
  all.each([&](int i) {
    Network sliced = n;
    sliced.sizes[i] = 1;
    const ContractionOrder order = order_of(sliced, tree);
    const double cost = order.flops * n.sizes[i] * std::max(1.0, order.elements / options.most_elements);
    if (order.elements < before && cost < least) least = cost, best = i;
  });
  return best;
}

}  // namespace

ContractionOrder contraction_order(const ContractionNetwork& network, const OrderOptions& options) {
  Network n = network;
  double first_sums = 0;  // of indices that only one tensor has
  for (int t = 0; t < n.count; t++) {
    IndexSet others = n.result;
    for (int u = 0; u < n.count; u++)
      if (u != t) others = others | network.tensors[u];
    n.tensors[t] = network.tensors[t] & others;
    if (!(n.tensors[t] == network.tensors[t])) first_sums += elements(n, network.tensors[t]);
  }
  IndexSet sliced;
  double slices = 1;
  for (;;) {
    Tree tree;
    ContractionOrder order;
    order.found = search(n, options, tree);
    if (order.found) order = order_of(n, tree);
    order.sliced = sliced;
    order.flops = order.flops * slices + first_sums;
    if (!order.found || order.elements <= options.most_elements) return order;
    const int index = worth_slicing(n, tree, options);
    if (index < 0) {
      order.found = false;
      return order;
    }
    sliced.add(index);
    slices *= n.sizes[index];
    n = without(n, index);
  }
}

}  // namespace ingot
