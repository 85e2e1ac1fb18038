#include "ingot/module.h"

#include "ingot/error.h"
#include "ingot/ops.h"
#include "ingot/plan.h"
#include "nn/draw.h"

namespace ingot::nn {
namespace {

struct Sequence {
  int64_t seed = 0, stream = 0;
};
thread_local Sequence sequence;

thread_local RandomSource* scope_source = nullptr;

class Collect final : public Parts {
 public:
  explicit Collect(bool trained) : trained_(trained) {}
  std::vector<Parameter> found;

 protected:
  void tensor(const std::string& path, Tensor& t, bool trained) override {
    if (trained == trained_) found.push_back({path, &t});
  }

 private:
  bool trained_;
};

// Calls a function for every module inside.
template <class F>
class EachChild final : public Parts {
 public:
  explicit EachChild(F f) : f_(f) {}

 protected:
  void tensor(const std::string&, Tensor&, bool) override {}
  void module(Module& m) override { f_(m); }

 private:
  F f_;
};

}  // namespace

void set_seed(int64_t seed) { sequence = {seed, 0}; }

RandomKey next_key() { return {static_cast<uint64_t>(sequence.seed), static_cast<uint64_t>(sequence.stream++)}; }

Tensor draw_uniform(const Dims& shape, double bound) {
  return uniform(shape, sequence.seed, -bound, bound, sequence.stream++);
}

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

void Parts::add(std::string_view name, Tensor& t, bool trained) {
  if (t.defined()) tensor(prefix_ + std::string(name), t, trained);
}

void Parts::operator()(std::string_view name, Module& child) {
  const size_t length = prefix_.size();
  prefix_.append(name).push_back('.');
  module(child);
  child.parts(*this);
  prefix_.resize(length);
}

std::vector<Parameter> Module::named_parameters() {
  Collect collect(true);
  parts(collect);
  return std::move(collect.found);
}

std::vector<Parameter> Module::named_buffers() {
  Collect collect(false);
  parts(collect);
  return std::move(collect.found);
}

int64_t Module::parameter_count() {
  int64_t count = 0;
  for (const Parameter& p : named_parameters()) count += p.tensor->numel();
  return count;
}

void Module::train(bool on) {
  training_ = on;
  EachChild each([on](Module& m) { m.training_ = on; });
  parts(each);
}

void Sequential::parts(Parts& p) {
  for (size_t i = 0; i < layers_.size(); i++) p(std::to_string(i), *layers_[i]);
}

Tensor Sequential::forward(const Tensor& x) {
  Tensor y = x;
  for (size_t i = 0; i < layers_.size(); i++) {
    const Scope scope(std::to_string(i));
    y = layers_[i]->forward(y);
  }
  return y;
}

}  // namespace ingot::nn
