// The networks of the recipes, made of modules and trained from the same weights on the same batches as PyTorch trains
// them (tools/golden_curves.py): the same loss curve, to rounding.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>

#include "ingot/nn/layers.h"
#include "ingot/nn/loss.h"
#include "ingot/nn/recurrent.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/ops.h"
#include "tests/test_file.h"

namespace ingot {
namespace {

constexpr size_t kBatches = 8;
constexpr int64_t kPictures = 32;            // in a batch
constexpr int64_t kRows = 16, kLength = 24;  // of a batch of text

// What the script wrote.
struct Golden {
  std::vector<double> pixels;
  std::vector<int64_t> labels;
  std::string text;
  std::vector<double> f64, f32;  // of the run asked for
};

Golden read_golden(const std::string& run) {
  std::ifstream file(test_file("goldens/curves.txt"));
  Golden g;
  bool here = false;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind, word;
    line >> kind;
    if (kind == "picture") {
      line >> word;
      for (const char c : word) g.pixels.push_back((c <= '9' ? c - '0' : c - 'a' + 10) / 16.0);
      line >> g.labels.emplace_back();
    } else if (kind == "text") {
      g.text = text.substr(5);
    } else if (kind == "run") {
      line >> word;
      here = word == run;
    } else if (here) {
      for (double v = 0; line >> v;) (kind == "f64" ? g.f64 : g.f32).push_back(v);
    }
  }
  return g;
}

// The script's first values: by the hash of the parameter's name, so that names and layouts must be PyTorch's.
void fill(nn::Module& net) {
  for (const NamedTensor& p : net.state_dict()) {
    uint32_t state = 2166136261U;
    for (const char c : p.name) state = (state ^ static_cast<uint8_t>(c)) * 16777619U;
    const int64_t fan_in = p.tensor.rank() > 1 ? p.tensor.numel() / p.tensor.size(0) : 64;
    int bits = 0;
    while ((fan_in - 1) >> bits != 0) bits++;
    for (int64_t i = 0; i < p.tensor.numel(); i++) {
      state = state * 1664525U + 1013904223U;
      const double value = ((state >> 8) / 8388608.0 - 1) * std::ldexp(1, -(bits / 2));
      if (p.tensor.dtype() == kF64)
        p.tensor.data<double>()[i] = value;
      else
        p.tensor.data<float>()[i] = static_cast<float>(value);
    }
  }
}

struct Batch {
  Tensor x, y;
};

std::vector<double> train(nn::Layer& net, DType type, const std::vector<Batch>& batches, float lr, size_t steps) {
  net.to(type);
  fill(net);
  const ParameterSlab slab(net.trainable_parameters());
  TrainStep step([&](const Tensor& x, const Tensor& y) { return nn::cross_entropy_loss(net(x), y); }, slab,
                 optim::Adam{.lr = lr}, {{batches[0].x.shape(), batches[0].x.dtype()}, {batches[0].y.shape(), kI64}});
  std::vector<double> losses;
  for (size_t i = 0; i < steps; i++) {
    step(batches[i % kBatches].x, batches[i % kBatches].y);
    losses.push_back(step.plan().output("loss").item<double>());
  }
  return losses;
}

double worst(const std::vector<double>& losses, const std::vector<double>& truth) {
  double most = 0;
  for (size_t i = 0; i < truth.size(); i++) most = std::max(most, std::abs(losses[i] - truth[i]) / truth[i]);
  return most;
}

// In f64 a difference beyond rounding (about 1e-16 a sum, carried on over 50 steps) is another computation. In f32, how
// far PyTorch's own losses are from its f64 is the measure; another order of the same sums may be off a few times as
// much.
void expect_same_curve(const Golden& golden, DType type, const std::vector<double>& losses) {
  ASSERT_EQ(golden.f64.size(), 50U);
  EXPECT_LT(golden.f64.back(), 0.8 * golden.f64.front()) << "the run must learn something";
  const double own = worst(golden.f32, golden.f64), off = worst(losses, golden.f64);
  EXPECT_LE(off, type == kF64 ? 1e-11 : std::max(4 * own, 1e-6)) << name(type) << ", PyTorch's f32 is off by " << own;
}

class CurvesGolden : public testing::TestWithParam<DType> {};

TEST_P(CurvesGolden, Digits) {
  const DType type = GetParam();
  const Golden golden = read_golden("digits");
  const Tensor pictures = to(Tensor::from(golden.pixels, {kBatches, kPictures, 1, 8, 8}), type);
  const Tensor labels = Tensor::from(golden.labels, {kBatches, kPictures});
  std::vector<Batch> batches;
  for (int64_t b = 0; b < static_cast<int64_t>(kBatches); b++)
    batches.push_back({select(pictures, 0, b), select(labels, 0, b)});
  const ConvOptions padded{.padding = {1}};
  nn::Sequential net(nn::Conv2d(1, 16, 3, padded), nn::ReLU(), nn::Conv2d(16, 32, 3, padded), nn::ReLU(),
                     nn::MaxPool2d(2), nn::Flatten(), nn::Linear(512, 64), nn::ReLU(), nn::Linear(64, 10));
  expect_same_curve(golden, type, train(net, type, batches, 1.0F / 512, golden.f64.size()));
}

// A character model: the logits of all places of a batch of text, one after the other.
struct TextNet : nn::Layer {
  explicit TextNet(int64_t characters) : embedding(characters, 16), head(48, characters) {}
  void parts(nn::Parts& p) override { p("embedding", embedding), p("lstm", lstm), p("head", head); }
  Tensor forward(const Tensor& x) override { return flatten(head(lstm(embedding(x))), 0, 1); }
  nn::Embedding embedding;
  nn::LSTM lstm{16, 48, {.layers = 2, .batch_first = true}};
  nn::Linear head;
};

TEST_P(CurvesGolden, Lstm) {
  const DType type = GetParam();
  Golden golden = read_golden("lstm");
  const size_t window = static_cast<size_t>(kLength), row = kBatches * window;
  ASSERT_EQ(golden.text.size(), static_cast<size_t>(kRows) * row + 1);
  std::replace(golden.text.begin(), golden.text.end(), '|', '\n');
  std::string alphabet = golden.text;
  std::sort(alphabet.begin(), alphabet.end());
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  // Window b of every row; the target is the same moved on by one.
  const auto tokens = [&](size_t b, size_t offset) {
    std::vector<int64_t> found;
    for (size_t r = 0; r < static_cast<size_t>(kRows); r++)
      for (size_t i = 0; i < window; i++)
        found.push_back(static_cast<int64_t>(alphabet.find(golden.text[r * row + b * window + i + offset])));
    return found;
  };
  std::vector<Batch> batches;
  for (size_t b = 0; b < kBatches; b++)
    batches.push_back({Tensor::from(tokens(b, 0), {kRows, kLength}), Tensor::from(tokens(b, 1))});
  TextNet net(static_cast<int64_t>(alphabet.size()));
  expect_same_curve(golden, type, train(net, type, batches, 1.0F / 64, golden.f64.size()));
}

INSTANTIATE_TEST_SUITE_P(Type, CurvesGolden, testing::Values(kF64, kF32),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace ingot
