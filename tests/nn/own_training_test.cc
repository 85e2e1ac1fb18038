// Training as reinforcement learning and other systems need it: optimisers of one's own, several slabs in one step,
// batches of named tensors, any function of a batch, weights per sample.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/ingot.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

double difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item<double>(); }

// Momentum as PyTorch's SGD has it, written with ops.
struct Momentum {
  static constexpr const char* kName = "momentum";
  float lr = 1e-2f;
  double beta = 0.9, clip_norm = 0;
  int slots() const { return 1; }
  void update(const Update& u) const {
    const Tensor v = u.slot(0) * beta + u.gradient(clip_norm, 0);
    u.set(u.values() - v * u.rate(), {v});
  }
};

struct Line {
  Tensor w = zeros({1, 3}), b = zeros({1});
  Tensor x = uniform({32, 3}, 1, -1, 1), y;
  ParameterSlab slab{{{"w", &w}, {"b", &b}}};
  Line() { y = linear(x, Tensor::from(std::vector<float>{1, -2, 0.5f}, {1, 3}), full({1}, 0.25)); }
  TrainStep step(const Optimizer& o) {
    return {[this](const Tensor& in, const Tensor& t) { return mean(square(linear(in, w, b) - t)); },
            slab,
            o,
            {{32, 3}, {32, 1}}};
  }
};

TEST(OwnOptimizer, IsAnOptimizerLikeOurs) {
  for (const double clip : {0.0, 0.5}) {
    Line own, ours;
    TrainStep a = own.step(Momentum{.lr = 0.05f, .clip_norm = clip});
    TrainStep b = ours.step(optim::Sgd{.lr = 0.05f, .momentum = 0.9, .clip_norm = clip});
    EXPECT_EQ(a.updates().optimizer().name(), "momentum");
    a(own.x, own.y), b(ours.x, ours.y);
    const uint64_t before = memory_stats().allocations;
    for (int i = 0; i < 100; i++) a(own.x, own.y), b(ours.x, ours.y);
    EXPECT_EQ(memory_stats().allocations, before);
    EXPECT_LT(difference(own.slab.values(), ours.slab.values()), 1e-5);
  }
}

TEST(OwnOptimizer, MistakesAreSentences) {
  struct Greedy : Momentum {
    void update(const Update& u) const { u.set(u.values(), {u.slot(0), u.slot(1)}); }
  };
  Line line;
  EXPECT_REFUSED(line.step(Greedy{}), "slot 1 of 1");
}

// Two slabs with two optimisers and two losses in one step do what two steps on frozen partners would do.
TEST(SeveralSlabs, EachFollowsItsOwnLoss) {
  struct Game {  // one minimises (a·b)², the other maximises it
    Tensor a = full({4}, 0.5), b = full({4}, 0.25);
    ParameterSlab slab_a = ParameterSlab({{"a", &a}}), slab_b = ParameterSlab({{"b", &b}});
    Updates update_a{slab_a, optim::Sgd{.lr = 0.1f}}, update_b{slab_b, optim::Adam{.lr = 0.01f}};
  } together, apart;
  const auto losses = [](const Game& g, const Tensor& x) {
    const Tensor score = sum(square(g.a * g.b * x));
    return std::vector<Tensor>{score, negative(score) + sum(square(g.b))};
  };
  TrainStep one([&](const Tensor& x) { return losses(together, x); }, {&together.update_a, &together.update_b}, {{4}});
  TrainStep first([&](const Tensor& x) { return losses(apart, x)[0]; }, apart.update_a, {{4}});
  TrainStep second([&](const Tensor& x) { return losses(apart, x)[1]; }, apart.update_b, {{4}});
  const Tensor x = uniform({4}, 3, 1, 2);
  for (int i = 0; i < 10; i++) {
    one(x);
    const Tensor a = clone(apart.a);
    first(x);
    const Tensor moved = clone(apart.a);
    copy_into(apart.a, a);  // both losses see the parameters as they were
    second(x);
    copy_into(apart.a, moved);
  }
  EXPECT_LT(difference(together.a, apart.a), 1e-6);
  EXPECT_LT(difference(together.b, apart.b), 1e-6);
  EXPECT_EQ(together.update_b.steps(), 10);
  const uint64_t before = memory_stats().allocations;
  for (int i = 0; i < 10; i++) one(x);
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_REFUSED(TrainStep([&](const Tensor& in) { return losses(together, in)[0]; },
                           std::vector<Updates*>{&together.update_a, &together.update_b}, {{4}}),
                 "losses of all 2 slabs");
}

// A sample of weight 2 counts as two samples, one of weight 0 as none.
TEST(SampleWeights, CountAsSamples) {
  const Tensor logits = uniform({3, 4}, 1, -2, 2), labels = Tensor::from(std::vector<int64_t>{1, 3, 0}, {3});
  const Tensor twice = concat({logits, slice(logits, 0, 1, 2)}, 0), again = concat({labels, slice(labels, 0, 1, 2)}, 0);
  const Tensor w = Tensor::from(std::vector<float>{1, 2, 0}, {3});
  const double expected = nn::cross_entropy_loss(concat({slice(twice, 0, 0, 2), slice(twice, 0, 3, 4)}, 0),
                                                 concat({slice(again, 0, 0, 2), slice(again, 0, 3, 4)}, 0))
                              .item<double>();
  EXPECT_NEAR(nn::cross_entropy(logits, labels, w).item<double>(), expected, 1e-6);
  const Tensor results = uniform({3, 2, 2}, 4), targets = uniform({3, 2, 2}, 5);
  for (const nn::Loss& loss : {nn::mse, nn::mae, nn::huber(0.3), nn::bce, nn::bce_with_logits, nn::kl_div}) {
    EXPECT_NEAR(loss(results, targets, ones({3})).item<double>(), loss(results, targets).item<double>(), 1e-5)
        << loss.name;
    EXPECT_EQ(loss(results, targets, zeros({3})).item<double>(), 0) << loss.name;
  }
  EXPECT_REFUSED(nn::mse(results, targets, ones({2})), "one number per sample");
  EXPECT_REFUSED(nn::huber(1, nn::Reduction::kSum)(results, targets, ones({3})), "no weights per sample");
}

// Points on a plane of two inputs; samples of weight 0 are wrong.
struct Plane {
  Tensor x = uniform({200, 2}, 1, -1, 1), side = uniform({200, 1}, 2, -1, 1), weight = Tensor::empty({200});
  Tensor y = Tensor::empty({200, 1});
  Plane() {
    for (int64_t i = 0; i < 200; i++) {
      weight.at<float>({i}) = i % 3 == 0 ? 0 : 1;
      const float right = 2 * x.at<float>({i, 0}) - x.at<float>({i, 1}) + 3 * side.at<float>({i, 0});
      y.at<float>({i, 0}) = i % 3 == 0 ? 100 : right;
    }
  }
  data::TensorDataset set{std::vector<NamedTensor>{{"x", x}, {"y", y}, {"side", side}, {"weight", weight}}};
};

struct TwoInputs : nn::Module {
  nn::Linear a{2, 1}, b{1, 1, false};
  void parts(nn::Parts& p) override { p("a", a), p("b", b); }
  Tensor forward(const Tensor& x, const Tensor& side) { return a(x) + b(side); }
};

TEST(Trainer, TakesAnyFunctionOfABatch) {
  const Plane plane;
  nn::set_seed(1);
  TwoInputs net;
  data::Loader loader(plane.set, {.batch = 32, .shuffle = true}), all(plane.set, {.batch = 200});
  const auto function = [&](const data::Batch& b) {
    const Tensor result = net.forward(b.x, b["side"]);
    const Tensor error = abs(result - b.y) * reshape(b["weight"], {b.size(), 1});
    return std::vector<NamedTensor>{
        {"loss", nn::mse(result, b.y, b["weight"])}, {"result", result}, {"largest error", max(error)}};
  };
  nn::TrainerOptions options;
  options.epochs = 60;
  options.metrics = {{.name = "largest error", .higher_is_better = false}};
  nn::Trainer trainer(net, function, optim::Adam{.lr = 0.05f}, options);
  uint64_t warm = 0;
  trainer.on_batch = [&](const nn::BatchResult& b) {
    if (b.epoch == 2 && b.batch == 1) warm = memory_stats().allocations;
    if (b.epoch == 3 && b.batch == 1) EXPECT_EQ(memory_stats().allocations, warm);
  };
  EXPECT_TRUE(trainer.fit(loader));
  EXPECT_NEAR(net.b.weight.item(), 3, 0.05);
  EXPECT_LT(trainer.history().back().train.loss, 1e-2) << "the wrong ones have no weight";
  int64_t seen = 0;
  const nn::Scores scores = trainer.evaluate(all, [&](const data::Batch& b, const Tensor& y) {
    EXPECT_EQ(y.shape(), b.y.shape());
    seen += b["weight"].size(0);
  });
  EXPECT_EQ(seen, 200);
  EXPECT_EQ(scores.metrics.size(), 1u);
  EXPECT_LT(scores.metrics[0], 0.3);
  EXPECT_REFUSED(trainer.predict(plane.x), "is for a Layer");
}

// The same job twice: model and loss with weights in the batch, and a function that does it by hand.
TEST(Trainer, AWeightInTheBatchIsInTheLoss) {
  const Plane plane;
  const auto run = [&](bool by_hand) {
    const nn::SeedScope seed(3);
    nn::Sequential net{nn::Linear(2, 4), nn::Tanh(), nn::Linear(4, 1)};
    data::Loader loader(plane.set, {.batch = 25, .shuffle = true});
    const nn::TrainerOptions options{.epochs = 2};
    const auto function = [&](const data::Batch& b) { return nn::mse(net(b.x), b.y, b["weight"]); };
    if (by_hand)
      nn::Trainer(net, function, optim::Adam{}, options).fit(loader);
    else
      nn::Trainer(net, nn::mse, optim::Adam{}, options).fit(loader);
    return net.parameters()[0].tensor.to_vector<float>();
  };
  EXPECT_EQ(run(true), run(false));
}

// Two parts of a model, each with a loss and an optimiser of its own.
struct Rivals {
  explicit Rivals(const Plane& plane, const nn::TrainerOptions& options)
      : loader(plane.set, {.batch = 50, .shuffle = true, .seed = 4}),
        trainer(
            net, [this](const data::Batch& b) { return losses(b); },
            {{net.a, optim::Sgd{.lr = 0.05f, .momentum = 0.5}}, {net.b, optim::Adam{.lr = 0.02f}}}, options) {}
  std::vector<Tensor> losses(const data::Batch& b) {
    const Tensor result = net.forward(b.x, b["side"]);
    return {nn::mse(result, b.y, b["weight"]), nn::mae(result, b.y, b["weight"])};
  }
  std::vector<std::vector<float>> weights() {
    std::vector<std::vector<float>> all;
    for (const NamedTensor& t : trainer.weights()) all.push_back(t.tensor.to_vector<float>());
    return all;
  }
  const nn::SeedScope seed{2};
  TwoInputs net;
  data::Loader loader;
  nn::Trainer trainer;
};

TEST(Trainer, SeveralOptimizersInOneRun) {
  const Plane plane;
  Rivals run(plane, {.epochs = 3});
  EXPECT_TRUE(run.trainer.fit(run.loader));

  const nn::SeedScope seed(2);
  TwoInputs net;
  ParameterSlab slab_a(net.a.trainable_parameters()), slab_b(net.b.trainable_parameters());
  Updates a(slab_a, optim::Sgd{.lr = 0.05f, .momentum = 0.5}), b(slab_b, optim::Adam{.lr = 0.02f});
  TrainStep step(
      [&](const Tensor& x, const Tensor& y, const Tensor& side, const Tensor& weight) {
        const Tensor result = net.forward(x, side);
        return std::vector<Tensor>{nn::mse(result, y, weight), nn::mae(result, y, weight)};
      },
      {&a, &b}, {{50, 2}, {50, 1}, {50, 1}, {50}});
  data::Loader loader(plane.set, {.batch = 50, .shuffle = true, .seed = 4});
  double loss = 0;
  for (int epoch = 0; epoch < 3; epoch++) {
    loss = 0;
    for (const data::Batch& batch : loader) loss += step(batch.x, batch.y, batch["side"], batch["weight"]) / 4;
  }
  EXPECT_LT(difference(run.net.a.weight, net.a.weight), 1e-6);
  EXPECT_LT(difference(run.net.b.weight, net.b.weight), 1e-6);
  EXPECT_NEAR(run.trainer.history().back().train.loss, loss, 1e-4) << "the first one's";
}

TEST(Trainer, SeveralOptimizersGoOnToTheBit) {
  const Plane plane;
  const nn::TrainerOptions options{
      .epochs = 4, .schedule = schedule::cosine(), .accumulate = 2, .ema = 0.9, .keep_best = true};
  Rivals whole(plane, options), first(plane, options), second(plane, options);
  EXPECT_TRUE(whole.trainer.fit(whole.loader));
  first.trainer.on_batch = [&](const nn::BatchResult& b) {
    if (b.epoch == 2 && b.batch == 3) first.trainer.stop();
  };
  EXPECT_FALSE(first.trainer.fit(first.loader));
  second.trainer.load_state(first.trainer.state());
  EXPECT_TRUE(second.trainer.fit(second.loader));
  EXPECT_EQ(second.weights(), whole.weights());
  second.trainer.restore_best();
  EXPECT_EQ(second.weights(), whole.weights()) << "the last epoch's, and the averages are they";
  Rivals other(plane, {.epochs = 1});
  EXPECT_REFUSED(other.trainer.load_state(first.trainer.state()), "accumulate was 2 and is 1");
  EXPECT_EQ(first.trainer.state().values.at("optimizer"), "sgd, adam");
  TwoInputs net;
  nn::Trainer one(
      net, [&](const data::Batch& b) { return mean(net.forward(b.x, b["side"])); },
      std::vector<nn::Learner>{{net.a, optim::Sgd{}}, {net.b, optim::Adam{}}});
  EXPECT_REFUSED(one.fit(other.loader), "losses of all 2 learners first");
}

TEST(Trainer, SaysWhatAFunctionLacks) {
  const Plane plane;
  TwoInputs net;
  data::Loader loader(plane.set, {.batch = 100});
  {
    nn::Trainer trainer(
        net, [&](const data::Batch& b) { return mean(net.forward(b.x, b["speed"])); }, optim::Sgd{});
    EXPECT_REFUSED(trainer.fit(loader), "no tensor \"speed\" — it has x, y, side, weight");
  }
  {
    nn::Trainer trainer(net, [&](const data::Batch& b) { return mean(net.forward(b.x, b["side"])); }, optim::Sgd{},
                        {.metrics = {nn::accuracy_metric()}});
    EXPECT_REFUSED(trainer.fit(loader), "must return one of that name");
  }
  nn::Trainer trainer(
      net, [&](const data::Batch& b) { return mean(net.forward(b.x, b["side"])); }, optim::Sgd{});
  EXPECT_REFUSED(trainer.evaluate(loader, [](const data::Batch&, const Tensor&) {}), "called \"result\"");
}

// More shapes than plans are kept: what is not there any more is compiled again, and nothing grows.
TEST(Trainer, KeepsABoundedNumberOfPlans) {
  nn::set_seed(1);
  nn::Sequential net{nn::Linear(2, 3)};
  nn::Trainer trainer(net, nn::mse, optim::Sgd{});
  for (int round = 0; round < 2; round++)
    for (int64_t n = 1; n <= 12; n++) {
      const Tensor x = uniform({n, 2}, n);
      EXPECT_LT(difference(trainer.predict(x), net(x)), 1e-6);
    }
}

}  // namespace
}  // namespace ingot
