#include <algorithm>
#include <filesystem>
#include <map>

#include "exchange/onnx/binder.h"
#include "exchange/onnx/elementwise.h"
#include "exchange/onnx/model_impl.h"
#include "exchange/onnx/patterns.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "ingot/graph/eager.h"
#include "ingot/ops/own_op.h"

namespace ingot::onnx {
namespace {

DType public_dtype(Type type) {
  if (type == Type::kUint8) return kU8;
  if (type == Type::kFloat16) return kF16;
  return type == Type::kBfloat16 ? kBF16 : carrier(type);
}

// Every kind of node with how often it occurs, graphs inside included.
void count_ops(const std::vector<Node>& nodes, std::map<std::string, int64_t>& counts) {
  for (const Node& node : nodes) {
    counts[node.kind()]++;
    for (const Attribute& a : node.attributes)
      if (a.graph != nullptr) count_ops(a.graph->nodes, counts);
  }
}

bool is_function(const File& file, const Node& node) {
  return std::any_of(file.functions.begin(), file.functions.end(),
                     [&](const Function& f) { return f.name == node.op && f.domain == node.domain; });
}

void count_unknown(const File& file, const std::vector<Node>& nodes, const std::map<std::string, int64_t>& opsets,
                   std::map<std::string, int64_t>& counts) {
  for (const Node& node : nodes) {
    const auto opset = opsets.find(node.domain);
    if (!is_function(file, node) &&
        find_row(node.domain, node.op, opset == opsets.end() ? 1 : opset->second) == nullptr)
      counts[node.kind()]++;
    for (const Attribute& a : node.attributes)
      if (a.graph != nullptr) count_unknown(file, a.graph->nodes, opsets, counts);
  }
}

void refuse_unknown_ops(const File& file) {
  std::map<std::string, int64_t> counts;
  count_unknown(file, file.graph.nodes, file.opsets, counts);
  for (const Function& f : file.functions) count_unknown(file, f.nodes, f.opsets, counts);
  if (counts.empty()) return;
  std::vector<std::string> list;
  list.reserve(counts.size());
  for (const auto& [op, count] : counts) list.push_back(op + " (" + std::to_string(count) + ")");
  throw Error("onnx: " + counted(static_cast<int64_t>(counts.size()), "kind") +
              " of op that Ingot does not have: " + join(list) + " — docs/onnx.md lists those it has");
}

std::vector<Port> ports_of(const std::vector<ValueInfo>& values,
                           const std::vector<std::shared_ptr<const Literal>>& literals, bool input) {
  std::vector<Port> ports;
  for (const ValueInfo& v : values) {
    // Old files list weights as inputs, too.
    if (input && std::any_of(literals.begin(), literals.end(), [&](const auto& l) { return l->name == v.name; }))
      continue;
    const std::string what = std::string("onnx: ") + (input ? "input " : "result ") + in_quotes(v.name);
    if (!v.other.empty())
      throw Error(ErrorKind::kType, what + " is of type " + v.other + " — only tensors are supported");
    Port p;
    p.name = v.name, p.type = name(v.type);
    p.has_type = v.type != Type::kUndefined;
    if (p.has_type)
      p.dtype = public_dtype(v.type);  // of a result it may be missing
    else if (input)
      throw Error(ErrorKind::kFile, what + " has no type — the file is broken");
    p.has_shape = v.has_shape;
    for (const auto& [size, name] : v.dims)
      p.dims.push_back(size >= 0 ? std::to_string(size) : name.empty() ? "?" : name);
    ports.push_back(std::move(p));
  }
  return ports;
}

}  // namespace

std::string Port::text() const { return name + ": " + type + (has_shape ? " [" + join(dims) + "]" : ""); }

std::string Port::contradiction(const Dims& shape, std::map<std::string, int64_t>& sizes) const {
  if (!has_shape) return "";
  if (shape.size() != static_cast<int>(dims.size()))
    return "the number of axes is " + std::to_string(shape.size()) + ", not " + std::to_string(dims.size());
  for (int i = 0; i < shape.size(); i++) {
    const std::string& dim = dims[static_cast<size_t>(i)];
    int64_t size = shape[i];
    const bool is_number = parse_number(dim, size);
    if (!is_number && dim != "?") size = sizes.emplace(dim, size).first->second;
    if (size != shape[i])
      return "axis " + std::to_string(i) + " has " + std::to_string(shape[i]) + " places, not " +
             (is_number ? dim : dim + " = " + std::to_string(size));
  }
  return "";
}

std::vector<std::pair<std::string, int64_t>> Model::Impl::ops_of(const File& file) {
  std::map<std::string, int64_t> counts;
  count_ops(file.graph.nodes, counts);
  std::vector<std::pair<std::string, int64_t>> list(counts.begin(), counts.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

Model::Impl::Impl(File read, const ImportOptions& o) : options(o), ops(ops_of(read)) {
  refuse_unknown_ops(read);
  if (!o.as_written) fuse_patterns(read.graph);
  file = std::make_shared<const File>(std::move(read));
  inputs = ports_of(file->graph.inputs, file->graph.initializers, true);
  outputs = ports_of(file->graph.outputs, {}, false);
  weights = find_weights(*file, o.constants);
  for (const ValueInfo& v : file->graph.inputs) {
    const auto port = std::find_if(inputs.begin(), inputs.end(), [&](const Port& p) { return p.name == v.name; });
    slots.push_back(port == inputs.end() ? -1 : port - inputs.begin());
    types.push_back(v.type);
  }
}

void Model::Impl::check(size_t i, const Tensor& x, std::map<std::string, int64_t>& sizes) const {
  const Port& port = inputs[i];
  const auto refuse = [&](ErrorKind kind, const std::string& hint) {
    throw Error(kind, "onnx: input " + in_quotes(port.name) + " is " + ingot::describe(x) + " — " + hint);
  };
  if (!x.defined()) refuse(ErrorKind::kArgument, "give a tensor");
  if (x.dtype() != port.dtype && x.dtype() != carrier_of(i)) refuse(ErrorKind::kType, "the model takes " + port.text());
  if (const std::string problem = port.contradiction(x.shape(), sizes); !problem.empty())
    refuse(ErrorKind::kShape, "the model takes " + port.text() + ": " + problem);
}

DType Model::Impl::carrier_of(size_t i) const {
  for (size_t k = 0; k < slots.size(); k++)
    if (slots[k] == static_cast<int64_t>(i)) return carrier(types[k]);
  return kF32;
}

std::vector<NamedTensor> Model::Impl::bind(std::span<const Tensor> given, uint64_t known, bool training,
                                           bool frozen) const {
  if (given.size() != inputs.size())
    throw Error("onnx: the model takes " + counted(static_cast<int64_t>(inputs.size()), "input") + ", " +
                std::to_string(given.size()) + " given");
  Binder::Weights by_literal;
  for (const Weight& w : weights) by_literal[w.literal] = w.tensor;
  Binder binder(*file, by_literal, {.training = training, .as_written = options.as_written, .frozen = frozen});
  std::vector<Value> values;
  std::map<std::string, int64_t> sizes;
  for (size_t k = 0; k < slots.size(); k++) {
    Value v;
    if (slots[k] >= 0) {
      const auto i = static_cast<size_t>(slots[k]);
      check(i, given[i], sizes);
      const bool is_known = !binder.capturing() || (known >> i % 64 & 1) != 0;
      v = {given[i], types[k], is_known, is_known ? 0 : uint64_t{1} << i % 64};
      std::optional<Eager> now;
      if (is_known) now.emplace();
      v.tensor = as(v.tensor, carrier(types[k]));
    }
    values.push_back(std::move(v));
  }
  const std::vector<Value> results = binder.run(std::move(values));
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < results.size(); i++) {
    if (!results[i].defined())
      throw Error("onnx: result " + in_quotes(outputs[i].name) + " is not made — the file is broken");
    named.push_back({outputs[i].name, as(results[i].tensor, public_dtype(results[i].type))});
  }
  return named;
}

Model::Model(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
  static const bool added = (add_ops(elementwise_ops()), true);
  (void)added;
  eval();
}
Model::Model(const Model& other) : nn::Layer(other), impl_(std::make_unique<Impl>(*other.impl_)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

void Model::parts(nn::Parts& p) {
  for (Weight& w : impl_->weights) {
    if (w.trained)
      p(w.name, w.tensor);
    else
      p.buffer(w.name, w.tensor);
  }
}

Tensor Model::forward(const Tensor& x) {
  if (impl_->inputs.size() != 1)
    throw Error("onnx: the model takes " + counted(static_cast<int64_t>(impl_->inputs.size()), "input") +
                ", one given — call forward() with a list of them");
  return forward(std::span(&x, 1)).at(0).tensor;
}

std::vector<NamedTensor> Model::forward(std::span<const Tensor> inputs) {
  try {
    return impl_->bind(inputs, 0, training());
  } catch (const NeedsValue& needs) {
    throw Error("onnx: " + needs.why +
                ", which follow from an input — here the plan must know them beforehand; run it with a "
                "Session, or without a plan");
  }
}

const std::vector<Port>& Model::inputs() const { return impl_->inputs; }
const std::vector<Port>& Model::outputs() const { return impl_->outputs; }
int64_t Model::ir_version() const { return impl_->file->ir_version; }
const std::string& Model::producer() const { return impl_->file->producer; }
int64_t Model::opset() const {
  const auto found = impl_->file->opsets.find("");
  return found == impl_->file->opsets.end() ? 1 : found->second;
}

std::vector<std::pair<std::string, int64_t>> Model::ops() const { return impl_->ops; }

std::string Model::describe() const {
  std::string text = "ONNX opset " + std::to_string(opset()) + ", IR " + std::to_string(ir_version());
  if (!producer().empty()) text += ", by " + in_quotes(producer());
  text += "\n";
  for (const Port& p : inputs()) text += "  in   " + p.text() + "\n";
  for (const Port& p : outputs()) text += "  out  " + p.text() + "\n";
  int64_t nodes = 0;
  std::vector<std::string> kinds;
  for (const auto& [op, count] : ops())
    nodes += count, kinds.push_back(op + (count > 1 ? " " + std::to_string(count) : ""));
  text += "  " + counted(nodes, "node") + ": " + join(kinds) + "\n";
  int64_t elements = 0, trained = 0;
  uint64_t bytes = 0;
  for (const Weight& w : impl_->weights) {
    elements += w.tensor.numel(), trained += w.trained ? w.tensor.numel() : 0;
    bytes += static_cast<uint64_t>(w.tensor.numel()) * size_of(w.tensor.dtype());
  }
  text += "  " + grouped(elements) + " weights in " + counted(static_cast<int64_t>(impl_->weights.size()), "tensor") +
          ", " + format_bytes(bytes) + "; " + grouped(trained) + " can be trained\n";
  return text;
}

Model load(const std::string& path, const ImportOptions& options) {
  const InputFile file("onnx", path);
  const MappedFile map(file);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return Model(
      std::make_unique<Model::Impl>(parse_model({map.data(), map.size()}, folder.empty() ? "." : folder), options));
}

Model parse(std::span<const std::byte> bytes, const ImportOptions& options) {
  return Model(std::make_unique<Model::Impl>(parse_model(bytes, ""), options));
}

Tensor parse_tensor(std::span<const std::byte> bytes) {
  const Literal literal = parse_literal(bytes);
  if (!literal.tensor.defined())
    throw Error(ErrorKind::kType, "onnx: a tensor of strings — only numbers are supported");
  return as(literal.tensor, public_dtype(literal.type));
}

}  // namespace ingot::onnx
