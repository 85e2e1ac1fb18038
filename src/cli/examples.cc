#include "cli/examples.h"

#include <cmath>
#include <deque>
#include <string>

#include "ingot/ingot.h"

namespace ingot::cli {
namespace {

constexpr ExampleInfo kExamples[] = {
    {"mlp", "784-128-10 classifier with cross-entropy, one training step with Adam", 64},
    {"dqn", "144-256-128-64 value network with layer norm and dueling heads, Huber loss, one step with Adam", 64},
    {"cnn", "two convolutions with pooling and a linear layer on 28 x 28, one training step with Adam", 32},
    {"chain", "eight element-wise ops on a matrix of 1,024 columns", 256},
};

// Parameters with names. Their tensors stay where they are, so layers and the slab can refer to them.
class Parameters {
 public:
  /// Uniform in ±1/√fan_in, as is usual for linear and convolution layers.
  const Tensor& weight(const std::string& name, const Dims& shape, int64_t fan_in) {
    const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
    return add(name, uniform(shape, static_cast<int64_t>(tensors_.size()) + 1, -bound, bound));
  }
  const Tensor& constant(const std::string& name, const Dims& shape, double value) {
    return add(name, full(shape, value));
  }
  ParameterSlab slab() { return ParameterSlab(list_); }

 private:
  const Tensor& add(const std::string& name, const Tensor& t) {
    tensors_.push_back(t);
    list_.push_back({name, &tensors_.back()});
    return tensors_.back();
  }
  std::deque<Tensor> tensors_;
  std::vector<Parameter> list_;
};

struct LinearLayer {
  LinearLayer(Parameters& p, std::string label, int64_t in, int64_t out)
      : name(std::move(label)), w(p.weight(name + ".weight", {out, in}, in)), b(p.weight(name + ".bias", {out}, in)) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope(name);
    return linear(x, w, b);
  }
  std::string name;
  const Tensor &w, &b;
};

struct NormLayer {
  NormLayer(Parameters& p, std::string label, int64_t size)
      : name(std::move(label)), w(p.constant(name + ".weight", {size}, 1)), b(p.constant(name + ".bias", {size}, 0)) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope(name);
    return layer_norm(x, w, b);
  }
  std::string name;
  const Tensor &w, &b;
};

struct ConvLayer {
  ConvLayer(Parameters& p, std::string label, int64_t in, int64_t out, int64_t kernel)
      : name(std::move(label)),
        w(p.weight(name + ".weight", {out, in, kernel, kernel}, in * kernel * kernel)),
        b(p.weight(name + ".bias", {out}, in * kernel * kernel)) {}
  Tensor operator()(const Tensor& x) const {
    const Scope scope(name);
    return relu(conv2d(x, w, b));
  }
  std::string name;
  const Tensor &w, &b;
};

Tensor labels(int64_t count, int64_t classes, int64_t seed) {
  return to(uniform({count}, seed, 0, static_cast<double>(classes) - 1e-3), kI64);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& label) {
  const Scope scope("loss");
  return mean(softmax_cross_entropy(logits, label));
}

// A network with its training step. Network has parameters `p`, the loss as operator(), and static specs(batch) and
// data(batch) for its inputs.
template <class Network>
class Training final : public Example {
 public:
  Training(int64_t batch, const PlanOptions& options)
      : slab_(network_.p.slab()),
        step_(
            [this](std::span<const Tensor> in) {
              return std::vector<NamedTensor>{{"loss", network_(in)}};
            },
            slab_, optim::Adam{}, Network::specs(batch), options) {
    set_inputs(Network::data(batch));
  }
  Plan& plan() override { return step_.plan(); }
  Profile profile(int runs) override { return step_.profile(runs, inputs()); }

 private:
  Network network_;
  ParameterSlab slab_;
  TrainStep step_;
};

struct Mlp {
  Parameters p;
  LinearLayer fc1{p, "fc1", 784, 128}, fc2{p, "fc2", 128, 10};
  Tensor operator()(std::span<const Tensor> in) const { return cross_entropy(fc2(relu(fc1(in[0]))), in[1]); }
  static std::vector<InputSpec> specs(int64_t n) { return {{{n, 784}, kF32, "x"}, {{n}, kI64, "label"}}; }
  static std::vector<Tensor> data(int64_t n) { return {uniform({n, 784}, 1), labels(n, 10, 2)}; }
};

struct Dqn {
  static constexpr int64_t kActions = 18;
  Parameters p;
  LinearLayer fc1{p, "fc1", 144, 256}, fc2{p, "fc2", 256, 128}, fc3{p, "fc3", 128, 64};
  NormLayer norm1{p, "norm1", 256}, norm2{p, "norm2", 128}, norm3{p, "norm3", 64};
  LinearLayer value{p, "value", 64, 1}, advantage{p, "advantage", 64, kActions};
  Tensor operator()(std::span<const Tensor> in) const {
    const Tensor h = relu(norm3(fc3(relu(norm2(fc2(relu(norm1(fc1(in[0])))))))));
    const Tensor v = value(h), a = advantage(h);
    const Scope scope("loss");
    const Tensor q = v + a - mean(a, {1}, true);
    const Tensor error = gather(q, unsqueeze(in[1], 1), 1) - unsqueeze(in[2], 1);
    const Tensor near = clamp(error, -1, 1);
    return mean(near * (error - 0.5 * near));  // Huber: ½e² near 0, |e| - ½ elsewhere
  }
  static std::vector<InputSpec> specs(int64_t n) {
    return {{{n, 144}, kF32, "state"}, {{n}, kI64, "action"}, {{n}, kF32, "target"}};
  }
  static std::vector<Tensor> data(int64_t n) {
    return {uniform({n, 144}, 1, -1, 1), labels(n, kActions, 2), uniform({n}, 3, -1, 1)};
  }
};

struct Cnn {
  Parameters p;
  ConvLayer conv1{p, "conv1", 1, 8, 3}, conv2{p, "conv2", 8, 16, 3};
  LinearLayer fc{p, "fc", 16 * 5 * 5, 10};
  Tensor operator()(std::span<const Tensor> in) const {
    const PoolOptions pool{.kernel = {2, 2}};
    const Tensor a = max_pool2d(conv1(in[0]), pool)[0], b = max_pool2d(conv2(a), pool)[0];
    return cross_entropy(fc(flatten(b, 1)), in[1]);
  }
  static std::vector<InputSpec> specs(int64_t n) { return {{{n, 1, 28, 28}, kF32, "image"}, {{n}, kI64, "label"}}; }
  static std::vector<Tensor> data(int64_t n) { return {uniform({n, 1, 28, 28}, 1), labels(n, 10, 2)}; }
};

class Chain final : public Example {
 public:
  Chain(int64_t batch, const PlanOptions& options)
      : plan_(compile([](const Tensor& x) { return sqrt(abs(relu(exp(x * 0.5) - 1.0) + x)) * x; },
                      {{{batch, 1024}, kF32, "x"}}, options)) {
    set_inputs({uniform({batch, 1024}, 1, -2, 2)});
  }
  Plan& plan() override { return plan_; }

 private:
  Plan plan_;
};

template <class Kind>
std::unique_ptr<Example> make(int64_t batch, const PlanOptions& options) {
  return std::make_unique<Kind>(batch, options);
}
using Maker = std::unique_ptr<Example> (*)(int64_t, const PlanOptions&);
constexpr Maker kMakers[] = {make<Training<Mlp>>, make<Training<Dqn>>, make<Training<Cnn>>, make<Chain>};
static_assert(std::size(kMakers) == std::size(kExamples));

}  // namespace

std::span<const ExampleInfo> examples() { return kExamples; }

void Example::set_inputs(std::vector<Tensor> inputs) {
  inputs_ = std::move(inputs);
  input_pointers_.clear();
  for (const Tensor& t : inputs_) input_pointers_.push_back(&t);
}

std::unique_ptr<Example> make_example(std::string_view name, int64_t batch, const PlanOptions& options) {
  if (batch < 0 || batch > 1'000'000)
    throw Error("profile: a batch of " + std::to_string(batch) + " — give 1 to 1000000");
  std::string all;
  for (size_t i = 0; i < std::size(kExamples); i++) {
    if (name == kExamples[i].name) return kMakers[i](batch == 0 ? kExamples[i].batch : batch, options);
    all += (all.empty() ? "" : ", ") + std::string(kExamples[i].name);
  }
  throw Error("profile: no example is named \"" + std::string(name) + "\" — there are " + all);
}

}  // namespace ingot::cli
