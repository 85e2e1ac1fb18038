// A training run as tensors and text, and back: to the bit.
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "nn/trainer_impl.h"

namespace ingot::nn {
namespace {

constexpr const char* kFormat = "ingot training state 1";

// Reads the values of a state; what is missing or no number is an Error.
class Values {
 public:
  explicit Values(const std::map<std::string, std::string>& values) : values_(values) {}
  const std::string& text(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end())
      throw Error(ErrorKind::kFile,
                  "training state: \"" + key + "\" is missing — the file is not a checkpoint of a training run");
    return found->second;
  }
  double real(const std::string& key) const { return number<double>(key); }
  int64_t count(const std::string& key) const {
    const int64_t value = number<int64_t>(key);
    constexpr int64_t kMost = int64_t{1} << 53;  // no run gets there, and sums of such still fit
    if (value < 0 || value > kMost)
      throw Error(ErrorKind::kFile, "training state: \"" + key + "\" is " + std::to_string(value) +
                                        ", which no run reaches — the checkpoint is damaged");
    return value;
  }

 private:
  template <class T>
  T number(const std::string& key) const {
    const std::string& s = text(key);
    T value{};
    if (!parse_number(s, value))
      throw Error(ErrorKind::kFile,
                  "training state: \"" + key + "\" is \"" + s + "\", no number — the checkpoint is damaged");
    return value;
  }
  const std::map<std::string, std::string>& values_;
};

const NamedTensor* find(const TrainingState& state, const std::string& name) {
  for (const NamedTensor& t : state.tensors)
    if (t.name == name) return &t;
  return nullptr;
}

// The tensor of that name, of exactly that type and shape.
const Tensor& same(const TrainingState& state, const std::string& name, const Tensor& like) {
  const NamedTensor* found = find(state, name);
  if (found == nullptr)
    throw Error(ErrorKind::kFile,
                "training state: \"" + name + "\" is missing — it was saved by a run with other options");
  const Tensor& t = found->tensor;
  if (t.dtype() != like.dtype() || !(t.shape() == like.shape()))
    throw Error(ErrorKind::kFile, "training state: \"" + name + "\" is " + describe(t) + ", not " + describe(like) +
                                      " — it was saved by a run of another model or optimiser");
  return t;
}

std::vector<NamedTensor> with_prefix(const TrainingState& state, const std::string& prefix) {
  std::vector<NamedTensor> found;
  for (const NamedTensor& t : state.tensors)
    if (t.name.starts_with(prefix)) found.push_back({t.name.substr(prefix.size()), t.tensor});
  return found;
}

// History as a table of f64, a row per epoch.
constexpr int64_t kEpochColumns = 6;
Tensor history_table(const std::vector<EpochResult>& history, int64_t metrics) {
  Tensor table = Tensor::empty({static_cast<int64_t>(history.size()), kEpochColumns + 2 * (metrics + 1)}, kF64);
  double* at = table.data<double>();
  for (const EpochResult& e : history) {
    for (const double v : {static_cast<double>(e.epoch), e.tested ? 1.0 : 0.0, e.best ? 1.0 : 0.0,
                           static_cast<double>(e.lr), e.seconds, e.samples_per_second})
      *at++ = v;
    for (const Scores* s : {&e.train, &e.test}) {
      *at++ = s->loss;
      for (int64_t i = 0; i < metrics; i++)
        *at++ = s->metrics.empty() ? std::nan("") : s->metrics[static_cast<size_t>(i)];
    }
  }
  return table;
}

std::vector<EpochResult> history_of(const Tensor& table, int64_t metrics) {
  if (table.dtype() != kF64 || table.rank() != 2 || table.size(1) != kEpochColumns + 2 * (metrics + 1))
    throw Error("training state: the history does not fit — it was saved by a run with other metrics");
  std::vector<EpochResult> history;
  const std::vector<double> values = table.to_vector<double>();
  const double* at = values.data();
  for (int64_t row = 0; row < table.size(0); row++) {
    if (at[0] != static_cast<double>(row + 1))
      throw Error(ErrorKind::kFile,
                  "training state: the history's epochs do not count from 1 — the checkpoint is damaged");
    EpochResult e{.epoch = row + 1,
                  .train = {},
                  .test = {},
                  .tested = at[1] != 0,
                  .best = at[2] != 0,
                  .lr = static_cast<float>(at[3]),
                  .seconds = at[4],
                  .samples_per_second = at[5]};
    at += kEpochColumns;
    for (Scores* s : {&e.train, &e.test}) {
      s->loss = *at++;
      s->metrics.assign(at, at + metrics);
      at += metrics;
    }
    history.push_back(std::move(e));
  }
  return history;
}

// The first learner's names have no number.
std::string number_of(size_t learner) { return learner == 0 ? "" : "." + std::to_string(learner); }

// What each learner keeps.
template <class F>
void for_each_slab(const Trainer::Impl& t, F f) {
  for (size_t i = 0; i < t.learning.size(); i++) {
    const std::string number = number_of(i);
    const Learning& l = *t.learning[i];
    if (l.updates.state().defined()) f("optimizer.state" + number, l.updates.state());
    if (l.updates.averages().defined()) f("averages" + number, l.updates.averages());
    if (t.options.accumulate > 1) f("gradients" + number, l.slab.gradients());
  }
}

std::string optimizers_of(const Trainer::Impl& t) {
  std::string names;
  for (const auto& l : t.learning) names += (names.empty() ? "" : ", ") + l->updates.optimizer().name();
  return names;
}

}  // namespace

std::vector<NamedTensor> Trainer::weights() {
  std::vector<NamedTensor> all = impl_->model.state_dict();
  if (impl_->averaging > 0 || impl_->updates().steps() == 0) return all;
  for (const auto& l : impl_->learning) {
    const Tensor &values = l->slab.values(), &averages = l->updates.averages();
    if (!averages.defined()) continue;
    for (NamedTensor& t : all)
      if (t.tensor.shares_storage(values)) {
        const ptrdiff_t at = static_cast<std::byte*>(t.tensor.raw()) - static_cast<std::byte*>(values.raw());
        t.tensor = averages.view(static_cast<std::byte*>(averages.raw()) + at, t.tensor.shape(), t.tensor.strides());
      }
  }
  return all;
}

TrainingState Trainer::state() {
  const Impl& t = *impl_;
  if (t.averaging > 0) throw Error("trainer: the state cannot be taken inside evaluate() — take it after");
  TrainingState state;
  for (NamedTensor& p : impl_->model.state_dict()) state.tensors.push_back({"model." + p.name, p.tensor});
  for (const NamedTensor& c : t.model.carried_tensors()) state.tensors.push_back({"carried." + c.name, c.tensor});
  for_each_slab(t, [&](const std::string& name, const Tensor& slab) { state.tensors.push_back({name, slab}); });
  for (const NamedTensor& b : t.best_weights) state.tensors.push_back({"best." + b.name, b.tensor});
  state.tensors.push_back({"history", history_table(t.history, static_cast<int64_t>(t.options.metrics.size()))});
  state.values = {{"format", kFormat},
                  {"optimizer", optimizers_of(t)},
                  {"accumulate", std::to_string(t.options.accumulate)},
                  {"epoch", std::to_string(t.epoch)},
                  {"position.epoch", std::to_string(t.position.epoch)},
                  {"position.batch", std::to_string(t.position.batch)},
                  {"updates", std::to_string(t.updates().steps())},
                  {"batches", std::to_string(t.updates().batches())},
                  {"sum.samples", exact_text(t.sums.samples)},
                  {"sum.loss", exact_text(t.sums.loss)},
                  {"seconds", exact_text(t.seconds)},
                  {"best", exact_text(t.best)},
                  {"worse_epochs", std::to_string(t.worse_epochs)}};
  for (size_t i = 0; i < t.learning.size(); i++)
    state.values["lr" + number_of(i)] = exact_text(t.learning[i]->updates.lr());
  for (size_t i = 0; i < t.sums.metrics.size(); i++)
    state.values["metric." + t.options.metrics[i].name] = exact_text(t.sums.metrics[i]);
  return state;
}

void Trainer::load_state(const TrainingState& state) {
  Impl& t = *impl_;
  const Values values(state.values);
  if (values.text("format") != kFormat)
    throw Error(ErrorKind::kFile, "training state: its format is \"" + values.text("format") +
                                      "\" — this program reads \"" + kFormat + "\"");
  const auto require_same = [&](const char* key, const std::string& now) {
    if (values.text(key) != now)
      throw Error(std::string("training state: ") + key + " was " + values.text(key) + " and is " + now +
                  " now — a run goes on with what it began with");
  };
  require_same("optimizer", optimizers_of(t));
  require_same("accumulate", std::to_string(t.options.accumulate));
  // Everything is read and checked before anything changes.
  const int64_t metrics = static_cast<int64_t>(t.options.metrics.size());
  const NamedTensor* table = find(state, "history");
  if (table == nullptr)
    throw Error(ErrorKind::kFile, "training state: the history is missing — the checkpoint is damaged");
  std::vector<EpochResult> history = history_of(table->tensor, metrics);
  Sums sums{.samples = values.real("sum.samples"), .loss = values.real("sum.loss"), .metrics = {}};
  for (const Metric& m : t.options.metrics) sums.metrics.push_back(values.real("metric." + m.name));
  const data::Position position{values.count("position.epoch"), values.count("position.batch")};
  const int64_t epoch = values.count("epoch"), steps = values.count("updates"), batches = values.count("batches");
  if (epoch != static_cast<int64_t>(history.size()))
    throw Error(ErrorKind::kFile, "training state: " + std::to_string(epoch) + " epochs, but a history of " +
                                      std::to_string(history.size()) + " — the checkpoint is damaged");
  if (position.epoch != epoch)
    throw Error(ErrorKind::kFile, "training state: " + std::to_string(epoch) +
                                      " epochs have ended, but the data is in number " +
                                      std::to_string(position.epoch) + " — the checkpoint is damaged");
  const double seconds = values.real("seconds"), best = values.real("best");
  const int64_t worse_epochs = values.count("worse_epochs");
  std::vector<float> rates;
  for (size_t i = 0; i < t.learning.size(); i++) rates.push_back(static_cast<float>(values.real("lr" + number_of(i))));
  std::vector<std::pair<Tensor, Tensor>> copies;
  const auto take = [&](const std::string& name, const Tensor& into) {
    if (into.defined()) copies.emplace_back(into, same(state, name, into));
  };
  for (const NamedTensor& c : t.model.carried_tensors()) take("carried." + c.name, c.tensor);
  for_each_slab(t, take);
  std::vector<NamedTensor> best_weights;  // in the model's order, whatever the file's is
  if (t.options.keep_best && !with_prefix(state, "best.").empty())
    for (const NamedTensor& w : t.model.state_dict())
      best_weights.push_back({w.name, clone(same(state, "best." + w.name, w.tensor))});

  t.model.load_state_dict(with_prefix(state, "model."));
  for (const auto& [into, from] : copies) copy_into(into, from);
  t.best_weights = std::move(best_weights);
  for (size_t i = 0; i < t.learning.size(); i++) {
    t.learning[i]->updates.set_counters(steps, batches);
    t.learning[i]->updates.set_lr(rates[i]);
  }
  t.epoch = epoch;
  t.position = position;
  t.sums = std::move(sums);
  t.sums.mean(t.running);
  t.seconds = seconds;
  t.best = best;
  t.worse_epochs = worse_epochs;
  t.history = std::move(history);
}

}  // namespace ingot::nn
