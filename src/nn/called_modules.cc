#include "nn/called_modules.h"

#include <algorithm>

#include "ingot/base/error.h"

namespace ingot::nn {
namespace {

// The parameters that a module has itself, not in modules inside.
class OwnParameters final : public Parts {
 public:
  std::vector<NamedTensor> found;

 protected:
  void tensor(const std::string& path, Tensor& t, bool trained) override {
    if (trained && path.find('.') == std::string::npos) found.push_back({path, t});
  }
};

// Memory of the user's that the values follow: what gradients would reach.
std::vector<Tensor> followed(const graph::Graph& graph, std::span<const graph::ValueId> values) {
  std::vector<bool> reached(graph.nodes.size(), false);
  graph::NodeId last = -1;
  for (const graph::ValueId v : values) {
    const graph::NodeId node = graph.value(v).node;
    reached[static_cast<size_t>(node)] = true;
    last = std::max(last, node);
  }
  std::vector<Tensor> memory;
  for (graph::NodeId id = last; id >= 0; id--) {
    const graph::Node& n = graph.node(id);
    if (!reached[static_cast<size_t>(id)]) continue;
    if (n.kind == graph::NodeKind::kBound) memory.push_back(n.bound);
    if (n.kind != graph::NodeKind::kOp || n.stop_gradient || n.op->gradient == nullptr) continue;
    for (const graph::ValueId v : n.inputs)
      if (v != graph::kAbsent) reached[static_cast<size_t>(graph.value(v).node)] = true;
  }
  return memory;
}

std::string listed(const std::vector<NamedTensor>& parameters) {
  std::string text;
  for (const NamedTensor& p : parameters)
    text += (text.empty() ? "" : ", ") + p.name + " " + to_string(p.tensor.shape());
  return text;
}

}  // namespace

StepModes::Watched& StepModes::of(const Module& m, const std::string& what) {
  const auto [known, is_new] = number_of_.emplace(m.modes().get(), watched_.size());
  if (is_new) watched_.push_back({what, m.modes(), *m.modes()});
  return watched_[known->second];
}

std::vector<NamedTensor> StepModes::add(Module& m, const std::string& what, const Slabs& slabs) {
  if (number_of_.contains(m.modes().get()) && of(m, what).has_parameters) return {};
  OwnParameters own;
  own.visit(m);
  if (own.found.empty()) return {};
  Watched& watched = of(m, what);
  watched.has_parameters = true;
  for (const NamedTensor& p : own.found)
    for (const ParameterSlab* slab : slabs) watched.learns |= slab->values().shares_storage(p.tensor);
  if (watched.learns && m.frozen())
    throw Error("train step: " + what +
                " was frozen after its parameters had joined those that are trained — freeze it before the slab, the "
                "step or the trainer is made");
  if (watched.learns) return {};  // whoever chose some of its parameters to train knows of the others
  std::erase_if(own.found, [&](const NamedTensor& p) { return m.frozen() || is_in_slab(p.tensor); });
  return std::move(own.found);
}

void StepModes::look() {
  const uint64_t now = mode_changes();
  for (const Watched& w : watched_) {
    if (w.asked && w.modes->training != w.then.training)
      throw Error("train step: " + w.what + " is in " + (w.modes->training ? "training" : "evaluation") +
                  " mode, and the step was made when it was not — call " + (w.then.training ? "train()" : "eval()") +
                  " before you go on, or make another step");
    if (w.modes->frozen && !w.then.frozen && w.learns)
      throw Error("train step: " + w.what +
                  " was frozen after the step was made, which trains it — end the step and make another one");
    if (!w.modes->frozen && w.then.frozen && w.has_parameters)
      throw Error("train step: " + w.what +
                  " was frozen when the step was made and is no more; the step does not train it — make another one");
  }
  seen_ = now;
}

// "encoder.0" (Linear); without a name, as no parts() has told one, where it is.
std::string CalledModules::describe(const Module& m) const {
  std::string path;
  for (const Module* outer : inside_)
    if (outer != &m && !outer->name().empty()) path += outer->name() + ".";
  if (!m.name().empty()) return "\"" + path + m.name() + "\" (" + m.kind() + ")";
  if (path.empty()) return "the " + m.kind();
  path.pop_back();
  return "the " + m.kind() + " in \"" + path + "\"";
}

void CalledModules::enter(Module& m) {
  inside_.push_back(&m);
  std::vector<NamedTensor> parameters = modes_->add(m, describe(m), slabs_);
  if (!parameters.empty()) untrained_.push_back({describe(m), std::move(parameters)});
}

void CalledModules::check_all_learn(const graph::Graph& graph, std::span<const graph::ValueId> losses) const {
  if (untrained_.empty()) return;
  const std::vector<Tensor> memory = followed(graph, losses);
  for (const Untrained& u : untrained_)
    for (const NamedTensor& p : u.parameters)
      for (const Tensor& t : memory)
        if (t.shares_storage(p.tensor) && overlaps(t, p.tensor))
          throw Error("train step: " + u.what + " is called, and its parameters (" + listed(u.parameters) +
                      ") are not among those that are trained — list it in parts() of the module that has it; if it is "
                      "not to learn, freeze() it, or take stop_gradient() of what it makes");
}

}  // namespace ingot::nn
