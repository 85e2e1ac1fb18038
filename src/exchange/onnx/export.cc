// Export: a function is captured (twice, with two batch sizes, to see what follows the batch), and each of its ops writes
// what it becomes.
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>

#include "exchange/onnx/batch_norm_pattern.h"
#include "exchange/onnx/emit.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/text.h"
#include "ingot/exchange/onnx.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::onnx {

// Emitter ---------------------------------------------------------------------------------------------------------------

std::string Emitter::node(const std::string& op, const Names& inputs, const std::vector<Written>& attributes) {
  return nodes(op, inputs, 1, attributes)[0];
}
Emitter::Names Emitter::nodes(const std::string& op, const Names& inputs, size_t results,
                              const std::vector<Written>& attributes, const std::string& domain) {
  Item item{.op = op, .domain = domain, .name = {}, .inputs = inputs, .outputs = {}, .attributes = attributes};
  while (!item.inputs.empty() && item.inputs.back().empty()) item.inputs.pop_back();
  if (!in_function_) item.name = (scope.empty() ? "" : scope + "/") + op + "_" + std::to_string(items.size());
  for (size_t i = 0; i < results; i++) item.outputs.push_back("v" + std::to_string(next_++));
  items.push_back(std::move(item));
  return items.back().outputs;
}
std::string Emitter::constant(const Tensor& t) {
  if (!in_function_) {
    constants.emplace_back("constant_" + std::to_string(constants.size()), t);
    return constants.back().first;
  }
  std::string name = node("Constant", {});
  items.back().value = std::make_shared<const Tensor>(t);
  return name;
}
std::string Emitter::integers(const std::vector<int64_t>& values) { return constant(Tensor::from(values)); }
std::string Emitter::filled(const Dims& shape, double value, DType dtype) {
  std::string name = node("ConstantOfShape", {integers(listed(shape))});
  items.back().value = std::make_shared<const Tensor>(full({1}, value, dtype));
  return name;
}
std::string Emitter::number(double value, DType dtype) { return constant(full({}, value, dtype)); }

// OpUse -----------------------------------------------------------------------------------------------------------------

std::vector<int64_t> OpUse::free_shape(int value) const {
  std::vector<int64_t> shape = listed(graph_.value(value).shape);
  if (other_ != nullptr)
    for (size_t a = 0; a < shape.size(); a++)
      if (other_->value(value).shape[static_cast<int>(a)] != shape[a]) shape[a] = -1;
  return shape;
}
bool OpUse::wanted(int k) const {
  const int v = node_.first + k;
  for (const auto& [name, value] : graph_.outputs)
    if (value == v) return true;
  return std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [&](const Captured::Node& n) {
    return std::find(n.inputs.begin(), n.inputs.end(), v) != n.inputs.end();
  });
}
void OpUse::fail(const std::string& what) const {
  std::vector<std::string> shapes;
  shapes.reserve(node_.inputs.size());
  for (const int v : node_.inputs) shapes.push_back(v < 0 ? "-" : to_string(graph_.value(v).shape));
  throw Error("onnx: " + std::string(node_.scope) + (node_.scope.empty() ? "" : "/") + node_.op->name + ": " + what +
              " cannot be written as ONNX (" + join(shapes) + ")");
}

// What the file is made of ------------------------------------------------------------------------------------------------

namespace {

FieldWriter message(const Written& a) {
  FieldWriter m;
  m.text(1, a.name);
  switch (a.kind) {
    case Written::Kind::kReal: m.real(2, static_cast<float>(a.real)); break;
    case Written::Kind::kInteger: m.integer(3, a.integer); break;
    case Written::Kind::kText: m.text(4, a.text); break;
    case Written::Kind::kIntegers:
      for (const int64_t i : a.integers) m.integer(8, i);
      break;
  }
  m.integer(20, static_cast<int64_t>(a.kind));
  return m;
}

FieldWriter message(const Emitter::Item& item) {
  FieldWriter m;
  for (const std::string& in : item.inputs) m.text(1, in);
  for (const std::string& out : item.outputs) m.text(2, out);
  if (!item.name.empty()) m.text(3, item.name);
  m.text(4, item.op);
  for (const Written& a : item.attributes) m.message(5, message(a));
  if (item.value != nullptr) {
    FieldWriter a;
    a.text(1, "value");
    a.message(5, tensor_message("", type_of(item.value->dtype()), contiguous(*item.value)));
    a.integer(20, 4);
    m.message(5, a);
  }
  if (!item.domain.empty()) m.text(7, item.domain);
  return m;
}

FieldWriter opset(const std::string& domain, int version) {
  FieldWriter m;
  if (!domain.empty()) m.text(1, domain);
  m.integer(2, version);
  return m;
}

FieldWriter value_info(const std::string& name, DType dtype, const Dims& shape, const std::vector<std::string>& free) {
  FieldWriter dims, tensor, type, info;
  for (int a = 0; a < shape.size(); a++) {
    FieldWriter d;
    const std::string& symbol = free[static_cast<size_t>(a)];
    if (symbol.empty())
      d.integer(1, shape[a]);
    else
      d.text(2, symbol);
    dims.message(1, d);
  }
  tensor.integer(1, static_cast<int64_t>(type_of(dtype)));
  tensor.message(2, dims);
  type.message(1, tensor);
  info.text(1, name);
  info.message(2, type);
  return info;
}

bool same_memory(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

bool same_elements(const Tensor& a, const Tensor& b) {
  if (same_memory(a, b)) return true;
  if (a.dtype() != b.dtype() || !(a.shape() == b.shape())) return false;
  const Tensor x = contiguous(a), y = contiguous(b);
  return x.numel() == 0 || std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel()) * size_of(x.dtype())) == 0;
}

bool same(const Attr& a, const Attr& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Attr::Kind::kInt: return a.integer == b.integer;
    case Attr::Kind::kReal: return std::bit_cast<uint64_t>(a.real) == std::bit_cast<uint64_t>(b.real);
    case Attr::Kind::kInts: return a.ints == b.ints;
    case Attr::Kind::kText: return a.text == b.text;
    case Attr::Kind::kPointer: return a.pointer == b.pointer;
  }
  return false;
}

class Exporter {
 public:
  Exporter(const PlanFunction& fn, std::span<const InputSpec> inputs, std::span<const NamedTensor> weights,
           const ExportOptions& o)
      : options_(o),
        specs_(inputs.begin(), inputs.end()),
        weights_(weights),
        graph_(capture_function(fn, inputs)),
        emitter_(false) {
    if (o.batch_axis < 0) return;
    std::vector<InputSpec> larger = specs_;
    for (InputSpec& s : larger)
      if (o.batch_axis < s.shape.size()) s.shape[static_cast<int>(o.batch_axis)] += kMore;
    other_ = capture_function(fn, larger);
    bool same = other_->nodes.size() == graph_.nodes.size();
    for (size_t i = 0; same && i < graph_.nodes.size(); i++)
      same = graph_.nodes[i].kind == other_->nodes[i].kind && graph_.nodes[i].op == other_->nodes[i].op &&
             graph_.nodes[i].inputs == other_->nodes[i].inputs;
    for (size_t v = 0; same && v < graph_.values.size(); v++)
      same = graph_.values[v].dtype == other_->values[v].dtype &&
             graph_.values[v].shape.size() == other_->values[v].shape.size();
    if (!same)
      throw Error(
          "onnx: the function calls other ops for other batch sizes — export it for one size, with batch_axis = -1");
  }

  std::string write() {
    mark();
    for (size_t i = 0; i < graph_.nodes.size(); i++)
      if (needed_[i]) emit(i);
    return file();
  }

 private:
  const Captured* other() const { return other_ ? &*other_ : nullptr; }
  const Captured::Node& maker(int v) const { return graph_.maker(v); }
  bool is(const Captured::Node& n, std::string_view op) const { return n.op != nullptr && op == n.op->name; }

  // The product that goes into a recurrence, if one does: its parts become the format's own.
  const Captured::Node* linear_before(const Captured::Node& n) const {
    if (!is(n, "lstm_sequence") && !is(n, "gru_sequence")) return nullptr;
    const Captured::Node& before = maker(n.inputs[0]);
    return is(before, "linear") ? &before : nullptr;
  }

  // Values that a node is written with.
  std::vector<int> reads(size_t i) const {
    const Captured::Node& n = graph_.nodes[i];
    if (const auto found = norms_.find(i); found != norms_.end()) {
      const BatchNormPattern& p = found->second;
      return {p.x, p.weight, p.bias, p.mean, p.variance};
    }
    std::vector<int> values = n.inputs;
    if (const Captured::Node* linear = linear_before(n)) {
      values[0] = linear->inputs[0];
      values.resize(4, -1);
      for (size_t k = 0; k < 3; k++) values.push_back(k < linear->inputs.size() ? linear->inputs[k] : -1);
    }
    return values;
  }

  void mark() {
    needed_.assign(graph_.nodes.size(), false);
    for (const Captured::Node& n : graph_.nodes)
      if (n.stores)
        throw Error("onnx: " + std::string(n.scope) +
                    " writes memory, as layers do while they train — call eval() first");
    for (const auto& [name, value] : graph_.outputs) needed_[static_cast<size_t>(graph_.value(value).node)] = true;
    for (size_t i = graph_.nodes.size(); i-- > 0;) {
      if (!needed_[i] || graph_.nodes[i].kind != Captured::Kind::kOp) continue;
      if (const auto pattern = find_batch_norm(graph_, i)) norms_.emplace(i, *pattern);
      for (const int v : reads(i))
        if (v >= 0) needed_[static_cast<size_t>(graph_.value(v).node)] = true;
    }
  }

  // What a call is told besides tensors, and tensors from elsewhere, are the same whatever the batch is. Shapes and the
  // ends of slices may follow it: who writes them looks into both captures.
  void refuse_what_follows(size_t i) const {
    if (!other_) return;
    const Captured::Node &a = graph_.nodes[i], &b = other_->nodes[i];
    const auto refuse = [&](const std::string& what) {
      throw Error("onnx: " + std::string(a.scope) + (a.scope.empty() ? "" : "/") + what +
                  " follows the batch — export for one size, with batch_axis = -1");
    };
    if (a.kind == Captured::Kind::kBound && !same_elements(a.bound, b.bound))
      refuse("a tensor " + to_string(a.bound.shape()) + " that is no weight");
    if (a.kind != Captured::Kind::kOp) return;
    for (int k = 0; k < std::min(a.attrs->size(), b.attrs->size()); k++) {
      const Attr &x = (*a.attrs)[k], &y = (*b.attrs)[k];
      const bool looked_up = is(a, "slice")
                                 ? x.name != "axis" && x.name != "step"
                                 : x.kind == Attr::Kind::kInts && (is(a, "reshape") || is(a, "broadcast_to"));
      if (!looked_up && !same(x, y)) refuse(std::string(a.op->name) + "'s " + std::string(x.name));
    }
  }

  void emit(size_t i) {
    refuse_what_follows(i);
    const Captured::Node& n = graph_.nodes[i];
    if (n.kind == Captured::Kind::kInput) return name_value(n.first, input_name(static_cast<size_t>(n.input)));
    if (n.kind == Captured::Kind::kBound) return name_value(n.first, bound(n.bound));
    emitter_.scope = n.scope;
    if (norms_.contains(i)) return emit_norm(i);
    if (n.inputs.empty() && !n.draws && n.op->role != OpRole::kRandom) return emit_constant(n, i);
    if (is(n, "select") && is(maker(n.inputs[0]), "lstm_sequence") && n.inputs[0] == maker(n.inputs[0]).first + 1)
      return emit_last_state(n, i);
    Emitter::Names in;
    for (const int v : reads(i)) in.push_back(v < 0 ? "" : names_.at(v));
    const auto row = [&](std::span<const WriteRow> rows) {
      return std::find_if(rows.begin(), rows.end(), [&](const WriteRow& r) { return is(n, r.op); });
    };
    const auto plain = row(write_rows()), layer = row(write_layer_rows());
    const WriteRow* found = plain != write_rows().end()         ? &*plain
                            : layer != write_layer_rows().end() ? &*layer
                                                                : nullptr;
    OpUse use(emitter_, graph_, other(), i, in);
    if (n.draws || n.op->role == OpRole::kRandom) use.fail("numbers that are drawn anew at every run");
    if (found == nullptr) use.fail("the op");
    if (found->own)
      emit_own(*found, use, i);
    else
      found->write(use);
    for (size_t k = 0; k < use.out.size(); k++) name_value(n.first + static_cast<int>(k), use.out[k]);
  }

  void name_value(int v, const std::string& name) { names_[v] = name; }
  std::string input_name(size_t i) const {
    if (!specs_[i].name.empty()) return specs_[i].name;
    return specs_.size() == 1 ? "x" : "x" + std::to_string(i);
  }
  std::string bound(const Tensor& t) {
    for (const NamedTensor& w : weights_)
      if (same_memory(w.tensor, t)) {
        if (std::none_of(initializers_.begin(), initializers_.end(),
                         [&](const auto& each) { return each.first == w.name; }))
          initializers_.emplace_back(w.name, t);
        return w.name;
      }
    return emitter_.constant(t);
  }

  void emit_constant(const Captured::Node& n, size_t i) {
    OpUse use(emitter_, graph_, other(), i, {});
    for (const int64_t size : use.free_result())
      if (size < 0) use.fail("a constant that follows the batch");
    name_value(n.first, emitter_.constant(call(*n.op, std::span<const Tensor* const>(), *n.attrs)));
  }

  void emit_norm(size_t i) {
    const BatchNormPattern& p = norms_.at(i);
    const DType type = graph_.value(p.x).dtype;
    const Dims channels = graph_.value(p.mean).shape;
    const auto given = [&](int v, double otherwise) {
      return v >= 0 ? names_.at(v) : emitter_.filled(channels, otherwise, type);
    };
    name_value(graph_.nodes[i].first, emitter_.node("BatchNormalization",
                                                    {names_.at(p.x), given(p.weight, 1), given(p.bias, 0),
                                                     names_.at(p.mean), names_.at(p.variance)},
                                                    {{"epsilon", p.eps}}));
  }

  // An LSTM's cells are only known after the last step.
  void emit_last_state(const Captured::Node& n, size_t i) {
    OpUse use(emitter_, graph_, other(), i, {names_.at(n.inputs[0])});
    const Captured::Node& lstm = maker(n.inputs[0]);
    const int64_t steps = graph_.value(n.inputs[0]).shape[0], index = use.integer("index");
    const bool reverse = Call{*lstm.op, {}, *lstm.attrs}.flag("reverse");
    if (use.integer("axis") != 0 || (index + steps) % steps != (reverse ? 0 : steps - 1))
      use.fail("a cell's state before the last step");
    name_value(n.first, names_.at(n.inputs[0]));
  }

  // The op as a function whose body is ONNX's own, and a call of it with what the op needs to be itself again.
  void emit_own(const WriteRow& row, OpUse& use, size_t i) {
    Emitter body(true);
    Emitter::Names formal;
    for (size_t k = 0; k < use.in.size(); k++) formal.push_back(use.in[k].empty() ? "" : "in" + std::to_string(k));
    OpUse inside(body, graph_, other(), i, formal);
    row.write(inside);
    FieldWriter m;
    for (size_t k = 0; k < use.in.size(); k++) m.text(4, "in" + std::to_string(k));
    for (const std::string& out : inside.out) m.text(5, out);
    const std::vector<Written> attributes = attributes_of(use.captured());
    for (const Written& a : attributes) m.text(6, a.name);
    for (const Emitter::Item& item : body.items) m.message(7, message(item));
    m.message(9, opset("", kExportOpset));
    m.text(10, kOwnDomain);
    std::string& name = functions_[m.bytes()];
    if (name.empty()) {  // functions of one op differ by what its attributes made of them
      const int count = copies_[row.op]++;
      name = std::string(row.op) + (count == 0 ? "" : "__" + std::to_string(count));
      m.text(1, name);
      written_.push_back(m);
    }
    use.out = use.e.nodes(name, use.in, inside.out.size(), attributes, kOwnDomain);
  }

  static std::vector<Written> attributes_of(const Captured::Node& n) {
    std::vector<Written> list;
    for (int k = 0; k < n.attrs->size(); k++) {
      const Attr& a = (*n.attrs)[k];
      const std::string name(a.name);
      switch (a.kind) {
        case Attr::Kind::kInt: list.push_back({name, a.integer}); break;
        case Attr::Kind::kReal: list.push_back({name, a.real}); break;
        case Attr::Kind::kInts: list.push_back({name, listed(a.ints)}); break;
        default: list.push_back({name, std::string(a.text)}); break;
      }
    }
    return list;
  }

  std::vector<std::string> free_names(int value) const {
    std::vector<std::string> names;
    const Dims& shape = graph_.value(value).shape;
    for (int a = 0; a < shape.size(); a++) {
      const bool follows = other_ && other_->value(value).shape[a] != shape[a];
      names.push_back(!follows                                            ? ""
                      : other_->value(value).shape[a] == shape[a] + kMore ? "batch"
                                                                          : "sizes_" + std::to_string(a));
    }
    return names;
  }

  std::string file() {
    // Results are what their nodes write; what has a name of its own (an input, a weight, a result twice) is copied.
    std::unordered_map<std::string, std::string> renamed;
    std::vector<std::pair<std::string, int>> results;
    for (size_t i = 0; i < graph_.outputs.size(); i++) {
      const auto& [given, value] = graph_.outputs[i];
      const std::string plain = graph_.outputs.size() == 1 ? "y" : "y" + std::to_string(i);
      results.emplace_back(given.starts_with("output ") ? plain : given, value);
      const std::string& now = names_.at(value);
      const bool made = std::any_of(emitter_.items.begin(), emitter_.items.end(), [&](const Emitter::Item& item) {
        return std::find(item.outputs.begin(), item.outputs.end(), now) != item.outputs.end();
      });
      if (made && !renamed.contains(now)) {
        renamed[now] = results.back().first;
      } else {
        emitter_.scope = "";
        renamed[emitter_.node("Identity", {now})] = results.back().first;
      }
    }
    FieldWriter graph;
    for (Emitter::Item& item : emitter_.items) {
      for (auto* list : {&item.inputs, &item.outputs})
        for (std::string& name : *list)
          if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
      graph.message(1, message(item));
    }
    graph.text(2, options_.name);
    for (const auto* list : {&initializers_, &emitter_.constants})
      for (const auto& [name, t] : *list) graph.message(5, tensor_message(name, type_of(t.dtype()), contiguous(t)));
    for (const Captured::Node& n : graph_.nodes)
      if (n.kind == Captured::Kind::kInput)
        graph.message(11, value_info(input_name(static_cast<size_t>(n.input)), graph_.value(n.first).dtype,
                                     graph_.value(n.first).shape, free_names(n.first)));
    for (const auto& [name, value] : results)
      graph.message(12, value_info(name, graph_.value(value).dtype, graph_.value(value).shape, free_names(value)));
    FieldWriter model;
    model.integer(1, kExportIr);
    model.text(2, "ingot");
    model.message(7, graph);
    model.message(8, opset("", kExportOpset));
    if (!written_.empty()) model.message(8, opset(kOwnDomain, 1));
    for (const FieldWriter& f : written_) model.message(25, f);
    return model.bytes();
  }

  static constexpr int64_t kMore = 3;  // in the second capture: half and a third of the batch grow by another number
  const ExportOptions& options_;
  std::vector<InputSpec> specs_;
  std::span<const NamedTensor> weights_;
  Captured graph_;
  std::optional<Captured> other_;
  Emitter emitter_;
  std::vector<bool> needed_;
  std::map<size_t, BatchNormPattern> norms_;
  std::unordered_map<int, std::string> names_;
  std::vector<std::pair<std::string, Tensor>> initializers_;
  std::map<std::string, std::string> functions_;  // by their bodies
  std::map<std::string, int> copies_;
  std::vector<FieldWriter> written_;
};

}  // namespace

std::string to_onnx(const PlanFunction& fn, std::span<const InputSpec> inputs, std::span<const NamedTensor> weights,
                    const ExportOptions& options) {
  return Exporter(fn, inputs, weights, options).write();
}

std::string to_onnx(nn::Layer& model, const InputSpec& input, const ExportOptions& options) {
  const std::vector<NamedTensor> weights = model.state_dict();
  const PlanFunction fn = [&](std::span<const Tensor> in) { return std::vector<NamedTensor>{{"", model(in[0])}}; };
  return to_onnx(fn, std::span(&input, 1), weights, options);
}

void save(const std::string& path, nn::Layer& model, const InputSpec& input, const ExportOptions& options) {
  write_file(path, to_onnx(model, input, options));
}

}  // namespace ingot::onnx
