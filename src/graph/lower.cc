#include "graph/lower.h"

#include <algorithm>
#include <unordered_map>

#include "ingot/error.h"
#include "ingot/memory.h"
#include "ingot/ops.h"
#include "ops/call.h"

namespace ingot::graph {
namespace {

using kernels::Activation;

constexpr size_t kAlignment = 64;
size_t round_up(size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; }

enum class Space : uint8_t { kNone, kArena, kOutput, kElsewhere };

// Where the elements of a root value are.
struct Place {
  Space space = Space::kNone;
  size_t bytes = 0, offset = 0;
  int first = -1, last = -1;  // steps
  int shares = -1;            // a value whose memory it takes over
};

class Lowering {
 public:
  Lowering(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options)
      : graph_(graph),
        groups_(groups),
        options_(options),
        places_(graph.values.size()),
        tensors_(graph.values.size()) {}

  Program run() {
    find_lifetimes();
    if (options_.in_place) take_over();
    place();
    for (size_t i = 0; i < groups_.size(); i++) build(static_cast<int>(i));
    place_scratch();
    check_limit();  // now with constants and scratch
    for (const Graph::Output& o : graph_.outputs) program_.outputs.push_back(tensor(o.value));
    return std::move(program_);
  }

 private:
  Place& place_of(ValueId v) { return places_[static_cast<size_t>(v)]; }
  size_t bytes_of(ValueId v) const {
    const Tensor& s = graph_.symbol(v);
    return static_cast<size_t>(s.numel()) * size_of(s.dtype());
  }
  bool inside(const Group& g, NodeId n) const { return std::binary_search(g.nodes.begin(), g.nodes.end(), n); }

  // Values that only exist in registers have no place. A value is alive from the step that makes it to the last that
  // reads it, by whatever view.
  void find_lifetimes() {
    for (size_t i = 0; i < groups_.size(); i++) {
      const int step = static_cast<int>(i);
      for (const NodeId id : groups_[i].nodes) {
        const Node& n = graph_.node(id);
        for (const ValueId v : n.inputs) {
          if (v == kAbsent) continue;
          const ValueId root = graph_.root(v);
          const Node& p = graph_.producer(root);
          if (p.kind != NodeKind::kOp || (inside(groups_[i], graph_.value(root).node) && v == root)) continue;
          place_of(root).last = std::max(place_of(root).last, step);
          place_of(root).space = Space::kArena;
        }
        for (int k = 0; k < n.count; k++) place_of(n.first + k).first = step;
      }
    }
    for (const Graph::Output& o : graph_.outputs)
      if (const ValueId root = graph_.root(o.value); graph_.producer(root).kind == NodeKind::kOp)
        place_of(root).space = Space::kOutput;
    for (size_t i = 0; i < groups_.size(); i++)
      for (const NodeId id : groups_[i].nodes) {
        const Node& n = graph_.node(id);
        for (int k = 0; k < n.count; k++) {
          Place& p = place_of(n.first + k);
          p.bytes = bytes_of(n.first + k);
          if (n.stored(k) != nullptr) p.space = Space::kElsewhere;
          // A result that nobody reads still needs memory, unless a chain can leave it in a register.
          if (p.space == Space::kNone && !stays_in_chain(groups_[i], id)) p.space = Space::kArena;
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

  // May result `out` of a step stand where its operand `in` stood?
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
              program_.in_place++;
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
    while (places_[static_cast<size_t>(v)].shares >= 0) v = places_[static_cast<size_t>(v)].shares;
    return v;
  }

  void place() {
    std::vector<Lifetime> lifetimes;
    std::vector<ValueId> owners;
    std::unordered_map<ValueId, size_t> index;
    for (size_t i = 0; i < places_.size(); i++) {
      const ValueId v = static_cast<ValueId>(i);
      if (places_[i].space != Space::kArena || owner(v) != v) continue;
      index[v] = lifetimes.size();
      lifetimes.push_back({places_[i].bytes, places_[i].first, places_[i].last});
      owners.push_back(v);
    }
    for (size_t i = 0; i < places_.size(); i++)
      if (places_[i].space == Space::kArena) {
        int& last = lifetimes[index[owner(static_cast<ValueId>(i))]].last;
        last = std::max(last, places_[i].last);
      }
    const size_t values = lifetimes.size();
    reserve_shared_scratch(lifetimes);
    const MemoryPlan plan = plan_memory(lifetimes);
    for (size_t i = 0; i < owners.size(); i++) place_of(owners[i]).offset = plan.offsets[i];
    for (size_t i = values; i < plan.offsets.size(); i++) scratch_offsets_.push_back(plan.offsets[i]);
    program_.arena_bytes = plan.bytes;
    program_.live_peak = plan.live_peak;
    for (size_t i = 0; i < places_.size(); i++) {
      Place& p = places_[i];
      const ValueId v = static_cast<ValueId>(i);
      if (p.space == Space::kArena) {
        p.offset = places_[static_cast<size_t>(owner(v))].offset;
        program_.buffers.push_back({graph_.label(v), p.bytes, p.offset, p.first, p.last, p.shares >= 0});
      } else if (p.space == Space::kOutput) {
        p.offset = program_.output_bytes;
        program_.output_bytes += round_up(p.bytes);
      }
    }
    check_limit();
    program_.arena = Tensor::empty({static_cast<int64_t>(plan.bytes)}, kU8);
    program_.results = Tensor::empty({static_cast<int64_t>(program_.output_bytes)}, kU8);
    for (size_t i = 0; i < graph_.inputs.size(); i++) {
      // Stand-ins at addresses that nobody has, far from each other.
      const Tensor& s = graph_.symbol(graph_.inputs[i]);
      void* nowhere = reinterpret_cast<void*>((uintptr_t{1} << 62) + (static_cast<uintptr_t>(i) << 48));
      program_.inputs.push_back(Tensor::wrap(nowhere, s.shape(), s.dtype()));
    }
  }

  // Shared scratch depends on shapes and layouts, not on where tensors are: it is asked for with stand-ins.
  void reserve_shared_scratch(std::vector<Lifetime>& lifetimes) {
    for (size_t i = 0; i < groups_.size(); i++) {
      if (groups_[i].chain) continue;
      const Node& n = graph_.node(groups_[i].nodes[0]);
      if (n.op->scratch == nullptr || n.op->view != nullptr) continue;
      std::vector<const Tensor*> in;
      std::vector<Tensor> out;
      const Tensor none{};
      for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph_.symbol(v));
      out.reserve(static_cast<size_t>(n.count));
      for (int k = 0; k < n.count; k++)
        out.push_back(n.stored(k) != nullptr ? *n.stored(k) : graph_.symbol(n.first + k));
      const size_t bytes = n.op->scratch({*n.op, in, *n.attrs}, out.data(), options_.threads);
      if (bytes == 0) continue;
      scratch_steps_.push_back(static_cast<int>(i));
      lifetimes.push_back({bytes, static_cast<int>(i), static_cast<int>(i)});
    }
    for (size_t i = 0; i < groups_.size(); i++) {
      if (groups_[i].reduction < 0) continue;
      const Tensor& x = graph_.symbol(graph_.node(groups_[i].reduction).inputs[0]);
      if (graph_.symbol(graph_.node(groups_[i].reduction).first).numel() != 1) continue;
      const size_t most = static_cast<size_t>(x.numel() / (FusedReduceStep::kBlockElements / 2) + 2);  // pieces
      scratch_steps_.push_back(static_cast<int>(i));
      lifetimes.push_back({most * size_of(x.dtype()), static_cast<int>(i), static_cast<int>(i)});
    }
  }

  void check_limit() {
    const size_t need = program_.arena_bytes + program_.output_bytes + program_.scratch_bytes + program_.constant_bytes;
    if (options_.byte_limit == 0 || need <= options_.byte_limit) return;
    std::vector<Buffer> largest = program_.buffers;
    for (const Tensor& t : program_.constants)
      largest.push_back({"a constant " + to_string(t.shape()), t.storage()->bytes, 0, 0, 0, false});
    largest.push_back({"scratch of the kernels", program_.scratch_bytes, 0, 0, 0, false});
    for (size_t i = 0; i < places_.size(); i++)
      if (places_[i].space == Space::kOutput)
        largest.push_back({"result " + graph_.label(static_cast<ValueId>(i)), places_[i].bytes, 0, 0, 0, false});
    std::erase_if(largest, [](const Buffer& b) { return b.bytes == 0; });
    std::sort(largest.begin(), largest.end(), [](const Buffer& a, const Buffer& b) { return a.bytes > b.bytes; });
    std::string text = "compile: \"" + options_.plan_name + "\" needs " +
                       (program_.arena.defined() ? "" : "at least ") + format_bytes(need) + ", the limit is " +
                       format_bytes(options_.byte_limit) + "; the largest parts are";
    for (size_t i = 0; i < std::min<size_t>(5, largest.size()); i++)
      text += (i == 0 ? " " : ", ") + largest[i].name + " (" + format_bytes(largest[i].bytes) + ")";
    throw Error(text + " — use a smaller batch, or checkpoint() around parts whose values can be computed again");
  }

  // The tensor of a value that is in memory.
  const Tensor& tensor(ValueId v) {
    Tensor& t = tensors_[static_cast<size_t>(v)];
    if (t.defined()) return t;
    const Node& n = graph_.producer(v);
    const Tensor& s = graph_.symbol(v);
    if (n.kind == NodeKind::kInput) return t = program_.inputs[static_cast<size_t>(n.input)];
    if (n.kind == NodeKind::kBound) {
      if (n.constant && !n.frozen) {
        program_.constants.push_back(n.bound);
        program_.constant_bytes += n.bound.storage()->bytes;
      } else {
        program_.bound.push_back(n.bound);
      }
      return t = n.bound;
    }
    if (n.is_view()) {
      const Tensor base = tensor(n.inputs[0]);
      const Tensor* in[] = {&base};
      return t = n.op->view({*n.op, in, *n.attrs});
    }
    if (const Tensor* stored = n.stored(graph_.value(v).index)) {
      t = *stored;
      program_.bound.push_back(t);
      return t;
    }
    const Place& p = place_of(v);
    const Tensor& block = p.space == Space::kOutput ? program_.results : program_.arena;
    return t = block.view(static_cast<std::byte*>(block.raw()) + p.offset, s.shape(), contiguous_strides(s.shape()),
                          s.dtype());
  }

  void build(int index) {
    const Group& g = groups_[static_cast<size_t>(index)];
    std::unique_ptr<Step> step;
    if (!g.chain) {
      step = build_op(index);
    } else if (g.product >= 0) {
      const bool f32 = graph_.symbol(graph_.node(g.product).first).dtype() == kF32;
      step = f32 ? build_product<float>(g) : build_product<double>(g);
    } else if (g.reduction >= 0) {
      step = build_reduction(g);
    } else {
      step = std::make_unique<FusedStep>(build_chain(g.nodes, kAbsent, -1));
    }
    add_step(std::move(step), g, index);
  }

  void add_step(std::unique_ptr<Step> step, const Group& g, int index) {
    describe(*step, g);
    step->position = index;
    program_.steps.push_back(std::move(step));
  }

  void describe(Step& step, const Group& g) {
    const Node& first = graph_.node(g.nodes[0]);
    step.name = graph_.label(first);
    for (size_t i = 1; i < g.nodes.size(); i++) {
      if (i == 4 && g.nodes.size() > 5) {
        step.name += "+…" + std::to_string(g.nodes.size() - 4);
        break;
      }
      step.name += std::string("+") + graph_.node(g.nodes[i]).op->name;
    }
    step.each_tensor([&](Tensor& t, bool) {
      step.bytes += static_cast<double>(t.numel()) * static_cast<double>(size_of(t.dtype()));
    });
    for (const NodeId id : g.nodes) {
      const Node& n = graph_.node(id);
      const Tensor& out = graph_.symbol(n.first);
      std::vector<const Tensor*> in;
      const Tensor none{};
      for (const ValueId v : n.inputs) in.push_back(v == kAbsent ? &none : &graph_.symbol(v));
      const ingot::Call call{*n.op, in, *n.attrs};
      step.flops += flops_of(graph_, n);
      if (n.op->tile != nullptr) {
        step.cost_ns += static_cast<double>(out.numel()) * n.op->weight / 8;
      } else if (const std::string_view name = n.op->name; name == "matmul" || name == "linear") {
        step.cost_ns += flops_of(graph_, n) / 60;
      } else {
        Tensor outs[kMaxOutputs];
        for (int k = 0; k < n.count; k++) outs[k] = graph_.symbol(n.first + k);
        step.cost_ns += n.op->view != nullptr ? 0 : estimate_cost(call, outs, n.count);
      }
    }
    step.cost_ns = std::max(step.cost_ns, step.bytes / 40);
  }

  std::unique_ptr<Step> build_op(int index) {
    const Node& n = graph_.node(groups_[static_cast<size_t>(index)].nodes[0]);
    std::vector<Tensor> in, out;
    bool known_before = true;
    for (const ValueId v : n.inputs) {
      in.push_back(v == kAbsent ? Tensor() : tensor(v));
      if (v == kAbsent || is_float(graph_.symbol(v).dtype())) continue;
      const NodeKind root = graph_.producer(graph_.root(v)).kind;
      known_before = known_before && (root == NodeKind::kInput || (root == NodeKind::kBound && n.after.empty()));
    }
    for (int k = 0; k < n.count; k++) out.push_back(tensor(n.first + k));
    auto step = std::make_unique<OpStep>(*n.op, *n.attrs, std::move(in), std::move(out),
                                         n.seed == kAbsent ? Tensor() : tensor(n.seed));
    if (n.op->check == nullptr) return step;
    if (known_before) {
      step->check_before_run();
    } else {
      auto check = std::make_unique<CheckStep>(*step);
      check->name = graph_.label(n) + " check";
      check->position = index;
      program_.steps.push_back(std::move(check));
    }
    return step;
  }

  // The chain of a group as a program. Value `from` (a product's result) is in memory before it. With `folded`, the
  // last value goes to an operand of its own, of these strides, besides its place in memory if it has one; `cut` is
  // where columns begin.
  TileProgram build_chain(const std::vector<NodeId>& chain, ValueId from, int cut, const Dims* folded_strides = nullptr,
                          int* folded = nullptr) {
    TileProgram program;
    std::unordered_map<ValueId, TileProgram::Slot> slots;
    std::vector<bool> busy;
    const Dims& shape = graph_.symbol(graph_.node(chain[0]).first).shape();
    const auto external = [&](const Tensor& t) {
      program.externals.push_back(t);
      return TileProgram::Slot{static_cast<int>(program.externals.size()) - 1, true};
    };
    std::unordered_map<ValueId, size_t> last_read;
    for (size_t i = 0; i < chain.size(); i++)
      for (const ValueId v : graph_.node(chain[i]).inputs) last_read[v] = i;
    if (from != kAbsent) slots[from] = external(tensor(from));
    for (size_t i = 0; i < chain.size(); i++) {
      const Node& n = graph_.node(chain[i]);
      TileProgram::Instruction code =
          instruction(*n.op, *n.attrs, static_cast<int>(n.inputs.size()), graph_.symbol(n.inputs.back()).dtype());
      for (size_t k = 0; k < n.inputs.size(); k++) {
        const ValueId v = n.inputs[k];
        if (!slots.contains(v)) slots[v] = external(tensor(v));
        code.in[k] = slots[v];
      }
      const ValueId out = n.first;
      // Registers read here for the last time are free again: for this result only if its elements are as wide, since
      // they are written over the operand's one by one.
      const auto release = [&](bool alike) {
        for (size_t k = 0; k < n.inputs.size(); k++)
          if (!code.in[k].external && last_read[n.inputs[k]] == i &&
              alike == (size_of(graph_.symbol(n.inputs[k]).dtype()) == size_of(graph_.symbol(out).dtype())))
            busy[static_cast<size_t>(code.in[k].index)] = false;
      };
      release(true);
      const bool in_memory = place_of(out).space != Space::kNone;
      if (folded != nullptr && i + 1 == chain.size()) {
        code.out =
            external(program_.arena.view(program_.arena.raw(), shape, *folded_strides, graph_.symbol(out).dtype()));
        *folded = code.out.index;
        if (in_memory) program.code.push_back(code);  // others read it, too: it is computed twice
      }
      if (in_memory) {
        code.out = external(tensor(out));
      } else if (folded == nullptr || i + 1 < chain.size()) {
        const auto r = static_cast<size_t>(std::find(busy.begin(), busy.end(), false) - busy.begin());
        if (r == busy.size()) busy.push_back(false);
        busy[r] = last_read.contains(out);
        code.out = {static_cast<int>(r), false};
      }
      release(false);
      slots[out] = code.out;
      program.code.push_back(code);
    }
    program.registers = static_cast<int>(busy.size());
    program.prepare(shape, cut);
    return program;
  }

  // A reduction that a chain feeds: the chain's space is seen as rows and columns, cut where the folded axes end.
  std::unique_ptr<Step> build_reduction(const Group& g) {
    using Along = FusedReduceStep::Along;
    const Node& n = graph_.node(g.reduction);
    const Tensor& x = graph_.symbol(n.inputs[0]);
    const Dims axes = normalize_axes(n.op->name, n.attrs->find("axes")->ints, x.rank());
    int64_t count = 1;
    for (const int64_t a : axes) count *= x.shape()[static_cast<int>(a)];
    const std::string_view name = n.op->name;
    const kernels::Reduce kind = name == "max"   ? kernels::Reduce::kMax
                                 : name == "min" ? kernels::Reduce::kMin
                                                 : kernels::Reduce::kSum;
    const double scale = name == "mean" ? 1.0 / static_cast<double>(count) : 1.0;
    const Along along = axes.size() == x.rank() ? Along::kAll : axes[0] == 0 ? Along::kColumns : Along::kRows;
    const int cut = along == Along::kAll ? -1 : along == Along::kColumns ? axes.size() : static_cast<int>(axes[0]);
    const Dims strides = FusedReduceStep::block_strides(along, x.shape(), cut);
    std::vector<NodeId> chain = g.nodes;
    std::erase(chain, g.reduction);
    int folded = -1;
    TileProgram program = build_chain(chain, kAbsent, cut, &strides, &folded);
    return std::make_unique<FusedReduceStep>(std::move(program), folded, kind, along, scale, tensor(n.first));
  }

  template <class T>
  std::unique_ptr<Step> build_product(const Group& g) {
    const Node& n = graph_.node(g.product);
    const bool linear = n.op->name[0] == 'l';
    const Tensor a = tensor(n.inputs[0]);
    Tensor b = tensor(n.inputs[1]);
    Tensor bias = n.inputs.size() > 2 && n.inputs[2] != kAbsent ? tensor(n.inputs[2]) : Tensor();
    kernels::Gemm<T> gemm;
    gemm.k = a.size(-1);
    gemm.m = a.numel() / gemm.k;
    gemm.n = linear ? b.size(0) : b.size(1);
    gemm.a_row = a.rank() == 2 ? a.strides()[0] : gemm.k;
    gemm.a_col = a.strides()[a.rank() - 1];
    gemm.b_row = b.strides()[linear ? 1 : 0];
    gemm.b_col = b.strides()[linear ? 0 : 1];
    gemm.c_row = gemm.n;
    if (graph_.producer(graph_.root(n.inputs[1])).constant && gemm.m > 1 && gemm.n > 1) {
      const Tensor packed = Tensor::empty({kernels::gemm_packed_size<T>(gemm.k, gemm.n)}, dtype_of<T>);
      kernels::gemm_pack(gemm.k, gemm.n, static_cast<const T*>(b.raw()), gemm.b_row, gemm.b_col,
                         static_cast<T*>(packed.raw()));
      b = packed;
      gemm.b_packed = true;
      gemm.b_row = gemm.b_col = 1;
      program_.constants.push_back(b);
      program_.constant_bytes += b.storage()->bytes;
    }
    // The first of the chain may be what the kernel does by itself: a bias, then a relu.
    std::vector<NodeId> rest = g.nodes;
    ValueId made = n.first;
    std::erase(rest, g.product);
    const auto only_use = [&](ValueId v, NodeId by) {
      if (place_of(v).space != Space::kNone) return false;
      for (const NodeId id : rest)
        for (const ValueId in : graph_.node(id).inputs)
          if (in == v && id != by) return false;
      return true;
    };
    if (!rest.empty() && !bias.defined()) {
      const NodeId id = rest[0];
      const Node& next = graph_.node(id);
      if (std::string_view(next.op->name) == "add" && (next.inputs[0] == made) != (next.inputs[1] == made)) {
        const ValueId other = next.inputs[0] == made ? next.inputs[1] : next.inputs[0];
        const Tensor& s = graph_.symbol(other);
        if (s.rank() == 1 && s.numel() == gemm.n && s.is_contiguous() && only_use(made, id)) {
          bias = tensor(other);
          made = next.first;
          rest.erase(rest.begin());
        }
      }
    }
    if (!rest.empty()) {
      const NodeId id = rest[0];
      const Node& next = graph_.node(id);
      if (std::string_view(next.op->name) == "relu" && next.inputs[0] == made && only_use(made, id)) {
        gemm.activation = Activation::kRelu;
        made = next.first;
        rest.erase(rest.begin());
      }
    }
    // What the product makes goes straight to memory if it has a place; else to the chain's last result, which is
    // computed there in place.
    Tensor c;
    TileProgram epilogue;
    if (place_of(made).space != Space::kNone) {
      c = tensor(made);
    } else {
      c = tensor(rest.empty() ? made : graph_.node(rest.back()).first);
      tensors_[static_cast<size_t>(made)] = c;
    }
    if (!rest.empty()) epilogue = build_chain(rest, made, graph_.symbol(n.first).rank() - 1);
    return std::make_unique<GemmStep<T>>(gemm, a, b, c, bias, std::move(epilogue));
  }

  void place_scratch() {
    const size_t team = static_cast<size_t>(options_.threads);
    size_t most = 0;
    for (const auto& step : program_.steps) most = std::max(most, round_up(step->private_scratch()));
    program_.scratch_bytes += most * team;
    program_.scratch = Tensor::empty({static_cast<int64_t>(most * team)}, kU8);
    std::byte* base = static_cast<std::byte*>(program_.scratch.raw());
    for (const auto& step : program_.steps) step->set_private_scratch(base, most);
    for (size_t i = 0; i < scratch_steps_.size(); i++)
      for (const auto& step : program_.steps)
        if (step->position == scratch_steps_[i])
          step->set_shared_scratch(static_cast<std::byte*>(program_.arena.raw()) + scratch_offsets_[i]);
  }

  const Graph& graph_;
  const std::vector<Group>& groups_;
  const LowerOptions& options_;
  std::vector<Place> places_;
  std::vector<Tensor> tensors_;
  std::vector<int> scratch_steps_;
  std::vector<size_t> scratch_offsets_;
  Program program_;
};

}  // namespace

Program lower(const Graph& graph, const std::vector<Group>& groups, const LowerOptions& options) {
  return Lowering(graph, groups, options).run();
}

}  // namespace ingot::graph
