#include "ingot/nn/attention.h"

#include <cmath>

#include "ingot/nn/draw.h"
#include "ingot/nn/init.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/checks.h"

namespace ingot::nn {

namespace {

void require_sequences(const char* layer, const Tensor& x, int64_t width) {
  if (x.rank() != 3 || x.size(2) != width)
    throw Error(ErrorKind::kShape, std::string(layer) + ": x is " + to_string(x.shape()) +
                                       " — it must be [batch, length, " + std::to_string(width) + "]");
}

// x plus the first rows of a table of positions.
Tensor with_positions(const char* layer, const Tensor& x, const Tensor& table) {
  if (x.rank() < 2 || x.size(-1) != table.size(1) || x.size(-2) > table.size(0))
    throw Error(ErrorKind::kShape, std::string(layer) + ": x is " + to_string(x.shape()) +
                                       " — it must be [..., length, " + std::to_string(table.size(1)) +
                                       "] with a length of at most " + std::to_string(table.size(0)));
  return add(x, slice(table, 0, 0, x.size(-2)));
}

}  // namespace

MultiheadAttention::MultiheadAttention(int64_t width, int64_t heads, const AttentionOptions& options)
    : out_proj(width, width, options.bias), width_(width), heads_(heads), causal_(options.causal) {
  require_positive("MultiheadAttention", {width, heads});
  if (width % heads != 0)
    throw Error(std::string("MultiheadAttention: ") + std::to_string(heads) + " heads of " + std::to_string(width) +
                " columns — the heads must divide the width");
  in_proj_weight = draw_uniform({3 * width, width}, std::sqrt(6.0 / static_cast<double>(4 * width)));  // Xavier
  if (options.bias) {
    in_proj_bias = zeros({3 * width});
    fill(out_proj.bias, 0);
  }
}

void MultiheadAttention::parts(Parts& p) {
  p("in_proj_weight", in_proj_weight);
  p("in_proj_bias", in_proj_bias);
  p("out_proj", out_proj);
}

Tensor MultiheadAttention::forward(const Tensor& x) {
  require_sequences("MultiheadAttention", x, width_);
  return out_proj(self_attention(linear(x, in_proj_weight, in_proj_bias), heads_, causal_)[0]);
}

Tensor MultiheadAttention::forward(const Tensor& query, const Tensor& key, const Tensor& value) {
  const Within here(*this);
  for (const Tensor* t : {&query, &key, &value}) require_sequences("MultiheadAttention", *t, width_);
  const auto project = [&](const Tensor& x, int64_t part) {
    const auto rows = [&](const Tensor& t) {
      return t.defined() ? slice(t, 0, part * width_, (part + 1) * width_) : Tensor();
    };
    return linear(x, rows(in_proj_weight), rows(in_proj_bias));
  };
  Tensor y = out_proj(attention(project(query, 0), project(key, 1), project(value, 2), heads_, causal_)[0]);
  here.result(y);
  return y;
}

SinusoidalPositions::SinusoidalPositions(int64_t most, int64_t width) {
  require_positive("SinusoidalPositions", {most, width});
  std::vector<double> values;
  for (int64_t t = 0; t < most; t++)
    for (int64_t i = 0; i < width; i++) {
      const auto pair = static_cast<double>(i - i % 2);  // a sine and a cosine of one wave length
      const double angle = static_cast<double>(t) / std::pow(10000.0, pair / static_cast<double>(width));
      values.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  f64_ = Tensor::from(values, {most, width});
  f32_ = ingot::to(f64_, kF32);
}
Tensor SinusoidalPositions::forward(const Tensor& x) {
  return with_positions("SinusoidalPositions", x, x.dtype() == kF64 ? f64_ : f32_);
}

LearnedPositions::LearnedPositions(int64_t most, int64_t width) {
  require_positive("LearnedPositions", {most, width});
  weight = draw_normal({most, width});
  multiply_into(weight, weight, 0.02);
}
Tensor LearnedPositions::forward(const Tensor& x) { return with_positions("LearnedPositions", x, weight); }

TransformerBlock::TransformerBlock(int64_t width, int64_t heads, const TransformerOptions& options)
    : self_attn(width, heads, {.causal = options.causal}),
      linear1(width, options.feedforward > 0 ? options.feedforward : 4 * width),
      linear2(options.feedforward > 0 ? options.feedforward : 4 * width, width),
      norm1(width),
      norm2(width),
      dropout_(options.dropout) {}

void TransformerBlock::parts(Parts& p) {
  p("self_attn", self_attn);
  p("linear1", linear1);
  p("linear2", linear2);
  p("norm1", norm1);
  p("norm2", norm2);
  p("dropout", dropout_);
}

Tensor TransformerBlock::forward(const Tensor& x) {
  const Tensor attended = add(x, dropout_(self_attn(norm1(x))));
  return add(attended, dropout_(linear2(gelu_erf(linear1(norm2(attended))))));
}

}  // namespace ingot::nn
