#include "exchange/onnx/weights.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::onnx {
namespace {

enum class Claim : uint8_t { kNone, kIfLarge, kTrained, kAverage };

// What names stand for in a graph or function; in one inside, those around it are seen, too.
struct Names {
  const Names* around = nullptr;
  std::unordered_map<std::string, const Literal*> literals = {};
  std::unordered_map<std::string, const Node*> makers = {};
  std::unordered_map<std::string, size_t> arguments = {};  // of the function
  std::vector<Claim>* claims = nullptr;                    // on them
};

class Finder {
 public:
  explicit Finder(const File& file) : file_(file) { visit(file.graph, nullptr, file.opsets); }

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
  using Opsets = std::map<std::string, int64_t>;

  void visit(const Graph& graph, const Names* around, const Opsets& opsets) {
    Names names{.around = around};
    for (const auto& each : graph.initializers) add(names, each.get(), each->name, true);
    visit(graph.nodes, names, opsets);
  }
  void visit(const std::vector<Node>& nodes, Names& names, const Opsets& opsets) {
    for (const Node& node : nodes) {
      for (const std::string& out : node.outputs) names.makers.emplace(out, &node);
      if (node.op == "Constant" && node.domain.empty() && !node.outputs.empty())
        if (const Attribute* a = node.find("value"); a != nullptr && a->tensor != nullptr)
          add(names, a->tensor.get(), node.outputs[0], false);
    }
    for (const Node& node : nodes) {
      claim_inputs(node, names, opsets);
      for (const Attribute& a : node.attributes)
        if (a.graph != nullptr) visit(*a.graph, &names, opsets);
    }
  }
  void add(Names& names, const Literal* literal, const std::string& name, bool initializer) {
    if (!literal->tensor.defined()) return;
    order_.push_back({literal, name});
    names.literals.emplace(name, literal);
    if (initializer) initializers_.insert(literal);
  }

  void claim_inputs(const Node& node, Names& names, const Opsets& opsets) {
    if (find_own_op(node) != nullptr) {
      for (const std::string& in : node.inputs) claim(names, in, Claim::kIfLarge, 0);
      return;
    }
    for (const Function& f : file_.functions)
      if (f.name == node.op && f.domain == node.domain) {
        const std::vector<Claim>& inside = claims_of(f);
        for (size_t i = 0; i < std::min(inside.size(), node.inputs.size()); i++)
          if (inside[i] != Claim::kNone) claim(names, node.inputs[i], inside[i], 0);
        return;
      }
    const auto opset = opsets.find(node.domain);
    const Row* row = find_row(node.domain, node.op, opset == opsets.end() ? 1 : opset->second);
    for (const char* slot = row == nullptr ? "" : row->weights; *slot != '\0'; slot++) {
      const bool average = *slot >= 'A' && *slot <= 'Z', large = *slot >= 'a' && *slot <= 'z';
      const auto i = static_cast<size_t>(*slot - (average ? 'A' : large ? 'a' : '0'));
      if (i < node.inputs.size())
        claim(names, node.inputs[i], average ? Claim::kAverage : large ? Claim::kIfLarge : Claim::kTrained, 0);
    }
  }

  // What a function takes its inputs for; it is looked into once, and what it keeps itself is found on the way.
  const std::vector<Claim>& claims_of(const Function& f) {
    const auto [found, is_new] = functions_.try_emplace(&f, std::vector<Claim>(f.inputs.size(), Claim::kNone));
    if (!is_new || depth_ == kDeepest) return found->second;
    depth_++;
    Names names{.claims = &found->second};
    for (size_t i = 0; i < f.inputs.size(); i++) names.arguments.emplace(f.inputs[i], i);
    visit(f.nodes, names, f.opsets);
    depth_--;
    return found->second;
  }

  // A number in an expression is no weight, and neither is a constant that is written into the graph, unless an op takes
  // it as its weights.
  void claim(const Names& names, const std::string& name, Claim how, int depth) {
    if (const auto found = names.literals.find(name); found != names.literals.end()) {
      const Literal* literal = found->second;
      if (how == Claim::kIfLarge && initializers_.contains(literal) && literal->tensor.numel() > 1)
        how = Claim::kTrained;
      Claim& now = claims_[literal];
      now = std::max(now, how);
      return;
    }
    if (const auto found = names.arguments.find(name); found != names.arguments.end()) {
      Claim& now = (*names.claims)[found->second];
      now = std::max(now, how);
      return;
    }
    const auto maker = names.makers.find(name);
    if (maker == names.makers.end()) {
      if (names.around != nullptr) claim(*names.around, name, how, depth);
      return;
    }
    if (depth > 16) return;
    static constexpr std::array kMoves = {"Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze",
                                          "Flatten",  "Cast",      "Slice",   "Split"};
    const Node& node = *maker->second;
    if (!node.domain.empty()) return;
    if (node.op == "Concat") {
      for (const std::string& in : node.inputs) claim(names, in, how, depth + 1);
    } else if (!node.inputs.empty() && std::find(kMoves.begin(), kMoves.end(), node.op) != kMoves.end()) {
      claim(names, node.inputs[0], how, depth + 1);
    }
  }

  static constexpr int kDeepest = 32;  // more functions that call each other are refused when they run
  const File& file_;
  int depth_ = 0;
  std::vector<std::pair<const Literal*, std::string>> order_;
  std::unordered_set<const Literal*> initializers_;
  std::map<const Function*, std::vector<Claim>> functions_;
  std::unordered_map<const Literal*, Claim> claims_;
};

}  // namespace

std::vector<Weight> find_weights(const File& file, const std::vector<std::string>& constants) {
  return Finder(file).found(constants);
}

}  // namespace ingot::onnx
