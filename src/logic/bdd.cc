#include "logic/bdd.h"

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

constexpr uint32_t kLeaf = UINT32_MAX;  // behind all variables

}  // namespace

Bdd::Bdd(Meter& meter, uint32_t most_nodes) : meter_(meter), most_(most_nodes) {
  nodes_ = {{kLeaf, 0, 0}, {kLeaf, 1, 1}};
  table_.assign(1024, 0);
  known_.assign(1024, {});
  meter_now();
}

void Bdd::meter_now() {
  const uint64_t bytes =
      nodes_.capacity() * sizeof(Branch) + table_.size() * sizeof(Node) + known_.size() * sizeof(Known);
  if (bytes > metered_) meter_.take(bytes - metered_);
  metered_ = bytes;
}

void Bdd::grow() {
  table_.assign(table_.size() * 4, 0);
  known_.assign(table_.size() / 2, {});
  for (Node n = 2; n < nodes_.size(); n++) {
    size_t s = mixed(nodes_[n].variable, nodes_[n].low, nodes_[n].high) % table_.size();
    while (table_[s] != 0) s = s + 1 == table_.size() ? 0 : s + 1;
    table_[s] = n;
  }
  meter_now();
}

Bdd::Node Bdd::make(uint32_t variable, Node low, Node high) {
  if (low == high) return low;
  size_t s = mixed(variable, low, high) % table_.size();
  for (; table_[s] != 0; s = s + 1 == table_.size() ? 0 : s + 1) {
    const Branch& b = nodes_[table_[s]];
    if (b.variable == variable && b.low == low && b.high == high) return table_[s];
  }
  if (nodes_.size() >= most_)
    throw Error(ErrorKind::kMemory, "logic: exact probabilities need more than " + grouped(most_) +
                                        " decisions here — ask for the best proofs alone (--proofs 20), or for fewer "
                                        "facts at once");
  nodes_.push_back({variable, low, high});
  const Node made = static_cast<Node>(nodes_.size() - 1);
  table_[s] = made;
  if (nodes_.size() * 2 > table_.size()) grow();
  return made;
}

// As deep as there are variables, whose number the caller bounds.
Bdd::Node Bdd::apply(Op op, Node a, Node b) {
  if (op == kNot) {
    if (a <= kTrue) return a == kTrue ? kFalse : kTrue;
  } else {
    if (a == b) return a;
    if (a > b) std::swap(a, b);
    if (a == kFalse) return op == kAnd ? kFalse : b;
    if (a == kTrue) return op == kAnd ? b : kTrue;
  }
  const uint64_t hash = mixed(a, b, op);
  const Known& k = known_[hash % known_.size()];
  if (k.op == op && k.a == a && k.b == b) return k.result;
  const Branch x = nodes_[a], y = nodes_[b];
  const uint32_t v = std::min(x.variable, y.variable);
  const Node low = apply(op, x.variable == v ? x.low : a, y.variable == v ? y.low : b);
  const Node high = apply(op, x.variable == v ? x.high : a, y.variable == v ? y.high : b);
  const Node result = make(v, low, high);
  known_[hash % known_.size()] = {op, a, b, result};
  return result;
}

// Children are made before their parents: the numbers are an order.
std::vector<Bdd::Node> Bdd::order(Node root) const {
  std::vector<bool> seen(root + size_t{1}, false);
  seen[root] = true;
  std::vector<Node> all;
  for (Node n = root; n > kTrue; n--) {
    if (!seen[n]) continue;
    all.push_back(n);
    seen[nodes_[n].low] = seen[nodes_[n].high] = true;
  }
  std::reverse(all.begin(), all.end());
  return all;
}

std::vector<std::array<int32_t, 3>> Bdd::rows(std::span<const Node> functions) const {
  Node last = kTrue;
  for (const Node f : functions) last = std::max(last, f);
  std::vector<bool> needed(last + size_t{1}, false);
  for (const Node f : functions) needed[f] = true;
  for (Node n = last; n > kTrue; n--)
    if (needed[n]) needed[nodes_[n].low] = needed[nodes_[n].high] = true;
  std::vector<int32_t> row(last + size_t{1}, 0);
  row[kTrue] = 1;
  std::vector<std::array<int32_t, 3>> all;
  for (Node n = kTrue + 1; n <= last; n++) {
    if (!needed[n]) continue;
    const Branch& b = nodes_[n];
    all.push_back({static_cast<int32_t>(b.variable), row[b.low], row[b.high]});
    row[n] = static_cast<int32_t>(all.size()) + 1;
  }
  for (const Node f : functions) all.push_back({0, row[f], row[f]});
  return all;
}

double Bdd::probability(Node root, std::span<const double> weights) {
  std::vector<double> p(root + size_t{2}, 0);
  p[kTrue] = 1;
  for (const Node n : order(root)) {
    const Branch& b = nodes_[n];
    p[n] = weights[b.variable] * p[b.high] + (1 - weights[b.variable]) * p[b.low];
  }
  return p[root];
}

std::vector<double> Bdd::slopes(Node root, std::span<const double> weights) {
  std::vector<double> slopes(weights.size(), 0), p(root + size_t{2}, 0), reached(root + size_t{2}, 0);
  const std::vector<Node> nodes = order(root);
  p[kTrue] = 1;
  for (const Node n : nodes) {
    const Branch& b = nodes_[n];
    p[n] = weights[b.variable] * p[b.high] + (1 - weights[b.variable]) * p[b.low];
  }
  reached[root] = 1;
  for (size_t i = nodes.size(); i-- > 0;) {
    const Branch& b = nodes_[nodes[i]];
    const double here = reached[nodes[i]], w = weights[b.variable];
    slopes[b.variable] += here * (p[b.high] - p[b.low]);
    reached[b.high] += here * w;
    reached[b.low] += here * (1 - w);
  }
  return slopes;
}

std::vector<Bdd::Literal> Bdd::best_way(Node root, Node end, std::span<const double> weights) {
  std::vector<double> best(root + size_t{2}, -1);
  best[end] = 1;
  const auto on = [&](const Branch& b) { return best[b.high] < 0 ? -1 : weights[b.variable] * best[b.high]; };
  const auto off = [&](const Branch& b) { return best[b.low] < 0 ? -1 : (1 - weights[b.variable]) * best[b.low]; };
  for (const Node n : order(root)) best[n] = std::max(on(nodes_[n]), off(nodes_[n]));
  std::vector<Literal> way;
  if (best[root] < 0) return way;
  for (Node n = root; n > kTrue;) {
    const Branch& b = nodes_[n];
    const bool value = on(b) >= off(b);
    way.push_back({b.variable, value});
    n = value ? b.high : b.low;
  }
  return way;
}

}  // namespace ingot::logic
