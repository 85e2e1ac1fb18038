// LSTM, GRU, attention and the transformer block against PyTorch (tools/golden_sequence.py): results, final states and
// all gradients; in f64 and f32, eager and planned, without allocating, the same bits on 1, 2 and 3 threads.
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/nn/layer_cases.h"
#include "tests/test_file.h"

namespace ingot {
namespace {

struct SequenceCase {
  std::string name;
  std::map<std::string, std::vector<NamedTensor>> of;  // by kind: state, in, out, dy, grad, after
  const Tensor& at(const std::string& kind, const std::string& key) const {
    static const Tensor none{};
    const auto found = of.find(kind);
    if (found == of.end()) return none;
    for (const NamedTensor& t : found->second)
      if (t.name == key) return t.tensor;
    return none;
  }
};

const std::vector<SequenceCase>& cases() {
  static const std::vector<SequenceCase> all = [] {
    std::vector<SequenceCase> read;
    std::ifstream file(test_file("goldens/sequence.txt"));
    for (std::string text; std::getline(file, text);) {
      std::istringstream line(text);
      std::string kind, name, type;
      line >> kind >> name;
      if (kind == "case") {
        read.push_back({name, {}});
        continue;
      }
      int rank = 0;
      line >> type >> rank;
      Dims shape = Dims::filled(rank, 0);
      for (int64_t& size : shape) line >> size;
      const Tensor t = Tensor::empty(shape, kF64);
      for (int64_t i = 0; i < t.numel(); i++) line >> t.data<double>()[i];
      read.back().of[kind].push_back({name, t});
    }
    return read;
  }();
  return all;
}

using Inputs = std::map<std::string, Tensor>;
struct Model {
  std::shared_ptr<nn::Module> module;
  std::function<std::vector<NamedTensor>(const Inputs&)> run;
};

template <class Net>
Model recurrent(int64_t in, int64_t hidden, const nn::RecurrentOptions& options = {}) {
  const auto net = std::make_shared<Net>(in, hidden, options);
  return {net, [net](const Inputs& x) {
            const auto state = [&](const char* key) { return x.count(key) > 0 ? x.at(key) : Tensor(); };
            const nn::RecurrentResult all = net->forward(x.at("x"), {state("h"), state("c")});
            std::vector<NamedTensor> results{{"y", all.y}, {"h", all.state.h}};
            if (all.state.c.defined()) results.push_back({"c", all.state.c});
            return results;
          }};
}
Model attention_of(int64_t width, int64_t heads, bool causal = false) {
  const auto net = std::make_shared<nn::MultiheadAttention>(width, heads, nn::AttentionOptions{.causal = causal});
  return {net, [net](const Inputs& x) {
            const Tensor y = x.count("k") > 0 ? net->forward(x.at("q"), x.at("k"), x.at("v")) : (*net)(x.at("q"));
            return std::vector<NamedTensor>{{"y", y}};
          }};
}

Model make(const std::string& name) {
  const nn::RecurrentOptions both{.layers = 2, .bidirectional = true, .batch_first = true},
      plain{.layers = 2, .bias = false};
  if (name == "lstm") return recurrent<nn::LSTM>(3, 5);
  if (name == "lstm_one") return recurrent<nn::LSTM>(1, 1);
  if (name == "lstm_state") return recurrent<nn::LSTM>(3, 9);
  if (name == "lstm_two_bidirectional") return recurrent<nn::LSTM>(2, 3, both);
  if (name == "lstm_no_bias") return recurrent<nn::LSTM>(2, 4, plain);
  if (name == "gru") return recurrent<nn::GRU>(3, 5);
  if (name == "gru_one") return recurrent<nn::GRU>(1, 1);
  if (name == "gru_state") return recurrent<nn::GRU>(3, 9);
  if (name == "gru_two_bidirectional") return recurrent<nn::GRU>(2, 3, both);
  if (name == "gru_no_bias") return recurrent<nn::GRU>(2, 4, plain);
  if (name == "attention" || name == "attention_cross") return attention_of(6, name == "attention" ? 2 : 3);
  if (name == "attention_one") return attention_of(2, 1);
  if (name == "attention_causal") return attention_of(8, 4, true);
  const auto block = std::make_shared<nn::TransformerBlock>(8, 2);
  return {block, [block](const Inputs& x) { return std::vector<NamedTensor>{{"y", (*block)(x.at("x"))}}; }};
}

Model model_of(const SequenceCase& g, DType type) {
  Model m = make(g.name);
  m.module->to(type);
  const std::vector<NamedTensor> own = m.module->state_dict(), &state = g.of.at("state");
  EXPECT_EQ(own.size(), state.size());
  for (size_t i = 0; i < std::min(own.size(), state.size()); i++) EXPECT_EQ(own[i].name, state[i].name);
  m.module->load_state_dict(state);
  return m;
}

double tolerance(DType type) { return type == kF64 ? 1e-12 : 4e-6; }

class SequenceGolden : public testing::TestWithParam<size_t> {
 protected:
  const SequenceCase& golden() const { return cases()[GetParam()]; }
};

TEST_P(SequenceGolden, Eager) {
  for (const DType type : {kF64, kF32}) {
    const Model m = model_of(golden(), type);
    Inputs x;
    for (const NamedTensor& t : golden().of.at("in")) x[t.name] = in_type(t.tensor, type);
    for (const NamedTensor& y : m.run(x))
      EXPECT_TRUE(close(y.tensor, golden().at("out", y.name), tolerance(type))) << y.name << ", " << name(type);
  }
}

// Results, then gradients by inputs and parameters, of Σ result · dy.
Plan plan_of(const SequenceCase& g, const Model& m, DType type, const PlanOptions& options) {
  const std::vector<NamedTensor>& in = g.of.at("in");
  std::vector<InputSpec> specs;
  for (const NamedTensor& t : in) specs.emplace_back(t.tensor.shape(), type, t.name);
  return compile_function(
      [&](std::span<const Tensor> given) {
        Inputs x;
        std::vector<NamedTensor> wrt, results;
        for (size_t i = 0; i < in.size(); i++) {
          x[in[i].name] = given[i];
          wrt.push_back({in[i].name, given[i]});
        }
        for (const NamedTensor& t : parameters_of(*m.module)) wrt.push_back(t);
        results = m.run(x);
        Tensor total;
        for (const NamedTensor& y : results) {
          const Tensor part = sum(multiply(y.tensor, in_type(g.at("dy", y.name), type)));
          total = total.defined() ? add(total, part) : part;
        }
        const std::vector<Tensor> slopes = gradients(total, wrt);
        for (size_t i = 0; i < slopes.size(); i++) results.push_back({"d" + wrt[i].name, slopes[i]});
        return results;
      },
      specs, options);
}

TEST_P(SequenceGolden, PlannedWithGradients) {
  const SequenceCase& g = golden();
  for (const DType type : {kF64, kF32}) {
    const Model m = model_of(g, type);
    Plan plan = plan_of(g, m, type, {});
    std::vector<Tensor> in;
    std::vector<const Tensor*> pointers;
    for (const NamedTensor& t : g.of.at("in")) in.push_back(in_type(t.tensor, type));
    for (const Tensor& t : in) pointers.push_back(&t);
    plan.run(pointers);
    for (const NamedTensor& t : g.of.at("out"))
      EXPECT_TRUE(close(plan.output(t.name), t.tensor, tolerance(type))) << t.name << ", " << name(type);
    for (const NamedTensor& t : g.of.at("grad"))
      EXPECT_TRUE(close(plan.output("d" + t.name), t.tensor, 8 * tolerance(type))) << t.name << ", " << name(type);
    const uint64_t before = memory_stats().allocations;
    plan.run(pointers);
    EXPECT_EQ(memory_stats().allocations, before);
  }
}

TEST_P(SequenceGolden, SameBitsAtAnyThreadCount) {
  const SequenceCase& g = golden();
  const int threads_before = threads();
  graph::share_every_step = true;
  const Model m = model_of(g, kF32);
  std::vector<Tensor> in;
  std::vector<const Tensor*> pointers;
  for (const NamedTensor& t : g.of.at("in")) in.push_back(in_type(t.tensor, kF32));
  for (const Tensor& t : in) pointers.push_back(&t);
  std::vector<std::vector<float>> alone;
  for (const int n : {1, 2, 3}) {
    set_threads(n);
    Plan plan = plan_of(g, m, kF32, {});
    const auto results = plan.run(pointers);
    for (size_t i = 0; i < results.size(); i++) {
      if (n == 1) alone.push_back(results[i].to_vector<float>());
      EXPECT_EQ(results[i].to_vector<float>(), alone[i]) << n << " threads, result " << i;
    }
  }
  graph::share_every_step = false;
  set_threads(threads_before);
}

INSTANTIATE_TEST_SUITE_P(Case, SequenceGolden, testing::Range<size_t>(0, cases().size() - 1),  // the last: truncated
                         [](const auto& test) { return cases()[test.param].name; });

// Truncated backpropagation: pieces of a sequence, the state handed on without a gradient, as PyTorch with detach.
TEST(SequenceState, TruncatedBackpropagation) {
  const SequenceCase& g = cases().back();
  ASSERT_EQ(g.name, "truncated");
  nn::LSTM net(2, 4);
  net.load_state_dict(g.of.at("state"));
  net.stateful(2);
  const ParameterSlab slab(net.trainable_parameters());
  const Tensor x = in_type(g.at("in", "x"), kF32), target = in_type(g.at("in", "target"), kF32);
  TrainStep step([&](const Tensor& in, const Tensor& to) { return nn::mse_loss(net(in), to); }, slab,
                 optim::Sgd{.lr = 0.5f}, {{{3, 2, 2}, kF32, "x"}, {{3, 2, 4}, kF32, "target"}});
  uint64_t before = 0;
  for (int64_t piece = 0; piece < 4; piece++) {
    const Tensor in = contiguous(slice(x, 0, piece * 3, piece * 3 + 3)),
                 to = contiguous(slice(target, 0, piece * 3, piece * 3 + 3));
    before = memory_stats().allocations;
    EXPECT_NEAR(step(in, to), g.at("out", "loss").data<double>()[piece], 1e-6) << "piece " << piece;
  }
  EXPECT_EQ(memory_stats().allocations, before);
  const std::vector<NamedTensor>& after = g.of.at("after");
  const std::vector<NamedTensor> state = net.state_dict();
  ASSERT_EQ(state.size(), after.size()) << "what is carried is no part of the model";
  EXPECT_EQ(net.carried_tensors().size(), 2u);
  for (size_t i = 0; i < after.size(); i++) {
    EXPECT_EQ(state[i].name, after[i].name);
    EXPECT_TRUE(close(state[i].tensor, after[i].tensor, 1e-5)) << after[i].name;
  }
}

template <class Net>
void check_pieces() {
  Net net(3, 5, {.layers = 2});
  const Tensor x = normal({6, 2, 3}, 1);
  const nn::RecurrentResult whole = net.forward(x, {});
  net.stateful(2);
  for (int round = 0; round < 2; round++) {
    const Tensor y = concat({net(slice(x, 0, 0, 2)), net(slice(x, 0, 2, 6))}, 0);
    EXPECT_TRUE(close(y, whole.y, 1e-6));
    EXPECT_TRUE(close(net.state().h, whole.state.h, 1e-6));
    net.reset_state();  // or the second round would go on
  }
  EXPECT_FALSE(close(concat({net(x), net(x)}, 0), concat({whole.y, whole.y}, 0), 1e-3));
}
TEST(SequenceState, PiecesAreTheWhole) {
  check_pieces<nn::LSTM>();
  check_pieces<nn::GRU>();
}

TEST(SequenceState, ErrorsAreSentences) {
  nn::LSTM net(3, 4, {.batch_first = true});
  EXPECT_EQ(error_of([&] { net.forward(zeros({2, 5, 2})); }), "LSTM: x is [2, 5, 2] — it must be [batch, steps, 3]");
  EXPECT_EQ(error_of([&] { net.forward(zeros({2, 0, 3})); }), "LSTM: the sequence is empty — give at least one step");
  EXPECT_EQ(error_of([&] {
              net.forward(zeros({2, 5, 3}), {zeros({1, 3, 4}), zeros({1, 3, 4})});
            }),
            "LSTM: a state is [1, 3, 4] — for this x it must be [1, 2, 4], [layers · directions, batch, hidden]");
  EXPECT_EQ(error_of([&] {
              net.forward(zeros({2, 5, 3}), {zeros({1, 2, 4})});
            }),
            "LSTM: one initial state of two — give both h and c, or none");
  EXPECT_EQ(error_of([] { nn::MultiheadAttention(6, 4); }),
            "MultiheadAttention: 4 heads of 6 columns — the heads must divide the width");
  EXPECT_EQ(error_of([] {
              nn::LearnedPositions(3, 2).forward(zeros({1, 4, 2}));
            }),
            "LearnedPositions: x is [1, 4, 2] — it must be [..., length, 2] with a length of at most 3");
}

// sin and cos of t / 10000^(i/width), at places where they are known.
TEST(Positions, Sinusoidal) {
  const Tensor y = nn::SinusoidalPositions(5, 4).forward(zeros({1, 5, 4}));
  EXPECT_FLOAT_EQ(y.at<float>({0, 0, 0}), 0);
  EXPECT_FLOAT_EQ(y.at<float>({0, 0, 1}), 1);
  EXPECT_FLOAT_EQ(y.at<float>({0, 3, 0}), 0.14112000805986721f);
  EXPECT_FLOAT_EQ(y.at<float>({0, 4, 3}), 0.99920010666097792f);
}

}  // namespace
}  // namespace ingot
