#include "graph/fuse.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

#include "graph/ranks.h"
#include "graph/tile_program.h"
#include "ingot/base/error.h"

namespace ingot::graph {
namespace {

constexpr int kMostChain = 48;      // nodes of a chain
constexpr int64_t kLongRow = 8192;  // rows of more elements are folded by the reduction's own kernel

// Steps that all searches for circles may look at, so that the time per node stays the same in any graph: more are a
// graph that nobody has written yet, and what might be a circle is then left apart.
constexpr int64_t kSearched = 1'000'000, kSearchedPerNode = 100;

bool is_elementwise(const Node& n) { return n.kind == NodeKind::kOp && n.op->tile != nullptr && n.count == 1; }

// A copy into memory of the user's that a chain can do on its way.
bool is_plain_store(const Graph& graph, const Node& n) {
  return n.kind == NodeKind::kOp && n.op->role == OpRole::kCopy && n.is_store() && n.stores[0].is_contiguous() &&
         graph.symbol(n.inputs[0]).is_contiguous();
}

class Fuser {
 public:
  Fuser(const Graph& graph, const FuseOptions& options)
      : graph_(graph),
        options_(options),
        group_of_(graph.nodes.size(), -1),
        most_searched_(kSearched + kSearchedPerNode * static_cast<int64_t>(graph.nodes.size())) {}

  std::vector<Group> run() {
    for (size_t id = 0; id < graph_.nodes.size(); id++) {
      const Node& n = graph_.nodes[id];
      if (n.dead || n.kind != NodeKind::kOp || n.is_view()) continue;
      const NodeId node = static_cast<NodeId>(id);
      if (is_elementwise(n) ? join_chain(node) : options_.reductions && join_reduction(node)) continue;
      Group g;
      g.nodes = {node};
      g.chain = is_elementwise(n);
      if (options_.products && is_plain_product(graph_, n)) g.product = node, g.chain = true;
      add(std::move(g));
    }
    if (options_.chains) join_stores();
    if (options_.searched != nullptr) *options_.searched = searched_;
    return in_order();
  }

 private:
  const Dims& shape_of(NodeId n) const { return graph_.symbol(graph_.node(n).first).shape(); }

  void add(Group g) {
    for (const NodeId n : g.nodes) group_of_[static_cast<size_t>(n)] = static_cast<int>(groups_.size());
    groups_.push_back(std::move(g));
    ranks_.add();
    seen_.push_back({});
  }

  // Calls f(group) for every group that a node must run after.
  template <class F>
  void each_dependency(NodeId node, F f) const {
    const Node& n = graph_.node(node);
    for (const ValueId v : n.inputs) {
      if (v == kAbsent) continue;
      const NodeId p = graph_.value(graph_.root(v)).node;
      if (group_of_[static_cast<size_t>(p)] >= 0) f(group_of_[static_cast<size_t>(p)]);
    }
    for (const NodeId a : n.after)
      if (group_of_[static_cast<size_t>(a)] >= 0) f(group_of_[static_cast<size_t>(a)]);
  }

  // Groups stand in line, each behind those that it runs after. Would one step of these parts (and `node`) have to run
  // before itself, by way of other groups? Only those behind the first of the parts can lead back to one: the search
  // looks at them, the foremost first. What it looked at in vain goes in front of that part, so that the next search does
  // not meet it again; where it found a part, it notes that as a shortcut, from which the next search goes on.
  bool is_circle(const std::vector<int>& parts, NodeId node) {
    const int first = *std::min_element(parts.begin(), parts.end(), [&](int a, int b) { return ranks_.before(a, b); });
    const auto is_part = [&](int g) { return std::find(parts.begin(), parts.end(), g) != parts.end(); };
    stamp_++;
    found_.clear();
    const auto look_at = [&](int g, int from) {
      if (seen_[static_cast<size_t>(g)].stamp == stamp_ || ranks_.before(g, first)) return;
      seen_[static_cast<size_t>(g)].stamp = stamp_;
      seen_[static_cast<size_t>(g)].from = from;
      todo_.emplace(ranks_.of(g), g);
    };
    const auto each = [&](NodeId n) {
      each_dependency(n, [&](int d) {
        if (!is_part(d)) look_at(d, d);
      });
    };
    if (node >= 0) each(node);
    for (const int g : parts)
      if (g != first)  // whatever that one runs after is in front of it
        for (const NodeId n : groups_[static_cast<size_t>(g)].nodes) each(n);
    bool circle = false;
    while (!todo_.empty() && !circle) {
      const int g = todo_.top().second;
      todo_.pop();
      const int from = seen_[static_cast<size_t>(g)].from;
      circle = is_part(g) || ++searched_ > most_searched_;
      if (is_part(g)) seen_[static_cast<size_t>(from)].shortcut = groups_[static_cast<size_t>(g)].nodes.front();
      if (circle) break;
      found_.push_back(g);
      if (const NodeId far = seen_[static_cast<size_t>(g)].shortcut; far >= 0)
        look_at(group_of_[static_cast<size_t>(far)], from);
      for (const NodeId n : groups_[static_cast<size_t>(g)].nodes) each_dependency(n, [&](int d) { look_at(d, from); });
    }
    todo_ = {};
    if (circle) return true;
    std::sort(found_.begin(), found_.end(), [&](int a, int b) { return ranks_.before(a, b); });
    for (const int g : found_) ranks_.move_before(g, first);
    return false;
  }

  // In a step whose ops go through the elements together, may `later` wait for `earlier`? Only to overwrite, element by
  // element, what that one read.
  bool may_wait(const Node& earlier, const Node& later) const {
    const auto passes = [&](const Node& n) { return is_elementwise(n) || is_plain_store(graph_, n); };
    if (!passes(earlier) || !passes(later)) return false;
    for (const Tensor& to : later.stores)
      if (how_reads(graph_, earlier, to) == Reads::kOtherwise ||
          (earlier.is_store() && overlaps(earlier.stores[0], to)))
        return false;
    return !earlier.is_store() || how_reads(graph_, later, earlier.stores[0]) == Reads::kNot;
  }

  // Can these groups and `node` (if there is one) be one step? Not if something outside would have to run between them.
  bool can_merge(const std::vector<int>& parts, NodeId node) {
    size_t nodes = node >= 0 ? 1 : 0;
    int products = 0;
    for (const int g : parts) {
      nodes += groups_[static_cast<size_t>(g)].nodes.size();
      products += groups_[static_cast<size_t>(g)].product >= 0;
    }
    if (nodes > kMostChain || products > 1) return false;
    // Inside a step, a node reads what another made element by element: not through a view, not what a product makes
    // of it, and not what it left in memory of the user's.
    const auto inside = [&](NodeId p) {
      const int g = group_of_[static_cast<size_t>(p)];
      return g >= 0 && std::find(parts.begin(), parts.end(), g) != parts.end();
    };
    bool legal = true;
    const auto check = [&](NodeId id) {
      const Node& n = graph_.node(id);
      for (const ValueId v : n.inputs) {
        if (v == kAbsent) continue;
        const ValueId r = graph_.root(v);
        const NodeId p = graph_.value(r).node;
        if (inside(p) && (v != r || is_plain_product(graph_, n))) legal = false;
      }
      for (const NodeId a : n.after) legal = legal && (!inside(a) || may_wait(graph_.node(a), n));
    };
    if (node >= 0) check(node);
    for (const int g : parts)
      for (const NodeId n : groups_[static_cast<size_t>(g)].nodes) {
        if (legal && parts.size() > 1) check(n);
      }
    return legal && !is_circle(parts, node) && fits(parts, node);
  }

  // Are there enough operands in memory and registers?
  bool fits(const std::vector<int>& parts, NodeId node) {
    std::vector<NodeId> all;
    for (const int g : parts)
      all.insert(all.end(), groups_[static_cast<size_t>(g)].nodes.begin(), groups_[static_cast<size_t>(g)].nodes.end());
    if (node >= 0) all.push_back(node);
    std::sort(all.begin(), all.end());
    const auto place = [&](NodeId n) {
      const auto it = std::lower_bound(all.begin(), all.end(), n);
      return it != all.end() && *it == n ? static_cast<int>(it - all.begin()) : -1;
    };
    std::vector<int> last(all.size());
    std::vector<ValueId> operands;
    for (size_t i = 0; i < all.size(); i++) {
      last[i] = static_cast<int>(i);
      for (const ValueId v : graph_.node(all[i]).inputs) {
        if (v == kAbsent) continue;
        if (const int at = place(graph_.value(v).node); at >= 0)
          last[static_cast<size_t>(at)] = static_cast<int>(i);
        else
          operands.push_back(v);
      }
      if (leaves(graph_.node(all[i]).first, all)) operands.push_back(graph_.node(all[i]).first);
    }
    std::sort(operands.begin(), operands.end());
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    if (static_cast<int>(operands.size()) > TileProgram::kExternals - 1) return false;
    std::vector<int> ends(all.size(), 0);
    int live = 0, most = 0;
    for (size_t i = 0; i < all.size(); i++) {
      ends[static_cast<size_t>(last[i])]++;
      most = std::max(most, ++live);
      live -= ends[i];
    }
    return most < TileProgram::kRegisters;
  }

  // Is value `v` read outside of these nodes?
  bool leaves(ValueId v, const std::vector<NodeId>& nodes) const {
    if (users_.empty()) {
      users_.resize(graph_.values.size());
      for (size_t i = 0; i < graph_.nodes.size(); i++)
        if (!graph_.nodes[i].dead)
          for (const ValueId in : graph_.nodes[i].inputs)
            if (in != kAbsent) users_[static_cast<size_t>(in)].push_back(static_cast<NodeId>(i));
      is_output_.resize(graph_.values.size());
      for (const Graph::Output& o : graph_.outputs) is_output_[static_cast<size_t>(graph_.root(o.value))] = true;
    }
    if (is_output_[static_cast<size_t>(v)]) return true;
    if (graph_.producer(v).stored(graph_.value(v).index) != nullptr) return true;
    for (const NodeId n : users_[static_cast<size_t>(v)])
      if (!std::binary_search(nodes.begin(), nodes.end(), n)) return true;
    return false;
  }

  bool join_chain(NodeId node) {
    if (!options_.chains) return false;
    const Node& n = graph_.node(node);
    std::vector<int> parts;
    for (const ValueId v : n.inputs) {
      if (v == kAbsent || graph_.producer(v).is_view() || !(graph_.symbol(v).shape() == shape_of(node))) continue;
      const int g = group_of_[static_cast<size_t>(graph_.value(v).node)];
      if (g < 0 || !groups_[static_cast<size_t>(g)].chain || groups_[static_cast<size_t>(g)].reduction >= 0) continue;
      if (std::find(parts.begin(), parts.end(), g) != parts.end()) continue;
      parts.push_back(g);
      if (!can_merge(parts, node)) parts.pop_back();
    }
    if (parts.empty()) return false;
    merge(parts, node);
    return true;
  }

  void merge(const std::vector<int>& parts, NodeId node) {
    Group& into = groups_[static_cast<size_t>(parts[0])];
    for (size_t i = 1; i < parts.size(); i++) {
      Group& from = groups_[static_cast<size_t>(parts[i])];
      for (const NodeId n : from.nodes) {
        into.nodes.push_back(n);
        group_of_[static_cast<size_t>(n)] = parts[0];
      }
      if (from.product >= 0) into.product = from.product;
      from.nodes.clear();
      if (ranks_.before(parts[i], parts[0])) ranks_.move_before(parts[0], parts[i]);
      seen_[static_cast<size_t>(parts[0])].shortcut =
          std::max(seen_[static_cast<size_t>(parts[0])].shortcut, seen_[static_cast<size_t>(parts[i])].shortcut);
    }
    if (node >= 0) {
      into.nodes.push_back(node);
      group_of_[static_cast<size_t>(node)] = parts[0];
    }
    into.chain = true;
    std::sort(into.nodes.begin(), into.nodes.end());
  }

  // Chains that store to memory of the user's and read the same operand become one, which reads it once; a copy into
  // such memory joins the chain that makes the value, or reads what the copy reads. What an optimiser does to a slab is
  // then one step, however it is written.
  void join_stores() {
    std::unordered_map<ValueId, NodeId> readers;  // of a value, in a step that stores
    for (size_t id = 0; id < graph_.nodes.size(); id++) {
      const Node& n = graph_.nodes[id];
      const int g = group_of_[id];
      if (n.dead || !n.is_store() || g < 0 || !joins_stores(g)) continue;
      while (join_partner(group_of_[id], readers)) {
      }
      for (const NodeId k : groups_[static_cast<size_t>(group_of_[id])].nodes)
        for (const ValueId v : graph_.node(k).inputs) readers.insert_or_assign(v, k);
    }
  }

  // Is it a chain by itself, or a copy that may be part of one?
  bool joins_stores(int g) const {
    const Group& group = groups_[static_cast<size_t>(g)];
    if (group.chain) return group.product < 0 && group.reduction < 0;
    return is_plain_store(graph_, graph_.node(group.nodes[0]));
  }

  bool stores(NodeId n) const {
    const int g = group_of_[static_cast<size_t>(n)];
    if (g < 0) return false;
    const std::vector<NodeId>& nodes = groups_[static_cast<size_t>(g)].nodes;
    return std::any_of(nodes.begin(), nodes.end(), [&](NodeId k) { return graph_.node(k).is_store(); });
  }

  // Joins a step that stores with another it has to do with, if one is left.
  bool join_partner(int g, const std::unordered_map<ValueId, NodeId>& readers) {
    const auto join = [&](NodeId with) {
      const int p = group_of_[static_cast<size_t>(with)];
      if (p < 0 || p == g || !joins_stores(p) ||
          !(shape_of(with) == shape_of(groups_[static_cast<size_t>(g)].nodes[0])) || !can_merge({p, g}, -1))
        return false;
      merge({p, g}, -1);
      return true;
    };
    for (const NodeId k : groups_[static_cast<size_t>(g)].nodes) {
      const Node& n = graph_.node(k);
      for (const ValueId v : n.inputs) {
        if (v == kAbsent || !(graph_.symbol(v).shape() == shape_of(k))) continue;
        if (join(graph_.value(v).node)) return true;
        if (const auto it = readers.find(v); it != readers.end() && join(it->second)) return true;
      }
      for (const NodeId a : n.after)
        if (stores(a) && join(a)) return true;
    }
    return false;
  }

  // A reduction of rows, of columns or of everything joins the chain that makes its input.
  bool join_reduction(NodeId node) {
    const Node& n = graph_.node(node);
    if (!is_foldable(graph_, n)) return false;
    const ValueId v = n.inputs[0];
    if (graph_.producer(v).is_view()) return false;
    const int g = group_of_[static_cast<size_t>(graph_.value(v).node)];
    if (g < 0) return false;
    const Group& group = groups_[static_cast<size_t>(g)];
    if (!group.chain || group.product >= 0 || group.reduction >= 0) return false;
    // What it folds must be the chain's last word: otherwise the chain would be cut in two.
    if (graph_.value(v).node != group.nodes.back() || n.is_store()) return false;
    if (!can_merge({g}, node) || !folds(group, n)) return false;
    groups_[static_cast<size_t>(g)].nodes.push_back(node);
    groups_[static_cast<size_t>(g)].reduction = node;
    group_of_[static_cast<size_t>(node)] = g;
    return true;
  }

  // Do the columns of the fold merge into one axis for every operand of the chain?
  bool folds(const Group& group, const Node& reduction) const {
    const Tensor& x = graph_.symbol(reduction.inputs[0]);
    const Dims axes = normalize_axes(reduction.op->name, reduction.attrs->find("axes")->ints, x.rank());
    if (axes.size() == x.rank()) return true;
    const int cut = axes[0] == 0 ? axes.size() : static_cast<int>(axes[0]);
    for (const NodeId n : group.nodes) {
      for (const ValueId v : graph_.node(n).inputs)
        if (!TileProgram::merges(graph_.symbol(v), x.shape(), cut)) return false;
      if (const Tensor* to = graph_.node(n).stored(0); to != nullptr && !TileProgram::merges(*to, x.shape(), cut))
        return false;
    }
    return true;
  }

  static bool is_foldable(const Graph& graph, const Node& n) {
    if (n.kind != NodeKind::kOp || n.count != 1) return false;
    if (n.op->fold == ingot::Fold::kNone) return false;
    const Tensor& x = graph.symbol(n.inputs[0]);
    if ((x.dtype() != kF32 && x.dtype() != kF64) || x.numel() == 0 || x.rank() == 0) return false;
    const Dims axes = normalize_axes(n.op->name, n.attrs->find("axes")->ints, x.rank());
    if (axes.size() == x.rank()) return true;
    const bool first = axes[0] == 0 && axes.back() == axes.size() - 1;
    const bool last = axes[0] == x.rank() - axes.size() && axes.back() == x.rank() - 1;
    int64_t folded = 1;
    for (const int64_t a : axes) folded *= x.shape()[static_cast<int>(a)];
    return (first && x.numel() / folded > 1) || (last && folded <= kLongRow && folded >= 4);
  }

  std::vector<Group> in_order() {
    // Kahn's algorithm; of what can run, whatever the user's function reached first.
    const size_t count = groups_.size();
    std::vector<std::vector<int>> next(count);
    std::vector<int> waits(count, 0);
    for (size_t g = 0; g < count; g++) {
      std::vector<int> before;
      for (const NodeId n : groups_[g].nodes)
        each_dependency(n, [&](int d) {
          if (d != static_cast<int>(g)) before.push_back(d);
        });
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
      for (const int d : before) next[static_cast<size_t>(d)].push_back(static_cast<int>(g));
      waits[g] = static_cast<int>(before.size());
    }
    const auto later = [&](int a, int b) {
      return groups_[static_cast<size_t>(a)].nodes.back() > groups_[static_cast<size_t>(b)].nodes.back();
    };
    std::priority_queue<int, std::vector<int>, decltype(later)> ready(later);
    for (size_t g = 0; g < count; g++)
      if (!groups_[g].nodes.empty() && waits[g] == 0) ready.push(static_cast<int>(g));
    std::vector<Group> ordered;
    while (!ready.empty()) {
      const int g = ready.top();
      ready.pop();
      for (const int s : next[static_cast<size_t>(g)])
        if (--waits[static_cast<size_t>(s)] == 0) ready.push(s);
      ordered.push_back(std::move(groups_[static_cast<size_t>(g)]));
      groups_[static_cast<size_t>(g)].nodes.clear();
    }
    for (const Group& g : groups_)
      if (!g.nodes.empty())
        throw Error(ErrorKind::kInternal,
                    "compile: steps wait for each other in a circle — a fault of Ingot's; please report it");
    return ordered;
  }

  const Graph& graph_;
  FuseOptions options_;
  std::vector<Group> groups_;
  std::vector<int> group_of_;
  mutable std::vector<std::vector<NodeId>> users_;
  mutable std::vector<bool> is_output_;

  struct Seen {            // by a search for circles
    int stamp = 0;         // the latest
    int from = -1;         // from which dependency it came
    NodeId shortcut = -1;  // a node, found by some search, whose group runs before
  };
  std::vector<Seen> seen_;  // by group
  Ranks ranks_;             // of groups
  std::priority_queue<std::pair<uint64_t, int>, std::vector<std::pair<uint64_t, int>>, std::greater<>> todo_;
  std::vector<int> found_;
  int stamp_ = 0;
  int64_t searched_ = 0, most_searched_;
};

}  // namespace

bool is_plain_product(const Graph& graph, const Node& n) {
  if (n.kind != NodeKind::kOp) return false;
  if (n.op->role != OpRole::kProduct) return false;
  const Tensor &a = graph.symbol(n.inputs[0]), &b = graph.symbol(n.inputs[1]);
  if (b.rank() != 2 || a.rank() < 2 || (a.rank() > 2 && !a.is_contiguous())) return false;
  if (n.inputs.size() > 2 && n.inputs[2] != kAbsent && !graph.symbol(n.inputs[2]).is_contiguous()) return false;
  if (n.is_store() && !n.stores[0].is_contiguous()) return false;
  return a.numel() > 0 && b.numel() > 0;
}

std::vector<Group> make_groups(const Graph& graph, const FuseOptions& options) { return Fuser(graph, options).run(); }

}  // namespace ingot::graph
