#include "graph/passes.h"

#include <algorithm>
#include <array>

#include "graph/rewrite.h"
#include "graph/simplify.h"
#include "graph/verify.h"
#include "ingot/base/error.h"
#include "ingot/graph/plan.h"

namespace ingot {
namespace graph {
namespace {

// A pass that asks the ops' own rules.
template <const char* kName>
int rules(Graph& graph) {
  return apply_rules(graph, kName);
}
constexpr char kAlgebra[] = "algebra", kCrossEntropy[] = "cross_entropy", kPool[] = "pool", kRelu[] = "relu";

constexpr Pass kPasses[] = {
    {"cse", "Equal calls are recorded once.", "call", "shared", nullptr},
    {"fold", "What depends on constants alone is computed at compile time.", "node", "computed now", fold_constants},
    {kAlgebra, "What changes nothing goes (· 1, double negations, copies of values); x to the power 2 is x².", "node",
     "simplified", rules<kAlgebra>},
    {"views", "A view is strides over its base; without this pass, a copy follows it.", "view", "made strides",
     count_views, copy_views},
    {"dce", "What no result and no store needs is dropped.", "node", "dropped", drop_dead},
    {kCrossEntropy, "A softmax cross-entropy and its gradient on the same logits become one op.", "gradient",
     "computed with the loss", rules<kCrossEntropy>},
    {kPool, "Max pooling whose positions only its gradient reads keeps a byte per window and joins the convolution.",
     "max pooling", "without positions", rules<kPool>},
    {kRelu, "A norm, convolution or pooling takes over the relu that follows it.", "relu",
     "taken over by a norm or convolution", rules<kRelu>},
    {"stores", "A value that is only copied into memory of the user's is computed there.", "value",
     "computed in place of a copy", forward_stores},
    {"chains", "Element-wise ops join their neighbours in one step.", "node", "joined to a neighbour", nullptr},
    {"gemm_epilogue", "A product takes over the chain that follows it.", "product", "with a chain", nullptr},
    {"reduce", "A chain joins the reduction that it feeds.", "reduction", "fed by a chain", nullptr},
    {"order", "Steps run in an order in which less is alive at once.", "byte", "less alive at the peak", nullptr},
    {"in_place", "A result stands where an operand stood that nobody needs any more.", "result",
     "where an operand stood", nullptr},
};

constexpr auto kNames = [] {
  std::array<const char*, std::size(kPasses)> names{};
  for (size_t i = 0; i < names.size(); i++) names[i] = kPasses[i].name;
  return names;
}();

[[noreturn]] void unknown_pass(const std::string& name) {
  std::string all;
  for (const char* p : kNames) all += (all.empty() ? "" : ", ") + std::string(p);
  throw Error(ErrorKind::kArgument, "compile: no pass is named \"" + name + "\" — the passes are " + all);
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

PassRun::PassRun(std::span<const std::string> without) {
  for (const Pass& p : kPasses) rows_.push_back({&p});
  for (const std::string& name : without) {
    if (std::find(kNames.begin(), kNames.end(), name) == kNames.end()) unknown_pass(name);
    row(name).on = false;
  }
}

const PassRun::Row& PassRun::row(std::string_view name) const {
  return *std::find_if(rows_.begin(), rows_.end(), [&](const Row& r) { return name == r.pass->name; });
}

void PassRun::run(Graph& graph) {
  graph.forget_roots();
  for (Row& r : rows_) {
    const auto step = r.on ? r.pass->run : r.pass->otherwise;
    if (step == nullptr) continue;
    r.count = step(graph);
    if (verify_plans) verify(graph, r.pass->name);
  }
  own_outputs(graph);
  graph.note_roots();
  if (verify_plans) verify(graph, "own_outputs");
}

std::vector<PassReport> PassRun::reports() const {
  std::vector<PassReport> all;
  for (const Row& r : rows_) {
    const std::string number = std::to_string(r.count) + " " + r.pass->counts + (r.count == 1 ? " " : "s ");
    all.push_back({r.pass->name, r.on ? number + r.pass->done : "off"});
  }
  return all;
}

}  // namespace graph

std::span<const char* const> pass_names() { return graph::kNames; }

}  // namespace ingot
