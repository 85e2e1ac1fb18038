#include "ingot/gates/layers.h"

#include <algorithm>
#include <cmath>

#include "gates/program.h"
#include "ingot/base/error.h"
#include "ingot/gates/ops.h"
#include "ingot/graph/grad.h"
#include "ingot/nn/draw.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

constexpr int kA = static_cast<int>(Function::kA);

// Coefficients of 1, a, b and ab for a truth table f(0,0), f(0,1), f(1,0), f(1,1): linear in it.
constexpr double kLines[4][4] = {{1, -1, -1, 1}, {0, 0, 1, -1}, {0, 1, 0, -1}, {0, 0, 0, 1}};

// What turns shares of the sixteen functions [·, 16], or values of the four lines of a truth table [·, 4], into
// coefficients.
Tensor table(Form form, DType type) {
  std::vector<double> rows;
  const int count = form == Form::kSoftmax ? kFunctions : 4;
  for (int r = 0; r < count; r++)
    for (int k = 0; k < 4; k++) {
      double sum = 0;
      for (int line = 0; line < 4; line++)
        if (form == Form::kLight ? line == r : (r >> (3 - line) & 1) != 0) sum += kLines[line][k];
      rows.push_back(sum);
    }
  return to(Tensor::from(rows, {count, 4}), type);
}

Tensor initial_logits(int64_t count, const GateOptions& options) {
  const int64_t width = options.form == Form::kSoftmax ? kFunctions : 4;
  std::vector<float> row(static_cast<size_t>(width), 0.0F);
  for (int k = 0; k < width; k++) {
    if (options.form == Form::kSoftmax)
      row[static_cast<size_t>(k)] = k == kA ? static_cast<float>(options.pass) : 0.0F;
    else
      row[static_cast<size_t>(k)] = static_cast<float>((kA >> (3 - k) & 1) != 0 ? options.pass : -options.pass);
  }
  const Tensor all = clone(broadcast_to(Tensor::from(row, {1, width}), {count, width}));
  return options.noise > 0 ? add(all, multiply(nn::draw_normal(all.shape()), options.noise)) : all;
}

Tensor straight_through(const Tensor& soft, const Tensor& hard) {
  return add(soft, stop_gradient(subtract(hard, soft)));
}

// Elements of tensors whose type Module::to may have changed.
std::byte* element(const Tensor& t, int64_t i) {
  return static_cast<std::byte*>(t.raw()) + i * static_cast<int64_t>(size_of(t.dtype()));
}
double number(const Tensor& t, int64_t i) { return load_as_double(element(t, i), t.dtype()); }
void set_number(const Tensor& t, int64_t i, double value) { store_from_double(element(t, i), t.dtype(), value); }

void check(const GateOptions& o) {
  const auto fail = [](const std::string& what, const char* hint) { throw Error("gates: " + what + " — " + hint); };
  if (!std::isfinite(o.pass)) fail("the initial logit is not finite", "published runs have 10, reliable ones 5");
  if (!(o.noise >= 0) || !std::isfinite(o.noise)) fail("a deviation of the initial logits below 0", "0 is none");
  if (!(o.gumbel >= 0)) fail("a negative temperature of the noise", "0 is no noise");
  const Hardening& h = o.hardening;
  if (!(h.most >= 0 && h.most <= 1)) fail("hardening of more than all gates, or less than none", "give 0 to 1");
  if (h.most > 0 && o.gumbel > 0)
    fail("hardening and Gumbel noise at once", "each makes gates hard in its own way: give one");
  if (!(h.below > 0) || h.over < 1) fail("hardening begins never", "give a share of the first loss and some steps");
}

}  // namespace

Gates::Gates(int64_t count, const GateOptions& options) : options_(options) {
  check(options);
  if (count < 1) throw Error("gates: none — a network has at least one");
  logits = initial_logits(count, options);
  hardness_ = zeros({});
  progress_ = zeros({3}, kF64);
  observe(0);  // hardening that begins at once does so in the first step
}

void Gates::parts(nn::Parts& p) {
  p("logits", logits);
  p.carried("hardness", hardness_);
  p.carried("progress", progress_);
}

void Gates::observe(double loss) {
  const Hardening& h = options_.hardening;
  if (h.most == 0) return;
  double first = number(progress_, 0), mean = number(progress_, 1), steps = number(progress_, 2);
  constexpr double kWeight = 0.05;             // of the newest loss in the mean
  constexpr double kBroken = 4, kRetreat = 4;  // what has broken, by so much, is mended sooner with softer gates
  if (first == 0) first = mean = loss;
  mean += kWeight * (loss - mean);
  const bool low = h.below >= 1 || mean < h.below * first, broken = !low && mean > kBroken * h.below * first;
  steps = std::clamp(steps + (low ? 1 : broken ? -kRetreat : 0), 0.0, static_cast<double>(h.over));
  set_number(progress_, 0, first);
  set_number(progress_, 1, mean);
  set_number(progress_, 2, steps);
  set_number(hardness_, 0, h.most * steps / static_cast<double>(h.over));
}

double Gates::hardness() const { return number(hardness_, 0); }

Tensor Gates::coefficients() {
  const bool softmaxed = options_.form == Form::kSoftmax;
  const Tensor rows = table(options_.form, logits.dtype());
  const auto soft = [&](const Tensor& x) { return matmul(softmaxed ? softmax(x) : sigmoid(x), rows); };
  const auto hard = [&](const Tensor& x) {
    return softmaxed ? index_select(rows, argmax(x, {1})) : matmul(ingot::to(greater(x, 0.0), x.dtype()), rows);
  };
  if (!training()) return hard(logits);
  if (options_.gumbel > 0) {
    const nn::RandomSource source = nn::next_random();
    const Tensor u = uniform(logits.shape(), source.seed, 1e-7, 1 - 1e-7, source.stream, logits.dtype());
    const Tensor noise =
        softmaxed ? negative(log(negative(log(u)))) : subtract(log(u), log(subtract(ones({}, u.dtype()), u)));
    const Tensor noisy = multiply(add(logits, noise), 1 / options_.gumbel);
    return straight_through(soft(noisy), hard(noisy));
  }
  return options_.hardening.most > 0 ? harden(soft(logits), hard(logits)) : soft(logits);
}

Tensor Gates::harden(const Tensor& soft, const Tensor& hard) const {
  const nn::RandomSource source = nn::next_random();
  const Tensor chosen =
      less(uniform({soft.size(0), 1}, source.seed, 0, 1, source.stream, hardness_.dtype()), hardness_);
  return where(chosen, straight_through(soft, hard), soft);
}

std::vector<Function> Gates::functions() const {
  const Tensor x = ingot::to(logits, kF64);
  const int64_t width = x.size(1);
  std::vector<Function> result;
  for (int64_t g = 0; g < count(); g++) {
    const double* row = x.data<double>() + g * width;
    int f = 0;
    if (options_.form == Form::kSoftmax)
      f = static_cast<int>(std::max_element(row, row + width) - row);
    else
      for (int k = 0; k < 4; k++) f = 2 * f + (row[k] > 0 ? 1 : 0);
    result.push_back(static_cast<Function>(f));
  }
  return result;
}

namespace {

std::vector<Wires> draw_layers(int64_t in, const std::vector<int64_t>& widths, GateNetwork::Wiring wiring) {
  std::vector<Wires> layers;
  for (const int64_t width : widths) {
    layers.push_back(wiring == GateNetwork::Wiring::kUnique ? unique_wires(in, width, nn::next_key())
                                                            : random_wires(in, width, nn::next_key()));
    in = width;
  }
  return layers;
}

int64_t gates_in(const std::vector<Wires>& layers) {
  int64_t sum = 0;
  for (const Wires& layer : layers) sum += layer.size();
  return sum;
}

}  // namespace

GateNetwork::GateNetwork(int64_t in, std::vector<int64_t> widths, Wiring wiring, const GateOptions& options)
    : GateNetwork(in, draw_layers(in, widths, wiring), options) {}

GateNetwork::GateNetwork(int64_t in, const std::vector<Wires>& layers, const GateOptions& options)
    : gates(gates_in(layers), options), in_(in), out_(layers.back().size()) {
  if (in < 1) throw Error("GateNetwork: " + std::to_string(in) + " inputs — give at least one");
  Program program(in);
  std::vector<int32_t> signals(static_cast<size_t>(in));
  for (size_t k = 0; k < signals.size(); k++) signals[k] = static_cast<int32_t>(k);
  int32_t row = 0;
  for (const Wires& layer : layers) {
    for (size_t g = 0; g < layer.a.size(); g++)
      if (layer.b.size() != layer.a.size() || std::min(layer.a[g], layer.b[g]) < 0 ||
          std::max(layer.a[g], layer.b[g]) >= static_cast<int64_t>(signals.size()))
        throw Error("GateNetwork: gate " + std::to_string(g) + " of a layer on " + std::to_string(signals.size()) +
                    " signals reads another one — wires count the signals of the layer before from 0");
    signals = program.add_layer(signals, layer, row, &layer == &layers.back());
    row += static_cast<int32_t>(layer.size());
  }
  wires_ = program.wires();
}

void GateNetwork::parts(nn::Parts& p) {
  p("gates", gates);
  p.buffer("wires", wires_);
}

Tensor GateNetwork::forward(const Tensor& x) {
  if (x.rank() != 2 || x.size(1) != in_)
    throw Error(ErrorKind::kShape, "GateNetwork: an input of " + to_string(x.shape()) + " — it must be [batch, " +
                                       std::to_string(in_) + "]");
  return gate_network(x, gates.coefficients(), wires_, out_);
}

Circuit GateNetwork::circuit() const { return circuit_of(in_, wires_, gates.functions(), out_); }

GroupSum::GroupSum(int64_t classes, double tau) : classes_(classes), tau_(tau) {
  if (classes < 1 || !(tau > 0))
    throw Error("GroupSum: " + std::to_string(classes) + " classes, tau " + std::to_string(tau) +
                " — give at least one class and a positive tau");
}

Tensor GroupSum::forward(const Tensor& x) {
  if (x.rank() != 2 || x.size(1) % classes_ != 0)
    throw Error(ErrorKind::kShape, "GroupSum: an input of " + to_string(x.shape()) +
                                       " — it must be [batch, n] with n a multiple of " + std::to_string(classes_));
  return multiply(sum(reshape(x, {x.size(0), classes_, x.size(1) / classes_}), {2}), 1 / tau_);
}

nn::Loss squared_error_sum() {
  return {"squared_error_sum",
          [](const Tensor& result, const Tensor& target) {
            if (result.rank() < 2 || target.rank() != result.rank() || target.size(1) > result.size(1))
              throw Error(ErrorKind::kShape, "squared_error_sum: a result of " + to_string(result.shape()) +
                                                 " and a target of " + to_string(target.shape()) +
                                                 " — the target has the first channels of the result");
            return sum(square(subtract(slice(result, 1, 0, target.size(1)), target)));
          },
          kF32};
}

}  // namespace ingot::gates
