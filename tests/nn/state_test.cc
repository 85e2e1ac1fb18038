// What a module's state is: names, loading, copying, freezing, sharing, types; and its summary.
#include <gtest/gtest.h>

#include "ingot/ingot.h"
#include "ingot/nn.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

std::vector<std::string> names(const std::vector<NamedTensor>& list) {
  std::vector<std::string> all;
  for (const NamedTensor& t : list) all.push_back(t.name);
  return all;
}
std::vector<std::string> names(const std::vector<Parameter>& list) {
  std::vector<std::string> all;
  for (const Parameter& p : list) all.push_back(p.name);
  return all;
}
using Names = std::vector<std::string>;

// Two inputs, two results, a buffer, a module inside.
struct Net : nn::Module {
  nn::Sequential body{nn::Linear(5, 6), nn::ReLU(), nn::Linear(6, 4, /*with_bias=*/false)};
  nn::Linear head{4, 2};
  Tensor seen = zeros({3});
  void parts(nn::Parts& p) override {
    p("body", body);
    p("head", head);
    p.buffer("seen", seen);
  }
  std::vector<Tensor> forward(const Tensor& a, const Tensor& b) {
    const Tensor h = body(concat({a, b}, 1));
    return {head(h), h};
  }
};

// An autoencoder whose two ends share one matrix, as PyTorch's tied embeddings do.
struct Tied : nn::Layer {
  nn::Linear in{3, 3, false}, out{3, 3, false};
  Tied() { out.weight = in.weight; }
  void parts(nn::Parts& p) override { p("in", in), p("out", out); }
  Tensor forward(const Tensor& x) override { return out(tanh(in(x))); }
};

TEST(State, RoundTrip) {
  nn::set_seed(1);
  Net a, b;
  const std::vector<NamedTensor> state = a.state_dict();
  EXPECT_EQ(names(state), (Names{"body.0.weight", "body.0.bias", "body.2.weight", "head.weight", "head.bias", "seen"}));
  fill(a.seen, 7);
  const void* place = b.head.weight.raw();
  b.load_state_dict(state);
  EXPECT_EQ(b.head.weight.raw(), place) << "loading copies into the tensors that are there";
  for (size_t i = 0; i < state.size(); i++)
    EXPECT_EQ(b.state_dict()[i].tensor.to_vector<float>(), state[i].tensor.to_vector<float>()) << state[i].name;
}

TEST(State, ConvertsRealTypes) {
  nn::Linear a(2, 3), b(2, 3);
  std::vector<NamedTensor> state = a.state_dict();
  for (NamedTensor& t : state) t.tensor = to(t.tensor, kF64);
  b.load_state_dict(state);
  EXPECT_EQ(b.weight.to_vector<float>(), a.weight.to_vector<float>());
  state[0].tensor = zeros({3, 2}, kI64);
  EXPECT_NE(error_of([&] { b.load_state_dict(state); }).find("weight (i64 [3, 2] for f32 [3, 2])"), std::string::npos);
}

TEST(State, SaysAllThatIsWrongAndChangesNothing) {
  nn::set_seed(1);
  Net net;
  const std::vector<float> before = net.head.bias.to_vector<float>();
  const std::vector<NamedTensor> state{
      {"head.bias", zeros({2})}, {"head.weight", zeros({2, 5})}, {"seen", zeros({3})}, {"tail.bias", zeros({1})}};
  const std::string strict = error_of([&] { net.load_state_dict(state); });
  for (const char* part : {"missing body.0.weight, body.0.bias, body.2.weight", "unexpected tail.bias",
                           "head.weight (f32 [2, 5] for f32 [2, 4])"})
    EXPECT_NE(strict.find(part), std::string::npos) << strict;
  const std::string loose = error_of([&] { net.load_state_dict(state, false); });
  EXPECT_EQ(loose.find("missing"), std::string::npos) << loose;
  EXPECT_NE(loose.find("head.weight"), std::string::npos) << loose;
  EXPECT_EQ(net.head.bias.to_vector<float>(), before);

  const std::vector<NamedTensor> fits{state[0], state[3]};
  const nn::StateDifference d = net.load_state_dict(fits, false);
  EXPECT_EQ(d.unexpected, (Names{"tail.bias"}));
  EXPECT_EQ(d.missing.size(), 5u);
  EXPECT_EQ(net.head.bias.to_vector<float>(), (std::vector<float>{0, 0}));
  const std::vector<NamedTensor> twice{state[0], state[0]};
  EXPECT_NE(error_of([&] { net.load_state_dict(twice, false); }).find("head.bias (twice)"), std::string::npos);
}

TEST(State, CopiesHardAndSoftWithoutAllocating) {
  nn::set_seed(3);
  Net a, b;
  fill(a.seen, 2);
  nn::copy_parameters(b, a);
  EXPECT_EQ(b.head.weight.to_vector<float>(), a.head.weight.to_vector<float>());
  EXPECT_EQ(b.seen.to_vector<float>(), (std::vector<float>{2, 2, 2}));

  fill(b.head.bias, 8);
  fill(a.head.bias, 4);
  fill(a.seen, 5);
  const uint64_t before = memory_stats().allocations;
  nn::copy_parameters(b, a, 0.25);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_EQ(b.head.bias.to_vector<float>(), (std::vector<float>{7, 7}));
  EXPECT_EQ(b.seen.to_vector<float>(), (std::vector<float>{2, 2, 2}))
      << "an average of parameters leaves buffers alone";

  Plan plan = compile([&] { nn::copy_parameters(b, a, 0.5); }, {});
  plan.run();
  EXPECT_EQ(b.head.bias.to_vector<float>(), (std::vector<float>{5.5, 5.5}));
  plan.run();
  EXPECT_EQ(b.head.bias.to_vector<float>(), (std::vector<float>{4.75, 4.75}));

  nn::Linear other(4, 3), narrow(4, 2);
  EXPECT_NE(
      error_of([&] { nn::copy_parameters(narrow, other); }).find("weight is f32 [2, 4], but weight is f32 [3, 4]"),
      std::string::npos);
  EXPECT_THROW(nn::copy_parameters(a, other), Error);
  EXPECT_THROW(nn::copy_parameters(a, b, 1.5), Error);
}

TEST(State, SharedParametersAreAveragedOnce) {
  Tied a, b;
  fill(a.in.weight, 1);
  fill(b.in.weight, 0);
  nn::copy_parameters(b, a, 0.5);
  EXPECT_EQ(b.out.weight.to_vector<float>(), std::vector<float>(9, 0.5f));
}

TEST(State, SharedParametersHaveOneNameForTrainingAndAllForTheState) {
  Tied net;
  EXPECT_EQ(names(net.named_parameters()), (Names{"in.weight"}));
  EXPECT_EQ(net.parameter_count(), 9);
  EXPECT_EQ(names(net.state_dict()), (Names{"in.weight", "out.weight"}));
  EXPECT_EQ(names(net.trainable_parameters()), (Names{"in.weight", "out.weight"})) << "whoever moves one moves both";
  net.to(kF64);
  EXPECT_EQ(net.in.weight.dtype(), kF64);
  EXPECT_EQ(net.in.weight.raw(), net.out.weight.raw()) << "still shared";
  net.in.freeze();
  EXPECT_TRUE(net.trainable_parameters().empty()) << "frozen where any module has it";
}

TEST(State, FreezingReachesAllInside) {
  Net net;
  net.body.freeze();
  EXPECT_EQ(names(net.trainable_parameters()), (Names{"head.weight", "head.bias"}));
  EXPECT_EQ(net.named_parameters().size(), 5u);
  EXPECT_TRUE(net.body[0].frozen());
  net.body[0].freeze(false);
  EXPECT_EQ(names(net.trainable_parameters()), (Names{"body.0.weight", "body.0.bias", "head.weight", "head.bias"}));
  net.freeze();
  EXPECT_TRUE(net.trainable_parameters().empty());
  net.freeze(false);
  EXPECT_EQ(net.trainable_parameters().size(), 5u);
}

TEST(State, ChangesType) {
  Net net;
  net.to(kF64);
  for (const NamedTensor& t : net.state_dict()) EXPECT_EQ(t.tensor.dtype(), kF64) << t.name;
  EXPECT_EQ(net.forward(zeros({2, 3}, kF64), zeros({2, 2}, kF64))[0].dtype(), kF64);
  EXPECT_THROW(net.to(kI64), Error);
}

TEST(Summary, CountsWhatEachModuleHasAndDoes) {
  nn::Sequential net{nn::Linear(8, 16), nn::ReLU(), nn::Sequential(nn::Linear(16, 4, false))};
  net[2].freeze();
  const nn::Summary s = nn::summary(net, {32, 8});
  ASSERT_EQ(s.rows.size(), 5u);
  EXPECT_EQ(s.rows[0].kind, "Sequential");
  EXPECT_EQ(s.rows[1].path, "0");
  EXPECT_EQ(s.rows[1].kind, "Linear");
  EXPECT_EQ(s.rows[1].output, (Dims{32, 16}));
  EXPECT_EQ(s.rows[1].parameters, 8 * 16 + 16);
  EXPECT_EQ(s.rows[1].bytes, 4u * (8 * 16 + 16));
  EXPECT_EQ(s.rows[1].flops, 2.0 * 32 * 8 * 16);
  EXPECT_EQ(s.rows[2].kind, "ReLU");
  EXPECT_EQ(s.rows[4].path, "2.0");
  EXPECT_EQ(s.rows[4].flops, 2.0 * 32 * 16 * 4);
  EXPECT_EQ(s.parameters, 8 * 16 + 16 + 64);
  EXPECT_EQ(s.trainable, 8 * 16 + 16);
  double flops = 0;
  for (const nn::SummaryRow& r : s.rows) flops += r.flops;
  EXPECT_EQ(s.flops, flops);
  EXPECT_EQ(s.text(),
            "module   kind        output    parameters  bytes   FLOPs\n"
            "(model)  Sequential  [32, 4]\n"
            "0        Linear      [32, 16]         144  576 B   8.2 k\n"
            "1        ReLU        [32, 16]                        512\n"
            "2        Sequential  [32, 4]\n"
            "2.0      Linear      [32, 4]    64 frozen  256 B   4.1 k\n"
            "total                                 208  832 B  12.8 k\n"
            "144 parameters are trained, the others frozen\n");
}

TEST(Summary, SeesModulesOfTheUsers) {
  Net net;
  const nn::Summary s =
      nn::summary(net, [&](const Tensor& a, const Tensor& b) { return net.forward(a, b); }, {{4, 3}, {4, 2}});
  ASSERT_EQ(s.rows.size(), 6u);
  EXPECT_EQ(s.rows[0].kind, "Net");
  EXPECT_EQ(s.rows[0].bytes, 12u) << "its own buffer";
  EXPECT_GT(s.rows[0].flops, 0) << "its own concat";
  EXPECT_EQ(s.rows[5].path, "head");
  EXPECT_EQ(s.rows[5].output, (Dims{4, 2}));
  EXPECT_EQ(s.parameters, net.parameter_count());
  EXPECT_NE(s.text().find("(model)"), std::string::npos) << s.text();
  Tied tied;
  EXPECT_EQ(nn::summary(tied, {2, 3}).parameters, 9) << "shared parameters count once";
}

TEST(Layer, ErrorsNameTheLayerAndTheShapes) {
  nn::Sequential net{nn::Linear(8, 16), nn::Sequential(nn::ReLU(), nn::Linear(16, 4))};
  const std::string wide = error_of([&] { net(zeros({2, 9})); });
  EXPECT_EQ(wide.rfind("Sequential: 0 (Linear): ", 0), 0u) << wide;
  EXPECT_NE(wide.find("[2, 9]"), std::string::npos) << wide;
  const std::string empty = error_of([&] { net(zeros({0, 8})); });
  EXPECT_EQ(empty, "Sequential: the batch is empty, [0, 8] — give at least one sample");
  EXPECT_EQ(error_of([&] { net(Tensor()); }), "Sequential: the input is undefined — give it a tensor");
}

TEST(Layer, NamesReachThePlan) {
  Net net;
  EXPECT_EQ(net.named_parameters().size(), 5u);  // tells the names
  const Plan plan = compile([&](const Tensor& a, const Tensor& b) { return net.forward(a, b); }, {{4, 3}, {4, 2}});
  const std::string steps = plan.dump();
  EXPECT_NE(steps.find("body/0/linear"), std::string::npos) << steps;
  EXPECT_NE(steps.find("head/linear"), std::string::npos) << steps;
}

}  // namespace
}  // namespace ingot
