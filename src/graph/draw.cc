// Plan::dot and Plan::svg: what was captured, and what became of it.
#include <algorithm>

#include "graph/picture.h"
#include "graph/plan_impl.h"
#include "graph/slabs.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/text.h"

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

std::string size_text(const Operand& o) { return size_text(o.shape, o.dtype); }

Picture::Box constant_box(const Tensor& t) {
  const bool one = t.numel() == 1;
  Picture::Box box{Look::kConstant, {one ? to_string(t) : "constant"}};
  if (!one) box.lines.push_back(size_text(t));
  return box;
}

int input_box(const Program& program, int i, std::vector<int>& known, Picture& picture) {
  known.resize(program.inputs.size(), -1);
  int& box = known[static_cast<size_t>(i)];
  const Program::Input& s = program.inputs[static_cast<size_t>(i)];
  if (box < 0) box = picture.add({Look::kInput, {s.name, size_text(s.shape, s.dtype)}});
  return box;
}

Look look_of(Role role, bool named) {
  if (role != Role::kOther) return role == Role::kParameter ? Look::kParameter : Look::kState;
  return named ? Look::kParameter : Look::kBound;
}

// Tensors that a capture met: the user's, or constants.
class Bound {
 public:
  Bound(const PlanOptions& options, Picture& picture) : options_(options), picture_(picture) {}

  int box(const Tensor& t, bool constant) {
    for (const Known& k : known_)
      if (k.tensor.raw() == t.raw() && k.tensor.shape() == t.shape() && k.tensor.strides() == t.strides()) return k.box;
    const Picture::Box box =
        constant ? constant_box(t) : Picture::Box{look_of(role(t), named(t)), {name_of(t), size_text(t)}};
    known_.push_back({t, picture_.add(box)});
    return known_.back().box;
  }

  std::string name_of(const Tensor& t) const {
    for (const NamedTensor& n : options_.names)
      if (n.tensor.raw() == t.raw() && n.tensor.numel() == t.numel()) return n.name;
    return role_name(role(t));
  }

 private:
  Role role(const Tensor& t) const {
    for (const auto& [slab, role] : options_.roles)
      if (slab.shares_storage(t)) return role;
    return Role::kOther;
  }
  bool named(const Tensor& t) const {
    return std::any_of(options_.names.begin(), options_.names.end(),
                       [&](const NamedTensor& n) { return n.tensor.shares_storage(t); });
  }
  struct Known {
    Tensor tensor;
    int box;
  };
  const PlanOptions& options_;
  Picture& picture_;
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
  const Graph& g = *plan.graph;
  const Snapshot& s = plan.snapshot;
  Picture picture;
  picture.title =
      plan.options.name + " as captured: " + std::to_string(plan.captured) + (plan.captured == 1 ? " op" : " ops");
  Bound bound(plan.options, picture);
  std::vector<int> inputs;
  std::vector<int> box_of(s.nodes.size(), -1);
  size_t store = 0, next_bound = 0;
  for (size_t i = 0; i < s.nodes.size(); i++) {
    const Snapshot::Item& n = s.nodes[i];
    const auto id = static_cast<NodeId>(i);
    int& box = box_of[i];
    if (n.kind == NodeKind::kInput) box = input_box(plan.program(), n.input, inputs, picture);
    if (n.kind == NodeKind::kBound) box = bound.box(s.bound[next_bound++].second, n.constant);
    if (n.kind != NodeKind::kOp) continue;
    box = picture.add({n.op->view != nullptr ? Look::kView : Look::kOp, {n.op->name}});
    if (!n.scope.empty()) picture.boxes.back().lines.emplace_back(n.scope);
    for (const Snapshot::Use& use : s.uses_of(id))
      picture.connect(box_of[static_cast<size_t>(use.node)], box, size_text(g.symbol(use.value)));
    for (const NodeId before : order_before(s, id)) picture.connect(box_of[static_cast<size_t>(before)], box, "", true);
    for (; store < s.stores.size() && s.stores[store].first == id; store++) {
      const Tensor& t = s.stores[store].second;
      picture.connect(box, picture.add({Look::kOutput, {bound.name_of(t) + " written", size_text(t)}}), size_text(t));
    }
  }
  for (size_t i = 0; i < s.outputs.size(); i++) {
    const std::string size = size_text(g.symbol(s.outputs[i].value));
    const int box = picture.add({Look::kOutput, {g.outputs[i].name, size}});
    picture.connect(box_of[static_cast<size_t>(s.outputs[i].node)], box, size);
  }
  return picture;
}

// Who wrote what a record reads: the arena by the lifetimes of the values in it, all other memory by who wrote last.
class Records {
 public:
  explicit Records(const Plan::Impl& plan) : plan_(plan), program_(plan.program()) {}

  Picture draw() {
    const size_t count = program_.records.size();
    picture_.title = program_.name + ": " + std::to_string(count) + (count == 1 ? " step, " : " steps, ") +
                     std::to_string(program_.threads) + (program_.threads == 1 ? " thread, " : " threads, ") +
                     format_bytes(program_.arena_bytes) + " arena";
    for (const auto& kernel : plan_.executable->kernels) add(*kernel);
    for (const Written& w : written_) {  // what stays in memory of the user's after the last record
      if (w.own || w.read || overwritten(w)) continue;
      picture_.connect(w.box, picture_.add({Look::kOutput, {name_of(w.operand) + " updated", size_text(w.operand)}}),
                       size_text(w.operand));
    }
    for (const Program::Output& o : program_.outputs) {
      const int box = picture_.add({Look::kOutput, {o.name, size_text(o.operand)}});
      for (const Written& w : written_)
        if (w.extent.meets(extent_of(o.operand)) && !overwritten(w)) picture_.connect(w.box, box, size_text(o.operand));
    }
    return std::move(picture_);
  }

 private:
  struct Written {
    Operand operand;
    Extent extent;
    int box;
    bool own;   // a result of the plan, not memory of the user's
    bool read;  // by a later record
  };

  void add(const Kernel& kernel) {
    const Record& r = kernel.record();
    const bool check = r.kind == Record::Kind::kCheck;
    Picture::Box look{r.kind == Record::Kind::kProduct       ? Look::kGemm
                      : r.kind == Record::Kind::kOp || check ? Look::kOp
                                                             : Look::kFused,
                      {std::to_string(r.position) + "  " + r.label}};
    look.barrier = r.barrier;
    const std::string detail = kernel.detail();
    add_wrapped(look.lines,
                std::string(r.kind_name()) + (r.wide ? ", shared" : "") + (detail.empty() ? "" : "; " + detail));
    const int box = picture_.add(look);
    const auto position = static_cast<size_t>(r.position);
    if (!check) {
      if (position >= box_at_.size()) box_at_.resize(position + 1);
      box_at_[position] = box;
    }
    std::vector<Extent> reads;
    for (const Operand& o : r.operands) {
      if (o.written || !o.given() || o.numel() == 0) continue;
      reads.push_back(extent_of(o));
      read(o, r.position, box);
    }
    for (const Operand& o : r.operands) write(o, box, reads);
    for (const Buffer& b : program_.buffers)
      if (b.shared && b.first == r.position && !check) picture_.boxes[static_cast<size_t>(box)].in_place = true;
  }

  void write(const Operand& o, int box, const std::vector<Extent>& reads) {
    if (!o.written || o.numel() == 0 || (o.space != Space::kOutput && o.space != Space::kBound)) return;
    const Extent extent = extent_of(o);
    // The product of a GEMM is read where its epilogue then writes: that is no value of another record's.
    const bool own = o.space == Space::kOutput;
    for (const Extent& e : reads) picture_.boxes[static_cast<size_t>(box)].in_place |= !own && e == extent;
    const auto same = [&](const Written& w) { return w.box == box && w.extent == extent; };
    if (std::none_of(written_.begin(), written_.end(), same)) written_.push_back({o, extent, box, own, false});
  }

  void read(const Operand& o, int position, int box) {
    if (o.space == Space::kInput)
      return picture_.connect(input_box(program_, o.index, inputs_, picture_), box, size_text(o));
    if (o.space == Space::kArena) {
      const auto offset = static_cast<size_t>(o.offset);
      for (const Buffer& b : program_.buffers)
        if (offset >= b.offset && offset < b.offset + b.bytes && b.first < position && position <= b.last)
          return picture_.connect(box_at_[static_cast<size_t>(b.first)], box, size_text(o));
      return;  // what the record itself made
    }
    bool found = false;
    const Extent extent = extent_of(o);
    for (Written& w : written_) {
      if (!w.extent.meets(extent) || overwritten(w)) continue;
      w.read = true;
      found = true;
      picture_.connect(w.box, box, size_text(w.extent.covers(extent) ? o : w.operand));
    }
    if (!found && o.space != Space::kOutput) picture_.connect(source(o), box, size_text(o));
  }

  // The box of memory that no record wrote.
  int source(const Operand& o) {
    const auto same = [&](const Source& k) {
      return k.operand.space == o.space && k.operand.index == o.index && k.operand.offset == o.offset &&
             k.operand.shape == o.shape && k.operand.strides == o.strides;
    };
    if (const auto known = std::find_if(sources_.begin(), sources_.end(), same); known != sources_.end())
      return known->box;
    Picture::Box box;
    if (o.space == Space::kConstant) {
      box = constant_box(plan_.context->tensor(o));
    } else {
      const Program::Slab& slab = program_.slabs[static_cast<size_t>(o.index)];
      box = {look_of(slab.role, !slab.parts.empty()), {name_of(o), size_text(o)}};
    }
    sources_.push_back({o, picture_.add(box)});
    return sources_.back().box;
  }

  std::string name_of(const Operand& o) const {
    const Program::Slab& slab = program_.slabs[static_cast<size_t>(o.index)];
    for (const Program::Slab::Part& part : slab.parts)
      if (part.offset == o.offset && part.numel == o.numel()) return part.name;
    return role_name(slab.role);
  }

  // Has a later record written all of it again?
  bool overwritten(const Written& w) const {
    for (const Written* later = &w + 1; later < written_.data() + written_.size(); later++)
      if (later->extent.covers(w.extent)) return true;
    return false;
  }

  struct Source {
    Operand operand;
    int box;
  };
  const Plan::Impl& plan_;
  const Program& program_;
  Picture picture_;
  std::vector<Written> written_;
  std::vector<Source> sources_;
  std::vector<int> inputs_;
  std::vector<int> box_at_;  // by position of the record
};

Picture picture_of(const Plan::Impl& plan, bool after) {
  if (!after && plan.graph == nullptr)
    throw Error(plan.program().name +
                ": the plan was loaded from a file, which does not hold what was captured — draw the plan as it runs");
  return after ? Records(plan).draw() : captured(plan);
}

}  // namespace
}  // namespace graph

std::string Plan::dot(bool after) const { return graph::to_dot(graph::picture_of(impl(), after)); }
std::string Plan::svg(bool after) const { return graph::to_svg(graph::picture_of(impl(), after)); }

}  // namespace ingot
