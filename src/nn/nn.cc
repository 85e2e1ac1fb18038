#include "ingot/nn.h"

#include <cmath>

#include "ingot/error.h"
#include "ingot/functions.h"
#include "ingot/ops.h"

namespace ingot::nn {
namespace {

struct Sequence {
  int64_t seed = 0, stream = 0;
};
thread_local Sequence sequence;

// Initial values of the next parameter.
Tensor draw(const Dims& shape, double bound) { return uniform(shape, sequence.seed, -bound, bound, sequence.stream++); }

void require_positive(const char* layer, std::initializer_list<int64_t> sizes) {
  for (const int64_t n : sizes)
    if (n < 1) throw Error(std::string(layer) + ": size " + std::to_string(n) + " — sizes are 1 or more");
}

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

Linear::Linear(int64_t in, int64_t out, bool with_bias) {
  require_positive("Linear", {in, out});
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = draw({out, in}, bound);
  if (with_bias) bias = draw({out}, bound);
}
Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Conv2d::Conv2d(int64_t in, int64_t out, int64_t kernel, ConvOptions options, bool with_bias) : options_(options) {
  require_positive("Conv2d", {in, out, kernel, options.groups});
  if (in % options.groups != 0 || out % options.groups != 0)
    throw Error(std::string("Conv2d: ") + std::to_string(in) + " and " + std::to_string(out) +
                " channels do not divide into " + std::to_string(options.groups) + " groups");
  const int64_t fan_in = in / options.groups * kernel * kernel;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  weight = draw({out, in / options.groups, kernel, kernel}, bound);
  if (with_bias) bias = draw({out}, bound);
}
Tensor Conv2d::forward(const Tensor& x) { return conv2d(x, weight, bias, options_); }

LayerNorm::LayerNorm(int64_t features, double eps) : eps_(eps) {
  require_positive("LayerNorm", {features});
  weight = ones({features});
  bias = zeros({features});
}
Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, weight, bias, 1, eps_); }

Tensor MaxPool2d::forward(const Tensor& x) { return max_pool2d(x, {.kernel = {kernel_, kernel_}})[0]; }
Tensor Flatten::forward(const Tensor& x) { return flatten(x, 1); }
Tensor ReLU::forward(const Tensor& x) { return relu(x); }
Tensor Tanh::forward(const Tensor& x) { return tanh(x); }
Tensor GELU::forward(const Tensor& x) { return gelu(x); }

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

Tensor cross_entropy_loss(const Tensor& logits, const Tensor& labels) {
  return mean(softmax_cross_entropy(logits, labels));
}
Tensor mse_loss(const Tensor& result, const Tensor& target) { return mean(square(subtract(result, target))); }

namespace {

std::vector<InputSpec> with_targets(std::vector<InputSpec> inputs, const Loss& loss) {
  if (inputs.size() != 2)
    throw Error(std::string("train_step: ") + std::to_string(inputs.size()) +
                " input specs — give the batch's and the targets'");
  inputs[1].dtype = loss.target;
  if (inputs[0].name.empty()) inputs[0].name = std::string("x");
  if (inputs[1].name.empty()) inputs[1].name = std::string("target");
  return inputs;
}

}  // namespace

Step::Step(Layer& model, const Loss& loss, const Optimizer& optimizer, std::vector<InputSpec> inputs,
           const PlanOptions& options)
    : slab_(model.named_parameters()),
      step_(
          [&](const Tensor& x, const Tensor& target) {
            const Tensor result = model.forward(x);
            const Scope scope(loss.name);
            return loss.function(result, target);
          },
          slab_, optimizer, with_targets(std::move(inputs), loss), options) {}

}  // namespace ingot::nn
