#include "ingot/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ingot/error.h"
#include "ingot/ops.h"
#include "ingot/plan.h"
#include "nn/draw.h"
#include "nn/parts.h"

namespace ingot::nn {
namespace {

struct Sequence {
  int64_t seed = 0, stream = 0;
};
thread_local Sequence sequence;

thread_local RandomSource* scope_source = nullptr;

thread_local CallWatch* call_watch = nullptr;

// Calls a function for every tensor: f(path, tensor, trained, frozen).
template <class F>
class EachTensor final : public Parts {
 public:
  explicit EachTensor(F f) : f_(f) {}

 protected:
  void tensor(const std::string& path, Tensor& t, bool trained) override { f_(path, t, trained, in_frozen()); }

 private:
  F f_;
};

// Calls a function for every module, the outermost included.
template <class F>
class EachModule final : public Parts {
 public:
  explicit EachModule(F f) : f_(f) {}

 protected:
  void tensor(const std::string&, Tensor&, bool) override {}
  void module(const std::string&, Module& m) override { f_(m); }

 private:
  F f_;
};

// Adds a handle to a list unless it has one on the same elements.
bool is_new(std::unordered_multimap<const void*, const Tensor*>& known, const Tensor& t) {
  const auto [first, last] = known.equal_range(t.raw());
  for (auto it = first; it != last; ++it)
    if (same_elements(*it->second, t)) return false;
  known.emplace(t.raw(), &t);
  return true;
}

}  // namespace

void set_seed(int64_t seed) { sequence = {seed, 0}; }

RandomKey next_key() { return {static_cast<uint64_t>(sequence.seed), static_cast<uint64_t>(sequence.stream++)}; }

Tensor draw_uniform(const Dims& shape, double bound) {
  return uniform(shape, sequence.seed, -bound, bound, sequence.stream++);
}

Tensor draw_normal(const Dims& shape) { return normal(shape, sequence.seed, 0, 1, sequence.stream++); }

RandomSource next_random() {
  if (scope_source != nullptr) return {scope_source->seed, scope_source->stream++};
  if (capturing())
    throw Error(
        "random layer: drawn in a capture without a seed, its numbers would be the same at every run — compile a "
        "TrainStep, or open an nn::RandomScope on a seed that is an input; or call eval() first");
  return {Tensor::from<int64_t>({sequence.seed}, {}), sequence.stream++};
}

RandomScope::RandomScope(const Tensor& seed) : source_{seed, 0}, outer_(scope_source) { scope_source = &source_; }
RandomScope::~RandomScope() { scope_source = outer_; }

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && a.dtype() == b.dtype() && a.shape() == b.shape() && a.strides() == b.strides();
}

CallWatch* set_call_watch(CallWatch* watch) { return std::exchange(call_watch, watch); }

void Parts::visit(Module& root) {
  path_.clear();
  frozen_ = root.frozen_;
  module(path_, root);
  root.parts(*this);
}

// The path is built in place: walking a model again takes no memory.
void Parts::add(std::string_view name, Tensor& t, bool trained) {
  if (!t.defined()) return;
  const size_t length = path_.size();
  path_.append(name);
  tensor(path_, t, trained);
  path_.resize(length);
}

void Parts::carried(std::string_view name, Tensor& t) {
  if (!t.defined()) return;
  const size_t length = path_.size();
  path_.append(name);
  carried_tensor(path_, t);
  path_.resize(length);
}

void Parts::operator()(std::string_view name, Module& child) {
  const size_t length = path_.size();
  const bool frozen = std::exchange(frozen_, child.frozen_);
  child.name_ = name;
  path_.append(name);
  module(path_, child);
  path_.push_back('.');
  child.parts(*this);
  path_.resize(length);
  frozen_ = frozen;
}

std::vector<Parameter> Module::named_parameters() {
  std::vector<Parameter> found;
  std::unordered_multimap<const void*, const Tensor*> known;
  EachTensor each([&](const std::string& path, Tensor& t, bool trained, bool) {
    if (trained && is_new(known, t)) found.push_back({path, &t});
  });
  each.visit(*this);
  return found;
}

std::vector<Parameter> Module::trainable_parameters() {
  std::vector<Parameter> found;
  std::unordered_set<const void*> kept;  // memory of frozen parameters
  EachTensor each([&](const std::string& path, Tensor& t, bool trained, bool frozen) {
    if (!trained) return;
    if (frozen)
      kept.insert(t.raw());
    else
      found.push_back({path, &t});
  });
  each.visit(*this);
  std::erase_if(found, [&](const Parameter& p) { return kept.contains(p.tensor->raw()); });
  return found;
}

std::vector<Parameter> Module::named_buffers() {
  std::vector<Parameter> found;
  EachTensor each([&](const std::string& path, Tensor& t, bool trained, bool) {
    if (!trained) found.push_back({path, &t});
  });
  each.visit(*this);
  return found;
}

std::vector<Parameter> Module::carried_tensors() {
  class Carried final : public Parts {
   public:
    std::vector<Parameter> found;

   protected:
    void tensor(const std::string&, Tensor&, bool) override {}
    void carried_tensor(const std::string& path, Tensor& t) override { found.push_back({path, &t}); }
  } list;
  list.visit(*this);
  return std::move(list.found);
}

int64_t Module::parameter_count() {
  int64_t count = 0;
  for (const Parameter& p : named_parameters()) count += p.tensor->numel();
  return count;
}

void Module::train(bool on) {
  EachModule each([on](Module& m) { m.training_ = on; });
  each.visit(*this);
}

Evaluating::Evaluating(Module& model) {
  EachModule each([this](Module& m) {
    if (m.training()) were_training_.push_back(&m);
  });
  each.visit(model);
  model.eval();
}
Evaluating::~Evaluating() {
  for (Module* m : were_training_) m->training_ = true;
}

void Module::freeze(bool on) {
  EachModule each([on](Module& m) { m.frozen_ = on; });
  each.visit(*this);
}

std::vector<Module*> Module::modules() {
  std::vector<Module*> all;
  EachModule each([&](Module& m) { all.push_back(&m); });
  each.visit(*this);
  return all;
}

void Module::to(DType dtype) {
  if (!is_float(dtype)) throw Error(std::string("to: modules compute in f32 or f64, not in ") + ingot::name(dtype));
  std::vector<std::pair<Tensor, Tensor>> done;  // what is shared stays so
  EachTensor each([&](const std::string&, Tensor& t, bool, bool) {
    if (!is_float(t.dtype()) || t.dtype() == dtype) return;
    for (const auto& [before, after] : done)
      if (same_elements(before, t)) {
        t = after;
        return;
      }
    const Tensor converted = ingot::to(t, dtype);
    done.emplace_back(t, converted);
    t = converted;
  });
  each.visit(*this);
  for (const Parameter& carried : carried_tensors())
    if (carried.tensor->dtype() != dtype) *carried.tensor = ingot::to(*carried.tensor, dtype);
}

// The class's name as it was written: without namespaces and template arguments.
std::string Module::kind() const {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(typeid(*this).name(), nullptr, nullptr, &status), std::free);
  std::string kind = status == 0 ? text.get() : typeid(*this).name();
  kind.resize(std::min(kind.size(), kind.find('<')));
  if (const size_t colon = kind.rfind("::"); colon != std::string::npos) kind.erase(0, colon + 2);
  return kind;
}

Within::Within(Module& module) : module_(module) {
  if (!module.name().empty()) scope_.emplace(module.name());
  if (call_watch != nullptr) call_watch->enter(module_);
}
Within::~Within() {
  if (call_watch != nullptr) call_watch->leave(module_);
}
void Within::result(const Tensor& y) const {
  if (call_watch != nullptr) call_watch->result(module_, y);
}

Tensor Layer::operator()(const Tensor& x) {
  const Within here(*this);
  try {
    if (!x.defined()) throw Error("the input is undefined — give it a tensor");
    if (x.numel() == 0) throw Error("the batch is empty, " + to_string(x.shape()) + " — give at least one sample");
    Tensor y = forward(x);
    here.result(y);
    return y;
  } catch (const Error& e) {
    throw Error((name().empty() ? kind() : name() + " (" + kind() + ")") + ": " + e.what());
  }
}

void LayerList::append(std::shared_ptr<Layer> layer) {
  layer->name_ = std::to_string(layers_.size());
  layers_.push_back(std::move(layer));
}

void LayerList::parts(Parts& p) {
  for (size_t i = 0; i < layers_.size(); i++) p(std::to_string(i), *layers_[i]);
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (size_t i = 0; i < size(); i++) y = (*this)[i](y);
  return y;
}

}  // namespace ingot::nn
