// Metrics, on examples small enough to count by hand.
#include "ingot/nn/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/ingot.h"
#include "tests/error_of.h"

namespace ingot {
namespace {

const float kNan = std::nanf("");

TEST(Metrics, AccuracyAndTopK) {
  const Tensor scores = Tensor::from<float>({0.1f, 0.7f, 0.2f,   // 1, 2, 0
                                             0.5f, 0.3f, 0.2f,   // 0, 1, 2
                                             0.2f, 0.2f, 0.6f,   // 2, 0, 1: equals, the first comes first
                                             1.0f, 1.0f, 0.0f},  // 0, 1, 2
                                            {4, 3});
  const Tensor labels = Tensor::from<int64_t>({1, 2, 0, 0});
  EXPECT_EQ(nn::accuracy(scores, labels), 0.5);
  EXPECT_EQ(nn::top_k_accuracy(scores, labels, 1), 0.5);
  EXPECT_EQ(nn::top_k_accuracy(scores, labels, 2), 0.75);
  EXPECT_EQ(nn::top_k_accuracy(scores, labels, 3), 1);
  EXPECT_EQ(nn::accuracy(to(scores, kF64), to(labels, kI32)), 0.5);
  EXPECT_EQ(nn::accuracy(scores, Tensor::from<int64_t>({1, -1, -1, 1})), 0.5) << "negative labels do not count";
  EXPECT_TRUE(std::isnan(nn::accuracy(scores, Tensor::from<int64_t>({-1, -1, -1, -1}))));
  EXPECT_TRUE(std::isnan(nn::accuracy(zeros({0, 3}), zeros({0}, kI64))));
  // Any layout; sequences.
  EXPECT_EQ(nn::accuracy(transpose(clone(transpose(scores))), labels), 0.5);
  EXPECT_EQ(nn::accuracy(reshape(scores, {2, 2, 3}), reshape(labels, {2, 2})), 0.5);
  // A NaN is no hit.
  EXPECT_EQ(nn::accuracy(Tensor::from<float>({kNan, 1, 1, kNan, 0, 2}, {3, 2}), Tensor::from<int64_t>({0, 0, 1})),
            1.0 / 3);
}

TEST(Metrics, AgreesWithTheOps) {
  const Tensor scores = normal({500, 7}, 3);
  const Tensor labels = argmax(normal({500, 7}, 4), {1});
  int64_t hits = 0;
  for (const bool hit : equal(argmax(scores, {1}), labels).to_vector<bool>()) hits += hit;
  EXPECT_EQ(nn::accuracy(scores, labels), static_cast<double>(hits) / 500);
  int64_t among = 0;
  for (const bool hit : equal(topk(scores, 3)[1], unsqueeze(labels, 1)).to_vector<bool>()) among += hit;
  EXPECT_EQ(nn::top_k_accuracy(scores, labels, 3), static_cast<double>(among) / 500);
}

TEST(Metrics, RunningMeanAndPerplexity) {
  nn::RunningMean m;
  EXPECT_TRUE(std::isnan(m.mean()));
  m.add(2, 64);
  m.add(5, 32);
  EXPECT_DOUBLE_EQ(m.mean(), 3);
  EXPECT_EQ(m.weight(), 96);
  m.reset();
  m.add(std::log(8));
  EXPECT_DOUBLE_EQ(nn::perplexity(m.mean()), 8);
}

TEST(Metrics, ConfusionMatrixCounts) {
  nn::ConfusionMatrix c(3, {"cat", "dog", "horse"});
  const Tensor labels = Tensor::from<int64_t>({0, 0, 1, 1, 1, -1});
  const Tensor predicted = Tensor::from<int64_t>({0, 1, 1, 1, 0, 2});
  c.add(predicted, labels);
  c.add(Tensor::from<float>({0, 0, 1, 3, 2, 1}, {2, 3}), Tensor::from<int64_t>({0, 0}));
  EXPECT_EQ(c.total(), 7);
  EXPECT_EQ(c.count(0, 0), 2);
  EXPECT_EQ(c.count(0, 1), 1);
  EXPECT_EQ(c.count(0, 2), 1);
  EXPECT_EQ(c.count(1, 0), 1);
  EXPECT_EQ(c.count(1, 1), 2);
  EXPECT_DOUBLE_EQ(c.accuracy(), 4.0 / 7);
  EXPECT_DOUBLE_EQ(c.precision(0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(c.recall(0), 2.0 / 4);
  EXPECT_DOUBLE_EQ(c.f1(0), 4.0 / 7);
  EXPECT_EQ(c.precision(2), 0);
  EXPECT_TRUE(std::isnan(c.recall(2)));
  EXPECT_EQ(c.text(),
            "               cat      dog    horse    recall\n"
            "      cat        2        1        1    50.0 %\n"
            "      dog        1        2        0    66.7 %\n"
            "    horse        0        0        0         -\n"
            "precision   66.7 %   66.7 %    0.0 %    57.1 %\n");
  c.reset();
  EXPECT_EQ(c.total(), 0);
}

TEST(Metrics, AllocateNothingPerBatch) {
  const Tensor scores = normal({64, 10}, 3), labels = argmax(normal({64, 10}, 4), {1});
  nn::ConfusionMatrix c(10);
  nn::RunningMean m;
  const uint64_t before = memory_stats().allocations;
  for (int i = 0; i < 3; i++) {
    c.add(scores, labels);
    m.add(nn::accuracy(scores, labels), 64);
    m.add(nn::top_k_accuracy(scores, labels, 5), 64);
  }
  EXPECT_EQ(memory_stats().allocations, before);
  EXPECT_EQ(c.total(), 192);
}

TEST(Metrics, ErrorsAreSentences) {
  EXPECT_EQ(error_of([] {
              nn::accuracy(zeros({4, 3}), zeros({3}, kI64));
            }),
            "accuracy: f32 [4, 3] and labels i64 [3] — give scores [n, …, classes], f32 or f64, and one label, i32 or "
            "i64, for each row");
  EXPECT_THROW(nn::accuracy(zeros({4, 3}), zeros({4})), Error);
  EXPECT_EQ(error_of([] { nn::accuracy(zeros({1, 3}), full({1}, 3, kI64)); }), "accuracy: label 3 of 3 classes");
  EXPECT_THROW(nn::top_k_accuracy(zeros({1, 3}), zeros({1}, kI64), 0), Error);
  nn::ConfusionMatrix c(2);
  EXPECT_THROW(c.add(full({1}, 2, kI64), zeros({1}, kI64)), Error);
  EXPECT_THROW(c.count(0, 2), Error);
  EXPECT_THROW(nn::ConfusionMatrix(0), Error);
  EXPECT_THROW(nn::ConfusionMatrix(2, {"a"}), Error);
}

}  // namespace
}  // namespace ingot
