#include "ingot/nn/recurrent.h"

#include <cmath>

#include "ingot/graph/grad.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/plumbing.h"
#include "nn/checks.h"

namespace ingot::nn {

Recurrent::Recurrent(const char* kind, int64_t gates, int64_t in, int64_t hidden, const RecurrentOptions& options)
    : kind_(kind), in_(in), hidden_(hidden), options_(options) {
  require_positive(kind, {in, hidden, options.layers});
  if (!(options.dropout >= 0 && options.dropout < 1))
    throw Error(std::string(kind) + ": dropout = " + std::to_string(options.dropout) + " — it lies in 0 … 1");
  const double bound = 1 / std::sqrt(static_cast<double>(hidden));
  const int64_t directions = options.bidirectional ? 2 : 1;
  for (int64_t layer = 0; layer < options.layers; layer++)
    for (int64_t direction = 0; direction < directions; direction++) {
      const int64_t width = layer == 0 ? in : hidden * directions;
      Weights w;
      w.suffix = std::string("_l") + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      w.w_ih = draw_uniform({gates * hidden, width}, bound);
      w.w_hh = draw_uniform({gates * hidden, hidden}, bound);
      if (options.bias) {
        w.b_ih = draw_uniform({gates * hidden}, bound);
        w.b_hh = draw_uniform({gates * hidden}, bound);
      }
      weights_.push_back(std::move(w));
    }
}

void Recurrent::parts(Parts& p) {
  for (Weights& w : weights_) {
    p("weight_ih" + w.suffix, w.w_ih);
    p("weight_hh" + w.suffix, w.w_hh);
    p("bias_ih" + w.suffix, w.b_ih);
    p("bias_hh" + w.suffix, w.b_hh);
  }
  p.carried("h", state_.h);
  p.carried("c", state_.c);
}

void Recurrent::stateful(int64_t batch) {
  state_ = {};
  if (batch == 0) return;
  if (options_.bidirectional)
    throw Error(std::string(kind_) +
                ": stateful, but it reads sequences from both ends — what comes next is not known");
  require_positive(kind_, {batch});
  const Dims shape{static_cast<int64_t>(weights_.size()), batch, hidden_};
  state_.h = zeros(shape, weights_[0].w_hh.dtype());
  if (has_cell()) state_.c = zeros(shape, weights_[0].w_hh.dtype());
}

void Recurrent::reset_state() {
  for (const Tensor& t : {state_.h, state_.c})
    if (t.defined()) fill(t, 0);
}

void Recurrent::check(const Tensor& x, const RecurrentState& initial) const {
  const std::string name = kind_;
  if (x.rank() != 3 || x.size(2) != in_)
    throw Error(ErrorKind::kShape, name + ": x is " + to_string(x.shape()) + " — it must be " +
                                       (options_.batch_first ? "[batch, steps, " : "[steps, batch, ") +
                                       std::to_string(in_) + "]");
  const Dims shape{static_cast<int64_t>(weights_.size()), x.size(options_.batch_first ? 0 : 1), hidden_};
  if (x.size(options_.batch_first ? 1 : 0) == 0)
    throw Error(ErrorKind::kShape, name + ": the sequence is empty — give at least one step");
  for (const Tensor& t : {initial.h, initial.c})
    if (t.defined() && !(t.shape() == shape))
      throw Error(ErrorKind::kShape, name + ": a state is " + to_string(t.shape()) + " — for this x it must be " +
                                         to_string(shape) + ", [layers · directions, batch, hidden]");
  if (has_cell() && initial.h.defined() != initial.c.defined())
    throw Error(name + ": one initial state of two — give both h and c, or none");
}

RecurrentResult Recurrent::run(const Tensor& x, const RecurrentState& initial) {
  check(x, initial);
  Tensor y = options_.batch_first ? permute(x, {1, 0, 2}) : x;
  const int64_t last = y.size(0) - 1;
  const size_t directions = options_.bidirectional ? 2 : 1;
  std::vector<Tensor> h, c;
  for (size_t i = 0; i < weights_.size(); i += directions) {
    if (i > 0 && options_.dropout > 0 && training()) {
      const RandomSource source = next_random();
      y = dropout(y, options_.dropout, source.seed, source.stream);
    }
    std::vector<Tensor> ways;
    for (size_t k = i; k < i + directions; k++) {
      const auto begin = [&](const Tensor& t) {
        return t.defined() ? select(t, 0, static_cast<int64_t>(k)) : Tensor();
      };
      const bool reverse = k > i;
      const Walk way = walk(weights_[k], y, begin(initial.h), begin(initial.c), reverse);
      ways.push_back(way.y);
      h.push_back(select(way.y, 0, reverse ? 0 : last));
      if (has_cell()) c.push_back(select(way.c, 0, reverse ? 0 : last));
    }
    y = directions == 1 ? ways[0] : concat(ways, 2);
  }
  if (options_.batch_first) y = permute(y, {1, 0, 2});
  return {y, {stack(h), has_cell() ? stack(c) : Tensor()}};
}

RecurrentResult Recurrent::forward(const Tensor& x, const RecurrentState& initial) {
  const Within here(*this);
  RecurrentResult result = run(x, initial);
  here.result(result.y);
  return result;
}

Tensor Recurrent::forward(const Tensor& x) {
  if (!state_.h.defined() || !training()) return run(x, {}).y;
  // A copy: the gradient needs the state that was there before this call stores the next one.
  const auto before = [](const Tensor& t) { return t.defined() ? stop_gradient(copy(t)) : Tensor(); };
  const RecurrentResult result = run(x, {before(state_.h), before(state_.c)});
  copy_into(state_.h, stop_gradient(result.state.h));
  if (has_cell()) copy_into(state_.c, stop_gradient(result.state.c));
  return result.y;
}

Recurrent::Walk LSTM::walk(const Weights& w, const Tensor& x, const Tensor& h0, const Tensor& c0, bool reverse) {
  const Tensor bias = w.b_ih.defined() ? add(w.b_ih, w.b_hh) : Tensor();
  const auto all = lstm_sequence(linear(x, w.w_ih, bias), w.w_hh, h0, c0, reverse);
  return {all[0], all[1]};
}

Recurrent::Walk GRU::walk(const Weights& w, const Tensor& x, const Tensor& h0, const Tensor&, bool reverse) {
  return {gru_sequence(linear(x, w.w_ih, w.b_ih), w.w_hh, w.b_hh, h0, reverse)[0], {}};
}

}  // namespace ingot::nn
