#include "exchange/onnx/weights.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::onnx {
namespace {

enum class Claim : uint8_t { kNone, kIfLarge, kTrained, kAverage };

class Finder {
 public:
  explicit Finder(const File& file) : file_(file) {
    names(file.graph);
    claims(file.graph);
  }

  std::vector<Weight> found(const std::vector<std::string>& constants) {
    std::vector<Weight> weights;
    std::unordered_set<std::string> taken;
    for (const auto& [literal, name] : order_) {
      const Claim claim = claims_[literal];
      if (claim == Claim::kNone || claim == Claim::kIfLarge || !is_real(literal->type)) continue;
      if (std::find(constants.begin(), constants.end(), name) != constants.end()) continue;
      std::string own = name.empty() ? "weight" : name;
      while (!taken.insert(own).second) own += "_";
      weights.push_back({own, literal, claim == Claim::kTrained, literal->tensor});
    }
    for (const std::string& name : constants)
      if (std::none_of(order_.begin(), order_.end(), [&](const auto& each) { return each.second == name; }))
        throw Error("onnx: there is no weight " + in_quotes(name) + " to keep constant");
    return weights;
  }

 private:
  void names(const Graph& graph) {
    for (const auto& each : graph.initializers) add(each.get(), each->name, true);
    for (const Node& node : graph.nodes) {
      for (const std::string& out : node.outputs) makers_.emplace(out, &node);
      if (node.op == "Constant" && node.domain.empty() && !node.outputs.empty())
        if (const Attribute* a = node.find("value"); a != nullptr && a->tensor != nullptr)
          add(a->tensor.get(), node.outputs[0], false);
      for (const Attribute& a : node.attributes)
        if (a.graph != nullptr) names(*a.graph);
    }
  }
  void add(const Literal* literal, const std::string& name, bool initializer) {
    if (!literal->tensor.defined()) return;
    order_.push_back({literal, name});
    literals_.emplace(name, literal);
    if (initializer) initializers_.insert(literal);
  }

  void claims(const Graph& graph) {
    for (const Node& node : graph.nodes) {
      const auto opset = file_.opsets.find(node.domain);
      const Row* row = find_row(node.domain, node.op, opset == file_.opsets.end() ? 1 : opset->second);
      for (const char* slot = row == nullptr ? "" : row->weights; *slot != '\0'; slot++) {
        const bool average = *slot >= 'A' && *slot <= 'Z', large = *slot >= 'a' && *slot <= 'z';
        const auto i = static_cast<size_t>(*slot - (average ? 'A' : large ? 'a' : '0'));
        if (i < node.inputs.size())
          claim(node.inputs[i], average ? Claim::kAverage : large ? Claim::kIfLarge : Claim::kTrained, 0);
      }
      if (find_own_op(node) != nullptr)
        for (const std::string& in : node.inputs) claim(in, Claim::kIfLarge, 0);
      for (const Attribute& a : node.attributes)
        if (a.graph != nullptr) claims(*a.graph);
    }
  }

  // A number in an expression is no weight, and neither is a constant that is written into the graph, unless an op takes
  // it as its weights.
  void claim(const std::string& name, Claim how, int depth) {
    if (const auto found = literals_.find(name); found != literals_.end()) {
      const Literal* literal = found->second;
      if (how == Claim::kIfLarge && initializers_.contains(literal) && literal->tensor.numel() > 1)
        how = Claim::kTrained;
      Claim& now = claims_[literal];
      now = std::max(now, how);
      return;
    }
    const auto maker = makers_.find(name);
    if (maker == makers_.end() || depth > 16) return;
    static constexpr std::array kMoves = {"Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze",
                                          "Flatten",  "Cast",      "Slice",   "Split"};
    const Node& node = *maker->second;
    if (!node.domain.empty()) return;
    if (node.op == "Concat") {
      for (const std::string& in : node.inputs) claim(in, how, depth + 1);
    } else if (!node.inputs.empty() && std::find(kMoves.begin(), kMoves.end(), node.op) != kMoves.end()) {
      claim(node.inputs[0], how, depth + 1);
    }
  }

  const File& file_;
  std::vector<std::pair<const Literal*, std::string>> order_;
  std::unordered_map<std::string, const Literal*> literals_;
  std::unordered_set<const Literal*> initializers_;
  std::unordered_map<std::string, const Node*> makers_;
  std::unordered_map<const Literal*, Claim> claims_;
};

}  // namespace

std::vector<Weight> find_weights(const File& file, const std::vector<std::string>& constants) {
  return Finder(file).found(constants);
}

}  // namespace ingot::onnx
