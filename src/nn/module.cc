#include "ingot/nn/module.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/graph/plan.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/parts.h"

namespace ingot::nn {
namespace {

struct Sequence {
  int64_t seed = 0, stream = 0;
};
thread_local Sequence sequence;

thread_local RandomSource* scope_source = nullptr;

thread_local CallWatch* call_watch = nullptr;

thread_local int clones_under_way = 0;

std::atomic<uint64_t> changed_modes{0};

void set_mode(bool& mode, bool on) {
  if (mode == on) return;
  mode = on;
  changed_modes.fetch_add(1, std::memory_order_release);
}

// A class's name as it was written: without namespaces and template arguments.
std::string class_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                    std::free);
  std::string name = status == 0 ? text.get() : type.name();
  name.resize(std::min(name.size(), name.find('<')));
  if (const size_t colon = name.rfind("::"); colon != std::string::npos) name.erase(0, colon + 2);
  return name;
}

// parts() tells and changes nothing: it is not const only because who asks may be about to move a handle.
Module& told(const Module& m) { return const_cast<Module&>(m); }

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

// Calls a function for every tensor that goes from batch to batch: f(path, tensor).
template <class F>
class EachCarried final : public Parts {
 public:
  explicit EachCarried(F f) : f_(f) {}

 protected:
  void tensor(const std::string&, Tensor&, bool) override {}
  void carried_tensor(const std::string& path, Tensor& t) override { f_(path, t); }

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

SeedScope::SeedScope(int64_t seed) : outer_seed_(sequence.seed), outer_stream_(sequence.stream) { set_seed(seed); }
SeedScope::~SeedScope() { sequence = {outer_seed_, outer_stream_}; }

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
  frozen_ = root.frozen();
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
  const bool frozen = std::exchange(frozen_, child.frozen());
  if (child.name_ != name) child.name_ = name;
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

std::vector<NamedTensor> Module::parameters() const {
  std::vector<NamedTensor> found;
  for (const Parameter& p : told(*this).named_parameters()) found.push_back({p.name, *p.tensor});
  return found;
}

std::vector<NamedTensor> Module::buffers() const {
  std::vector<NamedTensor> found;
  EachTensor each([&](const std::string& path, Tensor& t, bool trained, bool) {
    if (!trained) found.push_back({path, t});
  });
  each.visit(told(*this));
  return found;
}

std::vector<NamedTensor> Module::carried_tensors() const {
  std::vector<NamedTensor> found;
  EachCarried each([&](const std::string& path, Tensor& t) { found.push_back({path, t}); });
  each.visit(told(*this));
  return found;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const NamedTensor& p : parameters()) count += p.tensor.numel();
  return count;
}

uint64_t mode_changes() { return changed_modes.load(std::memory_order_acquire); }

bool Module::training() const {
  if (call_watch != nullptr) call_watch->mode_asked(*this);
  return modes_->training;
}

void Module::train(bool on) {
  EachModule each([on](Module& m) { set_mode(m.modes_->training, on); });
  each.visit(*this);
}

Evaluating::Evaluating(Module& model) {
  EachModule each([this](Module& m) {
    if (m.modes_->training) were_training_.push_back(&m);
  });
  each.visit(model);
  model.eval();
}
Evaluating::~Evaluating() {
  for (Module* m : were_training_) set_mode(m->modes_->training, true);
}

void Module::freeze(bool on) {
  EachModule each([on](Module& m) { set_mode(m.modes_->frozen, on); });
  each.visit(*this);
}

std::vector<Module*> Module::modules() {
  std::vector<Module*> all;
  EachModule each([&](Module& m) { all.push_back(&m); });
  each.visit(*this);
  return all;
}

namespace {

// Puts something else in the place of every tensor of a model for which `make` makes one, and keeps shared what is.
template <class F>
void replace_tensors(Module& model, F make) {
  std::unordered_map<const void*, std::vector<std::pair<Tensor, Tensor>>> done;  // by their first element
  const auto replace = [&](const std::string& path, Tensor& t) {
    auto& here = done[t.raw()];
    for (const auto& [before, after] : here)
      if (same_elements(before, t)) {
        t = after;
        return;
      }
    const Tensor made = make(t, path);
    if (!made.defined()) return;
    here.emplace_back(t, made);
    t = made;
  };
  EachTensor each([&](const std::string& path, Tensor& t, bool, bool) { replace(path, t); });
  each.visit(model);
  EachCarried carried([&](const std::string& path, Tensor& t) { replace(path, t); });
  carried.visit(model);
}

}  // namespace

void Module::to(DType dtype) {
  if (!is_float(dtype))
    throw Error(ErrorKind::kType, std::string("to: modules compute in f32 or f64, not in ") + ingot::name(dtype));
  replace_tensors(*this, [&](const Tensor& t, const std::string& path) {
    if (!is_float(t.dtype()) || t.dtype() == dtype) return Tensor();
    Tensor converted = ingot::to(t, dtype);
    mark_moved(t, path);
    return converted;
  });
}
Tensor Module::to(const Tensor& x, DType dtype) { return ingot::to(x, dtype); }

Module::Module(const Module& other) : modes_(std::make_shared<Modes>(*other.modes_)), name_(other.name_) {
  if (clones_under_way == 0)
    throw Error(
        "module: copied — a copy would share its parameters until one of them is trained; take nn::clone(net) for an "
        "independent one, std::move(net) to hand it over, or a reference");
}

detail::Cloning::Cloning() { clones_under_way++; }
detail::Cloning::~Cloning() { clones_under_way--; }
void detail::refuse_slice(const Module& module, const std::type_info& as) {
  throw Error("clone: the module is a " + module.kind() + ", and a copy as " + class_name(as) +
              " would lose what it has besides — clone it where its own class is known, or hold it as an nn::LayerPtr");
}
bool detail::cloning() { return clones_under_way > 0; }

void detail::make_independent(Module& copy, const Module& original) {
  const std::vector<Module*> theirs = told(original).modules();
  const std::unordered_set<const Module*> known(theirs.begin(), theirs.end());
  for (const Module* m : copy.modules())
    if (known.contains(m))
      throw Error("clone: the part \"" + m->name() + "\" (" + m->kind() +
                  ") is held by a pointer, and both would share it — hold it by value, or as an nn::LayerPtr");
  replace_tensors(copy, [](const Tensor& t, const std::string&) { return ingot::clone(t); });
}

std::string Module::kind() const { return class_name(typeid(*this)); }

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
    if (x.numel() == 0)
      throw Error(ErrorKind::kShape, "the batch is empty, " + to_string(x.shape()) + " — give at least one sample");
    Tensor y = forward(x);
    here.result(y);
    return y;
  } catch (const Error& e) {
    std::string what = e.what();
    if (what.starts_with(kind() + ": "))
      what.erase(0, kind().size() + 2);  // layers that can be called in other ways, too
    throw Error(e.kind(), (name().empty() ? kind() : name() + " (" + kind() + ")") + ": " + what);
  }
}

void LayerPtr::check() const {
  if (layer_ == nullptr) throw Error("layer: a null pointer — make it with std::make_shared<nn::Linear>(…)");
}

LayerPtr::LayerPtr(const LayerPtr& other) : layer_(other.layer_), copy_(other.copy_) {
  if (!detail::cloning() || layer_ == nullptr) return;
  layer_ = copy_ != nullptr ? copy_(*other.layer_) : nullptr;
  if (layer_ == nullptr)
    throw Error("clone: the layer \"" + other.layer_->name() + "\" (" + other.layer_->kind() +
                ") was added as a pointer to a base class — add a std::shared_ptr to the layer's own class");
}

void LayerList::append(LayerPtr layer) {
  layer->name_ = std::to_string(layers_.size());
  layers_.push_back(std::move(layer));
}

Layer& LayerList::operator[](size_t i) {
  if (i >= layers_.size())
    throw Error(kind() + ": layer " + std::to_string(i) + " of " + std::to_string(layers_.size()) +
                " — they are numbered from 0");
  return *layers_[i];
}

void LayerList::parts(Parts& p) {
  for (size_t i = 0; i < layers_.size(); i++) p(std::to_string(i), *layers_[i]);
}

Tensor Sequential::add(const Tensor& a, const Tensor& b) { return ingot::add(a, b); }
Tensor Sequential::add(const Tensor& x, double value) { return ingot::add(x, value); }

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (size_t i = 0; i < size(); i++) y = (*this)[i](y);
  return y;
}

}  // namespace ingot::nn
