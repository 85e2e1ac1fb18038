#include "ingot/nn/loss.h"

#include <limits>
#include <string>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::nn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string both(const Tensor& result, const Tensor& target) {
  return "result " + to_string(result.shape()) + " and target " + to_string(target.shape());
}

void require_some(const char* loss, const Tensor& result, const Tensor& target) {
  if (!result.defined() || !target.defined()) throw Error(std::string(loss) + ": result or target is undefined");
  if (result.numel() == 0)
    throw Error(std::string(loss) + ": the batch is empty, " + both(result, target) + " — give at least one sample");
}

// The target in the result's type; shapes must be equal: broadcasting here is nearly always a mistake.
Tensor like(const char* loss, const Tensor& result, const Tensor& target) {
  require_some(loss, result, target);
  if (!(result.shape() == target.shape()))
    throw Error(ErrorKind::kShape,
                std::string(loss) + ": " + both(result, target) + " — they must have the same shape");
  return result.dtype() == target.dtype() ? target : to(target, result.dtype());
}

Tensor reduced(const Tensor& single, Reduction reduction) {
  switch (reduction) {
    case Reduction::kMean: return mean(single);
    case Reduction::kSum: return sum(single);
    case Reduction::kBatchMean: return divide(sum(single), static_cast<double>(single.size(0)));
    case Reduction::kNone: break;
  }
  return single;
}

// Scores as a matrix and labels as a vector, whatever axes they have in common.
struct Rows {
  Tensor scores, labels;
  Dims shape;  // of the labels
};
Rows rows_of(const char* loss, const Tensor& scores, const Tensor& labels) {
  require_some(loss, scores, labels);
  if (labels.dtype() != kI32 && labels.dtype() != kI64)
    throw Error(ErrorKind::kType, std::string(loss) + ": labels are " + name(labels.dtype()) + " — give i32 or i64");
  Dims shape = scores.shape();
  if (!shape.empty()) shape.erase(shape.size() - 1);
  if (scores.rank() < 2 || !(labels.shape() == shape))
    throw Error(ErrorKind::kShape,
                std::string(loss) + ": " + both(scores, labels) + " — give [n, …, classes] and one label for each row");
  if (scores.rank() == 2) return {scores, labels, shape};
  return {reshape(contiguous(scores), {-1, scores.size(-1)}), reshape(contiguous(labels), {-1}), shape};
}

// log x, at least -100, as PyTorch has it. Its gradient is 1/x down to x = 1e-12 and stays there, so that a probability
// of 0 can be learned away from. (Below 1e-12 a line is put in place of the logarithm, and then its value corrected.)
Tensor clamped_log(const Tensor& x) {
  constexpr double kLeast = 1e-12;
  const Tensor line =
      add(log(clamp(x, kLeast, kInfinity)), multiply(clamp(subtract(x, kLeast), -kInfinity, 0), 1 / kLeast));
  return add(line, stop_gradient(subtract(clamp(log(x), -100, kInfinity), line)));
}

// -scores[label], 0 where the label is negative.
Tensor negative_at(const Rows& r) {
  const Tensor known = greater_equal(r.labels, 0.0);
  const Tensor places = unsqueeze(maximum(r.labels, zeros({}, r.labels.dtype())), 1);
  const Tensor found = reshape(gather(r.scores, places, 1), {r.labels.numel()});
  return where(known, negative(found), zeros({}, found.dtype()));
}

Tensor nll_of(const Rows& r, Reduction reduction) {
  const Tensor single = negative_at(r);
  return reduction == Reduction::kNone ? reshape(single, r.shape) : reduced(single, reduction);
}

// Targets that are probabilities.
Tensor soft_cross_entropy(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& o) {
  Tensor t = like("cross_entropy", logits, target);
  const double classes = static_cast<double>(logits.size(-1));
  if (o.label_smoothing != 0) t = add(multiply(t, 1 - o.label_smoothing), o.label_smoothing / classes);
  if (o.weight.defined()) t = multiply(t, o.weight);
  const Tensor single = negative(sum(multiply(t, log_softmax(logits)), {-1}));
  return reduced(single, o.reduction);
}

// Rows of -log softmax with smoothing and weights, and the weight of each row.
struct Weighted {
  Tensor loss, weight;
};
Weighted weighted_cross_entropy(const Rows& r, const CrossEntropyOptions& o) {
  const DType type = r.scores.dtype();
  const Tensor known = to(greater_equal(r.labels, 0.0), type);
  const Tensor places = maximum(r.labels, zeros({}, r.labels.dtype()));
  const Tensor weight = o.weight.defined() ? multiply(known, index_select(o.weight, places)) : known;
  Tensor loss = multiply(weight, softmax_cross_entropy(r.scores, r.labels));
  if (o.label_smoothing != 0) {
    const Tensor rest = negative(log_softmax(r.scores));
    const Tensor spread = mean(o.weight.defined() ? multiply(rest, o.weight) : rest, {1});
    loss = add(multiply(loss, 1 - o.label_smoothing), multiply(multiply(known, spread), o.label_smoothing));
  }
  return {loss, weight};
}

}  // namespace

Tensor mse_loss(const Tensor& result, const Tensor& target, Reduction reduction) {
  return reduced(square(subtract(result, like("mse", result, target))), reduction);
}

Tensor mae_loss(const Tensor& result, const Tensor& target, Reduction reduction) {
  return reduced(abs(subtract(result, like("mae", result, target))), reduction);
}

Tensor huber_loss(const Tensor& result, const Tensor& target, double delta, Reduction reduction) {
  if (!(delta > 0)) throw Error(std::string("huber: delta = ") + std::to_string(delta) + " — it must be positive");
  const Tensor error = subtract(result, like("huber", result, target)), near = clamp(error, -delta, delta);
  return reduced(multiply(near, subtract(error, multiply(near, 0.5))), reduction);
}

Tensor cross_entropy_loss(const Tensor& logits, const Tensor& target, const CrossEntropyOptions& o) {
  if (!(o.label_smoothing >= 0 && o.label_smoothing <= 1))
    throw Error(std::string("cross_entropy: label_smoothing = ") + std::to_string(o.label_smoothing) +
                " — it lies in 0 … 1");
  if (o.weight.defined() && logits.defined() &&
      (logits.rank() == 0 || !(o.weight.shape() == Dims{logits.size(-1)}) || o.weight.dtype() != logits.dtype()))
    throw Error("cross_entropy: weight is " + std::string(name(o.weight.dtype())) + " " + to_string(o.weight.shape()) +
                " for logits " + to_string(logits.shape()) + " — give one number of their type per class");
  if (target.defined() && is_float(target.dtype())) return soft_cross_entropy(logits, target, o);
  const Rows r = rows_of("cross_entropy", logits, target);
  if (o.label_smoothing == 0 && !o.weight.defined() && !o.skip_negative) {
    const Tensor single = softmax_cross_entropy(r.scores, r.labels);
    return o.reduction == Reduction::kNone ? reshape(single, r.shape) : reduced(single, o.reduction);
  }
  const auto [loss, weight] = weighted_cross_entropy(r, o);
  if (o.reduction == Reduction::kNone) return reshape(loss, r.shape);
  if (o.reduction == Reduction::kMean && (o.weight.defined() || o.skip_negative))
    return divide(sum(loss), maximum(sum(weight), full({}, 1e-30, weight.dtype())));
  return reduced(loss, o.reduction);
}

Tensor cross_entropy_on_probabilities_loss(const Tensor& probabilities, const Tensor& labels, Reduction reduction) {
  Rows r = rows_of("cross_entropy_on_probabilities", probabilities, labels);
  const Tensor places = unsqueeze(maximum(r.labels, zeros({}, r.labels.dtype())), 1);
  const Tensor single = where(greater_equal(r.labels, 0.0),
                              negative(clamped_log(reshape(gather(r.scores, places, 1), {r.labels.numel()}))),
                              zeros({}, r.scores.dtype()));
  return reduction == Reduction::kNone ? reshape(single, r.shape) : reduced(single, reduction);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels, Reduction reduction) {
  return nll_of(rows_of("nll", log_probabilities, labels), reduction);
}

Tensor bce_loss(const Tensor& probabilities, const Tensor& target, Reduction reduction) {
  const Tensor t = like("bce", probabilities, target);
  const Tensor yes = multiply(t, clamped_log(probabilities)), no = multiply(1.0 - t, clamped_log(1.0 - probabilities));
  return reduced(negative(add(yes, no)), reduction);
}

// softplus(±x) is exact at both ends, and smooth at 0.
Tensor bce_with_logits_loss(const Tensor& logits, const Tensor& target, Reduction reduction) {
  const Tensor t = like("bce_with_logits", logits, target);
  return reduced(add(multiply(t, softplus(negative(logits))), multiply(1.0 - t, softplus(logits))), reduction);
}

Tensor kl_div_loss(const Tensor& log_probabilities, const Tensor& target, Reduction reduction) {
  const Tensor t = like("kl_div", log_probabilities, target);
  const double least = t.dtype() == kF64 ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  return reduced(multiply(t, subtract(log(clamp(t, least, kInfinity)), log_probabilities)), reduction);
}

namespace {

// Single losses [n, …] as one per sample: their mean, or their sum where the whole loss is a batch mean.
Tensor per_sample(const Tensor& single, bool sums = false) {
  if (single.rank() == 1) return single;
  const Tensor rows = reshape(contiguous(single), {single.size(0), -1});
  return sums ? sum(rows, {1}) : mean(rows, {1});
}

// A loss of the form f(result, target, reduction), which is a mean over samples.
template <class F>
Loss mean_loss(const char* name, DType target, F f, Reduction reduction = Reduction::kMean) {
  Loss::Function each;
  if (const bool sums = reduction == Reduction::kBatchMean; sums || reduction == Reduction::kMean)
    each = [=](const Tensor& y, const Tensor& t) { return per_sample(f(y, t, Reduction::kNone), sums); };
  return {name, [=](const Tensor& y, const Tensor& t) { return f(y, t, reduction); }, target, each};
}

Tensor plain_cross_entropy(const Tensor& y, const Tensor& t, Reduction r) {
  return cross_entropy_loss(y, t, {.reduction = r});
}

}  // namespace

Tensor Loss::operator()(const Tensor& result, const Tensor& t, const Tensor& weight) const {
  if (!each)
    throw Error(std::string(name) +
                ": this loss has no weights per sample — give Loss::each, the loss of every sample");
  const Tensor single = each(result, t);
  if (!weight.defined() || !(weight.shape() == single.shape()))
    throw Error(ErrorKind::kShape, std::string(name) + ": weights " +
                                       (weight.defined() ? to_string(weight.shape()) : "undefined") + " for " +
                                       to_string(single.shape()) + " samples — give one number per sample");
  const Tensor w = weight.dtype() == single.dtype() ? weight : to(weight, single.dtype());
  return divide(sum(multiply(single, w)), maximum(sum(w), full({}, 1e-30, w.dtype())));
}

const Loss mse = mean_loss("mse", kF32, mse_loss);
const Loss mae = mean_loss("mae", kF32, mae_loss);
const Loss cross_entropy = mean_loss("cross_entropy", kI64, plain_cross_entropy);
const Loss cross_entropy_on_probabilities =
    mean_loss("cross_entropy_on_probabilities", kI64, cross_entropy_on_probabilities_loss);
const Loss nll = mean_loss("nll", kI64, nll_loss);
const Loss bce = mean_loss("bce", kF32, bce_loss);
const Loss bce_with_logits = mean_loss("bce_with_logits", kF32, bce_with_logits_loss);
const Loss kl_div = mean_loss("kl_div", kF32, kl_div_loss, Reduction::kBatchMean);

Loss huber(double delta, Reduction reduction) {
  const auto f = [=](const Tensor& y, const Tensor& t, Reduction r) { return huber_loss(y, t, delta, r); };
  return mean_loss("huber", kF32, f, reduction);
}
Loss cross_entropy_with(CrossEntropyOptions options) {
  const auto f = [=](const Tensor& y, const Tensor& t, Reduction r) {
    CrossEntropyOptions o = options;
    o.reduction = r;
    return cross_entropy_loss(y, t, o);
  };
  return mean_loss("cross_entropy", kI64, f, options.reduction);
}

}  // namespace ingot::nn
