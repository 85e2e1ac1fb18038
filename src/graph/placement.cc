#include "graph/placement.h"

#include <algorithm>

#include "graph/fold_layout.h"
#include "graph/loop_record.h"
#include "graph/memory_plan.h"
#include "ingot/base/numbers.h"

namespace ingot::graph {
namespace {

size_t bytes_of(const Graph& graph, ValueId v) {
  const Tensor& s = graph.symbol(v);
  return static_cast<size_t>(s.numel()) * size_of(s.dtype());
}

class NeedsFinder {
 public:
  NeedsFinder(const Graph& graph, const std::vector<Group>& groups, int threads)
      : graph_(graph), groups_(groups), threads_(threads), group_of_(graph.nodes.size(), -1) {
    needs_.spaces.resize(graph.values.size(), Space::kNone);
    for (size_t i = 0; i < groups.size(); i++)
      for (const NodeId n : groups[i].nodes) group_of_[static_cast<size_t>(n)] = static_cast<int>(i);
  }

  Needs run(bool in_place) {
    find_spaces();
    Steps& steps = needs_.steps;
    steps.bytes.resize(graph_.values.size());
    for (size_t v = 0; v < steps.bytes.size(); v++)
      if (needs_.spaces[v] == Space::kArena)
        steps.bytes[v] = round_up(bytes_of(graph_, static_cast<ValueId>(v)), kAlignment);
    touched_by_.assign(graph_.values.size(), -1);
    for (size_t i = 0; i < groups_.size(); i++) {
      find_touched(static_cast<int>(i));
      find_before(static_cast<int>(i));
      if (in_place) find_shares(static_cast<int>(i));
      steps.touched.close();
      steps.before.close();
      steps.shares.close();
      steps.scratch.push_back(round_up(scratch_of(groups_[i]), kAlignment));
    }
    return std::move(needs_);
  }

 private:
  Space& space_of(ValueId v) { return needs_.spaces[static_cast<size_t>(v)]; }
  int group_of(NodeId n) const { return group_of_[static_cast<size_t>(n)]; }
  int maker_of(ValueId v) const { return group_of(graph_.value(v).node); }

  // Values that only exist in registers have no place.
  void find_spaces() {
    for (size_t i = 0; i < groups_.size(); i++)
      for (const NodeId id : groups_[i].nodes)
        for (const ValueId v : graph_.node(id).inputs) {
          if (v == kAbsent) continue;
          const ValueId root = graph_.root(v);
          if (graph_.producer(root).kind != NodeKind::kOp) continue;
          if (v != root || maker_of(root) != static_cast<int>(i)) space_of(root) = Space::kArena;
        }
    for (const Graph::Output& o : graph_.outputs)
      if (const ValueId root = graph_.root(o.value); graph_.producer(root).kind == NodeKind::kOp)
        space_of(root) = Space::kOutput;
    for (const Group& g : groups_)
      for (const NodeId id : g.nodes) {
        const Node& n = graph_.node(id);
        for (int k = 0; k < n.count; k++) {
          Space& space = space_of(n.first + k);
          if (n.stored(k) != nullptr) space = Space::kBound;
          // A result that nobody reads still needs memory, unless a chain can leave it in a register.
          if (space == Space::kNone && !stays_in_chain(g, id)) space = Space::kArena;
        }
      }
  }

  bool stays_in_chain(const Group& g, NodeId id) const {
    if (!g.chain || id == g.nodes.back()) return false;
    if (id != g.product) return true;
    // The chain after a product starts from where the chain's result will be: it must be of the product's type, and
    // memory that nobody else looks at.
    const Node& last = graph_.node(g.nodes.back());
    return graph_.symbol(last.first).dtype() == graph_.symbol(graph_.node(id).first).dtype() && !last.is_store();
  }

  void find_touched(int group) {
    const auto touch = [&](ValueId v) {
      if (space_of(v) != Space::kArena || touched_by_[static_cast<size_t>(v)] == group) return;
      touched_by_[static_cast<size_t>(v)] = group;
      needs_.steps.touched.add(v);
    };
    for (const NodeId id : groups_[static_cast<size_t>(group)].nodes) {
      const Node& n = graph_.node(id);
      for (const ValueId v : n.inputs)
        if (v != kAbsent) touch(graph_.root(v));  // by whatever view
      for (int k = 0; k < n.count; k++) touch(n.first + k);
    }
  }

  void find_before(int group) {
    const auto wait_for = [&](int other) {
      if (other >= 0 && other != group) needs_.steps.before.add(other);
    };
    for (const NodeId id : groups_[static_cast<size_t>(group)].nodes) {
      const Node& n = graph_.node(id);
      for (const ValueId v : n.inputs)
        if (v != kAbsent) wait_for(maker_of(graph_.root(v)));
      for (const NodeId a : n.after) wait_for(group_of(a));
    }
  }

  // A value in the arena that a group reads.
  struct Read {
    ValueId value;
    NodeId last;  // that reads it
    int times;
    bool directly;  // and not through a view
  };

  // May result `out` of a group stand where its operand stood?
  bool may_share(const Group& g, ValueId out, const Read& in) const {
    const Tensor &o = graph_.symbol(out), &i = graph_.symbol(in.value);
    if (!in.directly || size_of(o.dtype()) != size_of(i.dtype()) || !(o.shape() == i.shape()) || !i.is_contiguous())
      return false;
    // An op reads the operand it overwrites once; a chain works tile by tile, and reads it no more after `out` is written.
    return g.chain ? in.last <= graph_.value(out).node : in.times == 1 && graph_.producer(out).op->in_place;
  }

  void find_shares(int group) {
    const Group& g = groups_[static_cast<size_t>(group)];
    if (g.product >= 0 || g.reduction >= 0) return;
    reads_.clear();
    for (const NodeId id : g.nodes)
      for (const ValueId v : graph_.node(id).inputs) {
        if (v == kAbsent) continue;
        const ValueId root = graph_.root(v);
        if (space_of(root) != Space::kArena || maker_of(root) == group) continue;
        auto read = std::find_if(reads_.begin(), reads_.end(), [&](const Read& r) { return r.value == root; });
        if (read == reads_.end()) read = reads_.insert(read, {root, id, 0, true});
        read->last = id;
        read->times++;
        read->directly = read->directly && v == root;
      }
    for (const NodeId id : g.nodes) {
      const Node& n = graph_.node(id);
      for (ValueId out = n.first; out < n.first + n.count; out++)
        for (const Read& in : reads_)
          if (space_of(out) == Space::kArena && may_share(g, out, in)) {
            needs_.steps.shares.add(out);
            needs_.steps.shares.add(in.value);
          }
    }
  }

  // Scratch that a team shares is alive while its group runs. It depends on shapes and layouts only.
  size_t scratch_of(const Group& g) const {
    return g.reduction >= 0 ? fold_scratch(g) : g.chain ? 0 : op_scratch(graph_.node(g.nodes[0]));
  }

  size_t op_scratch(const Node& n) const {
    if (is_loop(n)) return loop_scratch(graph_, n, threads_);
    if (n.op->scratch == nullptr || n.op->view != nullptr) return 0;
    std::vector<const Tensor*> in;
    std::vector<Tensor> out;
    const Tensor none{};
    for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph_.symbol(v));
    out.reserve(static_cast<size_t>(n.count));
    for (int k = 0; k < n.count; k++) out.push_back(n.stored(k) != nullptr ? *n.stored(k) : graph_.symbol(n.first + k));
    Prepared block;
    return n.op->scratch(prepare({*n.op, in, *n.attrs}, block), out.data(), threads_);
  }

  // One partial result for each piece of a fold of everything.
  size_t fold_scratch(const Group& g) const {
    const Node& n = graph_.node(g.reduction);
    const Tensor& x = graph_.symbol(n.inputs[0]);
    if (graph_.symbol(n.first).numel() != 1) return 0;
    return static_cast<size_t>(x.numel() / (kFoldElements / 2) + 2) * size_of(x.dtype());
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  int threads_;
  std::vector<int> group_of_;    // by node
  std::vector<int> touched_by_;  // by value: the latest group
  std::vector<Read> reads_;
  Needs needs_;
};

}  // namespace

Needs find_needs(const Graph& graph, const std::vector<Group>& groups, bool in_place, int threads) {
  return NeedsFinder(graph, groups, threads).run(in_place);
}

Placement place_values(const Graph& graph, const Needs& needs, std::span<const int> order) {
  const Liveness alive = find_liveness(needs.steps, order);
  Placement placement;
  std::vector<Lifetime> lifetimes;
  std::vector<int> index(needs.spaces.size(), -1);  // of its lifetime
  const auto shares = [&](size_t v) { return alive.owner[v] != static_cast<ValueId>(v); };
  for (size_t v = 0; v < needs.spaces.size(); v++) {
    if (needs.spaces[v] != Space::kArena || shares(v)) continue;
    index[v] = static_cast<int>(lifetimes.size());
    lifetimes.push_back({bytes_of(graph, static_cast<ValueId>(v)), alive.first[v], alive.last[v]});
  }
  for (size_t v = 0; v < needs.spaces.size(); v++) {
    if (needs.spaces[v] != Space::kArena || !shares(v)) continue;
    index[v] = index[static_cast<size_t>(alive.owner[v])];
    int& last = lifetimes[static_cast<size_t>(index[v])].last;
    last = std::max(last, alive.last[v]);
    placement.in_place++;
  }
  std::vector<int> positions(order.size());
  for (size_t i = 0; i < order.size(); i++) positions[static_cast<size_t>(order[i])] = static_cast<int>(i);
  const size_t values = lifetimes.size();
  for (size_t g = 0; g < order.size(); g++)
    if (needs.steps.scratch[g] > 0) lifetimes.push_back({needs.steps.scratch[g], positions[g], positions[g]});
  const MemoryPlan plan = plan_memory(lifetimes);
  placement.arena_bytes = plan.bytes;
  placement.live_peak = plan.live_peak;
  size_t next = values;
  for (size_t g = 0; g < order.size(); g++)
    placement.scratch_offsets.push_back(needs.steps.scratch[g] > 0 ? plan.offsets[next++] : 0);
  for (size_t i = 0; i < needs.spaces.size(); i++) {
    const ValueId v = static_cast<ValueId>(i);
    Placement::Place p{needs.spaces[i]};
    if (p.space == Space::kArena) {
      p.offset = plan.offsets[static_cast<size_t>(index[i])];
      p.buffer = static_cast<int>(placement.buffers.size());
      placement.buffers.push_back({graph.label(v), bytes_of(graph, v), p.offset, alive.first[i], alive.last[i],
                                   shares(i), graph.symbol(v).dtype()});
    } else if (p.space == Space::kOutput) {
      p.offset = placement.output_bytes;
      placement.output_bytes += round_up(bytes_of(graph, v), kAlignment);
    }
    placement.places.push_back(p);
  }
  return placement;
}

}  // namespace ingot::graph
