// LSTM and GRU layers over whole sequences. What the inputs contribute to the gates is an ordinary product of all steps
// at once; here is the recurrent half. Its gradient walks back and gives the gates' gradients of all steps, so that the
// gradients of weights, biases and inputs are ordinary products again. Gates stand in PyTorch's order.
#include "kernels/recurrent.h"

#include <cmath>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/staging.h"
#include "kernels/cost.h"
#include "ops/define.h"

namespace ingot {
namespace {

using kernels::Recurrence;

constexpr const char* kFused =
    "it is fused for speed; for second derivatives write the cell with linear, sigmoid and tanh";

// Forward: x [steps, batch, gates · hidden] and the weight [gates · hidden, hidden].
Recurrence decode_forward(const Call& call) {
  const Tensor& x = call.in(0);
  return {.steps = x.size(0), .batch = x.size(1), .hidden = call.in(1).size(1), .reverse = call.flag("reverse")};
}
// Backward: the weight, then a saved [steps, batch, hidden].
Recurrence decode_backward(const Call& call) {
  const Tensor& state = call.in(1);
  return {.steps = state.size(0), .batch = state.size(1), .hidden = state.size(2), .reverse = call.flag("reverse")};
}

Recurrence recurrence_of(const Call& call) { return decoded<decode_forward>(call); }
Recurrence recurrence_back(const Call& call) { return decoded<decode_backward>(call); }

void require_shape(const Call& call, int i, const Dims& shape, const char* what) {
  if (!call.has(i)) return;
  require_same_type(call, 0, i);
  if (!(call.in(i).shape() == shape))
    fail(call, std::string(what) + " is " + to_string(call.in(i).shape()), "it must be " + to_string(shape));
}

void require_weight(const Call& call, int i, int64_t gates) {
  const Tensor& weight = call.in(i);
  require_same_type(call, 0, i);
  if (weight.rank() != 2 || weight.size(0) != gates * weight.size(1))
    fail(call, "the weight is " + to_string(weight.shape()),
         "it must be [" + std::to_string(gates) + "·hidden, hidden]");
}

Recurrence require_forward(const Call& call, int64_t gates) {
  require_type(call, call.in(0).dtype());
  require_rank(call, 0, 3, "[steps, batch, gates · hidden]");
  require_weight(call, 1, gates);
  const Recurrence r = recurrence_of(call);
  if (call.in(0).size(2) != gates * r.hidden)
    fail(call, "x has " + std::to_string(call.in(0).size(2)) + " columns",
         "it must have " + std::to_string(gates * r.hidden) + ", " + std::to_string(gates) + " per hidden unit");
  if (r.steps == 0) fail(call, "the sequence is empty", "give at least one step");
  return r;
}

Recurrence require_backward(const Call& call, int64_t gates) {
  require_type(call, call.in(0).dtype());
  require_weight(call, 0, gates);
  require_same_type(call, 0, 1);
  require_rank(call, 1, 3, "[steps, batch, hidden]");
  const Recurrence r = recurrence_back(call);
  if (r.hidden != call.in(0).size(1))
    fail(call, "the saved state does not fit the weight", "give the results of forward");
  if (r.steps == 0) fail(call, "the sequence is empty", "give at least one step");
  require_shape(call, 2, {r.steps, r.batch, 4 * r.hidden}, "gates");
  return r;
}

double cost_of(const Recurrence& r, int64_t gates) {
  const double elements = static_cast<double>(r.steps * r.batch * r.hidden);
  return elements * (2 * static_cast<double>(gates * r.hidden) / cost::kColdFlops + 3);
}

// The plain loops work on copies in f64.
struct Plain {
  std::vector<double> all;
  explicit Plain(const Tensor& t) {
    if (t.defined())
      for_each_index(t.shape(), [&](const Dims& i) { all.push_back(load_as_double(element_at(t, i), t.dtype())); });
  }
  explicit Plain(int64_t count) : all(static_cast<size_t>(count), 0.0) {}
  double operator[](int64_t k) const { return all.empty() ? 0 : all[static_cast<size_t>(k)]; }
  double& at(int64_t k) { return all[static_cast<size_t>(k)]; }
  void store(const Tensor& t) const {
    size_t k = 0;
    for_each_index(t.shape(), [&](const Dims& i) { store_from_double(element_at(t, i), t.dtype(), all[k++]); });
  }
};
Plain input(const Call& call, int i) { return Plain(call.has(i) ? call.in(i) : Tensor()); }

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

// Where the elements of row b of step t lie, and of the step that was walked before it.
struct Place {
  const Recurrence& r;
  int64_t t, b;
  int64_t state(int64_t u) const { return (t * r.batch + b) * r.hidden + u; }
  int64_t gate(int64_t u, int64_t g, int64_t gates) const { return ((t * r.batch + b) * gates + g) * r.hidden + u; }
  bool is_first() const { return t == (r.reverse ? r.steps - 1 : 0); }
  double before(const Plain& states, const Plain& initial, int64_t u) const {
    return is_first() ? initial[b * r.hidden + u] : states[Place{r, r.reverse ? t + 1 : t - 1, b}.state(u)];
  }
};

// Calls f(place) for every row of every step, as it is walked, or back.
template <class F>
void for_each_step(const Recurrence& r, bool back, F f) {
  for (int64_t s = 0; s < r.steps; s++)
    for (int64_t b = 0; b < r.batch; b++) f(Place{r, r.reverse == back ? s : r.steps - 1 - s, b});
}

// Row g·hidden + u of the weight times the state before.
double product(const Place& p, const Plain& weight, const Plain& states, const Plain& initial, int64_t g, int64_t u) {
  double sum = 0;
  for (int64_t k = 0; k < p.r.hidden; k++)
    sum += weight[(g * p.r.hidden + u) * p.r.hidden + k] * p.before(states, initial, k);
  return sum;
}

// The gates' gradients of row b times column u of the weight.
double product_back(const Place& p, const Plain& weight, const Plain& dgates, int64_t gates, int64_t u) {
  double sum = 0;
  for (int64_t g = 0; g < gates; g++)
    for (int64_t k = 0; k < p.r.hidden; k++)
      sum += dgates[p.gate(k, g, gates)] * weight[(g * p.r.hidden + k) * p.r.hidden + u];
  return sum;
}

void reference_lstm(const Call& call, const Tensor* out) {
  const Recurrence r = recurrence_of(call);
  const Plain x = input(call, 0), weight = input(call, 1), h0 = input(call, 2), c0 = input(call, 3);
  Plain y(out[0].numel()), c(out[1].numel()), gates(out[2].numel());
  for_each_step(r, false, [&](const Place& p) {
    const bool product_counts = !p.is_first() || call.has(2);
    for (int64_t u = 0; u < r.hidden; u++) {
      for (int64_t g = 0; g < 4; g++) {
        const double sum = x[p.gate(u, g, 4)] + (product_counts ? product(p, weight, y, h0, g, u) : 0);
        gates.at(p.gate(u, g, 4)) = g == 2 ? std::tanh(sum) : logistic(sum);
      }
      const auto gate = [&](int64_t g) { return gates[p.gate(u, g, 4)]; };
      const double kept = p.is_first() && !call.has(3) ? 0 : gate(1) * p.before(c, c0, u);
      c.at(p.state(u)) = kept + gate(0) * gate(2);
    }
    for (int64_t u = 0; u < r.hidden; u++) y.at(p.state(u)) = gates[p.gate(u, 3, 4)] * std::tanh(c[p.state(u)]);
  });
  y.store(out[0]);
  c.store(out[1]);
  gates.store(out[2]);
}

void reference_lstm_grad(const Call& call, const Tensor* out) {
  const Recurrence r = recurrence_back(call);
  const Plain weight = input(call, 0), c = input(call, 1), gates = input(call, 2), c0 = input(call, 3);
  const Plain dy = input(call, 4), dc = input(call, 5), dgates = input(call, 6);
  Plain dx(out[0].numel()), dh0(r.batch * r.hidden), carried(r.batch * r.hidden);
  for_each_step(r, true, [&](const Place& p) {
    for (int64_t u = 0; u < r.hidden; u++) {
      const double i = gates[p.gate(u, 0, 4)], f = gates[p.gate(u, 1, 4)], g = gates[p.gate(u, 2, 4)],
                   o = gates[p.gate(u, 3, 4)], squashed = std::tanh(c[p.state(u)]);
      const double dh = dh0[p.b * r.hidden + u] + dy[p.state(u)];
      double& cell = carried.at(p.b * r.hidden + u);
      cell += dc[p.state(u)] + dh * o * (1 - squashed * squashed);
      const auto slope = [&](int64_t k, double d) { return d + dgates[p.gate(u, k, 4)]; };
      dx.at(p.gate(u, 0, 4)) = slope(0, cell * g) * (i - i * i);
      dx.at(p.gate(u, 1, 4)) = slope(1, cell * p.before(c, c0, u)) * (f - f * f);
      dx.at(p.gate(u, 2, 4)) = slope(2, cell * i) * (1 - g * g);
      dx.at(p.gate(u, 3, 4)) = slope(3, dh * squashed) * (o - o * o);
      cell *= f;
    }
    for (int64_t u = 0; u < r.hidden; u++) dh0.at(p.b * r.hidden + u) = product_back(p, weight, dx, 4, u);
  });
  dx.store(out[0]);
  if (call.has(3)) dh0.store(out[1]), carried.store(out[2]);
}

void reference_gru(const Call& call, const Tensor* out) {
  const Recurrence r = recurrence_of(call);
  const Plain x = input(call, 0), weight = input(call, 1), bias = input(call, 2), h0 = input(call, 3);
  Plain y(out[0].numel()), gates(out[1].numel());
  for_each_step(r, false, [&](const Place& p) {
    const bool product_counts = !p.is_first() || call.has(3);
    for (int64_t u = 0; u < r.hidden; u++) {
      double sum[3];
      for (int64_t g = 0; g < 3; g++)
        sum[g] = bias[g * r.hidden + u] + (product_counts ? product(p, weight, y, h0, g, u) : 0);
      const double reset = logistic(sum[0] + x[p.gate(u, 0, 3)]), update = logistic(sum[1] + x[p.gate(u, 1, 3)]);
      const double candidate = std::tanh(x[p.gate(u, 2, 3)] + reset * sum[2]);
      gates.at(p.gate(u, 0, 4)) = reset;
      gates.at(p.gate(u, 1, 4)) = update;
      gates.at(p.gate(u, 2, 4)) = candidate;
      gates.at(p.gate(u, 3, 4)) = sum[2];
    }
    for (int64_t u = 0; u < r.hidden; u++) {
      const double update = gates[p.gate(u, 1, 4)];
      const double kept = product_counts ? update * p.before(y, h0, u) : 0;
      y.at(p.state(u)) = (1 - update) * gates[p.gate(u, 2, 4)] + kept;
    }
  });
  y.store(out[0]);
  gates.store(out[1]);
}

void reference_gru_grad(const Call& call, const Tensor* out) {
  const Recurrence r = recurrence_back(call);
  const Plain weight = input(call, 0), y = input(call, 1), gates = input(call, 2), h0 = input(call, 3);
  const Plain dy = input(call, 4), dgates = input(call, 5);
  Plain dx(out[0].numel()), dhidden(out[1].numel()), dh0(r.batch * r.hidden);
  for_each_step(r, true, [&](const Place& p) {
    std::vector<double> carried;
    for (int64_t u = 0; u < r.hidden; u++) {
      const double reset = gates[p.gate(u, 0, 4)], update = gates[p.gate(u, 1, 4)], candidate = gates[p.gate(u, 2, 4)],
                   hidden = gates[p.gate(u, 3, 4)];
      const auto slope = [&](int64_t k, double d) { return d + dgates[p.gate(u, k, 4)]; };
      const double dh = dh0[p.b * r.hidden + u] + dy[p.state(u)];
      const double dc = slope(2, dh * (1 - update)) * (1 - candidate * candidate);
      const double dr = slope(0, dc * hidden) * (reset - reset * reset);
      const double dz = slope(1, dh * (p.before(y, h0, u) - candidate)) * (update - update * update);
      for (Plain* to : {&dx, &dhidden}) to->at(p.gate(u, 0, 3)) = dr, to->at(p.gate(u, 1, 3)) = dz;
      dx.at(p.gate(u, 2, 3)) = dc;
      dhidden.at(p.gate(u, 2, 3)) = slope(3, dc * reset);
      carried.push_back(dh * update);
    }
    for (int64_t u = 0; u < r.hidden; u++)
      dh0.at(p.b * r.hidden + u) = carried[static_cast<size_t>(u)] + product_back(p, weight, dhidden, 3, u);
  });
  dx.store(out[0]);
  dhidden.store(out[1]);
  if (call.has(3)) dh0.store(out[2]);
}

// Σ over steps of dgatesᵀ · the state before, as one product over all steps but the first and one for the initial
// state.
Tensor weight_gradient(const Tensor& dgates, const Tensor& y, const Tensor& h0, bool reverse) {
  const int64_t steps = y.size(0), hidden = y.size(2), width = dgates.size(2);
  const auto part = [&](const Tensor& t, int64_t first, int64_t count) {
    return reshape(contiguous(slice(t, 0, first, first + count)), {count * y.size(1), t.size(2)});
  };
  const Tensor after = part(dgates, reverse ? 0 : 1, steps - 1), before = part(y, reverse ? 1 : 0, steps - 1);
  Tensor sum = steps > 1 ? matmul(transpose(after), before) : Tensor();
  if (h0.defined()) {
    const Tensor first = matmul(transpose(part(dgates, reverse ? steps - 1 : 0, 1)), h0);
    sum = sum.defined() ? add(sum, first) : first;
  }
  return sum.defined() ? sum : zeros({width, hidden}, y.dtype());
}

Tensor given(const Gradient& g, int i) { return g.call().has(i) ? g.in(i) : Tensor(); }
Tensor given_dy(const Gradient& g, int i) { return g.has_dy(i) ? g.dy(i) : Tensor(); }

// Steps, batch, hidden, and whether there is an initial state.
struct Size {
  int64_t steps, batch, hidden;
  bool state;
};
constexpr Size kSizes[] = {{1, 1, 1, true}, {3, 2, 5, false}, {2, 4, 17, true}, {3, 0, 4, true}, {1, 7, 3, false}};
constexpr Size kDeep = {2, 8, 70, true};  // more k than a block

Tensor state_of(Samples& s, const Size& size) { return size.state ? s.real({size.batch, size.hidden}) : Tensor(); }

void sample_forward(Samples& s, int64_t gates) {
  const auto add = [&](const Size& size, bool reverse) {
    const int64_t width = gates * size.hidden;
    std::vector<Tensor> in{s.real({size.steps, size.batch, width}), s.real({width, size.hidden}, -0.5, 0.5)};
    if (gates == 3) in.push_back(size.state ? s.real({width}) : Tensor());
    for (int64_t k = 3; k <= gates; k++) in.push_back(state_of(s, size));
    s.add(std::move(in), Attrs().set("reverse", reverse));
  };
  for (const Size& size : kSizes)
    for (bool reverse : {false, true}) add(size, reverse);
  add(kDeep, false);
}

void sample_backward(Samples& s, int64_t gates) {
  const auto add = [&](const Size& size, bool reverse) {
    const Dims states{size.steps, size.batch, size.hidden}, saved{size.steps, size.batch, 4 * size.hidden};
    std::vector<Tensor> in{s.real({gates * size.hidden, size.hidden}, -0.5, 0.5), s.real(states), s.real(saved, 0, 1),
                           state_of(s, size), s.real(states)};
    if (gates == 4) in.push_back(size.state ? s.real(states) : Tensor());
    in.push_back(reverse ? Tensor() : s.real(saved));
    s.add(std::move(in), Attrs().set("reverse", reverse));
  };
  for (const Size& size : kSizes)
    for (bool reverse : {false, true}) add(size, reverse);
  add(kDeep, false);
}

}  // namespace

INGOT_OP(lstm_sequence) = {
    .name = "lstm_sequence",
    .signature = "lstm_sequence(x, weight, h0?, c0?, reverse:bool=false) -> y, c, gates",
    .doc =
        "The recurrent half of an LSTM layer: x [steps, batch, 4h] is what inputs and biases contribute to the gates "
        "i, "
        "f, g, o; weight [4h, h] multiplies the state before; h0 and c0 [batch, h]; to y and c [steps, batch, h] and "
        "the "
        "gates [steps, batch, 4h]; `reverse` walks from the last step to the first.",
    .family = "recurrent",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Recurrence r = require_forward(call, 4);
          if (call.has(2) != call.has(3)) fail(call, "one initial state of two", "give both h0 and c0, or none");
          require_shape(call, 2, {r.batch, r.hidden}, "h0");
          require_shape(call, 3, {r.batch, r.hidden}, "c0");
          const DType type = call.in(0).dtype();
          out.add(type, {r.steps, r.batch, r.hidden});
          out.add(type, {r.steps, r.batch, r.hidden});
          out.add(type, {r.steps, r.batch, 4 * r.hidden});
        },
    .prepare = prepared<decode_forward>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const kernels::Lstm<T> l{in[0], in[1], in[2], in[3], to[0], to[1], to[2]};
            kernels::lstm(recurrence_of(call), l, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) + kernels::recurrent_scratch(recurrence_of(call), 4, size_of(out[0].dtype()));
        },
    .reference = reference_lstm,
    .cost = [](const Call& call) { return cost_of(recurrence_of(call), 4); },
    .gradient =
        [](Gradient& g) {
          const bool reverse = g.call().flag("reverse");
          const Tensor c0 = given(g, 3);
          const auto d = lstm_sequence_grad(g.in(1), g.out(1), g.out(2), c0, given_dy(g, 0), given_dy(g, 1),
                                            given_dy(g, 2), reverse);
          g.set(0, d[0]);
          if (g.wants(1)) g.set(1, weight_gradient(d[0], g.out(0), given(g, 2), reverse));
          if (g.wants(2)) g.set(2, d[1]);
          if (g.wants(3)) g.set(3, d[2]);
        },
    .samples = [](Samples& s) { sample_forward(s, 4); },
    .low = -1,
    .high = 1,
};

INGOT_OP(lstm_sequence_grad) = {
    .name = "lstm_sequence_grad",
    .signature = "lstm_sequence_grad(weight, c, gates, c0?, dy?, dc?, dgates?, reverse:bool=false) -> dx, dh0, dc0",
    .doc =
        "Gradients of lstm_sequence by x and the initial states, from its results c and gates and their gradients; dh0 "
        "and dc0 are [0, h] if there is no c0.",
    .family = "recurrent",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Recurrence r = require_backward(call, 4);
          require_shape(call, 3, {r.batch, r.hidden}, "c0");
          require_shape(call, 4, {r.steps, r.batch, r.hidden}, "dy");
          require_shape(call, 5, {r.steps, r.batch, r.hidden}, "dc");
          require_shape(call, 6, {r.steps, r.batch, 4 * r.hidden}, "dgates");
          const DType type = call.in(0).dtype();
          const Dims state{call.has(3) ? r.batch : 0, r.hidden};
          out.add(type, {r.steps, r.batch, 4 * r.hidden});
          out.add(type, state);
          out.add(type, state);
        },
    .prepare = prepared<decode_backward>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const bool state = call.has(3);
            const kernels::LstmGrad<T> l{in[4],
                                         in[5],
                                         in[6],
                                         in[0],
                                         in[1],
                                         in[2],
                                         in[3],
                                         to[0],
                                         state ? to[1] : nullptr,
                                         state ? to[2] : nullptr};
            kernels::lstm_grad(recurrence_back(call), l, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) +
                 kernels::recurrent_scratch(recurrence_back(call), 4, size_of(out[0].dtype()));
        },
    .reference = reference_lstm_grad,
    .cost = [](const Call& call) { return cost_of(recurrence_back(call), 4); },
    .not_differentiable = kFused,
    .samples = [](Samples& s) { sample_backward(s, 4); },
    .low = -1,
    .high = 1,
};

INGOT_OP(gru_sequence) = {
    .name = "gru_sequence",
    .signature = "gru_sequence(x, weight, bias?, h0?, reverse:bool=false) -> y, gates",
    .doc =
        "The recurrent half of a GRU layer: x [steps, batch, 3h] is what the inputs contribute to the gates r, z, n; "
        "weight [3h, h] and bias [3h] apply to the state before, for n inside the reset gate; h0 [batch, h]; to y "
        "[steps, batch, h] and r, z, n and n's hidden part [steps, batch, 4h].",
    .family = "recurrent",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Recurrence r = require_forward(call, 3);
          require_shape(call, 2, {3 * r.hidden}, "the bias");
          require_shape(call, 3, {r.batch, r.hidden}, "h0");
          out.add(call.in(0).dtype(), {r.steps, r.batch, r.hidden});
          out.add(call.in(0).dtype(), {r.steps, r.batch, 4 * r.hidden});
        },
    .prepare = prepared<decode_forward>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const kernels::Gru<T> l{in[0], in[1], in[2], in[3], to[0], to[1]};
            kernels::gru(recurrence_of(call), l, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) + kernels::recurrent_scratch(recurrence_of(call), 3, size_of(out[0].dtype()));
        },
    .reference = reference_gru,
    .cost = [](const Call& call) { return cost_of(recurrence_of(call), 3); },
    .gradient =
        [](Gradient& g) {
          const bool reverse = g.call().flag("reverse");
          const Tensor h0 = given(g, 3);
          const auto d = gru_sequence_grad(g.in(1), g.out(0), g.out(1), h0, given_dy(g, 0), given_dy(g, 1), reverse);
          g.set(0, d[0]);
          if (g.wants(1)) g.set(1, weight_gradient(d[1], g.out(0), h0, reverse));
          if (g.wants(2)) g.set(2, sum(d[1], {0, 1}));
          if (g.wants(3)) g.set(3, d[2]);
        },
    .samples = [](Samples& s) { sample_forward(s, 3); },
    .low = -1,
    .high = 1,
};

INGOT_OP(gru_sequence_grad) = {
    .name = "gru_sequence_grad",
    .signature = "gru_sequence_grad(weight, y, gates, h0?, dy?, dgates?, reverse:bool=false) -> dx, dhidden, dh0",
    .doc =
        "Gradients of gru_sequence by x, by weight · state + bias and by h0, from its results and their gradients; dh0 "
        "is [0, h] if there is no h0.",
    .family = "recurrent",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          const Recurrence r = require_backward(call, 3);
          require_shape(call, 3, {r.batch, r.hidden}, "h0");
          require_shape(call, 4, {r.steps, r.batch, r.hidden}, "dy");
          require_shape(call, 5, {r.steps, r.batch, 4 * r.hidden}, "dgates");
          const DType type = call.in(0).dtype();
          out.add(type, {r.steps, r.batch, 3 * r.hidden});
          out.add(type, {r.steps, r.batch, 3 * r.hidden});
          out.add(type, {call.has(3) ? r.batch : 0, r.hidden});
        },
    .prepare = prepared<decode_backward>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            const kernels::GruGrad<T> l{
                in[4], in[5], in[0], in[1], in[2], in[3], to[0], to[1], call.has(3) ? to[2] : nullptr};
            kernels::gru_grad(recurrence_back(call), l, rest, team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) +
                 kernels::recurrent_scratch(recurrence_back(call), 3, size_of(out[0].dtype()));
        },
    .reference = reference_gru_grad,
    .cost = [](const Call& call) { return cost_of(recurrence_back(call), 3); },
    .not_differentiable = kFused,
    .samples = [](Samples& s) { sample_backward(s, 3); },
    .low = -1,
    .high = 1,
};

}  // namespace ingot
