// The trainer: what it learns, reports, saves and refuses.
#include "ingot/nn/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/nn/layers.h"
#include "ingot/nn/recurrent.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

// Points in a square, labelled by quarter: 100 of them, so that batches of 16 leave a rest of 4.
struct Quarters {
  Tensor x = uniform({100, 2}, 7, -1, 1);
  Tensor y = Tensor::empty({100}, kI64);
  data::TensorDataset all;
  Quarters() : all(label(), y) {}
  Tensor label() {
    for (int64_t i = 0; i < 100; i++)
      y.at<int64_t>({i}) = (x.at<float>({i, 0}) > 0 ? 1 : 0) + (x.at<float>({i, 1}) > 0 ? 2 : 0);
    return x;
  }
};
const Quarters kQuarters;

nn::Sequential network() {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(2, 16), nn::ReLU()};
  net.add(nn::Linear(16, 4));
  return net;
}

// A run with everything that has a state: shuffling, momentum, averages, a schedule.
struct Training {
  nn::Sequential net = network();
  nn::Trainer trainer;
  data::Loader train{kQuarters.all, {.batch = 16, .shuffle = true, .seed = 3}};
  data::Loader test{kQuarters.all, {.batch = 64}};

  static nn::TrainerOptions usual(int64_t epochs = 12) {
    nn::TrainerOptions options;
    options.epochs = epochs;
    options.schedule = schedule::cosine();
    options.ema = 0.9;
    options.metrics = {nn::accuracy_metric()};
    return options;
  }
  explicit Training(const nn::TrainerOptions& options = usual(), const Optimizer& optimizer = optim::Adam{.lr = 0.02f})
      : trainer(net, nn::cross_entropy, optimizer, options) {}
};

std::vector<std::vector<float>> values(const std::vector<NamedTensor>& tensors) {
  std::vector<std::vector<float>> all;
  for (const NamedTensor& t : tensors)
    if (t.tensor.dtype() == kF32) all.push_back(t.tensor.to_vector<float>());
  return all;
}

// A state as it comes back from a file: in memory of its own.
nn::TrainingState copy_of(const nn::TrainingState& state) {
  nn::TrainingState copy{.tensors = {}, .values = state.values};
  for (const NamedTensor& t : state.tensors) copy.tensors.push_back({t.name, clone(t.tensor)});
  return copy;
}

TEST(Trainer, LearnsAndReports) {
  Training run(Training::usual(40));
  int64_t batches = 0;
  run.trainer.on_batch = [&](const nn::BatchResult& b) {
    batches++;
    EXPECT_EQ(b.batches, 7);
    EXPECT_EQ(b.batch, (batches - 1) % 7 + 1);
    EXPECT_EQ(b.epoch, (batches - 1) / 7 + 1);
    EXPECT_GT(b.samples_per_second, 0);
    if (b.batch == 1) EXPECT_EQ(b.mean.loss, b.loss);
  };
  EXPECT_TRUE(run.trainer.fit(run.train, &run.test));
  EXPECT_EQ(batches, 40 * 7);
  EXPECT_EQ(run.trainer.updates().steps(), 40 * 7);
  const auto& history = run.trainer.history();
  ASSERT_EQ(history.size(), 40u);
  EXPECT_LT(history.back().train.loss, 0.3 * history.front().train.loss);
  EXPECT_GT(history.back().test.metrics[0], 0.93);
  EXPECT_TRUE(history.front().best);
  EXPECT_LT(history.back().lr, 1e-3f) << "the schedule ends low";
  // The scores are those of the samples, whatever the batches.
  const nn::Scores scores = run.trainer.evaluate(run.test);
  const Tensor logits = run.trainer.predict(kQuarters.x);
  EXPECT_NEAR(scores.loss, nn::cross_entropy_loss(logits, kQuarters.y).item<double>(), 1e-5);
  int64_t right = 0;
  const std::vector<int64_t> guesses = argmax(logits, {-1}).to_vector<int64_t>();
  for (int64_t i = 0; i < 100; i++) right += guesses[static_cast<size_t>(i)] == kQuarters.y.at<int64_t>({i}) ? 1 : 0;
  EXPECT_NEAR(scores.metrics[0], static_cast<double>(right) / 100, 1e-9);
  EXPECT_EQ(scores.loss, history.back().test.loss);
}

// Stopped after any batch and gone on with in a trainer of its own, a run ends in the same bits.
TEST(Trainer, GoesOnToTheBit) {
  Training whole;
  whole.trainer.fit(whole.train, &whole.test);
  for (const int64_t stop_after : {1, 6, 7, 8, 20, 83}) {
    Training first;
    int64_t batches = 0;
    first.trainer.on_batch = [&](const nn::BatchResult&) {
      if (++batches == stop_after) first.trainer.stop();
    };
    EXPECT_FALSE(first.trainer.fit(first.train, &first.test));
    const nn::TrainingState saved = copy_of(first.trainer.state());
    Training second;
    fill(*second.net.named_parameters()[0].tensor, 0.5);  // what it begins with must not matter
    second.trainer.load_state(saved);
    EXPECT_TRUE(second.trainer.fit(second.train, &second.test));
    EXPECT_EQ(values(second.trainer.state().tensors), values(whole.trainer.state().tensors)) << stop_after;
    ASSERT_EQ(second.trainer.history().size(), whole.trainer.history().size());
    for (size_t i = 0; i < whole.trainer.history().size(); i++) {
      EXPECT_EQ(second.trainer.history()[i].train.loss, whole.trainer.history()[i].train.loss) << i;
      EXPECT_EQ(second.trainer.history()[i].test.metrics, whole.trainer.history()[i].test.metrics) << i;
    }
  }
}

// A state taken after an epoch's last batch, before its evaluation, reports that epoch as it was.
TEST(Trainer, GoesOnAtTheEndOfAnEpoch) {
  Training whole, first, second;
  whole.trainer.fit(whole.train, &whole.test);
  nn::TrainingState saved;
  int64_t batches = 0;
  first.trainer.on_batch = [&](const nn::BatchResult&) {
    if (++batches == 14) {
      saved = copy_of(first.trainer.state());
      first.trainer.stop();
    }
  };
  first.trainer.fit(first.train, &first.test);
  second.trainer.load_state(saved);
  second.trainer.fit(second.train, &second.test);
  const nn::EpochResult &expected = whole.trainer.history()[1], &found = second.trainer.history()[1];
  EXPECT_EQ(found.lr, expected.lr);
  EXPECT_EQ(found.train.loss, expected.train.loss);
  EXPECT_GT(found.seconds, 1e-6);
  EXPECT_GT(found.samples_per_second, 0);
}

// Stopped within a test, the run goes on with that test, to the same bits: here, and in a trainer of its own.
TEST(Trainer, StopsWithinATest) {
  Training whole, first, second;
  whole.trainer.fit(whole.train, &whole.test);
  int64_t tests = 0;
  first.trainer.on_test_batch = [&] {
    if (++tests == 5) first.trainer.stop();  // the first of two batches of the third test
  };
  EXPECT_FALSE(first.trainer.fit(first.train, &first.test));
  EXPECT_EQ(tests, 5);
  EXPECT_EQ(first.trainer.history().size(), 2U);
  const nn::TrainingState saved = copy_of(first.trainer.state());
  EXPECT_TRUE(first.trainer.fit(first.train, &first.test));
  second.trainer.load_state(saved);
  EXPECT_TRUE(second.trainer.fit(second.train, &second.test));
  for (Training* t : {&first, &second}) {
    EXPECT_EQ(values(t->trainer.state().tensors), values(whole.trainer.state().tensors));
    ASSERT_EQ(t->trainer.history().size(), whole.trainer.history().size());
    EXPECT_EQ(t->trainer.history()[2].test.metrics, whole.trainer.history()[2].test.metrics);
    EXPECT_EQ(t->trainer.history()[2].train.loss, whole.trainer.history()[2].train.loss);
  }
}

TEST(Trainer, CountersThatNoRunReachesAreRefused) {
  Training run(Training::usual(2));
  run.trainer.fit(run.train, &run.test);
  for (const char* key : {"epoch", "position.epoch", "updates", "batches", "worse_epochs"})
    for (const char* value : {"9223372036854775807", "-1"}) {
      nn::TrainingState state = copy_of(run.trainer.state());
      state.values[key] = value;
      EXPECT_REFUSED(run.trainer.load_state(state), "the checkpoint is damaged");
    }
  nn::TrainingState state = copy_of(run.trainer.state());
  for (NamedTensor& t : state.tensors)
    if (t.name == "history") t.tensor.data<double>()[0] = 1e300;
  EXPECT_REFUSED(run.trainer.load_state(state), "do not count from 1");
}

TEST(Trainer, AveragesBeginWithTheWeightsThatTrainingBeginsWith) {
  Training run;
  nn::set_seed(99);
  nn::Sequential other{nn::Linear(2, 16), nn::ReLU(), nn::Linear(16, 4)};
  run.net.load_state_dict(other.state_dict());
  const double before = run.trainer.evaluate(run.test).loss;
  EXPECT_NEAR(before, nn::cross_entropy_loss(other(kQuarters.x), kQuarters.y).item<double>(), 1e-5);
  EXPECT_EQ(values(run.trainer.weights()), values(other.state_dict()));
}

TEST(Trainer, PredictsInsideAnEvaluation) {
  Training run(Training::usual(3));
  run.trainer.fit(run.train);
  const auto saved = values(run.trainer.state().tensors);
  run.trainer.evaluate(run.test, [&](const data::Batch& batch, const Tensor& result) {
    EXPECT_EQ(run.trainer.predict(batch.x).to_vector<float>(), result.to_vector<float>());
    EXPECT_THROW(run.trainer.state(), Error);
  });
  EXPECT_EQ(values(run.trainer.state().tensors), saved);
}

TEST(Trainer, EvaluatesOnWhatItTrainsOn) {
  Training apart(Training::usual(3)), together(Training::usual(3));
  apart.trainer.fit(apart.train);
  together.trainer.fit(together.train, &together.train);
  EXPECT_EQ(values(apart.trainer.weights()), values(together.trainer.weights()));
}

// An LSTM that goes on from batch to batch (truncated backpropagation): what it carries is part of a run, not of its
// weights.
struct Reader : nn::Layer {
  nn::Embedding embedding{5, 6};
  nn::LSTM lstm{6, 8, {.batch_first = true}};
  nn::Linear out{8, 5};
  void parts(nn::Parts& p) override { p("embedding", embedding), p("lstm", lstm), p("out", out); }
  Tensor forward(const Tensor& x) override { return out(lstm(embedding(x))); }
};

TEST(Trainer, GoesOnWithWhatLayersCarry) {
  std::vector<int32_t> tokens(403);
  for (int i = 0; i < 403; i++) tokens[static_cast<size_t>(i)] = i * i % 5;
  const data::TokenDataset text(tokens, 10, 4);
  struct Run {
    Reader net;
    std::unique_ptr<nn::Trainer> trainer;
    data::Loader loader;
    explicit Run(const data::Dataset& set) : net((nn::set_seed(1), Reader())), loader(set, {.batch = 4}) {
      net.lstm.stateful(4);
      nn::TrainerOptions options;
      options.epochs = 3;
      trainer = std::make_unique<nn::Trainer>(net, nn::cross_entropy, optim::Adam{.lr = 0.02f}, options);
    }
  };
  Run whole(text), first(text), second(text), stateless(text);
  whole.trainer->fit(whole.loader, &whole.loader);
  int64_t batches = 0;
  first.trainer->on_batch = [&](const nn::BatchResult&) {
    if (++batches == 13) first.trainer->stop();
  };
  first.trainer->fit(first.loader, &first.loader);
  second.trainer->load_state(copy_of(first.trainer->state()));
  second.trainer->fit(second.loader, &second.loader);
  EXPECT_EQ(values(second.trainer->state().tensors), values(whole.trainer->state().tensors));
  stateless.net.lstm.stateful(0);
  stateless.net.load_state_dict(whole.trainer->weights());  // weights alone: any other twin takes them
}

TEST(Trainer, GoesOnInTheMiddleOfAnAccumulatedUpdate) {
  nn::TrainerOptions options = Training::usual(4);
  options.accumulate = 3;
  Training whole(options), first(options), second(options);
  whole.trainer.fit(whole.train);
  EXPECT_EQ(whole.trainer.updates().steps(), 28 / 3);
  int64_t batches = 0;
  first.trainer.on_batch = [&](const nn::BatchResult&) {
    if (++batches == 10) first.trainer.stop();
  };
  first.trainer.fit(first.train);
  second.trainer.load_state(copy_of(first.trainer.state()));
  second.trainer.fit(second.train);
  EXPECT_EQ(values(second.trainer.weights()), values(whole.trainer.weights()));
}

// A file may give tensors back in another order than they were saved in.
TEST(Trainer, GoesOnWithTheBestWeights) {
  nn::TrainerOptions options = Training::usual(12);
  options.keep_best = true;
  Training whole(options), first(options), second(options);
  whole.trainer.fit(whole.train, &whole.test);
  first.trainer.on_epoch = [&](const nn::EpochResult& e) {
    if (e.epoch == 2) first.trainer.stop();
  };
  first.trainer.fit(first.train, &first.test);
  nn::TrainingState saved = copy_of(first.trainer.state());
  std::reverse(saved.tensors.begin(), saved.tensors.end());
  second.trainer.load_state(saved);
  second.trainer.fit(second.train, &second.test);
  EXPECT_EQ(values(second.trainer.best_weights()), values(whole.trainer.best_weights()));
  EXPECT_EQ(second.trainer.best_epoch()->epoch, whole.trainer.best_epoch()->epoch);
}

TEST(Trainer, StopCountsWheneverItComes) {
  Training run(Training::usual(2));
  run.trainer.stop();  // a signal between making the trainer and training
  EXPECT_FALSE(run.trainer.fit(run.train));
  EXPECT_EQ(run.trainer.updates().batches(), 1);
  EXPECT_FALSE(run.trainer.stopping());
  EXPECT_TRUE(run.trainer.fit(run.train)) << "it goes on";
}

TEST(Trainer, SameBitsAtAnyThreadCount) {
  const int before = threads();
  std::vector<std::vector<float>> results[2];
  for (const int n : {1, 2}) {
    set_threads(n);
    Training run(Training::usual(3));
    run.trainer.fit(run.train, &run.test);
    results[n - 1] = values(run.trainer.state().tensors);
  }
  set_threads(before);
  EXPECT_EQ(results[0], results[1]);
}

TEST(Trainer, AllocatesNothingPerBatch) {
  Training run(Training::usual(6));
  uint64_t before = 0;
  run.trainer.on_batch = [&](const nn::BatchResult& b) {
    if (b.epoch == 2 && b.batch == 1) before = memory_stats().allocations;
    if (b.epoch == 6) EXPECT_EQ(memory_stats().allocations, before);
  };
  run.trainer.fit(run.train, &run.test);
  EXPECT_GT(before, 0u);
}

TEST(Trainer, StopsWhenNothingGetsBetter) {
  nn::TrainerOptions options = Training::usual(100);
  options.patience = 3;
  options.ema = 0;
  options.keep_best = true;
  Training run(options, optim::Sgd{.lr = 0});
  EXPECT_TRUE(run.trainer.fit(run.train, &run.test));
  EXPECT_EQ(run.trainer.history().size(), 4u) << "the first is the best, three are not better";
  run.trainer.restore_best();
}

// A layer that is right from the third epoch's evaluation on, whatever it learns.
TEST(Trainer, StopsWhenItIsTold) {
  nn::TrainerOptions options = Training::usual(100);
  options.ema = 0;
  options.metrics = {};
  options.enough = [](const std::vector<nn::EpochResult>& all) {
    return all.size() >= 2 && all.back().test.loss == 0 && all[all.size() - 2].test.loss == 0;
  };
  int64_t evaluations = 0;
  nn::Sequential net = network();
  const nn::Loss loss{"counted", [](const Tensor& y, const Tensor&) { return mean(square(y)); }, kI64};
  nn::Trainer trainer(net, loss, optim::Sgd{.lr = 0}, options);
  data::Loader train(kQuarters.all, {.batch = 100}), test(kQuarters.all, {.batch = 100});
  trainer.on_epoch = [&](const nn::EpochResult& e) {
    EXPECT_EQ(e.test.loss == 0, e.epoch > 3 && e.epoch != 5);
    evaluations++;
    const bool right = e.epoch >= 3 && e.epoch != 4;  // in the next one
    for (const Parameter& p : net.named_parameters()) fill(*p.tensor, right ? 0.0 : 0.5);
  };
  EXPECT_FALSE(trainer.has_enough());
  EXPECT_TRUE(trainer.fit(train, &test));
  EXPECT_EQ(evaluations, 7);  // right in 4, wrong in 5, right in 6 and 7
  EXPECT_TRUE(trainer.has_enough());
}

// Random layers draw in evaluations as well: the same in each, another time in every batch.
TEST(Trainer, EvaluationsDrawTheSame) {
  struct Noisy : nn::Layer {
    Tensor weight = zeros({1});
    void parts(nn::Parts& p) override { p("weight", weight); }
    Tensor forward(const Tensor& x) override {
      const nn::RandomSource source = nn::next_random();
      return add(multiply(x, weight), uniform(x.shape(), source.seed, 0, 1, source.stream));
    }
  } net;
  nn::Trainer trainer(net, nn::Loss{"sum", [](const Tensor& y, const Tensor&) { return mean(y); }, kI64},
                      optim::Sgd{.lr = 0}, {.epochs = 1});
  data::Loader loader(kQuarters.all, {.batch = 50});
  std::vector<std::vector<float>> seen;
  const auto keep = [&](const data::Batch&, const Tensor& y) { seen.push_back(y.to_vector<float>()); };
  trainer.evaluate(loader, keep);
  trainer.evaluate(loader, keep);
  ASSERT_EQ(seen.size(), 4U);
  EXPECT_NE(seen[0], seen[1]);
  EXPECT_EQ(seen[0], seen[2]);
  EXPECT_EQ(seen[1], seen[3]);
}

TEST(Trainer, RestoresTheBestWeights) {
  nn::TrainerOptions options = Training::usual(8);
  options.keep_best = true;
  options.schedule = [](int64_t step, int64_t) { return step < 28 ? 1.0 : 500.0; };  // ruins what it learned
  Training run(options);
  run.trainer.fit(run.train, &run.test);
  double best = 0;
  for (const nn::EpochResult& e : run.trainer.history()) best = std::max(best, e.test.metrics[0]);
  nn::Sequential net = network();
  EXPECT_LT(run.trainer.history().back().test.metrics[0], best);
  run.trainer.restore_best();
  net.load_state_dict(run.net.state_dict());
  int64_t right = 0;
  const std::vector<int64_t> guesses = argmax(net(kQuarters.x), {-1}).to_vector<int64_t>();
  for (int64_t i = 0; i < 100; i++) right += guesses[static_cast<size_t>(i)] == kQuarters.y.at<int64_t>({i}) ? 1 : 0;
  EXPECT_NEAR(static_cast<double>(right) / 100, best, 1e-6);
  EXPECT_NEAR(run.trainer.evaluate(run.test).metrics[0], best, 1e-6);
}

// A layer whose loss is what it is told, in training and in evaluation.
struct Told : nn::Layer {
  Tensor loss = zeros({1}), weight = zeros({1});
  void parts(nn::Parts& p) override { p("weight", weight), p.buffer("loss", loss); }
  Tensor forward(const Tensor&) override { return weight * 0.0 + loss; }
};

// The epochs that are best so far, given their losses.
std::vector<int64_t> best_of(const std::vector<double>& losses, bool test, nn::TrainerOptions options) {
  Told net;
  options.epochs = static_cast<int64_t>(losses.size());
  options.keep_best = true;
  nn::Trainer trainer(net, nn::Loss{"told", [](const Tensor& y, const Tensor&) { return mean(y); }, kI64},
                      optim::Sgd{.lr = 0}, options);
  data::Loader train(kQuarters.all, {.batch = 100}), held_back(kQuarters.all, {.batch = 100});
  trainer.on_batch = [&](const nn::BatchResult& b) { fill(net.loss, losses[static_cast<size_t>(b.epoch - 1)]); };
  std::vector<int64_t> best;
  trainer.on_epoch = [&](const nn::EpochResult& e) {
    if (e.best) best.push_back(e.epoch);
    EXPECT_EQ(trainer.best_epoch()->epoch, best.back());
    const double kept = trainer.best_weights()[1].tensor.item<double>();
    EXPECT_EQ(kept, static_cast<float>(losses[static_cast<size_t>(best.back() - 1)])) << "its own weights";
  };
  trainer.fit(train, test ? &held_back : nullptr);
  return best;
}

TEST(Trainer, DecidesWhichEpochIsBest) {
  using Epochs = std::vector<int64_t>;
  EXPECT_EQ(best_of({3, 1, 2, 1, 0.5, 4}, true, {}), (Epochs{1, 2, 5}));
  EXPECT_EQ(best_of({3, 1, 2}, false, {}), (Epochs{1, 2, 3})) << "nothing was evaluated: the last";
  EXPECT_EQ(best_of({3, 0, 0, 7}, true, {.enough = [](const auto& all) { return all.size() == 3; }}), (Epochs{1, 2, 3}))
      << "what is enough is no worse than the best";
  EXPECT_EQ(best_of({3, 1, 2, 2, 0}, true, {.patience = 2}), (Epochs{1, 2}));
}

TEST(Trainer, RefusesWithASentence) {
  nn::TrainerOptions options = Training::usual();
  options.schedule = [](int64_t step, int64_t) { return step < 9 ? 1.0 : INFINITY; };
  Training lost(options);
  EXPECT_REFUSED(lost.trainer.fit(lost.train), "in epoch 2, batch 4");
  try {
    lost.trainer.fit(lost.train);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::kNumeric);
  }

  Training run;
  run.trainer.fit(run.train);
  const nn::TrainingState good = copy_of(run.trainer.state());
  Training fresh, sgd(Training::usual(), optim::Sgd{});
  const auto before = values(fresh.net.state_dict());
  const auto refuse = [&](auto change, const char* mention) {
    nn::TrainingState bad = good;
    change(bad);
    EXPECT_REFUSED(fresh.trainer.load_state(bad), mention);
    EXPECT_EQ(values(fresh.net.state_dict()), before) << "nothing has changed";
  };
  refuse([](auto& s) { s.values.erase("epoch"); }, "\"epoch\" is missing");
  refuse([](auto& s) { s.values["optimizer"] = "lion"; }, "optimizer was lion and is adam");
  refuse([](auto& s) { s.values["updates"] = "many"; }, "no number");
  refuse([](auto& s) { s.values["batches"] = "-3"; }, "which no run reaches");
  refuse([](auto& s) { s.values["format"] = "ingot training state 9"; }, "format");
  refuse([](auto& s) { std::erase_if(s.tensors, [](auto& t) { return t.name == "averages"; }); }, "\"averages\"");
  refuse([](auto& s) { std::erase_if(s.tensors, [](auto& t) { return t.name == "model.0.bias"; }); }, "0.bias");
  refuse([](auto& s) { std::erase_if(s.tensors, [](auto& t) { return t.name == "history"; }); }, "history");
  refuse(
      [](auto& s) {
        for (auto& t : s.tensors)
          if (t.name == "optimizer.state") t.tensor = zeros({1, 4});
      },
      "another model or optimiser");
  EXPECT_REFUSED(Training(Training::usual(-1)), "epochs");
  EXPECT_REFUSED(fresh.trainer.restore_best(), "keep_best");
}

}  // namespace
}  // namespace ingot
