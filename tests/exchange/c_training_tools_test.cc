// Whole plans as C: models that infer and steps that train for a hundred batches, compiled and compared with the plan.
#include <cmath>
#include <cstring>
#include <memory>

#include "ingot/graph/program.h"
#include "ingot/ingot.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/op.h"
#include "tests/exchange/compiled_c.h"
#include "tests/graph/random_graph.h"
#include "tests/sanitized.h"

namespace ingot::exchange {
namespace {

constexpr const char* kStrict = " -std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror";

std::vector<std::string> compilers() {
  if (kSanitized) return {"tcc -Wall -Werror"};  // the C is not sanitized, only what writes it
  return {std::string("gcc -O3 -march=native") + kStrict, std::string("clang -O2") + kStrict, "tcc -Wall -Werror"};
}

double apart(const Tensor& a, const Tensor& b) {
  double most = 0, largest = 1e-30;
  const Tensor x = to(contiguous(a), kF64), y = to(contiguous(b), kF64);
  for (int64_t i = 0; i < x.numel(); i++) {
    const double p = x.data<double>()[i], q = y.data<double>()[i];
    if (!(p == q)) most = std::max(most, std::isnan(p) || std::isnan(q) ? INFINITY : std::abs(p - q));
    largest = std::max(largest, std::abs(q));
  }
  return most / largest;
}

nn::Sequential convolutional() {
  nn::Sequential net;
  net.add(nn::Conv2d(1, 6, 3, {.padding = {1, 1}}));
  net.add(nn::BatchNorm2d(6));
  net.add(nn::ReLU());
  net.add(nn::MaxPool2d(2));
  net.add(nn::Conv2d(6, 10, 3, {.padding = {1, 1}}));
  net.add(nn::ReLU());
  net.add(nn::MaxPool2d(2));
  net.add(nn::Flatten());
  net.add(nn::Dropout(0.25));
  net.add(nn::Linear(90, 24));
  net.add(nn::LayerNorm(24));
  net.add(nn::GELU());
  net.add(nn::Linear(24, 10));
  return net;
}

// Trains both for `steps` batches; the losses of each step differ by rounding only.
void trains_alike(nn::Sequential net, const Optimizer& optimizer, const Dims& shape, int64_t classes, int steps,
                  double bound, const CSourceOptions& options = {.name = "step"}) {
  if (kSanitized) steps = 10;
  const int64_t batch = shape[0];
  auto step = nn::train_step(net, nn::cross_entropy, optimizer, {InputSpec(shape), {batch}});
  const CSource c = to_c(step.plan(), options);
  EXPECT_LE(c.arena, step.plan().bytes().arena + step.plan().bytes().scratch + step.plan().bytes().outputs);
  std::vector<Tensor> batches, labels;
  for (int i = 0; i < 8; i++) {
    batches.push_back(normal(shape, 10 + i));
    labels.push_back(to(uniform({batch}, 20 + i) * static_cast<double>(classes) * 0.999, kI64));
  }
  std::vector<std::unique_ptr<CFolder>> folders;
  for (const std::string& compiler : compilers()) {
    folders.push_back(std::make_unique<CFolder>());
    folders.back()->add(c, step.plan());
    ASSERT_EQ(folders.back()->compile(compiler), "");
  }
  const graph::Program& p = graph::program_of(step.plan());
  float first = 0, loss = 0;
  for (int i = 0; i < steps; i++) {
    const auto k = static_cast<size_t>(i % 8);
    loss = step(batches[k], labels[k]);
    if (i == 0) first = loss;
    for (size_t n = 0; n < folders.size(); n++) {
      // What the step sets before each batch: learning rate, number, seed.
      for (size_t s = 0; s < p.slabs.size(); s++) {
        if (p.slabs[s].role != Role::kOther || p.slabs[s].written) continue;
        void* to = folders[n]->symbol("step_" + p.slabs[s].name);
        ASSERT_NE(to, nullptr) << p.slabs[s].name;
        std::memcpy(to, graph::memory_of(step.plan()).slabs[s].base, static_cast<size_t>(p.slabs[s].bytes));
      }
      const float own = folders[n]->call(c, step.plan(), {&batches[k], &labels[k]})[0].item<float>();
      ASSERT_NEAR(own, loss, bound * std::max(1.0f, std::fabs(loss))) << compilers()[n] << ", step " << i;
    }
  }
  if (!kSanitized) EXPECT_LT(loss, first);
}

nn::Sequential dense() { return nn::Sequential{nn::Linear(20, 33), nn::Tanh(), nn::Linear(33, 7)}; }

TEST(CTraining, AdamStepsForAHundredBatches) {
  trains_alike(dense(), optim::Adam{.lr = 3e-3f}, {16, 20}, 7, 100, 1e-4);
}
TEST(CTraining, SgdStepsForAHundredBatches) {
  trains_alike(dense(), optim::Sgd{.lr = 0.05f, .momentum = 0.9f}, {16, 20}, 7, 100, 1e-4);
}

TEST(CTraining, ConvolutionsNormsAndDropoutForAHundredBatches) {
  trains_alike(convolutional(), optim::Adam{.lr = 2e-3f}, {8, 1, 12, 12}, 10, 100, 1e-3);
}

// A plan and its C, compiled in every way, on the same inputs.
void computes_alike(Plan& plan, const std::vector<Tensor>& inputs, double bound,
                    const CSourceOptions& options = {.name = "net"}) {
  const CSource c = to_c(plan, options);
  std::vector<const Tensor*> pointers;
  pointers.reserve(inputs.size());
  for (const Tensor& t : inputs) pointers.push_back(&t);
  std::vector<Tensor> expected;
  for (const Tensor& t : plan.run(pointers)) expected.push_back(clone(t));
  for (const std::string& compiler : compilers()) {
    CFolder folder;
    folder.add(c, plan);
    ASSERT_EQ(folder.compile(compiler), "");
    for (int again = 0; again < 2; again++) {
      const std::vector<Tensor> results = folder.call(c, plan, pointers);
      for (size_t i = 0; i < expected.size(); i++)
        ASSERT_LE(apart(results[i], expected[i]), bound) << compiler << "\n" << plan.describe();
    }
  }
}

Plan frozen_plan(nn::Sequential& net, const Dims& shape) {
  net.eval();
  return compile([&](const Tensor& x) { return net(x); }, {InputSpec(shape)}, {.name = "net", .frozen = true});
}

TEST(CInference, OfALayersNet) {
  for (const int64_t batch : {1, 3, 32}) {
    nn::Sequential net = dense();
    Plan plan = frozen_plan(net, {batch, 20});
    computes_alike(plan, {normal({batch, 20}, 1)}, 2e-6);
  }
}

TEST(CInference, OfAConvolutionalNetWithoutMathAndWithWeightsApart) {
  nn::Sequential net = convolutional();
  Plan plan = frozen_plan(net, {2, 1, 12, 12});
  const Tensor x = normal({2, 1, 12, 12}, 1);
  computes_alike(plan, {x}, 1e-5);
  computes_alike(plan, {x}, 1e-5, {.name = "net", .weights_apart = true, .math = false});
}

TEST(CInference, OfRecurrentNetsAndAttention) {
  nn::Sequential lstm{nn::LSTM(5, 9)}, gru{nn::GRU(5, 9)};
  Plan plan = frozen_plan(lstm, {4, 3, 5});
  computes_alike(plan, {normal({4, 3, 5}, 1)}, 1e-5);
  plan = frozen_plan(gru, {4, 3, 5});
  computes_alike(plan, {normal({4, 3, 5}, 1)}, 1e-5);
}

TEST(CInference, WithoutMathEveryFunctionIsItsOwn) {
  Plan plan = compile(
      [](const Tensor& x) {
        return std::vector<Tensor>{exp(x),       log(abs(x) + 0.1), sin(x),      cos(x),      tanh(x),
                                   erf(x),       gelu(x),           gelu_erf(x), softplus(x), elu(x, 1.0),
                                   sqrt(abs(x)), pow(abs(x), 1.7),  sigmoid(x),  selu(x),     silu(x)};
      },
      {{300}});
  computes_alike(plan, {uniform({300}, 3, -6, 6)}, 1e-6, {.name = "net", .math = false});
  Plan wide = compile(
      [](const Tensor& x) {
        return std::vector<Tensor>{exp(x), log(abs(x) + 0.1), sin(x), cos(x), tanh(x), erf(x), sqrt(abs(x))};
      },
      {{{300}, kF64, "x"}});
  computes_alike(wide, {uniform({300}, 3, -6, 6, 0, kF64)}, 4e-15, {.name = "net", .math = false});
}

TEST(CInference, LoopsRunUntilTheyStop) {
  const Tensor a = uniform({6, 6}, 1, 0, 0.15);
  const auto settled = [&](LoopOptions::Stop stop, int64_t most) {
    return compile(
        [=](const Tensor& x, const Tensor& b) {
          const LoopResult r =
              loop([&](std::span<const Tensor> v) { return std::vector<Tensor>{tanh(matmul(v[0], a) + b)}; }, {x},
                   {.stop = stop, .most = most});
          return std::vector<Tensor>{r.values[0], r.rounds};
        },
        {{4, 6}, {6}});
  };
  const std::vector<Tensor> inputs = {uniform({4, 6}, 2), uniform({6}, 3)};
  for (const LoopOptions::Stop stop : {LoopOptions::Stop::kCount, LoopOptions::Stop::kClose}) {
    Plan plan = settled(stop, stop == LoopOptions::Stop::kCount ? 7 : 500);
    computes_alike(plan, inputs, 1e-5);
  }
}

TEST(CInference, BadIndicesAreRefusedWithASentence) {
  const Tensor table = uniform({5, 3}, 1);
  Plan plan =
      compile([&](const Tensor& rows) { return embedding(table, rows) * 2.0; }, {{{4}, kI64, "rows"}}, {.name = "net"});
  const CSource c = to_c(plan, {.name = "net"});
  CFolder folder;
  folder.add(c, plan);
  ASSERT_EQ(folder.compile("tcc -Wall"), "");
  const Tensor good = Tensor::from(std::vector<int64_t>{0, 4, 2, 1}, {4}),
               bad = Tensor::from(std::vector<int64_t>{0, 5, 2, 1}, {4});
  int status = 0;
  folder.call(c, plan, {&good}, &status);
  EXPECT_EQ(status, 0);
  folder.call(c, plan, {&bad}, &status);
  EXPECT_EQ(status, 1);
  const auto error = reinterpret_cast<const char* (*)(int)>(folder.symbol("net_error"));
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error(1)).find("embedding was given an index out of range"), std::string::npos) << error(1);
}

TEST(CInference, ResultsMayBeInputsViewsConstantsEmptyOrTwice) {
  const Tensor five = full({3}, 5.0);
  Plan plan = compile(
      [&](const Tensor& x, const Tensor& n, const Tensor& flag, const Tensor& none) {
        const Tensor y = x + 1.0;
        return std::vector<NamedTensor>{{"x", x},
                                        {"t", transpose(x, 0, 1)},
                                        {"y", y},
                                        {"again", y},
                                        {"part", slice(y, 1, 1, 3)},
                                        {"five", five},
                                        {"n", n},
                                        {"flag", flag},
                                        {"none", none},
                                        {"sum", sum(none)},
                                        {"half", to(to(x, kF16), kF64)},
                                        {"chosen", where(flag, x, -x)}};
      },
      {{{2, 4}, kF32, "x"}, {{}, kI64, "n"}, {{}, kBool, "flag"}, {{0, 3}, kF32, "none"}}, {.name = "net"});
  computes_alike(
      plan,
      {normal({2, 4}, 1), Tensor::from(std::vector<int64_t>{INT64_MIN}, {}), to(full({}, 1.0), kBool), zeros({0, 3})},
      0);
}

TEST(CInference, IntegersWrapAround) {
  for (const DType type : {kI32, kI64}) {
    const double least = type == kI32 ? -0x1p31 : -0x1p63;
    Plan plan = compile(
        [](const Tensor& x) {
          return std::vector<Tensor>{sum(x), prod(x), cumsum(x, 0), max(x),  min(x),  argmax(x),  argmin(x),     abs(x),
                                     -x,     x * x,   x * 3.0,      x - 1.0, sign(x), sum(x * x), minimum(x, -x)};
        },
        {{{6}, type, "x"}}, {.name = "net"});
    computes_alike(plan, {to(Tensor::from(std::vector<double>{least, -1, 7, 0x1p30, least, 3}, {6}), type)}, 0);
  }
}

// An optional input that is left out has nothing in its place: neither a result nor what another operand is.
TEST(CInference, OptionalInputsMayBeLeftOutOrBeOthers) {
  const Op& step = *find_op("sgd_step");
  const Tensor rate = Tensor::from(std::vector<float>{0.5f}, {});
  const Attrs attrs = Attrs().set("weight_decay", 0.0).set("clip_value", 0.0);
  const std::vector<Tensor> inputs = {normal({40}, 1), normal({40}, 2)};
  for (const bool scaled : {false, true}) {
    Plan plan = compile(
        [&](const Tensor& p, const Tensor& g) {
          std::vector<const Tensor*> in = {&p, &g, &rate};
          if (scaled) in.push_back(&rate);
          return call(step, in, attrs);
        },
        {{40}, {40}}, {.name = "net"});
    computes_alike(plan, inputs, 1e-6);
  }
}

TEST(CInference, HeadersAreReadByCpp) {
  nn::Sequential net = dense();
  const CSource c = to_c(compile([&](const Tensor& x) { return net(x); }, {{{3, 20}, kF32, "new"}}, {.name = "class"}),
                         {.own_memory = false});
  CFolder folder;
  c.write(folder.path());
  std::string said;
  run_command("g++ -std=c++11 -Wall -Wextra -Wpedantic -fsyntax-only -x c++ " + folder.path() + "/" + c.name + ".h",
              &said);
  EXPECT_EQ(said, "");
}

// What the caller hands over, filled by net_start.
TEST(CInference, InMemoryOfTheCallers) {
  nn::Sequential net = dense();
  Plan plan = compile([&](const Tensor& x) { return net(x); }, {{3, 20}}, {.name = "net"});
  const CSource c = to_c(plan, {.name = "net", .own_memory = false});
  CFolder folder;
  folder.add_text("own_main.c", R"(#include "net.h"
#include <stdlib.h>
int own_main(const float *x, float *y);
int own_main(const float *x, float *y) {
  static float w[4][700];
  static double arena[NET_ARENA_BYTES / 8 + 1];
  net_memory m = {0};
  m.arena = arena;
  float **slabs[4] = {SLABS};
  for (int i = 0; i < 4; i++) *slabs[i] = w[i];
  net_start(&m);
  return net_run(&m, x, y);
}
)",
                  c, plan);
  ASSERT_EQ(folder.compile("gcc -O1" + std::string(kStrict)), "");
  const Tensor x = normal({3, 20}, 1), y = zeros({3, 7});
  ASSERT_EQ(reinterpret_cast<int (*)(const void*, void*)>(folder.symbol("own_main"))(x.raw(), y.raw()), 0);
  EXPECT_LE(apart(y, plan(x)), 2e-6);
}

// Random functions: whatever a plan makes of them, with passes and without.
void random_graph_agrees(uint64_t seed) {
  harness::RandomGraphOptions options;
  options.dtype = seed % 2 == 0 ? kF32 : kF64;
  options.ops = 4 + static_cast<int>(seed * 7 % 24);
  options.stores = seed % 3 != 0;
  options.most = 2000;
  const harness::RandomGraph graph(seed, options);
  for (const bool passes : {true, false}) {
    PlanOptions plan_options{.name = "graph", .threads = 1};
    if (!passes)
      for (const char* pass : pass_names()) plan_options.without.emplace_back(pass);
    graph.reset_states();
    Plan plan = compile([&](std::span<const Tensor> in) { return graph(in); }, graph.specs(), plan_options);
    const CSource c = to_c(plan, {.name = "graph"});  // with the states as they are
    CFolder folder;
    folder.add(c, plan);
    ASSERT_EQ(folder.compile("tcc -Wall"), "") << graph.text();
    const double bound = options.dtype == kF32 ? 1e-3 : 1e-10;
    for (int again = 0; again < 2; again++) {  // the states go on
      std::vector<Tensor> expected;
      for (const Tensor& t : plan.run(graph.input_pointers())) expected.push_back(clone(t));
      const std::vector<Tensor> results = folder.call(c, plan, graph.input_pointers());
      for (size_t i = 0; i < expected.size(); i++)
        ASSERT_LE(apart(results[i], expected[i]), bound)
            << "seed " << seed << (passes ? "" : ", no passes") << ", run " << again << ", result " << i << "\n"
            << graph.text() << plan.describe(true) << c.source;
    }
  }
}

TEST(CRandomGraphs, ComputeWhatTheirPlansDo) {
  for (uint64_t seed = 1; seed <= (kSanitized ? 6 : 40); seed++) {
    random_graph_agrees(seed);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ingot::exchange
