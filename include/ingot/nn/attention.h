// Attention, positions and transformer blocks: what a small GPT is made of. Sequences are [batch, length, width].
#pragma once
#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/module.h"

namespace ingot::nn {

struct AttentionOptions {
  bool causal = false;  // a position sees itself and those before it
  bool bias = true;
};

/// Multi-head attention with PyTorch's parameters: in_proj_weight [3 · width, width] (q, k, v), in_proj_bias,
/// out_proj.weight, out_proj.bias. No matrix of scores is ever in memory.
class INGOT_API MultiheadAttention : public Layer {
 public:
  MultiheadAttention(int64_t width, int64_t heads, const AttentionOptions& options = {});
  void parts(Parts& p) override;
  /// x attends to itself: [batch, length, width] to the same.
  Tensor forward(const Tensor& x) override;
  /// Queries [batch, n, width] attend to keys and values [batch, m, width], to [batch, n, width].
  Tensor forward(const Tensor& query, const Tensor& key, const Tensor& value);
  Tensor in_proj_weight, in_proj_bias;
  Linear out_proj;

 private:
  int64_t width_, heads_;
  bool causal_;
};

/// Adds sines and cosines of the position to x [..., length, width], length ≤ most: nothing to learn.
class INGOT_API SinusoidalPositions : public Layer {
 public:
  SinusoidalPositions(int64_t most, int64_t width);
  Tensor forward(const Tensor& x) override;

 private:
  Tensor f32_, f64_;  // the table in the type of x
};

/// Adds a learned row per position to x [..., length, width], length ≤ most; weight [most, width] begins normal, 0.02.
class INGOT_API LearnedPositions : public Layer {
 public:
  LearnedPositions(int64_t most, int64_t width);
  void parts(Parts& p) override { p("weight", weight); }
  Tensor forward(const Tensor& x) override;
  Tensor weight;
};

struct TransformerOptions {
  bool causal = false;
  int64_t feedforward = 0;  // hidden width of the feed-forward part; 0 means 4 · width
  double dropout = 0;       // on what each part adds to x
};

/// x + attention(norm1(x)), then x + linear2(gelu(linear1(norm2(x)))). Names and arithmetic are those of PyTorch's
/// TransformerEncoderLayer with norm_first, batch_first and gelu.
class INGOT_API TransformerBlock : public Layer {
 public:
  TransformerBlock(int64_t width, int64_t heads, const TransformerOptions& options = {});
  void parts(Parts& p) override;
  Tensor forward(const Tensor& x) override;
  MultiheadAttention self_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2;

 private:
  Dropout dropout_;
};

}  // namespace ingot::nn
