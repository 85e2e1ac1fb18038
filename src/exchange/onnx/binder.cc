#include "exchange/onnx/binder.h"

#include <algorithm>
#include <array>
#include <optional>

#include "exchange/onnx/elementwise.h"
#include "exchange/onnx/patterns.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/exchange/onnx.h"
#include "ingot/graph/eager.h"
#include "ingot/graph/plan.h"

namespace ingot::onnx {
namespace {

constexpr int kMostFunctions = 32;
constexpr int64_t kMostNodes =
    1'000'000;  // with those of loops and functions each time: a hostile model would never end

// "Conv \"layer1/conv\"", or what the node makes if it has no name.
std::string called(const Node& node) {
  if (!node.name.empty()) return node.kind() + " " + in_quotes(node.name);
  return node.outputs.empty() ? node.kind() : node.kind() + " of " + in_quotes(node.outputs[0]);
}

// The attributes of a function's node that are named by the function's own become what the caller gave for them.
Node filled_in(const Node& node, const Node& caller) {
  Node filled = node;
  std::erase_if(filled.attributes, [&](Attribute& a) {
    if (a.reference.empty()) return false;
    const Attribute* given = caller.find(a.reference);
    if (given == nullptr) return true;
    const std::string name = a.name;
    a = *given;
    a.name = name;
    return false;
  });
  return filled;
}

// What our own exporter wrote as a function: the very op again, with its own inputs and attributes.
void run_own_op(Use& u) {
  const Op& op = *find_own_op(u.node());
  std::vector<Tensor> inputs;
  inputs.reserve(static_cast<size_t>(u.count()));
  for (int i = 0; i < u.count(); i++) inputs.push_back(u.optional(i));
  while (!inputs.empty() && !inputs.back().defined()) inputs.pop_back();
  Attrs attrs;
  for (int i = 0; i < op.signature.attr_count(); i++) {
    const Signature::Attribute a = op.signature.attr(i);
    const Attribute* given = u.find(a.name);
    if (given == nullptr) u.fail("no attribute \"" + std::string(a.name) + "\"", "the file is broken");
    if (a.type == AttrType::kReal)
      attrs.set(a.name, static_cast<double>(given->real));
    else if (a.type == AttrType::kInts)
      attrs.set(a.name, Dims(given->integers));
    else if (a.type == AttrType::kText)
      attrs.set(a.name, std::string_view(given->text));
    else
      attrs.set(a.name, given->integer);
  }
  std::vector<const Tensor*> list;
  list.reserve(inputs.size());
  for (const Tensor& t : inputs) list.push_back(&t);
  std::vector<Tensor> results(static_cast<size_t>(output_count(op)));
  call(op, list, attrs, results);
  for (const Tensor& t : results) u.out(t, carrier(u.type()) == t.dtype() ? u.type() : type_of(t.dtype()));
}

}  // namespace

const Op* find_own_op(const Node& node) {
  if (node.domain != "ingot") return nullptr;
  const Op* op = find_op(node.op.substr(0, node.op.find("__")));
  // Of a file one takes what computes, not what draws or follows an address.
  if (op == nullptr || op->role == OpRole::kRandom) return nullptr;
  for (int i = 0; i < op->signature.attr_count(); i++)
    if (op->signature.attr(i).type == AttrType::kPointer) return nullptr;
  return op;
}

Binder::Binder(const File& file, const Weights& weights, const BinderOptions& options)
    : file_(file), weights_(weights), options_(options), capturing_(ingot::capturing()) {
  if (options.frozen && !options.as_written) norm_after_ = norms_after_convolutions(file.graph);
}

Value Binder::literal(const Literal& literal) const {
  if (const auto found = weights_.find(&literal); found != weights_.end())
    return {found->second, literal.type, !capturing_ || options_.frozen, 0};
  return {literal.tensor, literal.type, true, 0};
}

bool Binder::is_weight(const Tensor& t) const {
  return !t.is_symbolic() && std::any_of(weights_.begin(), weights_.end(), [&](const auto& w) {
    return w.second.raw() == t.raw() && w.second.shape() == t.shape();
  });
}

const Value* Binder::find(const std::string& name) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend(); ++frame) {
    if (const auto found = frame->values.find(name); found != frame->values.end()) return &found->second;
    if (const auto found = frame->literals.find(name); found != frame->literals.end())
      return &(frame->values[name] = literal(*found->second));
  }
  return nullptr;
}

Value Binder::value(const std::string& name) {
  if (name.empty()) return {};
  if (const Value* found = find(name)) return *found;
  throw Error(ErrorKind::kFile, "nothing makes " + in_quotes(name) + " — the file is broken");
}

void Binder::add_literals(const Graph& graph) {
  for (const auto& each : graph.initializers) frames_.back().literals[each->name] = each.get();
}

std::vector<Value> Binder::run(std::vector<Value> inputs) { return run_graph(file_.graph, std::move(inputs)); }

std::vector<Value> Binder::run_graph(const Graph& graph, std::vector<Value> inputs) {
  struct Leave {
    std::vector<Frame>& frames;
    ~Leave() { frames.pop_back(); }
  };
  count_node();  // also of a body without any
  frames_.emplace_back();
  const Leave leave{frames_};
  add_literals(graph);
  for (size_t i = 0; i < graph.inputs.size() && i < inputs.size(); i++)
    if (inputs[i].defined()) frames_.back().values[graph.inputs[i].name] = std::move(inputs[i]);
  run_nodes(graph.nodes, file_.opsets);
  std::vector<Value> results;
  results.reserve(graph.outputs.size());
  for (const ValueInfo& out : graph.outputs) {
    results.push_back(value(out.name));
    if (!results.back().defined())
      throw Error(ErrorKind::kFile, "result " + in_quotes(out.name) + " of a graph is not made — the file is broken");
  }
  return results;
}

std::vector<Value> Binder::run_function(const Function& f, const Node& node, std::vector<Value> inputs) {
  if (functions_ == kMostFunctions)
    throw Error(ErrorKind::kFile, "functions call each other more than " + std::to_string(kMostFunctions) +
                                      " deep — write the inner ones out, or do they call themselves?");
  std::vector<Frame> outside;
  outside.swap(frames_);
  functions_++;
  struct Back {
    std::vector<Frame>&frames, &outside;
    int& functions;
    ~Back() {
      frames.swap(outside);
      functions--;
    }
  };
  const Back back{frames_, outside, functions_};
  frames_.emplace_back();
  for (size_t i = 0; i < f.inputs.size() && i < inputs.size(); i++)
    frames_[0].values[f.inputs[i]] = std::move(inputs[i]);
  std::vector<Node> nodes;
  nodes.reserve(f.nodes.size());
  for (const Node& each : f.nodes) nodes.push_back(filled_in(each, node));
  run_nodes(nodes, f.opsets);
  std::vector<Value> results;
  results.reserve(f.outputs.size());
  for (const std::string& out : f.outputs) results.push_back(value(out));
  return results;
}

void Binder::count_node() {
  if (++nodes_run_ > kMostNodes)
    throw Error("onnx: the model runs more than " + grouped(kMostNodes) +
                " nodes, those in loops and functions counted each time — is it meant to end?");
}

void Binder::run_nodes(const std::vector<Node>& nodes, const std::map<std::string, int64_t>& opsets) {
  for (const Node& node : nodes) {
    count_node();
    try {
      run_node(node, opsets);
    } catch (const Error& e) {
      const std::string text = e.what();
      if (text.starts_with("onnx: ")) throw;
      throw Error(e.kind(), "onnx: " + called(node) + ": " + text);
    }
  }
}

// With the norm in its weights, a convolution makes what the norm would have made.
bool Binder::take_over_norm(const Node& node, std::vector<Value>& inputs) {
  const auto found = norm_after_.find(&node);
  if (found == norm_after_.end()) return false;
  std::vector<Value> norm(1);
  for (size_t i = 1; i < 5; i++) {
    const Value* const made = find(found->second->inputs[i]);
    if (made == nullptr) return false;  // later
    norm.push_back(*made);
  }
  const Attribute* const eps = found->second->find("epsilon");
  if (!fold_norm(inputs, norm, eps == nullptr ? 1e-5 : eps->real)) return false;
  done_.insert(found->second);
  return true;
}

void Binder::run_node(const Node& node, const std::map<std::string, int64_t>& opsets) {
  if (done_.erase(&node) > 0) return;
  std::vector<Value> inputs;
  inputs.reserve(node.inputs.size());
  for (const std::string& in : node.inputs) inputs.push_back(value(in));
  const bool with_norm = take_over_norm(node, inputs);
  std::vector<Value> results;
  const auto own = find_own_op(node);
  const auto function =
      own != nullptr ? file_.functions.end()
                     : std::find_if(file_.functions.begin(), file_.functions.end(),
                                    [&](const Function& f) { return f.name == node.op && f.domain == node.domain; });
  if (function != file_.functions.end()) {
    results = run_function(*function, node, std::move(inputs));
  } else {
    const auto opset = opsets.find(node.domain);
    const int64_t version = opset == opsets.end() ? 1 : opset->second;
    static constexpr Row kOwn{"", 1, run_own_op};
    const Row* const row = own != nullptr ? &kOwn : find_row(node.domain, node.op, version);
    if (row == nullptr) throw Error("no op of Ingot's does this");
    Use use(*this, node, version, std::move(inputs));
    if (use.all_known() && !row->inside) {
      const Eager now;  // a capture need not know
      row->build(use);
    } else {
      const Scope named(node.name.empty() ? node.op : node.name);
      row->build(use);
    }
    use.refuse_unread();
    results = std::move(use.results);
  }
  if (with_norm) frames_.back().values[norm_after_.at(&node)->outputs[0]] = results.at(0);
  for (size_t i = 0; i < node.outputs.size(); i++) {
    if (node.outputs[i].empty()) continue;
    if (i >= results.size()) throw Error("result " + std::to_string(i) + " is not supported");
    frames_.back().values[node.outputs[i]] = std::move(results[i]);
  }
}

// Use -----------------------------------------------------------------------------------------------------------------

void Use::fail(const std::string& what, const std::string& hint) const {
  std::vector<std::string> shapes;
  shapes.reserve(inputs_.size());
  for (const Value& v : inputs_) shapes.push_back(v.defined() ? name(v.type) + " " + to_string(v.tensor.shape()) : "-");
  throw Error(what + " (" + join(shapes) + ") — " + hint);
}

const Value& Use::value(int i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is not given", "the op needs it");
  return inputs_[static_cast<size_t>(i)];
}

const Tensor& Use::known(int i) const {
  const Value& v = value(i);
  if (!v.known) {
    const std::string why = called(node_) + " needs the elements of input " + std::to_string(i);
    if (v.inputs == 0)
      throw Error(why + ", which follow from weights that are trained — they are not known beforehand");
    throw NeedsValue{v.inputs, why};
  }
  return v.tensor;
}
std::vector<int64_t> Use::known_integers(int i) const { return to_integers(known(i)); }
std::vector<double> Use::known_reals(int i) const { return to_reals(known(i)); }
double Use::known_real(int i) const {
  const Tensor& t = known(i);
  if (t.numel() != 1) fail("input " + std::to_string(i) + " is no single number", "the op needs one");
  return to_reals(t)[0];
}
bool Use::all_known() const {
  return std::all_of(inputs_.begin(), inputs_.end(), [](const Value& v) { return v.known; });
}

void Use::refuse_unread() const {
  // Those that follow from the inputs, or matter for results and types only that are refused anyway.
  static constexpr std::array kHarmless = {"kernel_shape",         "hidden_size", "num_outputs",
                                           "noop_with_empty_axes", "seed",        "sorted",
                                           "storage_order",        "saturate",    "stash_type"};
  if (opset_ <= kKnownOpset || !node_.domain.empty()) return;
  for (const Attribute& a : node_.attributes)
    if (a.graph == nullptr && std::find(read_.begin(), read_.end(), &a) == read_.end() &&
        std::find(kHarmless.begin(), kHarmless.end(), a.name) == kHarmless.end())
      fail("the attribute " + in_quotes(a.name) + " of opset " + std::to_string(opset_) + " is not supported",
           "Ingot knows the attributes of opset " + std::to_string(kKnownOpset));
}

int64_t Use::integer(std::string_view name, int64_t fallback) const {
  const Attribute* a = find(name);
  return a == nullptr ? fallback : a->integer;
}
double Use::real(std::string_view name, double fallback) const {
  const Attribute* a = find(name);
  return a == nullptr ? fallback : a->real;
}
std::string Use::text(std::string_view name, const std::string& fallback) const {
  const Attribute* a = find(name);
  return a == nullptr ? fallback : a->text;
}
std::vector<int64_t> Use::integers(std::string_view name) const {
  const Attribute* a = find(name);
  return a == nullptr ? std::vector<int64_t>() : a->integers;
}
std::vector<double> Use::reals(std::string_view name) const {
  const Attribute* a = find(name);
  return a == nullptr ? std::vector<double>() : std::vector<double>(a->reals.begin(), a->reals.end());
}
std::vector<std::string> Use::texts(std::string_view name) const {
  const Attribute* a = find(name);
  return a == nullptr ? std::vector<std::string>() : a->texts;
}
int Use::axis(int64_t axis, int rank) const { return normalize_axis("axis", axis, rank); }

Dims Use::shape(const std::vector<int64_t>& dims) const {
  constexpr int64_t kMost = int64_t{1} << 31;
  const Dims shape(dims);
  for (const int64_t d : shape)
    if (d < 0) fail("the shape " + to_string(shape) + " has a negative size", "sizes are 0 or more");
  if (element_count(shape) > kMost)
    fail("the shape " + to_string(shape) + " is too large", "it must have at most 2³¹ elements");
  return shape;
}

Dims Use::small_shape(const std::vector<int64_t>& dims) const {
  const Dims small = shape(dims);
  if (element_count(small) > int64_t{1} << 24)
    fail("the shape " + to_string(small) + " is too large", "for this op it may have 2²⁴ elements");
  return small;
}

void Use::out(const Tensor& t, Type type) {
  Value v{as(t, carrier(type)), type, !binder_.capturing() || all_known(), 0};
  for (const Value& in : inputs_) v.inputs |= in.inputs;
  results.push_back(std::move(v));
}
void Use::known_out(const Tensor& t, Type type) { results.push_back({t, type, true, 0}); }

// Helpers -------------------------------------------------------------------------------------------------------------

const Row* find_row(const std::string& domain, const std::string& op, int64_t opset) {
  static const std::unordered_multimap<std::string_view, const Row*> table = [] {
    std::unordered_multimap<std::string_view, const Row*> all;
    for (const auto rows : {math_rows(), logic_rows(), reduce_rows(), shape_rows(), index_rows(), layer_rows(),
                            pool_rows(), recurrent_rows(), quantized_rows(), picture_rows(), signal_rows(),
                            select_rows(), loss_rows(), control_rows(), training_rows()})
      for (const Row& row : rows) all.emplace(row.op, &row);
    return all;
  }();
  const std::string kind = domain.empty() ? op : domain + ":" + op;
  const Row* best = nullptr;
  const auto [first, last] = table.equal_range(kind);
  for (auto it = first; it != last; ++it)
    if (it->second->since <= opset && (best == nullptr || it->second->since > best->since)) best = it->second;
  return best;
}

Tensor second_operand(Use& u) {
  if (u.opset() >= 7 || !u.given("axis")) return u.in(1);
  Dims shape = u.in(1).shape();
  for (int a = u.axis("axis", 0, u.rank()) + shape.size(); a < u.rank(); a++) shape.push_back(1);
  return reshaped(u.in(1), shape);
}

Tensor reshaped(const Tensor& x, const Dims& shape) { return reshape(contiguous(x), shape); }
Tensor as(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : to(x, dtype); }

std::vector<double> to_reals(const Tensor& t) {
  const Eager now;
  return as(t, kF64).to_vector<double>();
}
std::vector<int64_t> to_integers(const Tensor& t) {
  const Eager now;
  return as(t, kI64).to_vector<int64_t>();
}
Tensor from_reals(const std::vector<double>& values, const Dims& shape, Type type) {
  const Eager now;
  return as(Tensor::from(values, shape), carrier(type));
}
Tensor scalar_like(const Tensor& x, double value) {
  Tensor t = Tensor::empty({}, x.dtype());
  store_from_double(t.raw(), t.dtype(), value);
  return t;
}

Tensor wrapped(const Tensor& x, Type type) {
  if (!is_integer(type)) return x;
  const Range range = range_of(type);
  if (carrier(type) == kI64 ? type != Type::kUint32 : type == Type::kInt32) return x;
  if (type == Type::kUint32) {  // f64 finds whole spans but for one, integers what is left
    const Tensor span = from_reals({4294967296.0}, {}, Type::kInt64), zero = scalar_like(x, 0);
    const Tensor spans = as(floor(divide(as(x, kF64), 4294967296.0)), kI64);
    const Tensor low = subtract(x, multiply(spans, span)), above = where(less(low, zero), add(low, span), low);
    return where(less(above, span), above, subtract(above, span));
  }
  // Exact in f64: the carrier has 32 bits.
  const double span = static_cast<double>(range.high - range.low + 1), low = static_cast<double>(range.low);
  const Tensor shifted = subtract(as(x, kF64), low);
  const Tensor inside = subtract(shifted, multiply(floor(divide(shifted, span)), span));
  return as(add(inside, low), x.dtype());
}

Tensor rounded_to(const Tensor& x, Type type) {
  if (type == Type::kFloat16) return to(to(x, kF16), kF32);
  return type == Type::kBfloat16 ? to(to(x, kBF16), kF32) : x;
}

Tensor logical_not(const Tensor& x) { return equal(x, scalar_like(x, 0)); }

}  // namespace ingot::onnx
