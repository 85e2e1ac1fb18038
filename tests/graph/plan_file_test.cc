// Plans as files: what is saved runs again without a capture, and what is broken gets a sentence.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "graph/cpu/context.h"
#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "ingot/base/file.h"
#include "ingot/base/threads.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/map.h"
#include "ingot/ops/ops.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("ingot_plan_" + std::to_string(::getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
};

template <class F>
std::string message(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

Plan inference(int threads = 0) {
  const Tensor w = normal({8, 1, 3, 3}, 1), b = normal({8}, 2), v = normal({10, 8 * 5 * 5}, 3);
  return compile(
      [=](const Tensor& x, const Tensor& pick) {
        const Tensor h = relu(conv2d(x, w, b));
        return std::vector<NamedTensor>{{"p", softmax(linear(reshape(h, {4, -1}), v), -1)},
                                        {"rows", index_select(einsum({reshape(h, {4, -1}), v}, "ij,kj->ik"), pick)}};
      },
      {{{4, 1, 7, 7}, kF32, "x"}, {{3}, kI64, "pick"}}, {.name = "net", .threads = threads, .frozen = true});
}

void expect_same(Plan& a, Plan& b) {
  const Tensor x = normal({4, 1, 7, 7}, 7), pick = Tensor::from<int64_t>({2, 0, 3});
  a.run(x, pick);
  b.run(x, pick);
  for (const char* name : {"p", "rows"}) {
    EXPECT_EQ(a.output(name).shape(), b.output(name).shape());
    EXPECT_EQ(a.output(name).to_vector<float>(), b.output(name).to_vector<float>());
  }
  EXPECT_EQ(a.dump(), b.dump());
}

TEST(PlanFile, AFrozenPlanComesBackWithItsWeights) {
  const Folder folder;
  Plan plan = inference();
  plan.save(folder.file("net.plan"));
  EXPECT_TRUE(plan.slabs().empty());
  Plan again = Plan::load(folder.file("net.plan"));
  expect_same(plan, again);
  EXPECT_EQ(plan.bytes().own(), again.bytes().own());
  EXPECT_FALSE(again.svg().empty());
  EXPECT_NE(message([&] { again.dot(false); }).find("loaded from a file"), std::string::npos);
  EXPECT_EQ(again.to_bytes(), plan.to_bytes());
  const Tensor far = Tensor::from<int64_t>({2, 0, 4});
  EXPECT_THROW(again.run(normal({4, 1, 7, 7}, 7), far), Error);  // values are checked as before
}

TEST(PlanFile, SharedOutForTheMachineThatLoads) {
  graph::share_every_step = true;
  const int before = threads();
  set_threads(3);
  Plan plan = inference(3);
  ASSERT_EQ(plan.threads(), 3);
  Plan three = Plan::from_bytes(plan.to_bytes());
  EXPECT_EQ(three.threads(), 3);
  expect_same(plan, three);
  set_threads(1);
  Plan one = Plan::from_bytes(plan.to_bytes());
  EXPECT_EQ(one.threads(), 1);
  const Tensor x = normal({4, 1, 7, 7}, 8), pick = Tensor::from<int64_t>({1, 1, 1});
  EXPECT_EQ(one.run(x, pick)[0].to_vector<float>(), plan.run(x, pick)[0].to_vector<float>());
  set_threads(before);
  graph::share_every_step = false;
}

// A step that reads w, writes its gradient and updates it.
Plan training(const Tensor& w, const Tensor& g) {
  return compile(
      [=](const Tensor& x, const Tensor& seed) {
        const auto [loss, slopes] = value_and_grad([&] { return mean(square(dropout(matmul(x, w), 0.3, seed))); }, {w});
        copy_into(g, slopes[0]);
        copy_into(w, w - g * 0.1);
        return loss;
      },
      {{{6, 5}, kF32, "x"}, {Dims(), kI64, "seed"}}, {.name = "step", .names = {{"w", w}, {"g", g}}});
}

TEST(PlanFile, ATrainingPlanBindsByName) {
  const Tensor w = normal({5, 4}, 1), g = zeros({5, 4}), w2 = clone(w), g2 = zeros({5, 4});
  Plan plan = training(w, g);
  EXPECT_EQ(plan.slabs().size(), 2u);
  Plan again = Plan::from_bytes(plan.to_bytes(), {{"g", g2}, {"w", w2}});
  for (int64_t i = 0; i < 5; i++) {
    const Tensor x = normal({6, 5}, 10 + i), seed = Tensor::from<int64_t>({i}, {});
    EXPECT_EQ(plan.run(x, seed)[0].item(), again.run(x, seed)[0].item());
  }
  EXPECT_EQ(w.to_vector<float>(), w2.to_vector<float>());
  EXPECT_EQ(g.to_vector<float>(), g2.to_vector<float>());

  const std::vector<std::byte> bytes = plan.to_bytes();
  EXPECT_NE(message([&] { Plan::from_bytes(bytes, {{"w", w2}}); }).find("bound to \"g\""), std::string::npos);
  EXPECT_NE(message([&] {
              Plan::from_bytes(bytes, {{"w", w2}, {"g", zeros({5, 5})}});
            }).find("[5, 5]"),
            std::string::npos);
  EXPECT_NE(message([&] {
              Plan::from_bytes(bytes, {{"w", w2}, {"g", zeros({5, 4}, kI32)}});
            }).find("i32"),
            std::string::npos);
  EXPECT_NE(message([&] { Plan::from_bytes(bytes, {{"w", w2}, {"g", w2}}); }).find("same memory"), std::string::npos);
}

TEST(PlanFile, WhatCannotBeSavedSaysSo) {
  const MapFunction cube(
      "cube", [](auto x) { return x * x * x; }, [](auto x) { return 3 * x * x; });
  Plan plan = compile([&](const Tensor& x) { return map(cube, {x}); }, {{3}});
  EXPECT_NE(message([&] { plan.to_bytes(); }).find("function of your program"), std::string::npos);
}

TEST(PlanFile, OtherFilesAreRefused) {
  const Folder folder;
  write_file(folder.file("text"), "This is no plan at all.");
  EXPECT_NE(message([&] { Plan::load(folder.file("text")); }).find("does not begin as a plan"), std::string::npos);
  EXPECT_NE(message([&] { Plan::load(folder.file("none")); }), "no error");
  std::vector<std::byte> bytes = inference().to_bytes();
  bytes[8] = std::byte{99};
  EXPECT_NE(message([&] { Plan::from_bytes(bytes); }).find("version 99"), std::string::npos);
}

// A small file can ask for any amount of memory; the caller says how much is too much.
TEST(PlanFile, MemoryHasALimit) {
  const std::vector<std::byte> bytes =
      compile([](const Tensor& x) { return softmax(x + 1.0, 0); }, {{1000, 100}}, {.name = "wide"}).to_bytes();
  EXPECT_LT(bytes.size(), 10'000u);
  EXPECT_NE(message([&] { Plan::from_bytes(bytes, {}, 100'000); }).find("wide: the plan needs"), std::string::npos);
  EXPECT_EQ(message([&] { Plan::from_bytes(bytes, {}, 10'000'000); }), "no error");
}

// One element seen many times is not laid out as if it were as many: a file could make it any number.
TEST(PlanFile, RepeatedElementsTakeNoMemory) {
  Plan plan = compile([](const Tensor& x) { return matmul(x, full({300, 200}, 0.5)); }, {{4, 300}});
  EXPECT_EQ(graph::executable_of(plan).kept_bytes, 0u);
  EXPECT_EQ(plan.run(full({4, 300}, 2))[0].to_vector<float>(), std::vector<float>(800, 300));
}

// Whatever a file holds, loading it gives a plan that runs or an Error.
TEST(PlanFile, TruncatedAndChangedFilesGetASentence) {
  const Tensor w = normal({5, 4}, 1), g = zeros({5, 4});
  const Tensor x = normal({4, 1, 7, 7}, 7), pick = Tensor::from<int64_t>({2, 0, 3});
  for (const bool trains : {false, true}) {
    const std::vector<std::byte> good = trains ? training(w, g).to_bytes() : inference(1).to_bytes();
    const std::vector<NamedTensor> bindings = {{"w", w}, {"g", g}};
    for (size_t size = 0; size < good.size(); size += size < 2000 ? 1 : 97)
      EXPECT_THROW(Plan::from_bytes(std::span(good).first(size), bindings), Error) << size;
    ingot::harness::Random random(17);
    int accepted = 0;
    for (int i = 0; i < 4000; i++) {
      std::vector<std::byte> bytes = good;
      for (int64_t n = 1 + random.below(3); n > 0; n--) {
        const auto at = static_cast<size_t>(random.below(static_cast<int64_t>(bytes.size() / 8))) * 8;
        static constexpr int64_t kValues[] = {0, 1, -1, 2, 7, 63, 1 << 20, int64_t{1} << 40, INT64_MAX, INT64_MIN};
        const int64_t value = kValues[random.below(std::size(kValues))];
        if (random.below(2) == 0)
          std::memcpy(bytes.data() + at, &value, 8);
        else
          bytes[static_cast<size_t>(random.below(static_cast<int64_t>(bytes.size())))] ^=
              std::byte(1 << random.below(8));
      }
      try {
        Plan plan = Plan::from_bytes(bytes, bindings);
        accepted++;
        if (!trains) plan.run(x, pick);
      } catch (const Error&) {
      }
    }
    EXPECT_GT(accepted, 0) << "labels and weights may change";
  }
}

}  // namespace
}  // namespace ingot
