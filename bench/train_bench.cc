// Whole training steps, an optimiser alone and inference against libtorch, which computes the same thing from the same
// weights and data: every case checks that before it measures. And what a plan makes of a chain of ops, what many runs
// at once gain, and what compiling and loading cost.
//
// libtorch runs at its best: with BLIS and with OpenBLAS, the BLAS on all threads and on one, InferenceMode and
// NoGradGuard; the fastest counts (torch_peer.h). Gradients are set to none between steps (2 to 5 % faster than zeroing them), and malloc keeps what it has:
// see main.
#include <malloc.h>
#include <torch/torch.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "harness.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ingot.h"
#include "ingot/nn/train_step.h"
#include "torch_peer.h"
#include "train_cnn.h"

namespace {

using namespace ingot;

struct Mlp {
  nn::Sequential net;
  explicit Mlp(const std::vector<int64_t>& sizes) {
    for (size_t i = 0; i + 1 < sizes.size(); i++) {
      if (i > 0) net.add(nn::ReLU());
      net.add(nn::Linear(sizes[i], sizes[i + 1]));
    }
  }
  std::vector<Parameter> parameters() { return net.trainable_parameters(); }
  Tensor forward(const Tensor& x) { return net(x); }
  Tensor loss(std::span<const Tensor> in) { return nn::cross_entropy_loss(forward(in[0]), in[1]); }
};

struct TorchMlp : torch::nn::Module {
  std::vector<torch::nn::Linear> layers;
  explicit TorchMlp(const std::vector<int64_t>& sizes) {
    for (size_t i = 0; i + 1 < sizes.size(); i++)
      layers.push_back(register_module(std::to_string(i), torch::nn::Linear(sizes[i], sizes[i + 1])));
  }
  at::Tensor forward(at::Tensor x) {
    for (size_t i = 0; i < layers.size(); i++) x = i == 0 ? layers[i](x) : layers[i](torch::relu(x));
    return x;
  }
  at::Tensor loss(const TorchBatch& in) { return torch::cross_entropy_loss(forward(in[0]), in[1]); }
};

struct Dqn : nn::Module {
  nn::Linear linear1{144, 256}, linear2{256, 128}, linear3{128, 64}, value{64, 1}, advantage{64, 6};
  nn::LayerNorm norm1{256}, norm2{128}, norm3{64};
  void parts(nn::Parts& p) override {
    p("linear1", linear1), p("norm1", norm1), p("linear2", linear2), p("norm2", norm2), p("linear3", linear3);
    p("norm3", norm3), p("value", value), p("advantage", advantage);
  }
  std::vector<Parameter> parameters() { return trainable_parameters(); }
  Tensor forward(const Tensor& x) {
    const Tensor h = relu(norm3(linear3(relu(norm2(linear2(relu(norm1(linear1(x)))))))));
    const Tensor a = advantage(h);
    return value(h) + a - mean(a, {1}, true);
  }
  Tensor loss(std::span<const Tensor> in) { return nn::huber_loss(gather(forward(in[0]), in[1], 1), in[2]); }
};

struct TorchDqn : torch::nn::Module {
  torch::nn::Linear linear1 = register_module("linear1", torch::nn::Linear(144, 256));
  torch::nn::LayerNorm norm1 = register_module("norm1", norm(256));
  torch::nn::Linear linear2 = register_module("linear2", torch::nn::Linear(256, 128));
  torch::nn::LayerNorm norm2 = register_module("norm2", norm(128));
  torch::nn::Linear linear3 = register_module("linear3", torch::nn::Linear(128, 64));
  torch::nn::LayerNorm norm3 = register_module("norm3", norm(64));
  torch::nn::Linear value = register_module("value", torch::nn::Linear(64, 1));
  torch::nn::Linear advantage = register_module("advantage", torch::nn::Linear(64, 6));

  static torch::nn::LayerNorm norm(int64_t size) {
    return torch::nn::LayerNorm(torch::nn::LayerNormOptions(std::vector<int64_t>{size}));
  }
  at::Tensor forward(const at::Tensor& x) {
    const auto h = torch::relu(norm3(linear3(torch::relu(norm2(linear2(torch::relu(norm1(linear1(x)))))))));
    const auto a = advantage(h);
    return value(h) + a - a.mean(1, true);
  }
  at::Tensor loss(const TorchBatch& in) { return torch::huber_loss(forward(in[0]).gather(1, in[1]), in[2]); }
};

#include "train_sequence.h"

void copy_weights(const std::vector<Parameter>& ours, torch::nn::Module& theirs) {
  const torch::NoGradGuard guard;
  const auto list = theirs.parameters();
  if (list.size() != ours.size()) differs("parameters", "their number");
  for (size_t i = 0; i < list.size(); i++) list[i].copy_(torch_view(*ours[i].tensor));
}

// Batches of normal inputs with classes 0 to classes - 1; for Q learning a target for each action as well.
std::vector<Batch> batches(int count, const Dims& input, int64_t classes, bool targets = false) {
  const int64_t rows = input[0];
  std::vector<Batch> list;
  for (int i = 0; i < count; i++) {
    Tensor labels = Tensor::empty(targets ? Dims{rows, 1} : Dims{rows}, kI64);
    fill_integers(labels.data<int64_t>(), rows, 0, 0, classes, {7, static_cast<uint64_t>(i)});
    list.push_back({normal(input, 5, 0, 1, i), labels});
    if (targets) list.back().push_back(normal({rows, 1}, 6, 0, 1, i));
  }
  return list;
}

PlanOptions named(const std::string& label) {
  PlanOptions options;
  options.name = label;
  return options;
}

// Learning rates: for the step that is compared, one that changes the parameters by some per cent; for those that are
// measured, a small one, because a network that knows its batches by heart has gradients too small for normal numbers.
double checked_rate(bool adam) { return adam ? 1e-3 : 1; }
constexpr double kMeasuredRate = 1e-6;

std::unique_ptr<torch::optim::Optimizer> torch_optimizer(bool adam, const std::vector<at::Tensor>& parameters) {
  if (adam) return std::make_unique<torch::optim::Adam>(parameters, checked_rate(adam));
  return std::make_unique<torch::optim::SGD>(parameters, checked_rate(adam));
}

Optimizer our_optimizer(bool adam) {
  const auto lr = static_cast<float>(checked_rate(adam));
  return adam ? Optimizer(optim::Adam{.lr = lr}) : Optimizer(optim::Sgd{.lr = lr});
}

void slow_down(torch::optim::Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups()) group.options().set_lr(kMeasuredRate);
}

template <class Ours, class Theirs>
void training(bench::Suite& s, const std::string& label, Ours&& ours, Theirs&& theirs, bool adam,
              const std::vector<Batch>& data, double tolerance = 1e-5) {
  if (!s.wants(label)) return;
  ParameterSlab slab(ours.parameters());
  copy_weights(ours.parameters(), theirs);
  std::vector<InputSpec> specs;
  for (const Tensor& t : data[0]) specs.emplace_back(t.shape(), t.dtype());
  const PlanFunction loss = [&](std::span<const Tensor> in) {
    return std::vector<NamedTensor>{{"loss", ours.loss(in)}};
  };
  TrainStep step(loss, slab, our_optimizer(adam), specs, named(label));
  std::vector<std::vector<const Tensor*>> inputs(data.size());
  std::vector<TorchBatch> torch_data;
  for (size_t i = 0; i < data.size(); i++) {
    for (const Tensor& t : data[i]) inputs[i].push_back(&t);
    torch_data.push_back(torch_view(data[i]));
  }
  const auto optimizer = torch_optimizer(adam, theirs.parameters());
  const auto torch_step = [&](size_t i) {
    theirs.zero_grad(true);
    at::Tensor torch_loss = theirs.loss(torch_data[i]);
    torch_loss.backward();
    optimizer->step();
    return torch_loss;
  };

  const float our_loss = step.run(inputs[0]);
  check_same(label, "the loss", at::scalar_tensor(our_loss), torch_step(0));
  const auto torch_parameters = theirs.parameters();
  for (size_t i = 0; i < slab.size(); i++)
    check_same(label, slab.name(i) + " after a step", torch_view(slab.value(i)), torch_parameters[i], tolerance);

  step.set_lr(static_cast<float>(kMeasuredRate));
  slow_down(*optimizer);
  size_t i = 0, j = 0;
  s.compare(
      label, [&] { step.run(inputs[i++ % inputs.size()]); },
      libtorch("", [&] { torch_step(j++ % torch_data.size()); }));
}

template <class Ours, class Theirs>
void inference(bench::Suite& s, const std::string& label, Ours&& ours, Theirs&& theirs, const Dims& shape) {
  if (!s.wants(label)) return;
  copy_weights(ours.parameters(), theirs);
  const Tensor x = normal(shape, 8);
  const at::Tensor torch_x = torch_view(x);
  PlanOptions options = named(label);
  options.frozen = true;  // the weights stay as they are
  Plan plan = compile([&](const Tensor& in) { return ours.forward(in); }, {InputSpec(shape)}, options);
  check_same(label, "the result", torch_view(plan.run(x)[0]), theirs.forward(torch_x));
  auto peers = libtorch("inference mode, ", [&] {
    const c10::InferenceMode guard;
    theirs.forward(torch_x);
  });
  for (auto& peer : libtorch("no grad, ", [&] {
         const torch::NoGradGuard guard;
         theirs.forward(torch_x);
       }))
    peers.push_back(std::move(peer));
  s.compare(
      label, [&] { plan.run(x); }, peers);
}

// One inference plan on many inputs at once: from as many threads of the user's as there are workers, and as a batch.
// It is the same work at any number of threads: a row's times at one and at two say what the second one adds.
void many_runs(bench::Suite& s, const std::string& label, Mlp&& net) {
  if (!s.wants(label)) return;
  PlanOptions options = named(label);
  options.frozen = true;
  constexpr int64_t kRuns = 2000;
  const Tensor inputs = normal({kRuns, 1, 784}, 8);
  Plan plan = compile([&](const Tensor& in) { return net.forward(in); }, {InputSpec({1, 784})}, options);
  const int users = threads();
  std::vector<ExecutionContext> contexts;
  for (int i = 0; i < users; i++) contexts.emplace_back(plan);
  const auto from_threads = [&] {
    std::vector<std::thread> started;
    for (ExecutionContext& context : contexts)
      started.emplace_back([&] {
        const Tensor x = normal({1, 784}, 9);
        for (int64_t i = 0; i < kRuns; i += users) context.run(x);
      });
    for (std::thread& t : started) t.join();
  };
  s.compare(label + "-threads", from_threads);
  s.compare(label + "-batch", [&] { plan.run_batch(inputs); });
}

// A saved inference plan, read and made ready to run.
void loading(bench::Suite& s, const std::string& label, Mlp&& net) {
  if (!s.wants(label)) return;
  PlanOptions options = named(label);
  options.frozen = true;
  const std::filesystem::path path = std::filesystem::temp_directory_path() / "ingot_bench.plan";
  compile([&](const Tensor& in) { return net.forward(in); }, {InputSpec({1, 784})}, options).save(path.string());
  s.compare(label, [&] { Plan::load(path.string()); });
  std::filesystem::remove(path);
}

// The optimiser alone, gradients given.
void adam_alone(bench::Suite& s, const std::string& label, int64_t count) {
  if (!s.wants(label)) return;
  Tensor parameters = uniform({count}, 1, -1, 1);
  ParameterSlab slab({{"parameters", &parameters}});
  add_into(slab.gradient(0), uniform({count}, 2, -1, 1), 0);
  const Optimizer adam = our_optimizer(true);
  const Tensor state = make_state(adam, slab);
  const Tensor lr = Tensor::from<float>({static_cast<float>(checked_rate(true))}, {}), step = zeros({}, kI64);
  Plan plan = compile([&] { record_update(adam, slab, state, lr, step); }, {}, named(label));
  const auto our_step = [&] {
    step.data<int64_t>()[0]++;
    plan.run();
  };
  at::Tensor theirs = torch_view(slab.value(0)).clone().requires_grad_();
  theirs.mutable_grad() = torch_view(slab.gradient(0)).clone();
  torch::optim::Adam torch_adam(std::vector<at::Tensor>{theirs}, checked_rate(true));
  our_step();
  torch_adam.step();
  check_same(label, "parameters after a step", torch_view(slab.value(0)), theirs);
  lr.data<float>()[0] = static_cast<float>(kMeasuredRate);
  slow_down(torch_adam);
  s.compare(label, our_step, {{"libtorch", [&] { torch_adam.step(); }}});
}

// The eight ops of the suite "ops", as one plan, beside one op of the same size.
void chain(bench::Suite& s, const std::string& label) {
  if (!s.wants(label)) return;
  const Dims million{1 << 20};
  const Tensor x = uniform(million, 1, -3, 3), y = uniform(million, 2, -3, 3), out = Tensor::empty(million);
  Plan plan = compile([](const Tensor& a, const Tensor& b) { return abs(square(relu(a * b + a) * 0.5 + 1.0) - b); },
                      {InputSpec(million), InputSpec(million)}, named(label));
  s.compare(label, [&] { plan.run(x, y); },
            {{.name = "one_op", .run = [&] { add_into(out, x, y); }, .yardstick = true}});
}

// Compiling a function, and how long that takes for each of its ops.
void compiling(bench::Suite& s, const std::string& label, const PlanFunction& fn, const std::vector<InputSpec>& specs) {
  if (!s.wants(label)) return;
  const std::string text = compile_function(fn, specs, named("it")).describe();  // "it: 1000 ops captured, …"
  const double ops = std::atof(text.c_str() + std::string("it: ").size());
  s.compare(label, [&] { compile_function(fn, specs, named(label)); }, {}, {ops, "ops"});
}

// A deep network of so many layers, about nine ops each.
void compiling_deep(bench::Suite& s, const std::string& label, size_t layers) {
  if (!s.wants(label)) return;
  Mlp net(std::vector<int64_t>(layers + 1, 8));
  std::vector<NamedTensor> parameters;
  for (const Parameter& p : net.parameters()) parameters.push_back({p.name, *p.tensor});
  const PlanFunction loss_and_gradients = [&](std::span<const Tensor> in) {
    const ValueAndGrad both = value_and_grad([&] { return net.loss(in); }, parameters);
    std::vector<NamedTensor> out{{"loss", both.value}};
    for (size_t i = 0; i < parameters.size(); i++) out.push_back({parameters[i].name, both.gradients[i]});
    return out;
  };
  compiling(s, label, loss_and_gradients, {InputSpec({4, 8}), InputSpec({4}, kI64)});
}

// A recurrent network, so many steps written out.
void compiling_rnn(bench::Suite& s, const std::string& label, int steps) {
  const Tensor w = normal({16, 16}, 1, 0, 0.1);
  const PlanFunction loss_and_gradient = [&](std::span<const Tensor> in) {
    Tensor h = in[0];
    for (int i = 0; i < steps; i++) h = tanh(matmul(h, w) + in[0]);
    const Tensor loss = sum(h);
    return std::vector<NamedTensor>{{"loss", loss}, {"w", gradients(loss, {w})[0]}};
  };
  compiling(s, label, loss_and_gradient, {InputSpec({4, 16})});
}

}  // namespace

int main(int argc, char** argv) {
  bench::use_tuned_allocator(argv);
  bench::Suite suite("train", argc, argv);
  check_blas();
  const std::vector<int64_t> mlp{784, 128, 10}, tiny{8, 32, 32, 4};
  for (const int n : suite.threads()) {
    suite.set_threads(n);
    for (const int64_t rows : {32, 128})
      for (const bool adam : {false, true})
        training(suite, "a-mlp-b" + std::to_string(rows) + (adam ? "-adam" : "-sgd"), Mlp(mlp), TorchMlp(mlp), adam,
                 batches(16, {rows, 784}, 10));
    training(suite, "b-dqn-b64-adam", Dqn(), TorchDqn(), true, batches(1, {64, 144}, 6, true));
    training(suite, "c-cnn-b64-adam", bench::Cnn(), bench::TorchCnn(), true, batches(4, {64, 1, 28, 28}, 10));
    training(suite, "d-lstm-s50-b32-adam", LstmNet(), TorchLstm(), true, {sequences(50, 32, 32, 10)});
    for (const bool one_copy : {false, true})  // libtorch's two best forms
      training(suite, std::string("h-attention-b8") + (one_copy ? "-one-copy" : ""), AttentionNet(),
               TorchAttention(one_copy), true, {{normal({8, 128, 128}, 5), normal({8, 128, 128}, 6)}},
               2e-3);  // the keys' bias has a gradient that is all rounding
    adam_alone(suite, "e-adam-10m", 10'000'000);
    inference(suite, "f-infer-mlp", Mlp(mlp), TorchMlp(mlp), {1, 784});
    inference(suite, "f-infer-dqn", Dqn(), TorchDqn(), {1, 144});
    inference(suite, "f-infer-cnn", bench::Cnn(), bench::TorchCnn(), {1, 1, 28, 28});
    inference(suite, "i-forward-mlp-b32", Mlp(mlp), TorchMlp(mlp), {32, 784});
    inference(suite, "i-forward-dqn-b64", Dqn(), TorchDqn(), {64, 144});
    inference(suite, "i-forward-cnn-b64", bench::Cnn(), bench::TorchCnn(), {64, 1, 28, 28});
    many_runs(suite, "g-many-mlp", Mlp(mlp));
    loading(suite, "g-load-mlp", Mlp(mlp));
    training(suite, "t-tiny-mlp-b16-adam", Mlp(tiny), TorchMlp(tiny), true, batches(1, {16, 8}, 4));
    chain(suite, "chain8");
    compiling_deep(suite, "compile-1000", 111);
    compiling_deep(suite, "compile-deep-10000", 1111);
    compiling_rnn(suite, "compile-rnn-1000", 1000);
  }
}
