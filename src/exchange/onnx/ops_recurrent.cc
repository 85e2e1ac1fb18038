// RNN, GRU and LSTM. What Ingot has a kernel for runs in it (the usual activations, no peepholes, sequences of one length);
// anything else is unrolled, step by step.
#include <algorithm>
#include <cctype>
#include <functional>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"
#include "ingot/ops/plumbing.h"

namespace ingot::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;

Activation activation(Use& u, std::string name, double alpha, double beta, bool has_alpha, bool has_beta) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto a = [&](double fallback) { return has_alpha ? alpha : fallback; };
  const auto b = [&](double fallback) { return has_beta ? beta : fallback; };
  if (name == "sigmoid") return [](const Tensor& x) { return sigmoid(x); };
  if (name == "tanh") return [](const Tensor& x) { return tanh(x); };
  if (name == "relu") return [](const Tensor& x) { return relu(x); };
  if (name == "softsign") return [](const Tensor& x) { return x / (abs(x) + 1.0); };
  if (name == "softplus") return [](const Tensor& x) { return softplus(x); };
  if (name == "affine") return [p = a(1), q = b(0)](const Tensor& x) { return x * p + q; };
  if (name == "leakyrelu") return [p = a(0.01)](const Tensor& x) { return leaky_relu(x, p); };
  if (name == "elu") return [p = a(1)](const Tensor& x) { return elu(x, p); };
  if (name == "hardsigmoid") return [p = a(0.2), q = b(0.5)](const Tensor& x) { return clamp(x * p + q, 0, 1); };
  if (name == "scaledtanh") return [p = a(1), q = b(1)](const Tensor& x) { return tanh(x * q) * p; };
  u.fail("the activation \"" + name + "\"", "it is not supported here");
}

// One direction: its weights [gates · h, …], biases of inputs and states, and what it begins with.
struct Way {
  Tensor w, r, wb, rb, h0, c0, peepholes;
  bool reverse = false;
  std::vector<Activation> f;
};

struct Recurrence {
  Tensor x;  // [steps, batch, in]
  int64_t steps, batch, hidden;
  std::vector<int64_t> lengths;  // empty: all have every step
  bool usual = true;             // the usual activations
  double clip;
  std::vector<Way> ways;
  bool batch_first;
};

Tensor rows(const Tensor& t, int64_t gate, int64_t h) { return slice(t, 0, gate * h, (gate + 1) * h); }
Tensor columns(const Tensor& t, int64_t gate, int64_t h) { return slice(t, -1, gate * h, (gate + 1) * h); }

// The gates of a weight or bias in another order.
Tensor reordered(const Tensor& t, std::initializer_list<int64_t> order, int64_t h) {
  if (!t.defined()) return t;
  std::vector<Tensor> parts;
  parts.reserve(order.size());
  for (const int64_t gate : order) parts.push_back(rows(t, gate, h));
  return concat(parts, 0);
}

Recurrence read(Use& u, int64_t gates, std::initializer_list<const char*> usual) {
  Recurrence r;
  r.batch_first = u.integer("layout", 0) != 0;
  r.x = r.batch_first ? permute(u.in(), {1, 0, 2}) : u.in();
  if (r.x.rank() != 3 || u.rank(1) != 3 || u.rank(2) != 3)
    u.fail("the shapes do not fit", "x, W and R have three axes");
  r.steps = r.x.shape()[0], r.batch = r.x.shape()[1], r.hidden = u.in(2).shape()[2];
  r.clip = u.real("clip", 0);
  if (r.steps == 0) u.fail("an empty sequence", "give at least one step");
  if (u.has(4)) {
    r.lengths = u.known_integers(4);
    if (std::all_of(r.lengths.begin(), r.lengths.end(), [&](int64_t n) { return n >= r.steps; }))
      r.lengths.clear();
    else if (static_cast<int64_t>(r.lengths.size()) != r.batch)
      u.fail("not one length per sequence", "give as many as the batch has");
  }
  const std::string direction = u.text("direction", "forward");
  const int64_t count = direction == "bidirectional" ? 2 : 1;
  if (u.in(1).shape()[0] != count || u.in(1).shape()[1] != gates * r.hidden)
    u.fail("the weights do not fit", "W is [directions, gates · hidden, in]");
  const std::vector<std::string> names = u.texts("activations");
  const std::vector<double> alphas = u.reals("activation_alpha"), betas = u.reals("activation_beta");
  for (int64_t k = 0; k < count; k++) {
    Way way;
    const auto of = [&](int i) { return u.has(i) ? select(u.in(i), 0, k) : Tensor(); };
    const auto state = [&](int i) { return u.has(i) ? select(u.in(i), r.batch_first ? 1 : 0, k) : Tensor(); };
    way.w = of(1), way.r = of(2), way.h0 = state(5), way.reverse = direction == "reverse" || k == 1;
    if (u.has(3)) {
      const Tensor b = of(3);
      way.wb = slice(b, 0, 0, gates * r.hidden), way.rb = slice(b, 0, gates * r.hidden, 2 * gates * r.hidden);
    }
    if (gates == 4) way.c0 = state(6), way.peepholes = of(7);
    for (size_t i = 0; i < usual.size(); i++) {
      const size_t at = static_cast<size_t>(k) * usual.size() + i;
      const std::string name = at < names.size() ? names[at] : std::data(usual)[i];
      r.usual &= name == std::data(usual)[i];
      way.f.push_back(activation(u, name, at < alphas.size() ? alphas[at] : 0, at < betas.size() ? betas[at] : 0,
                                 at < alphas.size(), at < betas.size()));
    }
    r.ways.push_back(std::move(way));
  }
  return r;
}

struct Walked {
  Tensor y, h, c;  // all steps; the last states
};

// For step t of a walk: the step of x that every sequence is at, and whether it has one. A reversed sequence begins at its
// own end.
struct Clock {
  const Recurrence& r;
  bool reverse;
  Tensor alive(int64_t t) const {
    std::vector<double> on;
    on.reserve(r.lengths.size());
    for (const int64_t n : r.lengths) on.push_back(t < n ? 1 : 0);
    return from_reals(on, {r.batch, 1}, Type::kBool);
  }
  // x with every sequence in the order of the walk, or back.
  Tensor ordered(const Tensor& x) const {
    if (!reverse) return x;
    if (r.lengths.empty()) return slice(x, 0, r.steps - 1, -r.steps - 1, -1);
    std::vector<int64_t> places;
    for (int64_t t = 0; t < r.steps; t++)
      for (const int64_t n : r.lengths) places.push_back(t < n ? n - 1 - t : t);
    const Tensor at = Tensor::from(places, {r.steps, r.batch, 1});
    return gather(x, contiguous(broadcast_to(at, x.shape())), 0);
  }
};

// Steps one after the other: step(t, h, c) changes the states.
template <class Step>
Walked unrolled(const Recurrence& r, const Way& way, DType type, Step step) {
  const Clock clock{r, way.reverse};
  const Dims shape{r.batch, r.hidden};
  Tensor h = way.h0.defined() ? way.h0 : zeros(shape, type), c = way.c0.defined() ? way.c0 : zeros(shape, type);
  std::vector<Tensor> ys;
  for (int64_t t = 0; t < r.steps; t++) {
    const Tensor h_before = h, c_before = c;
    step(t, h, c);
    Tensor y = h;
    if (!r.lengths.empty()) {
      const Tensor alive = clock.alive(t);
      y = where(alive, h, scalar_like(h, 0));
      h = where(alive, h, h_before), c = where(alive, c, c_before);
    }
    ys.push_back(y);
  }
  return {clock.ordered(stack(ys)), h, c};
}

Tensor clipped(const Tensor& x, double clip) { return clip > 0 ? clamp(x, -clip, clip) : x; }

void leave(Use& u, const Recurrence& r, const std::vector<Walked>& walked, bool has_c) {
  std::vector<Tensor> y, h, c;
  for (const Walked& w : walked) y.push_back(w.y), h.push_back(w.h), c.push_back(w.c);
  const Tensor all = stack(y, 1), last = stack(h);  // [steps, directions, batch, hidden]
  u.out(r.batch_first ? permute(all, {2, 0, 1, 3}) : all);
  u.out(r.batch_first ? permute(last, {1, 0, 2}) : last);
  if (has_c) u.out(r.batch_first ? permute(stack(c), {1, 0, 2}) : stack(c));
}

void lstm_op(Use& u) {
  const Recurrence r = read(u, 4, {"Sigmoid", "Tanh", "Tanh"});
  const int64_t h = r.hidden;
  const bool coupled = u.integer("input_forget", 0) != 0;
  std::vector<Walked> walked;
  for (const Way& way : r.ways) {
    const Tensor bias = way.wb.defined() ? add(way.wb, way.rb) : Tensor();
    if (r.usual && r.clip == 0 && !coupled && !way.peepholes.defined() && r.lengths.empty()) {
      // The format's gates are i, o, f, c; the kernel's i, f, c, o.
      const auto order = [&](const Tensor& t) { return reordered(t, {0, 2, 3, 1}, h); };
      const Tensor zero = zeros({r.batch, h}, r.x.dtype());
      const bool begun = way.h0.defined() || way.c0.defined();
      const auto s = lstm_sequence(linear(r.x, order(way.w), order(bias)), order(way.r),
                                   begun && !way.h0.defined() ? zero : way.h0,
                                   begun && !way.c0.defined() ? zero : way.c0, way.reverse);
      const int64_t last = way.reverse ? 0 : r.steps - 1;
      walked.push_back({s[0], select(s[0], 0, last), select(s[1], 0, last)});
      continue;
    }
    const Tensor in = Clock{r, way.reverse}.ordered(linear(r.x, way.w, bias));
    const auto peep = [&](int64_t gate) { return rows(way.peepholes, gate, h); };  // i, o, f
    walked.push_back(unrolled(r, way, r.x.dtype(), [&](int64_t t, Tensor& state, Tensor& c) {
      const Tensor gates = add(select(in, 0, t), linear(state, way.r));
      const auto gate = [&](int64_t k, const Tensor& cell) {
        Tensor g = columns(gates, k, h);
        if (way.peepholes.defined() && k < 3) g = add(g, multiply(peep(k), cell));
        return clipped(g, r.clip);
      };
      const Tensor i = way.f[0](gate(0, c)), f = coupled ? 1.0 - i : way.f[0](gate(2, c)), g = way.f[1](gate(3, c));
      c = add(multiply(f, c), multiply(i, g));
      state = multiply(way.f[0](gate(1, c)), way.f[2](c));
    }));
  }
  leave(u, r, walked, true);
}

void gru_op(Use& u) {
  const Recurrence r = read(u, 3, {"Sigmoid", "Tanh"});
  const int64_t h = r.hidden;
  const bool product_first = u.integer("linear_before_reset", 0) != 0;
  std::vector<Walked> walked;
  for (const Way& way : r.ways) {
    if (r.usual && r.clip == 0 && product_first && r.lengths.empty()) {
      const auto order = [&](const Tensor& t) { return reordered(t, {1, 0, 2}, h); };  // z, r, h to r, z, n
      const Tensor y =
          gru_sequence(linear(r.x, order(way.w), order(way.wb)), order(way.r), order(way.rb), way.h0, way.reverse)[0];
      walked.push_back({y, select(y, 0, way.reverse ? 0 : r.steps - 1), {}});
      continue;
    }
    const Tensor in = Clock{r, way.reverse}.ordered(linear(r.x, way.w, way.wb));
    walked.push_back(unrolled(r, way, r.x.dtype(), [&](int64_t t, Tensor& state, Tensor&) {
      const Tensor x = select(in, 0, t);
      const auto bias = [&](int64_t gate) { return way.rb.defined() ? rows(way.rb, gate, h) : Tensor(); };
      const auto hidden = [&](int64_t gate, const Tensor& s) { return linear(s, rows(way.r, gate, h), bias(gate)); };
      const Tensor z = way.f[0](clipped(add(columns(x, 0, h), hidden(0, state)), r.clip));
      const Tensor reset = way.f[0](clipped(add(columns(x, 1, h), hidden(1, state)), r.clip));
      const Tensor inner = product_first ? multiply(reset, hidden(2, state)) : hidden(2, multiply(reset, state));
      const Tensor n = way.f[1](clipped(add(columns(x, 2, h), inner), r.clip));
      state = add(multiply(1.0 - z, n), multiply(z, state));
    }));
  }
  leave(u, r, walked, false);
}

void rnn_op(Use& u) {
  const Recurrence r = read(u, 1, {"Tanh"});
  std::vector<Walked> walked;
  for (const Way& way : r.ways) {
    const Tensor bias = way.wb.defined() ? add(way.wb, way.rb) : Tensor();
    const Tensor in = Clock{r, way.reverse}.ordered(linear(r.x, way.w, bias));
    walked.push_back(unrolled(r, way, r.x.dtype(), [&](int64_t t, Tensor& state, Tensor&) {
      state = way.f[0](clipped(add(select(in, 0, t), linear(state, way.r)), r.clip));
    }));
  }
  leave(u, r, walked, false);
}

}  // namespace

std::span<const Row> recurrent_rows() {
  static constexpr Row kRows[] = {{"LSTM", 7, lstm_op, "1237"}, {"GRU", 7, gru_op, "123"}, {"RNN", 7, rnn_op, "123"}};
  return kRows;
}

}  // namespace ingot::onnx
