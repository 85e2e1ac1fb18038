// Networks of values: of actions (Q), or of a state.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/module.h"

namespace ingot::rl {

/// Linear of an input that is one at few entries and zero elsewhere, given as their indices [n, k], i32: the sum of those
/// rows of weight [in, out], and bias. No product with a zero is computed.
class INGOT_API HotLinear : public nn::Layer {
 public:
  HotLinear(int64_t in, int64_t out);
  void parts(nn::Parts& p) override { p("weight", weight), p("bias", bias); }
  Tensor forward(const Tensor& indices) override;
  Tensor weight, bias;
};

/// What a network sees: so many floats; or the indices of the `hot` inputs that are one, of so many.
struct NetInput {
  int64_t size = 0, hot = 0;  // hot = 0: floats
  Dims shape(int64_t rows) const { return {rows, hot > 0 ? hot : size}; }
  DType dtype() const { return hot > 0 ? kI32 : kF32; }
};

/// Layers on all inputs at once; or each input that is one is a token (a sticker and its colour), tokens attend to each
/// other, and layers see their mean.
enum class NetKind : uint8_t { kLayers, kAttention };

struct NetOptions {
  std::vector<int64_t> hidden = {256, 128, 64};  // widths; of attention, the first is a token's
  bool layer_norm = true;                        // before each ReLU
  bool dueling = true;                           // value + advantage - mean advantage
  int64_t residual = 0;                          // blocks x + f(x) of two layers, of the last width
  NetKind kind = NetKind::kLayers;
  int64_t heads = 4, blocks = 2;  // of attention: the heads divide a token's width
};

/// Inputs to a value of each action, [n, actions].
class INGOT_API QNet : public nn::Layer {
 public:
  QNet(const NetInput& input, int64_t actions, const NetOptions& options = {});
  void parts(nn::Parts& p) override;
  Tensor forward(const Tensor& x) override;
  const NetInput& input() const { return input_; }
  int64_t actions() const { return actions_; }

 private:
  NetInput input_;
  int64_t actions_;
  bool dueling_;
  nn::Sequential trunk_;
  nn::Linear advantage_, value_;
};

}  // namespace ingot::rl
