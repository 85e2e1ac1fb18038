#include "exchange/onnx/patterns.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "ingot/graph/eager.h"

namespace ingot::onnx {
namespace {

// Calls f with every name that a node reads, itself or in the graphs inside it.
template <class F>
void each_read(const Node& node, const F& f) {
  for (const std::string& in : node.inputs) f(in);
  for (const Attribute& a : node.attributes) {
    if (a.graph == nullptr) continue;
    for (const Node& inner : a.graph->nodes) each_read(inner, f);
    for (const ValueInfo& out : a.graph->outputs) f(out.name);
  }
}

std::unordered_map<std::string, int> count_reads(const Graph& graph) {
  std::unordered_map<std::string, int> reads;
  for (const Node& node : graph.nodes) each_read(node, [&](const std::string& name) { reads[name]++; });
  for (const ValueInfo& out : graph.outputs) reads[out.name]++;
  return reads;
}

bool near(double a, double b) { return std::fabs(a - b) <= 1e-4 * std::fabs(b); }

class Matcher {
 public:
  explicit Matcher(Graph& graph) : graph_(graph), reads_(count_reads(graph)) {
    for (const auto& each : graph.initializers) literals_.emplace(each->name, each.get());
    for (Node& node : graph.nodes) {
      for (const std::string& out : node.outputs) makers_.emplace(out, &node);
      if (is(&node, "Constant") && !node.outputs.empty())
        if (const Attribute* a = node.find("value"); a != nullptr && a->tensor != nullptr)
          literals_.emplace(node.outputs[0], a->tensor.get());
    }
  }

  void run() {
    for (Node& node : graph_.nodes) {
      if (is(&node, "Mul"))
        product(node);
      else if (is(&node, "Add"))
        affine_norm(node);
    }
  }

 private:
  // Of this op, with the inputs that it must have: files are hostile.
  static bool is(const Node* node, std::string_view op) {
    if (node == nullptr || !node->domain.empty() || node->op != op) return false;
    const bool two = op == "Mul" || op == "Add" || op == "Sub" || op == "Div" || op == "Pow";
    return op == "Constant" || (two ? node->inputs.size() == 2 : !node->inputs.empty());
  }
  Node* maker(const std::string& name) const {
    const auto found = makers_.find(name);
    return found == makers_.end() ? nullptr : found->second;
  }
  // The node of this op that makes `name` for one reader only (or for so many).
  const Node* only(const std::string& name, const char* op, int readers = 1) const {
    const Node* const node = maker(name);
    const auto reads = reads_.find(name);
    return is(node, op) && reads != reads_.end() && reads->second <= readers ? node : nullptr;
  }
  std::optional<double> number(const std::string& name) const {
    const auto found = literals_.find(name);
    if (found == literals_.end() || !found->second->tensor.defined() || found->second->tensor.numel() != 1 ||
        found->second->tensor.rank() > 1)  // more axes would be the result's, too
      return {};
    return to_reals(found->second->tensor)[0];
  }
  bool is_number(const std::string& name, double value) const {
    const std::optional<double> n = number(name);
    return n && near(*n, value);
  }
  // A commutative node's operands, the number second.
  bool with_number(const Node* node, double value, std::string& other) const {
    for (const size_t i : {size_t{0}, size_t{1}})
      if (node != nullptr && node->inputs.size() == 2 && is_number(node->inputs[1 - i], value))
        return other = node->inputs[i], true;
    return false;
  }

  void become(Node& node, const char* op, std::vector<std::string> inputs, std::vector<Attribute> attributes = {}) {
    node.op = op, node.domain = "ingot";
    node.inputs = std::move(inputs), node.attributes = std::move(attributes);
  }

  // The factors of a product of products that nobody else reads; numbers multiply into `constant`.
  void factors(const Node& node, int depth, double& constant, std::vector<std::string>& list) const {
    for (const std::string& in : node.inputs) {
      const Node* const inner = depth < 4 ? only(in, "Mul") : nullptr;
      if (const std::optional<double> n = number(in))
        constant *= *n;
      else if (inner != nullptr)
        factors(*inner, depth + 1, constant, list);
      else
        list.push_back(in);
    }
  }

  // x · sigmoid(x), and ½x(1 + f(x)) in both forms of GELU.
  void product(Node& node) {
    double constant = 1;
    std::vector<std::string> list;
    factors(node, 0, constant, list);
    if (list.size() != 2) return;
    for (const size_t i : {size_t{0}, size_t{1}}) {
      const std::string &x = list[i], &gate = list[1 - i];
      if (const Node* s = only(gate, "Sigmoid"); s != nullptr && constant == 1 && s->inputs[0] == x)
        return become(node, "silu", {x});
      std::string inner;
      if (!near(constant, 0.5) || !with_number(only(gate, "Add"), 1, inner)) continue;
      if (const Node* e = only(inner, "Erf"); e != nullptr && is_scaled(e->inputs[0], x, std::sqrt(0.5)))
        return become(node, "gelu_erf", {x});
      if (const Node* t = only(inner, "Tanh"); t != nullptr && is_gelu_inner(t->inputs[0], x))
        return become(node, "gelu", {x});
    }
  }

  // x · factor, or x divided by 1 / factor.
  bool is_scaled(const std::string& name, const std::string& x, double factor) const {
    if (const Node* d = only(name, "Div"); d != nullptr)
      return d->inputs[0] == x && is_number(d->inputs[1], 1 / factor);
    std::string other;
    return with_number(only(name, "Mul"), factor, other) && other == x;
  }
  // 0.79788 (x + 0.044715 x³).
  bool is_gelu_inner(const std::string& name, const std::string& x) const {
    const Node* const outer = only(name, "Mul");
    std::string sum;
    if (!with_number(outer, 0.7978845608, sum)) return false;
    const Node* const add = only(sum, "Add");
    if (add == nullptr) return false;
    for (const size_t i : {size_t{0}, size_t{1}})
      if (add->inputs[i] == x && is_cube(add->inputs[1 - i], x)) return true;
    return false;
  }
  bool is_cube(const std::string& name, const std::string& x) const {
    const Node* const node = only(name, "Mul");
    if (node == nullptr) return false;
    double constant = 1;
    std::vector<std::string> list;
    factors(*node, 0, constant, list);
    if (!near(constant, 0.044715)) return false;
    if (list.size() == 3) return std::all_of(list.begin(), list.end(), [&](const std::string& f) { return f == x; });
    const Node* const power = list.size() == 1 ? only(list[0], "Pow") : nullptr;
    return power != nullptr && power->inputs[0] == x && is_number(power->inputs[1], 3);
  }

  // The length of a vector of weights; 0 if it is none.
  int64_t vector(const std::string& name) const {
    const auto found = literals_.find(name);
    if (found == literals_.end() || !found->second->tensor.defined() || found->second->tensor.rank() != 1) return 0;
    return found->second->tensor.numel() > 1 ? found->second->tensor.numel() : 0;
  }
  static bool is_last_mean(const Node* node) {
    if (!is(node, "ReduceMean") || node->inputs.size() != 1) return false;
    const Attribute *axes = node->find("axes"), *keep = node->find("keepdims");
    return axes != nullptr && axes->integers == std::vector<int64_t>{-1} && (keep == nullptr || keep->integer == 1);
  }

  // (x - mean) / √(mean of (x - mean)² + eps) · weight + bias over the last axis.
  void affine_norm(Node& node) {
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (node.inputs.size() != 2) continue;
      const int64_t length = vector(node.inputs[1 - i]);
      const Node* const scaled = only(node.inputs[i], "Mul");
      for (const size_t k : {size_t{0}, size_t{1}}) {
        if (scaled == nullptr || length == 0 || vector(scaled->inputs[1 - k]) != length) continue;
        const Node* const quotient = only(scaled->inputs[k], "Div");
        double eps = 0;
        std::string x;
        if (quotient == nullptr || !is_normal(*quotient, x, eps)) continue;
        Attribute axes, epsilon;
        axes.name = "axes", axes.integer = 1, axes.kind = 2;
        epsilon.name = "eps", epsilon.real = static_cast<float>(eps), epsilon.kind = 1;
        return become(node, "layer_norm", {x, scaled->inputs[1 - k], node.inputs[1 - i]}, {axes, epsilon});
      }
    }
  }
  bool is_normal(const Node& quotient, std::string& x, double& eps) const {
    const Node* const centred = maker(quotient.inputs[0]);
    const Node* const root = only(quotient.inputs[1], "Sqrt");
    if (!is(centred, "Sub") || root == nullptr) return false;
    x = centred->inputs[0];
    const Node* const mean = maker(centred->inputs[1]);
    if (!is_last_mean(mean) || mean->inputs[0] != x) return false;
    const Node* const sum = only(root->inputs[0], "Add");
    for (const size_t i : {size_t{0}, size_t{1}}) {
      if (sum == nullptr) return false;
      const std::optional<double> small = number(sum->inputs[1 - i]);
      const Node* const variance = only(sum->inputs[i], "ReduceMean");
      if (!small || !is_last_mean(variance)) continue;
      eps = *small;
      const Node* const square = maker(variance->inputs[0]);
      const auto same = [&](const std::string& name) {  // exporters may subtract the mean twice
        const Node* const other = maker(name);
        return is(other, "Sub") && other->inputs == centred->inputs;
      };
      if (is(square, "Pow")) return same(square->inputs[0]) && is_number(square->inputs[1], 2);
      return is(square, "Mul") && same(square->inputs[0]) && same(square->inputs[1]);
    }
    return false;
  }

  Graph& graph_;
  std::unordered_map<std::string, int> reads_;
  std::unordered_map<std::string, Node*> makers_;
  std::unordered_map<std::string, const Literal*> literals_;
};

void drop_unused(Graph& graph) {
  std::unordered_set<std::string> needed;
  for (const ValueInfo& out : graph.outputs) needed.insert(out.name);
  std::vector<Node> kept;
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::none_of(node->outputs.begin(), node->outputs.end(),
                     [&](const std::string& out) { return needed.contains(out); }))
      continue;
    each_read(*node, [&](const std::string& name) { needed.insert(name); });
    // The format's Gradient names values in its attributes.
    for (const Attribute& a : node->attributes) {
      needed.insert(a.text);
      for (const std::string& name : a.texts) needed.insert(name);
    }
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

}  // namespace

void fuse_patterns(Graph& graph) {
  Matcher(graph).run();
  drop_unused(graph);
}

std::unordered_map<const Node*, const Node*> norms_after_convolutions(const Graph& graph) {
  const std::unordered_map<std::string, int> reads = count_reads(graph);
  std::unordered_map<std::string, const Node*> convolutions;
  std::unordered_map<const Node*, const Node*> norms;
  for (const Node& node : graph.nodes) {
    if (!node.domain.empty() || node.outputs.empty() || node.inputs.empty()) continue;
    if (node.op == "Conv") convolutions[node.outputs[0]] = &node;
    const auto before = convolutions.find(node.inputs[0]);
    const auto unread = [&](const std::string& out) { return !reads.contains(out); };
    if (node.op == "BatchNormalization" && node.inputs.size() == 5 && before != convolutions.end() &&
        reads.at(node.inputs[0]) == 1 && std::all_of(node.outputs.begin() + 1, node.outputs.end(), unread))
      norms[before->second] = &node;
  }
  return norms;
}

bool fold_norm(std::vector<Value>& convolution, const std::vector<Value>& norm, double eps) {
  const auto known = [](const Value& v) { return v.known && v.defined() && v.tensor.dtype() == kF32; };
  if (convolution.size() < 2 || !known(convolution[1]) || !std::all_of(norm.begin() + 1, norm.end(), known))
    return false;
  const bool biased = convolution.size() > 2 && convolution[2].defined();
  if (biased && !known(convolution[2])) return false;
  const Eager now;
  const Tensor w = convolution[1].tensor;
  Dims per_output = Dims::filled(w.rank(), 1);
  per_output[0] = w.shape()[0];
  const Tensor scale = norm[1].tensor / sqrt(norm[4].tensor + eps);
  const Tensor from = biased ? convolution[2].tensor - norm[3].tensor : -norm[3].tensor;
  convolution.resize(3);
  convolution[2] = {from * scale + norm[2].tensor, Type::kFloat, true, 0};
  convolution[1].tensor = w * reshaped(scale, per_output);
  return true;
}

}  // namespace ingot::onnx
