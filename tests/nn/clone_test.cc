// Modules are moved or cloned: a clone has memory of its own, and a plain copy is refused.
#include <gtest/gtest.h>

#include "ingot/ingot.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

std::vector<float> values(const Tensor& t) { return t.to_vector<float>(); }

nn::Sequential deep() {
  nn::set_seed(4);
  nn::Sequential net{nn::Linear(4, 8), nn::BatchNorm1d(8), nn::Residual(nn::Sequential(nn::Linear(8, 8), nn::Tanh()))};
  net.add(std::make_shared<nn::Linear>(8, 2));
  return net;
}

TEST(Clone, HasTheSameNumbersInMemoryOfItsOwn) {
  nn::Sequential net = deep();
  net[0].freeze();
  net.eval();
  const nn::Sequential copy = nn::clone(net);
  const std::vector<NamedTensor> theirs = net.state_dict(), own = copy.state_dict();
  ASSERT_EQ(own.size(), theirs.size());
  for (size_t i = 0; i < own.size(); i++) {
    EXPECT_EQ(own[i].name, theirs[i].name);
    EXPECT_FALSE(own[i].tensor.shares_storage(theirs[i].tensor)) << own[i].name;
    if (own[i].tensor.dtype() == kF32) EXPECT_EQ(values(own[i].tensor), values(theirs[i].tensor)) << own[i].name;
  }
  EXPECT_FALSE(copy.training());
}

// A target network: trained on, the online one moves and the clone stays; and the other way round.
TEST(Clone, IsIndependentBeforeAndAfterTraining) {
  for (const bool trained_before : {false, true}) {
    nn::Sequential net = deep();
    auto step = nn::train_step(net, nn::mse, optim::Sgd{.lr = 0.1f}, {{16, 4}, {16, 2}});
    const Tensor x = uniform({16, 4}, 1, -1, 1), y = uniform({16, 2}, 2, -1, 1);
    if (trained_before) step(x, y);
    nn::Sequential target = nn::clone(net);
    const std::vector<float> before = values(target.parameters()[0].tensor);
    step(x, y);
    EXPECT_EQ(values(target.parameters()[0].tensor), before);
    EXPECT_NE(values(net.parameters()[0].tensor), before);
    const std::vector<float> online = values(net.parameters()[0].tensor);
    auto other = nn::train_step(target, nn::mse, optim::Sgd{.lr = 0.1f}, {{16, 4}, {16, 2}});
    other(x, y);
    EXPECT_EQ(values(net.parameters()[0].tensor), online);
    nn::copy_parameters(target, net);
    EXPECT_EQ(values(target.parameters()[0].tensor), online);
  }
}

TEST(Clone, KeepsWhatIsSharedInside) {
  struct Tied : nn::Module {
    nn::Linear in{3, 3, false}, out{3, 3, false};
    Tied() { out.weight = in.weight; }
    void parts(nn::Parts& p) override { p("in", in), p("out", out); }
  } net;
  const Tied copy = nn::clone(net);
  EXPECT_EQ(copy.in.weight.raw(), copy.out.weight.raw());
  EXPECT_NE(copy.in.weight.raw(), net.in.weight.raw());
}

TEST(Clone, TakesWhatLayersCarry) {
  nn::LSTM lstm(3, 4);
  lstm.stateful(2);
  lstm(uniform({5, 2, 3}, 1));
  const nn::LSTM copy = nn::clone(lstm);
  EXPECT_EQ(values(copy.state().h), values(lstm.state().h));
  EXPECT_FALSE(copy.state().h.shares_storage(lstm.state().h));
}

// As its base class it would lose what it has besides, and nobody would see it.
TEST(Clone, OfABaseClassIsRefused) {
  struct Net : nn::Sequential {
    nn::Linear extra{2, 2};
    Net() : Sequential(nn::Linear(4, 2)) {}
    void parts(nn::Parts& p) override { Sequential::parts(p), p("extra", extra); }
    Tensor forward(const Tensor& x) override { return extra(Sequential::forward(x)); }
  } net;
  nn::Sequential& base = net;
  EXPECT_REFUSED(nn::clone(base), "clone: the module is a Net, and a copy as Sequential would lose");
  Net whole = nn::clone(net);
  EXPECT_EQ(values(whole(ones({1, 4}))), values(net(ones({1, 4}))));
  EXPECT_FALSE(whole.extra.weight.shares_storage(net.extra.weight));
}

// Modes of a clone are its own from then on.
TEST(Clone, HasModesOfItsOwn) {
  nn::Sequential net = deep(), target = nn::clone(net);
  target.eval();
  target.freeze();
  EXPECT_TRUE(net.training());
  EXPECT_FALSE(net.frozen());
  EXPECT_TRUE(net[0].training());
}

TEST(Clone, PlainCopiesAreRefused) {
  nn::Linear a(2, 3);
  EXPECT_REFUSED(const nn::Linear b = a, "nn::clone(net)");
  struct Pointer : nn::Module {
    std::shared_ptr<nn::Linear> inner = std::make_shared<nn::Linear>(2, 2);
    void parts(nn::Parts& p) override { p("inner", *inner); }
  } net;
  const void* const before = net.inner->weight.raw();
  EXPECT_REFUSED(nn::clone(net), "\"inner\" (Linear) is held by a pointer");
  EXPECT_EQ(net.inner->weight.raw(), before);
  nn::Sequential unknown;
  unknown.add(std::shared_ptr<nn::Layer>(std::make_shared<nn::Linear>(2, 2)));
  EXPECT_REFUSED(nn::clone(unknown), "pointer to a base class");
  EXPECT_REFUSED(unknown.add(std::shared_ptr<nn::Linear>()), "null");
  EXPECT_REFUSED(unknown[1], "layer 1 of 1");
}

}  // namespace
}  // namespace ingot
