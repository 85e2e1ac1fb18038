// A plan as C: what the text says, before any compiler sees it.
#include "ingot/exchange/c_source.h"

#include <gtest/gtest.h>

#include <clocale>
#include <filesystem>
#include <locale>

#include "ingot/nn/layers.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/map.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::exchange {
namespace {

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

Plan layer_plan(bool frozen, const std::string& name = "net", const std::string& input = "x") {
  const Tensor w = ones({3, 4}), b = ones({3});
  return compile([&](const Tensor& x) { return relu(linear(x, w, b)); }, {{{2, 4}, kF32, input}},
                 {.name = name, .frozen = frozen});
}

TEST(CSource, DeclaresARunOfContiguousTensors) {
  const CSource c = to_c(layer_plan(true));
  EXPECT_EQ(c.name, "net");
  EXPECT_TRUE(says(c.header, "int net_run(const float *x, float *output_0);")) << c.header;
  EXPECT_TRUE(says(c.header, "x  input f32 [2, 4]")) << c.header;
  EXPECT_TRUE(says(c.header, "#define NET_ARENA_BYTES 0")) << c.header;
  EXPECT_TRUE(c.weights.empty());
  EXPECT_EQ(c.state, 0u);
  EXPECT_EQ(c.constants, sizeof(float) * (3 * 4 + 3));
}

// Frozen weights are constants; others may change between runs, as they may for the plan.
TEST(CSource, WeightsAreConstantIfThePlanIsFrozen) {
  const CSource frozen = to_c(layer_plan(true)), free = to_c(layer_plan(false));
  EXPECT_TRUE(says(frozen.source, "static const float w_1[12]")) << frozen.source;
  EXPECT_FALSE(says(frozen.header, "extern const")) << frozen.header;
  EXPECT_TRUE(says(free.header, "extern float net_tensor") && says(free.header, "[12];")) << free.header;
  EXPECT_EQ(free.state, sizeof(float) * (3 * 4 + 3));
}

TEST(CSource, WeightsMayLieInAFileOfTheirOwn) {
  const CSource c = to_c(layer_plan(true), {.weights_apart = true});
  EXPECT_TRUE(says(c.weights, "const float net_w_1[12] = {")) << c.weights;
  EXPECT_TRUE(says(c.header, "extern const float net_w_1[12];")) << c.header;
  EXPECT_FALSE(says(c.source, "1.0f, 1.0f")) << c.source;
}

// Of a slab's weights those that are laid out anew are not there twice.
TEST(CSource, ConstantsAreThereOnce) {
  nn::Sequential net{nn::Linear(6, 16), nn::Tanh(), nn::Linear(16, 3)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Sgd{}, {{8, 6}, {8}});
  net.eval();
  const CSource c =
      to_c(compile([&](const Tensor& x) { return net(x); }, {{{2, 6}, kF32, "x"}}, {.name = "net", .frozen = true}));
  EXPECT_EQ(c.constants, sizeof(float) * (6 * 16 + 16 + 16 * 3 + 3));
}

TEST(CSource, MemoryMayBeTheCallers) {
  const CSource c = to_c(layer_plan(false), {.own_memory = false});
  EXPECT_TRUE(says(c.header, "int net_run(const net_memory *memory, const float *x, float *output_0);")) << c.header;
  EXPECT_TRUE(says(c.header, "void net_start(const net_memory *memory);")) << c.header;
  EXPECT_TRUE(says(c.source, "memory->tensor[i] = w_")) << c.source;
}

TEST(CSource, NamesBecomeNamesOfC) {
  const auto names = [](const std::string& plan, const std::string& input) {
    return to_c(layer_plan(true, plan, input)).header;
  };
  EXPECT_TRUE(says(names("int", "while"), "int int__run(const float *while_, "));
  EXPECT_TRUE(says(names("my net/2", "a b*/c"), "int my_net_2_run(const float *a_b__c, "));
  EXPECT_TRUE(says(names("", "__x"), "int plan_run(const float *x, "));
  EXPECT_TRUE(says(names("7up", "9"), "int plan_7up_run(const float *input_0_9, "));
  EXPECT_TRUE(says(names("net", "product_1"), "const float *product_1_, "));
  EXPECT_TRUE(says(names("net", "class"), "const float *class_, "));  // headers are read by C++, too
  EXPECT_TRUE(says(names("net", "naïve"), "const float *na__ve, "));
  const Plan same =
      compile([](const Tensor& a, const Tensor& b) { return a + b; }, {{{2}, kF32, "x"}, {{2}, kF32, "x"}});
  EXPECT_TRUE(says(to_c(same).header, "plan_run(const float *x, const float *x_2_, "));
  EXPECT_FALSE(says(names("*/ \n int main", "x").substr(3, 60), "*/ int")) << names("*/ \n int main", "x");
}

// What the file calls its own is left alone: memory, functions, macros, and what run() has in it.
TEST(CSource, NamesThatTheFileHasAlreadyBecomeOthers) {
  const Tensor w = ones({3});
  const auto source = [&](const std::string& plan, const std::string& input, const std::string& bound) {
    Tensor named = clone(w);
    const Plan p = compile([&](const Tensor& x) { return exp(x * named); }, {{{3}, kF32, input}},
                           {.name = plan, .names = {{bound, named}}});
    return to_c(p).header;
  };
  EXPECT_TRUE(says(source("net", "net_gain", "gain"), "const float *net_gain_2_,"))
      << source("net", "net_gain", "gain");
  EXPECT_TRUE(says(source("net", "x", "run"), "extern float net_run_2_[3];")) << source("net", "x", "run");
  EXPECT_TRUE(says(source("to", "x", "i64"), "extern float to_i64_[3];"));
  EXPECT_TRUE(says(source("net", "status", "w"), "const float *status_,"));
  EXPECT_TRUE(says(source("net", "temporaries", "w"), "const float *temporaries_,"));
  EXPECT_TRUE(says(source("net", "INT64_MAX", "w"), "const float *INT64_MAX_,"));
  EXPECT_TRUE(says(source("net", "NET_ARENA_BYTES", "w"), "const float *NET_ARENA_BYTES_2_,"));
  EXPECT_TRUE(says(source("net", "net_w_1", "w"), "const float *net_w_1_,"));
}

// `-Ifirmware` must not hide <math.h>.
TEST(CSource, FilesAreNoHeadersOfTheStandard) {
  EXPECT_EQ(to_c(layer_plan(true, "math")).name, "math_");
  EXPECT_EQ(to_c(layer_plan(true, "Time")).name, "Time_");
  EXPECT_EQ(to_c(layer_plan(true), {.name = "stdint"}).name, "stdint_");
  EXPECT_EQ(to_c(layer_plan(true, "maths", "time")).name, "maths");
}

TEST(CSource, APlanFromAFileIsTheSameC) {
  const Plan plan = layer_plan(true);
  const std::string path = ::testing::TempDir() + "c_source.plan";
  plan.save(path);
  EXPECT_EQ(to_c(Plan::load(path)).source, to_c(plan).source);
  std::filesystem::remove(path);
  EXPECT_REFUSED(to_c(Plan()), "plan");
}

// Compilers warn of marks that make a line look as if it said something else.
TEST(CSource, CommentsReadAsTheyLook) {
  const std::string header = to_c(layer_plan(true, "a\u202e*/\u2066b\\")).header;
  EXPECT_TRUE(header.starts_with("/* a * / b\\ , a plan")) << header;
}

struct Comma : std::numpunct<char> {
  char do_decimal_point() const override { return ','; }
};

TEST(CSource, NumbersHaveAPointInEveryLocale) {
  const Plan plan = compile([](const Tensor& x) { return gelu(x * 0.25 + 1e-30); }, {{4}});
  const std::string plain = to_c(plan).source;
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));  // that of C++
  for (const char* name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_ALL, name) != nullptr) break;  // and that of C, where the machine has one
  const std::string text = to_c(plan).source;
  std::setlocale(LC_ALL, "C");
  std::locale::global(before);
  EXPECT_EQ(text, plain);
}

TEST(CSource, StepsThatDoTheSameShareAFunction) {
  const Plan plan = compile([](const Tensor& x, const Tensor& a, const Tensor& b,
                               const Tensor& c) { return matmul(matmul(matmul(x, a), b), c); },
                            {{5, 6}, {6, 6}, {6, 6}, {6, 6}});
  const CSource c = to_c(plan);
  EXPECT_TRUE(says(c.source, "static void product_1("));
  EXPECT_FALSE(says(c.source, "product_2")) << c.source;
}

TEST(CSource, UsesMathOnlyIfItMustAndOnlyIfItMay) {
  const Plan plan = compile([](const Tensor& x) { return exp(x); }, {{4}});
  EXPECT_TRUE(says(to_c(plan).source, "#include <math.h>"));
  EXPECT_FALSE(says(to_c(layer_plan(true)).source, "#include <math.h>"));
  EXPECT_FALSE(says(to_c(plan, {.math = false}).source, "#include <math.h>"));
}

TEST(CSource, TemporariesLieWhereThePlanHasThem) {
  nn::Sequential net{nn::Linear(20, 30), nn::Tanh(), nn::Linear(30, 10)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{}, {{8, 20}, {8}});
  const CSource c = to_c(step.plan(), {.name = "step"});
  const PlanBytes bytes = step.plan().bytes();
  EXPECT_EQ(c.arena, bytes.arena);
  EXPECT_EQ(c.state, bytes.parameters + bytes.gradients + bytes.state + bytes.bound);
  EXPECT_TRUE(says(c.header, "extern float step_parameters[")) << c.header;
  EXPECT_TRUE(says(c.header, "extern float step_lr[1];")) << c.header;
  EXPECT_TRUE(says(c.header, "extern int64_t step_step[1];")) << c.header;
  EXPECT_TRUE(says(c.header, "0.weight at 0")) << c.header;
}

// As in recipes/mnist.toml.
TEST(CSource, ConvolutionsTakeNoMoreThanThePlanDoes) {
  nn::Sequential net;
  for (const auto& [in, out] : {std::pair{1, 16}, {16, 32}, {32, 64}}) {
    net.add(nn::Conv2d(in, out, 3, {.padding = {1, 1}}, false));
    net.add(nn::BatchNorm2d(out));
    net.add(nn::ReLU());
    if (out < 64) net.add(nn::MaxPool2d(2));
  }
  net.add(nn::Flatten());
  net.add(nn::Linear(64 * 7 * 7, 10));
  const auto expect_no_more = [](const Plan& plan) {
    const PlanBytes bytes = plan.bytes();
    EXPECT_LE(to_c(plan).arena, bytes.arena + bytes.scratch + bytes.outputs);
  };
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{}, {{16, 1, 28, 28}, {16}});
  expect_no_more(step.plan());
  net.eval();
  expect_no_more(compile([&](const Tensor& x) { return net(x); }, {{1, 1, 28, 28}}, {.frozen = true}));
}

TEST(CSource, RefusesOpsWithoutAFormAllAtOnce) {
  const Plan plan = compile(
      [](const Tensor& x) {
        const auto twice = [](double v) { return 2 * v; };
        return map(twice, map(twice, x));
      },
      {{3, 4}}, {.name = "own"});
  EXPECT_REFUSED(to_c(plan), "to_c: own has steps that have no form in C: map (2 times)");
}

TEST(CSource, WritesItsFilesOrSaysWhyNot) {
  const std::string folder = ::testing::TempDir() + "c_source_files";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/net_weights.c");  // cannot be replaced: then nothing is
  EXPECT_REFUSED(to_c(layer_plan(true), {.weights_apart = true}).write(folder), "net_weights.c");
  EXPECT_FALSE(std::filesystem::exists(folder + "/net.h") || std::filesystem::exists(folder + "/net.c"));
  to_c(layer_plan(true)).write(folder);
  EXPECT_TRUE(std::filesystem::exists(folder + "/net.h") && std::filesystem::exists(folder + "/net.c"));
  std::filesystem::remove_all(folder);
  EXPECT_REFUSED(to_c(layer_plan(true)).write("/proc/nowhere"), "to_c: cannot make the folder");
}

}  // namespace
}  // namespace ingot::exchange
