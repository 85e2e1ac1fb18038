#include "graph/placement.h"

#include <algorithm>
#include <unordered_map>

#include "graph/cpu/fold_kernel.h"
#include "graph/memory_plan.h"

namespace ingot::graph {
namespace {

size_t round_up(size_t n) { return (n + 63) / 64 * 64; }

class Placer {
 public:
  Placer(const Graph& graph, const std::vector<Group>& groups, int threads)
      : graph_(graph), groups_(groups), threads_(threads) {
    placement_.places.resize(graph.values.size());
    placement_.scratch.resize(groups.size());
  }

  Placement run(bool in_place) {
    find_lifetimes();
    if (in_place) take_over();
    place();
    return std::move(placement_);
  }

 private:
  Place& place_of(ValueId v) { return placement_.places[static_cast<size_t>(v)]; }
  size_t bytes_of(ValueId v) const {
    const Tensor& s = graph_.symbol(v);
    return static_cast<size_t>(s.numel()) * size_of(s.dtype());
  }
  bool inside(const Group& g, NodeId n) const { return std::binary_search(g.nodes.begin(), g.nodes.end(), n); }

  // Values that only exist in registers have no place. A value is alive from the group that makes it to the last that
  // reads it, by whatever view.
  void find_lifetimes() {
    for (size_t i = 0; i < groups_.size(); i++) {
      const int group = static_cast<int>(i);
      for (const NodeId id : groups_[i].nodes) {
        const Node& n = graph_.node(id);
        for (const ValueId v : n.inputs) {
          if (v == kAbsent) continue;
          const ValueId root = graph_.root(v);
          const Node& p = graph_.producer(root);
          if (p.kind != NodeKind::kOp || (inside(groups_[i], graph_.value(root).node) && v == root)) continue;
          place_of(root).last = std::max(place_of(root).last, group);
          place_of(root).space = Space::kArena;
        }
        for (int k = 0; k < n.count; k++) place_of(n.first + k).first = group;
      }
    }
    for (const Graph::Output& o : graph_.outputs)
      if (const ValueId root = graph_.root(o.value); graph_.producer(root).kind == NodeKind::kOp)
        place_of(root).space = Space::kOutput;
    for (const Group& g : groups_)
      for (const NodeId id : g.nodes) {
        const Node& n = graph_.node(id);
        for (int k = 0; k < n.count; k++) {
          Place& p = place_of(n.first + k);
          p.bytes = bytes_of(n.first + k);
          if (n.stored(k) != nullptr) p.space = Space::kBound;
          // A result that nobody reads still needs memory, unless a chain can leave it in a register.
          if (p.space == Space::kNone && !stays_in_chain(g, id)) p.space = Space::kArena;
          p.last = std::max(p.last, p.first);
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

  // May result `out` of a group stand where its operand `in` stood?
  bool may_share(const Group& g, ValueId out, ValueId in) const {
    const Tensor &o = graph_.symbol(out), &i = graph_.symbol(in);
    if (size_of(o.dtype()) != size_of(i.dtype()) || !(o.shape() == i.shape()) || !i.is_contiguous()) return false;
    if (g.product >= 0 || g.reduction >= 0) return false;
    if (!g.chain) return graph_.producer(out).op->in_place;
    // Tile by tile: nothing that runs after `out` is written may read `in` again, nor through another view.
    for (const NodeId n : g.nodes)
      for (const ValueId v : graph_.node(n).inputs) {
        if (v == kAbsent || graph_.root(v) != graph_.root(in)) continue;
        if (v != in || n > graph_.value(out).node) return false;
      }
    return true;
  }

  void take_over() {
    for (size_t i = 0; i < groups_.size(); i++) {
      const Group& g = groups_[i];
      std::vector<ValueId> taken;
      for (const NodeId id : g.nodes) {
        const Node& n = graph_.node(id);
        for (int k = 0; k < n.count; k++) {
          const ValueId out = n.first + k;
          if (place_of(out).space != Space::kArena || place_of(out).shares >= 0) continue;
          for (const NodeId reader : g.nodes) {
            for (const ValueId in : graph_.node(reader).inputs) {
              if (in == kAbsent || place_of(out).shares >= 0 || graph_.root(in) != in) continue;
              const Place& p = place_of(in);
              if (p.space != Space::kArena || p.last != static_cast<int>(i) || p.first == static_cast<int>(i)) continue;
              if (std::find(taken.begin(), taken.end(), in) != taken.end() || !may_share(g, out, in)) continue;
              if (!g.chain && !only_reads_alike(n, in)) continue;
              place_of(out).shares = in;
              taken.push_back(in);
              placement_.in_place++;
            }
          }
        }
      }
    }
  }

  // An op that works in place reads the operand it overwrites once, and not by a view.
  bool only_reads_alike(const Node& n, ValueId in) const {
    return std::count_if(n.inputs.begin(), n.inputs.end(),
                         [&](ValueId v) { return v != kAbsent && graph_.root(v) == in; }) == 1;
  }

  ValueId owner(ValueId v) const {
    while (placement_.of(v).shares >= 0) v = placement_.of(v).shares;
    return v;
  }

  void place() {
    std::vector<Place>& places = placement_.places;
    std::vector<Lifetime> lifetimes;
    std::vector<ValueId> owners;
    std::unordered_map<ValueId, size_t> index;
    for (size_t i = 0; i < places.size(); i++) {
      const ValueId v = static_cast<ValueId>(i);
      if (places[i].space != Space::kArena || owner(v) != v) continue;
      index[v] = lifetimes.size();
      lifetimes.push_back({places[i].bytes, places[i].first, places[i].last});
      owners.push_back(v);
    }
    for (size_t i = 0; i < places.size(); i++)
      if (places[i].space == Space::kArena && places[i].shares >= 0) {
        int& last = lifetimes[index[owner(static_cast<ValueId>(i))]].last;
        last = std::max(last, places[i].last);
      }
    const std::vector<int> needy = reserve_scratch(lifetimes);
    const MemoryPlan plan = plan_memory(lifetimes);
    for (size_t i = 0; i < owners.size(); i++) place_of(owners[i]).offset = plan.offsets[i];
    for (size_t i = 0; i < needy.size(); i++)
      placement_.scratch[static_cast<size_t>(needy[i])].offset = plan.offsets[owners.size() + i];
    placement_.arena_bytes = plan.bytes;
    placement_.live_peak = plan.live_peak;
    for (size_t i = 0; i < places.size(); i++) {
      Place& p = places[i];
      const ValueId v = static_cast<ValueId>(i);
      if (p.space == Space::kArena) {
        p.offset = placement_.of(owner(v)).offset;
        p.buffer = static_cast<int>(placement_.buffers.size());
        placement_.buffers.push_back(
            {graph_.label(v), p.bytes, p.offset, p.first, p.last, p.shares >= 0, graph_.symbol(v).dtype()});
      } else if (p.space == Space::kOutput) {
        p.offset = placement_.output_bytes;
        placement_.output_bytes += round_up(p.bytes);
      }
    }
  }

  // Scratch that a team shares is alive while its group runs. It depends on shapes and layouts only. Returns the groups
  // that need some.
  std::vector<int> reserve_scratch(std::vector<Lifetime>& lifetimes) {
    std::vector<int> needy;
    for (size_t i = 0; i < groups_.size(); i++) {
      const size_t bytes = groups_[i].reduction >= 0 ? fold_scratch(groups_[i])
                           : groups_[i].chain        ? 0
                                                     : op_scratch(graph_.node(groups_[i].nodes[0]));
      if (bytes == 0) continue;
      placement_.scratch[i].bytes = bytes;
      needy.push_back(static_cast<int>(i));
      lifetimes.push_back({bytes, static_cast<int>(i), static_cast<int>(i)});
    }
    return needy;
  }

  size_t op_scratch(const Node& n) const {
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
  Placement placement_;
};

}  // namespace

Placement place_values(const Graph& graph, const std::vector<Group>& groups, bool in_place, int threads) {
  return Placer(graph, groups, threads).run(in_place);
}

}  // namespace ingot::graph
