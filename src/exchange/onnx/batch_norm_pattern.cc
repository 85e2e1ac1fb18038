#include "exchange/onnx/batch_norm_pattern.h"

#include <string_view>

namespace ingot::onnx {
namespace {

// (x - mean) · (1 / √(variance + eps) · weight) + bias, the last three per channel.
class Matcher {
 public:
  explicit Matcher(const Captured& graph) : graph_(graph) {}

  std::optional<BatchNormPattern> at(const Captured::Node& last) {
    shape_ = graph_.value(last.first).shape;
    if (shape_.size() < 2) return {};
    const Captured::Node* product = &last;
    if (is(&last, "add")) {
      if (!per_channel(last.inputs[1], found_.bias)) return {};
      product = maker(last.inputs[0]);
    }
    if (!is(product, "multiply")) return {};
    const Captured::Node* const centred = maker(product->inputs[0]);
    int scale = -1;
    if (!is(centred, "subtract") || !per_channel(centred->inputs[1], found_.mean) || !is_weight(found_.mean)) return {};
    if (!per_channel(product->inputs[1], scale)) return {};
    found_.x = centred->inputs[0];
    const Captured::Node* factor = maker(scale);
    if (is(factor, "multiply")) {
      found_.weight = factor->inputs[1];
      factor = maker(factor->inputs[0]);
    }
    const Captured::Node* const root = is(factor, "reciprocal") ? maker(factor->inputs[0]) : nullptr;
    const Captured::Node* const shifted = is(root, "sqrt") ? maker(root->inputs[0]) : nullptr;
    if (!is(shifted, "add_scalar") || (found_.bias >= 0 && found_.weight < 0)) return {};
    found_.variance = shifted->inputs[0];
    found_.eps = Call{*shifted->op, {}, *shifted->attrs}.real("value");
    if (!(graph_.value(found_.x).shape == shape_) || !is_weight(found_.variance)) return {};
    for (const int v : {found_.weight, found_.bias, found_.mean, found_.variance})
      if (v >= 0 && !(graph_.value(v).shape == Dims{shape_[1]})) return {};
    return found_;
  }

 private:
  const Captured::Node* maker(int v) const { return v < 0 ? nullptr : &graph_.maker(v); }
  static bool is(const Captured::Node* n, std::string_view op) {
    return n != nullptr && n->op != nullptr && op == n->op->name;
  }
  bool is_weight(int v) const { return maker(v)->kind == Captured::Kind::kBound; }
  // A vector, spread along the channels: [c, 1, …], or one more axis of size 1 in front.
  bool per_channel(int v, int& vector) const {
    const Captured::Node* const n = maker(v);
    if (!is(n, "reshape") || graph_.value(n->inputs[0]).shape.size() != 1) return false;
    const Dims& spread = graph_.value(v).shape;
    const int channels = spread.size() - (shape_.size() - 1);
    if (channels < 0) return false;
    for (int a = 0; a < spread.size(); a++)
      if (spread[a] != (a == channels ? shape_[1] : 1)) return false;
    vector = n->inputs[0];
    return true;
  }

  const Captured& graph_;
  Dims shape_;  // of the result, and of x
  BatchNormPattern found_{-1, -1, -1, -1, -1, 0};
};

}  // namespace

std::optional<BatchNormPattern> find_batch_norm(const Captured& graph, size_t last) {
  return Matcher(graph).at(graph.nodes[last]);
}

}  // namespace ingot::onnx
