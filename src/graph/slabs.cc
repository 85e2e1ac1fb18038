#include "graph/slabs.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace ingot::graph {
namespace {

// Tensors of the user's that live nodes look at; each with whether it is written, and whether it never changes.
struct Uses {
  std::vector<Tensor> tensors;
  std::vector<bool> written, frozen;
  void add(const Tensor& t, bool writes, bool never_changes) {
    tensors.push_back(t);
    written.push_back(writes);
    frozen.push_back(never_changes);
  }
};

Uses uses_of(const Graph& graph, const std::vector<Group>& groups) {
  Uses uses;
  std::vector<bool> seen(graph.nodes.size(), false);
  const auto read = [&](ValueId v) {
    if (v == kAbsent) return;
    const NodeId id = graph.value(graph.root(v)).node;
    const Node& n = graph.node(id);
    if (n.kind != NodeKind::kBound || (n.constant && !n.frozen) || seen[static_cast<size_t>(id)]) return;
    seen[static_cast<size_t>(id)] = true;
    uses.add(n.bound, false, n.frozen);
  };
  for (const Group& g : groups)
    for (const NodeId id : g.nodes) {
      const Node& n = graph.node(id);
      for (const ValueId v : n.inputs) read(v);
      read(n.seed);
      for (const Tensor& t : n.stores)
        if (t.defined()) uses.add(t, true, false);
    }
  for (const Graph::Output& o : graph.outputs) read(o.value);
  return uses;
}

// A slab with one named tensor has its name; else that of its role. Names are unique: load binds by them.
void name_slabs(const PlanOptions& options, const Memory& memory, std::vector<Program::Slab>& slabs,
                const auto& slab_at) {
  for (const NamedTensor& n : options.names) {
    if (!n.tensor.defined() || n.tensor.numel() == 0) continue;
    const auto* at = static_cast<const std::byte*>(n.tensor.raw());
    const int i = slab_at(at);
    if (i < 0) continue;
    const Block& block = memory.slabs[static_cast<size_t>(i)];
    if (at < block.base + block.bytes)
      slabs[static_cast<size_t>(i)].parts.push_back({n.name, at - block.base, n.tensor.numel()});
  }
  std::unordered_map<const Storage*, size_t> role_of;  // by storage: the last that is given
  for (size_t i = 0; i < options.roles.size(); i++)
    if (const Tensor& t = options.roles[i].first; t.defined()) role_of[t.storage()] = i;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> counts;  // how many numbers of a stem were tried
  for (size_t i = 0; i < slabs.size(); i++) {
    Program::Slab& s = slabs[i];
    size_t last = 0;
    for (const Tensor& t : memory.slabs[i].keep)
      if (const auto it = role_of.find(t.storage()); it != role_of.end() && it->second >= last) {
        last = it->second;
        s.role = options.roles[last].second;
      }
    const std::string stem = s.parts.size() == 1 ? s.parts[0].name : role_name(s.role);
    int& count = counts[stem];
    do {
      count++;
      s.name = count == 1 ? stem : stem + " " + std::to_string(count);
    } while (!taken.insert(s.name).second);
  }
}

}  // namespace

const char* role_name(Role role) {
  static constexpr const char* kNames[] = {"tensor", "parameters", "gradients", "state"};
  return kNames[static_cast<int>(role)];
}

void BoundSlabs::collect(const Graph& graph, const std::vector<Group>& groups, const PlanOptions& options,
                         Program& program, Memory& memory) {
  const Uses uses = uses_of(graph, groups);
  std::vector<int> slab_of;
  memory.slabs = make_slabs(uses.tensors, slab_of);
  program.slabs.resize(memory.slabs.size());
  for (size_t i = 0; i < memory.slabs.size(); i++) {
    bases_.push_back(memory.slabs[i].base);
    program.slabs[i].bytes = static_cast<int64_t>(memory.slabs[i].bytes);
    program.slabs[i].dtype = memory.slabs[i].keep[0].dtype();
    program.slabs[i].frozen = true;
  }
  for (size_t i = 0; i < uses.tensors.size(); i++) {
    Program::Slab& slab = program.slabs[static_cast<size_t>(slab_of[i])];
    slab.written = slab.written || uses.written[i];
    slab.frozen = slab.frozen && uses.frozen[i];
  }
  name_slabs(options, memory, program.slabs, [this](const std::byte* at) { return find(at); });
}

int BoundSlabs::find(const std::byte* address) const {
  return static_cast<int>(std::upper_bound(bases_.begin(), bases_.end(), address) - bases_.begin()) - 1;
}

Operand BoundSlabs::operand(const Tensor& t) const {
  const int slab = find(addresses_of(t).first);
  return {
      Space::kBound, false,      t.dtype(), slab, static_cast<std::byte*>(t.raw()) - bases_[static_cast<size_t>(slab)],
      t.shape(),     t.strides()};
}

}  // namespace ingot::graph
