// The user's own element-wise functions: lambdas, captured state, derivatives, refusals.
#include "ingot/ops/map.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/threads.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

TEST(Map, LambdaOfOneAndTwoTensors) {
  const Tensor x = Tensor::from<float>({1, 2, 3}), y = Tensor::from<float>({10, 20, 30});
  EXPECT_EQ(map([](auto a) { return a * a; }, x).to_vector<float>(), (std::vector<float>{1, 4, 9}));
  EXPECT_EQ(map([](auto a, auto b) { return b - a; }, x, y).to_vector<float>(), (std::vector<float>{9, 18, 27}));
}

TEST(Map, KeepsCapturedStateAndBroadcasts) {
  const double shift = 0.5;
  const MapFunction add_shift("add_shift", [shift](auto a, auto b) { return a + b + shift; });
  const Tensor x = Tensor::from<double>({1, 2}, {2, 1}), y = Tensor::from<double>({10, 20, 30}, {1, 3});
  EXPECT_EQ(map(add_shift, x, y).to_vector<double>(), (std::vector<double>{11.5, 21.5, 31.5, 12.5, 22.5, 32.5}));
}

TEST(Map, WritesIntoItsOwnInput) {
  const Tensor x = Tensor::from<float>({1, 4, 9});
  const MapFunction root("root", [](auto a) { return std::sqrt(a); });
  map_into(x, root, {x});
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3}));
}

TEST(Map, GradientFromTheGivenDerivatives) {
  const MapFunction hypot(
      "hypot", [](auto a, auto b) { return std::sqrt(a * a + b * b); },
      [](auto a, auto b) { return a / std::sqrt(a * a + b * b); },
      [](auto a, auto b) { return b / std::sqrt(a * a + b * b); });
  const Tensor a = Tensor::from<double>({3}), b = Tensor::from<double>({4}), y = map(hypot, a, b), dy = ones({1}, kF64);
  const Tensor* in[] = {&a, &b};
  const auto attrs = Attrs().set("function", static_cast<const void*>(&hypot)).set("part", 0);
  const std::vector<Tensor> d = gradient(*find_op("map"), in, attrs, {&y, 1}, {&dy, 1}, {});
  EXPECT_DOUBLE_EQ(d[0].item<double>(), 0.6);
  EXPECT_DOUBLE_EQ(d[1].item<double>(), 0.8);
}

TEST(Map, RefusesWithASentence) {
  const MapFunction square("square", [](auto a) { return a * a; });
  const Tensor x = Tensor::from<float>({1, 2}), n = Tensor::from<int64_t>({1, 2}), dy = ones({2});
  EXPECT_THROW(map(square, x, x), Error);
  EXPECT_THROW(map(square, n), Error);
  const Tensor* in[] = {&x};
  const auto attrs = Attrs().set("function", static_cast<const void*>(&square)).set("part", 0);
  const Tensor y = map(square, x);
  try {
    gradient(*find_op("map"), in, attrs, {&y, 1}, {&dy, 1}, {});
    FAIL() << "a function without a derivative was differentiated";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("\"square\" has no derivative"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace ingot
