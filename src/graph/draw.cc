// Plan::dot and Plan::svg: what was captured, and what became of it.
#include <algorithm>
#include <cstring>

#include "graph/picture.h"
#include "graph/plan_impl.h"
#include "graph/text.h"
#include "ingot/memory.h"

namespace ingot {
namespace graph {
namespace {

using Look = Picture::Look;

std::string size_text(const Dims& shape, DType dtype) {
  return to_string(shape) + (dtype == kF32 ? "" : std::string(" ") + name(dtype)) + ", " +
         format_bytes(static_cast<uint64_t>(element_count(shape)) * size_of(dtype));
}
std::string size_text(const Tensor& t) { return size_text(t.shape(), t.dtype()); }

// Long text in lines of a readable width, at most a few.
void add_wrapped(std::vector<std::string>& lines, std::string_view text) {
  constexpr size_t kWidth = 38, kMost = 4;
  for (size_t n = 0; !text.empty(); n++) {
    if (text.size() <= kWidth || n + 1 == kMost) return lines.push_back(shortened(text, kWidth));
    size_t cut = text.rfind("; ", kWidth - 1);
    if (cut != std::string_view::npos)
      cut += 1;
    else
      cut = text.rfind(' ', kWidth);
    if (cut == std::string_view::npos || cut == 0) cut = text.find(' ', kWidth);
    if (cut == std::string_view::npos) return lines.push_back(shortened(text, kWidth));
    lines.emplace_back(text.substr(0, cut));
    text.remove_prefix(cut + 1);
  }
}

// Where memory that the plan only refers to comes from: inputs, parameters, constants.
class Memory {
 public:
  Memory(const Plan::Impl& plan, Picture& picture) : plan_(plan), picture_(picture), inputs_(plan.specs.size(), -1) {}

  int input(int i) {
    int& box = inputs_[static_cast<size_t>(i)];
    const InputSpec& s = plan_.specs[static_cast<size_t>(i)];
    if (box < 0) box = picture_.add({Look::kInput, {s.name, size_text(s.shape, s.dtype)}});
    return box;
  }

  /// A tensor of the user's, or a constant.
  int bound(const Tensor& t, bool constant) {
    for (const Known& k : known_)
      if (k.tensor.raw() == t.raw() && k.tensor.shape() == t.shape() && k.tensor.strides() == t.strides()) return k.box;
    Picture::Box box;
    if (constant) {
      const bool one = t.numel() == 1;
      box = {Look::kConstant, {one ? to_string(t) : "constant"}};
      if (!one) box.lines.push_back(size_text(t));
    } else {
      box = {look(t), {name_of(t), size_text(t)}};
    }
    known_.push_back({t, picture_.add(box)});
    return known_.back().box;
  }

  std::string name_of(const Tensor& t) const {
    for (const NamedTensor& n : plan_.options.names)
      if (n.tensor.raw() == t.raw() && n.tensor.numel() == t.numel()) return n.name;
    static constexpr const char* kRoles[] = {"tensor", "parameters", "gradients", "state"};
    return kRoles[static_cast<int>(role(t))];
  }

  Look look(const Tensor& t) const {
    const Role r = role(t);
    if (r != Role::kOther) return r == Role::kParameter ? Look::kParameter : Look::kState;
    for (const NamedTensor& n : plan_.options.names)
      if (n.tensor.shares_storage(t)) return Look::kParameter;
    return Look::kBound;
  }

 private:
  Role role(const Tensor& t) const {
    for (const auto& [slab, role] : plan_.options.roles)
      if (slab.shares_storage(t)) return role;
    return Role::kOther;
  }
  struct Known {
    Tensor tensor;
    int box;
  };
  const Plan::Impl& plan_;
  Picture& picture_;
  std::vector<int> inputs_;
  std::vector<Known> known_;
};

// The nodes that must run before `id` for the sake of memory, without those that come before another of them anyway.
std::vector<NodeId> order_before(const Snapshot& s, NodeId id) {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto list = [&](NodeId n) {
    return std::equal_range(s.after.begin(), s.after.end(), std::pair<NodeId, NodeId>(n, 0), less);
  };
  const auto [first, last] = list(id);
  if (first == last) return {};
  std::vector<bool> known(static_cast<size_t>(id), false), earlier(static_cast<size_t>(id), false);
  for (auto it = first; it != last; ++it) known[static_cast<size_t>(it->second)] = true;
  for (NodeId n = id - 1; n >= 0; n--) {  // inputs have smaller numbers
    if (!known[static_cast<size_t>(n)] && !earlier[static_cast<size_t>(n)]) continue;
    for (const Snapshot::Use& use : s.uses_of(n)) earlier[static_cast<size_t>(use.node)] = true;
    for (auto [it, end] = list(n); it != end; ++it) earlier[static_cast<size_t>(it->second)] = true;
  }
  std::vector<NodeId> nodes;
  for (auto it = first; it != last; ++it)
    if (!earlier[static_cast<size_t>(it->second)]) nodes.push_back(it->second);
  return nodes;
}

Picture captured(const Plan::Impl& plan) {
  const Graph& g = plan.graph;
  const Snapshot& s = plan.snapshot;
  Picture picture;
  picture.title =
      plan.options.name + " as captured: " + std::to_string(plan.captured) + (plan.captured == 1 ? " op" : " ops");
  Memory memory(plan, picture);
  std::vector<int> box_of(s.nodes.size(), -1);
  size_t store = 0, bound = 0;
  for (size_t i = 0; i < s.nodes.size(); i++) {
    const Snapshot::Item& n = s.nodes[i];
    const auto id = static_cast<NodeId>(i);
    int& box = box_of[i];
    if (n.kind == NodeKind::kInput) box = memory.input(n.input);
    if (n.kind == NodeKind::kBound) box = memory.bound(s.bound[bound++].second, n.constant);
    if (n.kind != NodeKind::kOp) continue;
    box = picture.add({n.op->view != nullptr ? Look::kView : Look::kOp, {n.op->name}});
    if (!n.scope.empty()) picture.boxes.back().lines.emplace_back(n.scope);
    for (const Snapshot::Use& use : s.uses_of(id))
      picture.connect(box_of[static_cast<size_t>(use.node)], box, size_text(g.symbol(use.value)));
    for (const NodeId before : order_before(s, id)) picture.connect(box_of[static_cast<size_t>(before)], box, "", true);
    for (; store < s.stores.size() && s.stores[store].first == id; store++) {
      const Tensor& t = s.stores[store].second;
      picture.connect(box, picture.add({Look::kOutput, {memory.name_of(t) + " written", size_text(t)}}), size_text(t));
    }
  }
  for (size_t i = 0; i < s.outputs.size(); i++) {
    const std::string size = size_text(g.symbol(s.outputs[i].value));
    const int box = picture.add({Look::kOutput, {g.outputs[i].name, size}});
    picture.connect(box_of[static_cast<size_t>(s.outputs[i].node)], box, size);
  }
  return picture;
}

// The bytes from a tensor's first element to its last.
struct Range {
  explicit Range(const Tensor& t) : begin(reinterpret_cast<uintptr_t>(t.raw())), end(begin) {
    for (int a = 0; a < t.rank(); a++)
      end += static_cast<uintptr_t>(std::max<int64_t>(0, (t.shape()[a] - 1) * t.strides()[a])) * size_of(t.dtype());
    end += t.numel() > 0 ? size_of(t.dtype()) : 0;
  }
  bool meets(const Range& r) const { return begin < r.end && r.begin < end; }
  bool covers(const Range& r) const { return begin <= r.begin && end >= r.end; }
  uintptr_t begin, end;
};

// Who wrote what a step reads: arena memory by the lifetimes of the values in it, all other memory by who wrote last.
class Steps {
 public:
  explicit Steps(const Plan::Impl& plan) : plan_(plan), memory_(plan, picture_) {}

  Picture draw() {
    picture_.title = plan_.options.name + ": " + std::to_string(plan_.list.size()) +
                     (plan_.list.size() == 1 ? " step, " : " steps, ") + std::to_string(plan_.threads) +
                     (plan_.threads == 1 ? " thread, " : " threads, ") + format_bytes(plan_.program.arena_bytes) +
                     " arena";
    for (Step* step : plan_.list) add_step(*step);
    for (const Written& w : written_) {  // what stays in memory of the user's after the last step
      if (w.own || w.read || overwritten(w)) continue;
      picture_.connect(w.box,
                       picture_.add({Look::kOutput, {memory_.name_of(w.tensor) + " updated", size_text(w.tensor)}}),
                       size_text(w.tensor));
    }
    for (size_t i = 0; i < plan_.program.outputs.size(); i++) {
      const Tensor& t = plan_.program.outputs[i];
      const int box = picture_.add({Look::kOutput, {plan_.graph.outputs[i].name, size_text(t)}});
      for (size_t w = 0; w < written_.size(); w++)
        if (written_[w].range.meets(Range(t)) && !overwritten(written_[w]))
          picture_.connect(written_[w].box, box, size_text(t));
    }
    return std::move(picture_);
  }

 private:
  struct Written {
    Tensor tensor;
    Range range;
    int box;
    bool own;   // a result of the plan, not memory of the user's
    bool read;  // by a later step
  };

  void add_step(Step& step) {
    const std::string_view kind = step.kind;
    Picture::Box look{kind == "gemm"                    ? Look::kGemm
                      : kind == "op" || kind == "check" ? Look::kOp
                                                        : Look::kFused,
                      {std::to_string(step.position) + "  " + step.name}};
    look.barrier = step.barrier;
    add_wrapped(look.lines, std::string(kind) + (step.wide ? ", shared" : "") +
                                (step.detail().empty() ? "" : "; " + step.detail()));
    const int box = picture_.add(look);
    if (kind != "check") {
      if (static_cast<size_t>(step.position) >= box_at_.size()) box_at_.resize(static_cast<size_t>(step.position) + 1);
      box_at_[static_cast<size_t>(step.position)] = box;
    }
    std::vector<Range> reads;
    step.each_tensor([&](Tensor& t, bool written) {
      if (written || t.numel() == 0) return;
      reads.emplace_back(t);
      read(t, step.position, box);
    });
    const auto same = [](const Range& a, const Range& b) { return a.begin == b.begin && a.end == b.end; };
    step.each_tensor([&](Tensor& t, bool writes) {
      if (!writes || t.numel() == 0) return;
      const Range range(t);
      if (t.shares_storage(plan_.program.arena)) return;
      // The product of a GEMM is read where its epilogue then writes: that is no value of another step's.
      const bool own = t.shares_storage(plan_.program.results);
      for (const Range& r : reads) picture_.boxes[static_cast<size_t>(box)].in_place |= !own && same(r, range);
      if (std::any_of(written_.begin(), written_.end(),
                      [&](const Written& w) { return w.box == box && same(w.range, range); }))
        return;
      written_.push_back({t, range, box, own, false});
    });
    for (const Buffer& b : plan_.program.buffers)
      if (b.shared && b.first == step.position && kind != "check")
        picture_.boxes[static_cast<size_t>(box)].in_place = true;
  }

  void read(const Tensor& t, int position, int box) {
    const Program& p = plan_.program;
    for (size_t i = 0; i < p.inputs.size(); i++)
      if (t.shares_storage(p.inputs[i])) return picture_.connect(memory_.input(static_cast<int>(i)), box, size_text(t));
    if (t.shares_storage(p.arena)) {
      const auto offset =
          static_cast<size_t>(static_cast<std::byte*>(t.raw()) - static_cast<std::byte*>(p.arena.raw()));
      for (const Buffer& b : p.buffers)
        if (offset >= b.offset && offset < b.offset + b.bytes && b.first < position && position <= b.last)
          return picture_.connect(box_at_[static_cast<size_t>(b.first)], box, size_text(t));
      return;  // what the step itself made
    }
    bool found = false;
    for (Written& w : written_) {
      if (!w.range.meets(Range(t)) || overwritten(w)) continue;
      w.read = true;
      found = true;
      picture_.connect(w.box, box, size_text(w.range.covers(Range(t)) ? t : w.tensor));
    }
    if (found || t.shares_storage(p.results)) return;
    const bool constant =
        std::any_of(p.constants.begin(), p.constants.end(), [&](const Tensor& c) { return c.shares_storage(t); });
    picture_.connect(memory_.bound(t, constant), box, size_text(t));
  }

  // Has a later step written all of it again?
  bool overwritten(const Written& w) const {
    for (const Written* later = &w + 1; later < written_.data() + written_.size(); later++)
      if (later->range.covers(w.range)) return true;
    return false;
  }

  const Plan::Impl& plan_;
  Picture picture_;
  Memory memory_;
  std::vector<Written> written_;
  std::vector<int> box_at_;  // by position of the step
};

Picture picture_of(const Plan::Impl& plan, bool after) { return after ? Steps(plan).draw() : captured(plan); }

}  // namespace
}  // namespace graph

std::string Plan::dot(bool after) const { return graph::to_dot(graph::picture_of(impl(), after)); }
std::string Plan::svg(bool after) const { return graph::to_svg(graph::picture_of(impl(), after)); }

}  // namespace ingot
