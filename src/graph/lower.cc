#include "graph/lower.h"

#include <algorithm>
#include <unordered_map>

#include "graph/cpu/kernel.h"
#include "graph/fold_layout.h"
#include "graph/loop_record.h"
#include "graph/order.h"
#include "graph/placement.h"
#include "graph/slabs.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "kernels/cost.h"
#include "ops/call.h"

namespace ingot::graph {
namespace {

class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options)
      : graph_(graph), groups_(groups), options_(options), operands_(graph.values.size()) {}

  Lowered run() {
    program_.name = options_.plan.name;
    program_.threads = options_.threads;
    lower_bodies(graph_, groups_, options_);
    needs_ = find_needs(graph_, groups_, options_.in_place, options_.threads);
    const Order order = options_.order ? choose_order(needs_.steps) : captured_order(needs_.steps);
    placement_ = place_values(graph_, needs_, order.steps);
    program_.arena_bytes = placement_.arena_bytes;
    program_.live_peak = placement_.live_peak;
    program_.output_bytes = placement_.output_bytes;
    program_.in_place = placement_.in_place;
    program_.buffers = std::move(placement_.buffers);
    check_limit(program_, options_.plan.byte_limit, 0, true);
    for (const ValueId v : graph_.inputs)
      program_.inputs.push_back({"", graph_.symbol(v).dtype(), graph_.symbol(v).shape()});
    bound_.collect(graph_, groups_, options_.plan, program_, memory_);
    program_.records.reserve(groups_.size());
    for (const int group : order.steps) build(group);
    for (const Graph::Output& o : graph_.outputs) program_.outputs.push_back({o.name, operand(o.value)});
    return {std::move(program_), std::move(memory_), order.saved};
  }

 private:
  bool in_memory(ValueId v) const { return placement_.of(v).space != Space::kNone; }

  Operand written(ValueId v) {
    Operand o = operand(v);
    o.written = true;
    return o;
  }
  Operand given(ValueId v) { return v == kAbsent ? Operand() : operand(v); }

  // Where a value is that is in memory.
  const Operand& operand(ValueId v) {
    Operand& o = operands_[static_cast<size_t>(v)];
    if (o.given()) return o;
    if (graph_.producer(v).is_view()) return see(v);
    const Node& n = graph_.producer(v);
    if (n.kind == NodeKind::kBound) {
      if (!n.constant || n.frozen) return o = bound_.operand(n.bound);
      const auto [begin, end] = addresses_of(n.bound);
      memory_.constants.push_back({begin, static_cast<size_t>(end - begin), {n.bound}});
      program_.constants.push_back(end - begin);
      const int index = static_cast<int>(memory_.constants.size()) - 1;
      return o = {Space::kConstant,
                  false,
                  n.bound.dtype(),
                  index,
                  static_cast<std::byte*>(n.bound.raw()) - begin,
                  n.bound.shape(),
                  n.bound.strides()};
    }
    if (n.kind == NodeKind::kOp)
      if (const Tensor* stored = n.stored(graph_.value(v).index)) return o = bound_.operand(*stored);
    const Tensor& s = graph_.symbol(v);
    o.dtype = s.dtype();
    o.shape = s.shape();
    o.strides = contiguous_strides(s.shape());
    if (n.kind == NodeKind::kInput) {
      o.space = Space::kInput;
      o.index = n.input;
    } else {
      o.space = placement_.of(v).space;
      o.offset = static_cast<int64_t>(placement_.of(v).offset);
      o.buffer = placement_.of(v).buffer;
    }
    return o;
  }

  // A view, and those that it looks through, however many there are.
  const Operand& see(ValueId v) {
    std::vector<ValueId> views;
    for (; graph_.producer(v).is_view() && !operands_[static_cast<size_t>(v)].given(); v = graph_.producer(v).inputs[0])
      views.push_back(v);
    operand(v);
    for (; !views.empty(); views.pop_back()) {
      v = views.back();
      const Node& n = graph_.producer(v);
      operands_[static_cast<size_t>(v)] = view(n, operands_[static_cast<size_t>(n.inputs[0])]);
    }
    return operands_[static_cast<size_t>(v)];
  }

  // The view of an op is asked for on a tensor of the same layout that has no elements.
  Operand view(const Node& n, Operand o) {
    const Tensor base = Tensor::symbolic(this, 0, o.dtype, o.shape, o.strides);
    const Tensor* in[] = {&base};
    const Tensor seen = n.op->view({*n.op, in, *n.attrs});
    o.offset += static_cast<int64_t>(reinterpret_cast<uintptr_t>(seen.raw()) - reinterpret_cast<uintptr_t>(base.raw()));
    o.dtype = seen.dtype();
    o.shape = seen.shape();
    o.strides = seen.strides();
    return o;
  }

  void build(int group) {
    const Group& g = groups_[static_cast<size_t>(group)];
    Record r;
    r.position = position_++;
    if (!g.chain) {
      build_op(g, r);
    } else if (g.product >= 0) {
      build_product(g, r);
    } else if (g.reduction >= 0) {
      build_fold(g, r);
    } else {
      r.kind = Record::Kind::kChain;
      build_chain(g.nodes, kAbsent, -1, r);
    }
    r.scratch_offset = static_cast<int64_t>(placement_.scratch_offsets[static_cast<size_t>(group)]);
    r.scratch_bytes = static_cast<int64_t>(needs_.steps.scratch[static_cast<size_t>(group)]);
    describe(r, g);
    program_.records.push_back(std::move(r));
  }

  void describe(Record& r, const Group& g) {
    r.label = graph_.label(graph_.node(g.nodes[0]));
    for (size_t i = 1; i < g.nodes.size(); i++) {
      if (i == 4 && g.nodes.size() > 5) {
        r.label += "+…" + std::to_string(g.nodes.size() - 4);
        break;
      }
      r.label += std::string("+") + graph_.node(g.nodes[i]).op->name;
    }
    for (const Operand& o : r.operands)
      if (o.given() && o.space != Space::kBlock) r.bytes += static_cast<double>(o.numel() * o.element());
    for (const NodeId id : g.nodes) {
      const Node& n = graph_.node(id);
      const double flops = flops_of(graph_, n);
      r.flops += flops;
      if (is_loop(n)) {
        constexpr int64_t kRounds = 10;  // to reckon with where the number is not known
        for (const Record& body : r.loop->body.records) {
          const auto rounds = static_cast<double>(r.loop->stop == LoopOptions::Stop::kCount ? r.loop->most : kRounds);
          r.flops += rounds * body.flops;
          r.cost_ns += rounds * body.cost_ns;
        }
      } else if (n.op->tile != nullptr) {
        r.cost_ns += static_cast<double>(graph_.symbol(n.first).numel()) * n.op->weight / cost::kWarmAdditions;
      } else if (n.op->role == OpRole::kProduct) {
        r.cost_ns += flops / cost::kWarmFlops;
      } else if (n.op->view == nullptr) {
        std::vector<const Tensor*> in;
        const Tensor none{};
        for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph_.symbol(v));
        Tensor outs[kMaxOutputs];
        for (int k = 0; k < n.count; k++) outs[k] = graph_.symbol(n.first + k);
        Prepared block;
        r.cost_ns += estimate_cost(prepare({*n.op, in, *n.attrs}, block), outs, n.count);
      }
    }
    r.cost_ns = std::max(r.cost_ns, r.bytes / cost::kWarmBytes);
  }

  void build_op(const Group& g, Record& r) {
    const Node& n = graph_.node(g.nodes[0]);
    r.op = n.op;
    r.attrs = n.attrs;
    r.inputs = static_cast<int>(n.inputs.size());
    r.results = n.count;
    r.seeded = n.seed != kAbsent;
    for (const ValueId v : n.inputs) r.operands.push_back(given(v));
    for (int k = 0; k < n.count; k++) r.operands.push_back(written(n.first + k));
    if (r.seeded) r.operands.push_back(operand(n.seed));
    if (is_loop(n)) return build_loop(n, r);
    r.rows = rows_of(r);
    r.check_first = n.op->check != nullptr && known_before(graph_, n);
    if (n.op->check == nullptr || r.check_first) return;
    Record check;
    check.kind = Record::Kind::kCheck;
    check.label = graph_.label(n) + " check";
    check.position = r.position;
    check.op = r.op;
    check.attrs = r.attrs;
    check.inputs = r.inputs;
    check.operands.assign(r.operands.begin(), r.operands.begin() + r.inputs);
    program_.records.push_back(std::move(check));
  }

  void build_loop(const Node& n, Record& r) {
    r.kind = Record::Kind::kLoop;
    r.op = nullptr;
    r.attrs = nullptr;
    r.loop = loop_of(n).lowered;
  }

  // The chain of a group. Value `from` (a product's result) is in memory before it. With `fold`, the last value goes to
  // a block of these strides, besides its place in memory if it has one; `cut` is where columns begin.
  void build_chain(const std::vector<NodeId>& nodes, ValueId from, int cut, Record& r, const Dims* fold = nullptr) {
    Chain& chain = r.chain;
    chain.first = static_cast<int>(r.operands.size());
    chain.shape = graph_.symbol(graph_.node(nodes[0]).first).shape();
    chain.cut = cut;
    std::unordered_map<ValueId, Chain::Slot> slots;
    std::vector<bool> busy;
    const auto external = [&](const Operand& o) {
      r.operands.push_back(o);
      return Chain::Slot{static_cast<int>(r.operands.size()) - 1 - chain.first, true};
    };
    std::unordered_map<ValueId, size_t> last_read;
    for (size_t i = 0; i < nodes.size(); i++)
      for (const ValueId v : graph_.node(nodes[i]).inputs) last_read[v] = i;
    if (from != kAbsent) slots[from] = external(operand(from));
    for (size_t i = 0; i < nodes.size(); i++) {
      const Node& n = graph_.node(nodes[i]);
      const ValueId out = n.first;
      Chain::Instruction code;
      code.op = n.op;
      code.attrs = n.attrs;
      code.inputs = static_cast<int>(n.inputs.size());
      code.type = graph_.symbol(n.inputs.back()).dtype();
      for (size_t k = 0; k < n.inputs.size(); k++) {
        const ValueId v = n.inputs[k];
        if (!slots.contains(v)) slots[v] = external(operand(v));
        code.in[k] = slots[v];
      }
      // Registers read here for the last time are free again: for this result only if its elements are as wide, since
      // they are written over the operand's one by one.
      const auto release = [&](bool alike) {
        for (size_t k = 0; k < n.inputs.size(); k++)
          if (!code.in[k].external && last_read[n.inputs[k]] == i &&
              alike == (size_of(graph_.symbol(n.inputs[k]).dtype()) == size_of(graph_.symbol(out).dtype())))
            busy[static_cast<size_t>(code.in[k].index)] = false;
      };
      release(true);
      const bool folds = fold != nullptr && i + 1 == nodes.size();
      if (folds) {
        code.out = external({Space::kBlock, true, graph_.symbol(out).dtype(), 0, 0, chain.shape, *fold});
        r.reduction.block = chain.first + code.out.index;
        if (in_memory(out)) chain.code.push_back(code);  // others read it, too: it is computed twice
      }
      if (in_memory(out)) {
        code.out = external(written(out));
      } else if (!folds) {
        const auto free = static_cast<size_t>(std::find(busy.begin(), busy.end(), false) - busy.begin());
        if (free == busy.size()) busy.push_back(false);
        busy[free] = last_read.contains(out);
        code.out = {static_cast<int>(free), false};
      }
      release(false);
      slots[out] = code.out;
      chain.code.push_back(code);
    }
    chain.registers = static_cast<int>(busy.size());
  }

  // A reduction that a chain feeds: the chain's space is seen as rows and columns, cut where the folded axes end.
  void build_fold(const Group& g, Record& r) {
    using Along = Reduction::Along;
    r.kind = Record::Kind::kFold;
    const Node& n = graph_.node(g.reduction);
    const Tensor& x = graph_.symbol(n.inputs[0]);
    const Dims axes = normalize_axes(n.op->name, n.attrs->find("axes")->ints, x.rank());
    r.reduction.fold = n.op->fold;
    const Along along = axes.size() == x.rank() ? Along::kAll : axes[0] == 0 ? Along::kColumns : Along::kRows;
    const int cut = along == Along::kAll ? -1 : along == Along::kColumns ? axes.size() : static_cast<int>(axes[0]);
    const Dims strides = block_strides(along, x.shape(), cut);
    r.reduction.along = along;
    std::vector<NodeId> nodes = g.nodes;
    std::erase(nodes, g.reduction);
    build_chain(nodes, kAbsent, cut, r, &strides);
    r.operands.push_back(written(n.first));
  }

  void build_product(const Group& g, Record& r) {
    r.kind = Record::Kind::kProduct;
    const Node& n = graph_.node(g.product);
    const int columns = n.op->transposed ? 0 : 1;  // the axis of b that has those of the result
    const Operand a = operand(n.inputs[0]), b = operand(n.inputs[1]);
    Operand bias = n.inputs.size() > 2 ? given(n.inputs[2]) : Operand();
    Product& p = r.product;
    const int rank = a.shape.size();
    p.k = a.shape[rank - 1];
    p.m = a.numel() / p.k;
    p.n = b.shape[columns];
    p.a_row = rank == 2 ? a.strides[0] : p.k;
    p.a_col = a.strides[rank - 1];
    p.b_row = b.strides[1 - columns];
    p.b_col = b.strides[columns];
    p.c_row = p.n;
    p.constant_b = graph_.producer(graph_.root(n.inputs[1])).constant;
    // The first of the chain may be what the GEMM does by itself: a bias, then a relu.
    std::vector<NodeId> rest = g.nodes;
    ValueId made = n.first;
    std::erase(rest, g.product);
    const auto only_use = [&](ValueId v, NodeId by) {
      if (in_memory(v)) return false;
      for (const NodeId id : rest)
        for (const ValueId in : graph_.node(id).inputs)
          if (in == v && id != by) return false;
      return true;
    };
    if (!rest.empty() && !bias.given()) {
      const NodeId id = rest[0];
      const Node& next = graph_.node(id);
      if (next.op->epilogue == Epilogue::kAddBias && (next.inputs[0] == made) != (next.inputs[1] == made)) {
        const ValueId other = next.inputs[0] == made ? next.inputs[1] : next.inputs[0];
        const Tensor& s = graph_.symbol(other);
        if (s.rank() == 1 && s.numel() == p.n && s.is_contiguous() && only_use(made, id)) {
          bias = operand(other);
          made = next.first;
          rest.erase(rest.begin());
        }
      }
    }
    if (!rest.empty()) {
      const NodeId id = rest[0];
      const Node& next = graph_.node(id);
      if (next.op->epilogue == Epilogue::kRectify && next.inputs[0] == made && only_use(made, id)) {
        p.relu = true;
        made = next.first;
        rest.erase(rest.begin());
      }
    }
    // What the product makes goes straight to memory if it has a place; else to the chain's last result, which is
    // computed there in place.
    const Operand c = written(in_memory(made) || rest.empty() ? made : graph_.node(rest.back()).first);
    r.operands = {a, b, c, bias};
    if (rest.empty()) return;
    operands_[static_cast<size_t>(made)] = c;
    operands_[static_cast<size_t>(made)].written = false;
    build_chain(rest, made, graph_.symbol(n.first).rank() - 1, r);
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  const LowerOptions& options_;
  Needs needs_;
  Placement placement_;
  int position_ = 0;
  std::vector<Operand> operands_;  // by value
  BoundSlabs bound_;
  Program program_;
  Memory memory_;
};

}  // namespace

Lowered lower(const std::shared_ptr<const Graph>& graph, const std::vector<Group>& groups,
              const LowerOptions& options) {
  Lowered lowered = Lowering(*graph, groups, options).run();
  lowered.program.owner = graph;
  return lowered;
}

void check_limit(const Program& program, size_t limit, size_t others, bool at_least) {
  size_t need = program.arena_bytes + program.output_bytes + others;
  for (const int64_t bytes : program.constants) need += static_cast<size_t>(bytes);
  if (limit == 0 || need <= limit) return;
  struct Part {
    std::string name;
    size_t bytes;
  };
  std::vector<Part> largest;
  for (const Buffer& b : program.buffers) largest.push_back({b.name, b.bytes});
  for (const int64_t bytes : program.constants) largest.push_back({"a constant", static_cast<size_t>(bytes)});
  for (const Program::Output& o : program.outputs)
    largest.push_back({"result " + o.name, static_cast<size_t>(o.operand.numel() * o.operand.element())});
  largest.push_back({"scratch of the kernels", others});
  if (program.outputs.empty()) largest.push_back({"results", program.output_bytes});
  std::erase_if(largest, [](const Part& p) { return p.bytes == 0; });
  std::stable_sort(largest.begin(), largest.end(), [](const Part& a, const Part& b) { return a.bytes > b.bytes; });
  std::string text = "compile: \"" + program.name + "\" needs " + (at_least ? "at least " : "") + format_bytes(need) +
                     ", the limit is " + format_bytes(limit) + "; the largest parts are";
  for (size_t i = 0; i < std::min<size_t>(5, largest.size()); i++)
    text += (i == 0 ? " " : ", ") + largest[i].name + " (" + format_bytes(largest[i].bytes) + ")";
  throw Error(ErrorKind::kMemory,
              text + " — use a smaller batch, or checkpoint() around parts whose values can be computed again");
}

}  // namespace ingot::graph
