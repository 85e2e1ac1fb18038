#include "ingot/rl/net.h"

#include <memory>
#include <string>

#include "ingot/base/error.h"
#include "ingot/nn/attention.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::rl {
namespace {

nn::Sequential block(int64_t width, bool layer_norm) {
  nn::Sequential f;
  for (int i = 0; i < 2; i++) {
    if (i > 0) f.add(nn::ReLU());
    f.add(nn::Linear(width, width));
    if (layer_norm) f.add(nn::LayerNorm(width));
  }
  return f;
}

// [n, tokens, width] to [n, width].
class MeanOfTokens final : public nn::Layer {
 public:
  Tensor forward(const Tensor& x) override { return mean(x, {1}); }
};

// Indices to the mean of tokens that have seen each other. An index says where a sticker is as well as its colour, so
// that positions need no rows of their own.
void add_attention(nn::Sequential& trunk, const NetInput& input, const NetOptions& o) {
  if (input.hot == 0)
    throw Error(
        "network: attention is over the inputs that are one, and this environment does not say which those are (hot) — "
        "use plain layers");
  if (o.blocks < 1 || o.heads < 1 || o.hidden[0] % o.heads != 0)
    throw Error("network: " + std::to_string(o.blocks) + " blocks of attention with " + std::to_string(o.heads) +
                " heads of tokens of " + std::to_string(o.hidden[0]) +
                " — there must be one of each at least, and the heads must divide the width");
  trunk.add(nn::Embedding(input.size, o.hidden[0]));
  for (int64_t i = 0; i < o.blocks; i++) trunk.add(nn::TransformerBlock(o.hidden[0], o.heads));
  trunk.add(nn::LayerNorm(o.hidden[0])).add(MeanOfTokens());
}

nn::Sequential make_trunk(const NetInput& input, const NetOptions& o) {
  if (o.hidden.empty()) throw Error("network: no hidden layer — give the width of one at least");
  for (const int64_t width : o.hidden)
    if (width < 1) throw Error("network: a hidden layer of width " + std::to_string(width));
  if (input.size < 1 || input.hot < 0 || input.hot > input.size)
    throw Error("network: " + std::to_string(input.hot) + " hot of " + std::to_string(input.size) + " inputs");
  nn::Sequential trunk;
  int64_t in = input.size;
  for (const int64_t width : o.hidden) {
    if (trunk.size() == 0 && o.kind == NetKind::kAttention) {
      add_attention(trunk, input, o);
      in = width;
      continue;
    }
    if (trunk.size() == 0 && input.hot > 0)
      trunk.add(HotLinear(in, width));
    else
      trunk.add(nn::Linear(in, width));
    if (o.layer_norm) trunk.add(nn::LayerNorm(width));
    trunk.add(nn::ReLU());
    in = width;
  }
  for (int64_t i = 0; i < o.residual; i++) trunk.add(nn::Residual(block(in, o.layer_norm))).add(nn::ReLU());
  return trunk;
}

}  // namespace

HotLinear::HotLinear(int64_t in, int64_t out) {
  nn::Linear same(in, out);  // its initial values, laid out as rows to gather
  weight = clone(transpose(same.weight));
  bias = same.bias;
}

Tensor HotLinear::forward(const Tensor& indices) { return embedding_bag(weight, indices) + bias; }

QNet::QNet(const NetInput& input, int64_t actions, const NetOptions& options)
    : input_(input),
      actions_(actions),
      dueling_(options.dueling && actions > 1),
      trunk_(make_trunk(input, options)),
      advantage_(options.hidden.back(), actions),
      value_(options.hidden.back(), 1) {}

void QNet::parts(nn::Parts& p) {
  p("trunk", trunk_), p("advantage", advantage_);
  if (dueling_) p("value", value_);
}

Tensor QNet::forward(const Tensor& x) {
  const DType dtype = advantage_.weight.dtype();
  const Tensor h = trunk_(is_float(x.dtype()) && x.dtype() != dtype ? ingot::to(x, dtype) : x), a = advantage_(h);
  return dueling_ ? value_(h) + a - mean(a, {1}, true) : a;
}

}  // namespace ingot::rl
