// einsum's order of contraction and its limit; what it computes is tested with the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "ingot/ops/ops.h"
#include "ingot/ops/plain.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot {
namespace {

// The definition: all values of all letters, one after another.
Tensor by_definition(const std::vector<Tensor>& xs, const std::string& equation) {
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) c == ',' ? (void)terms.emplace_back() : (void)(terms.back() += c);
  const std::string result = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, at;
  for (size_t t = 0; t < terms.size(); t++)
    for (size_t a = 0; a < terms[t].size(); a++) sizes[terms[t][a]] = xs[t].shape()[static_cast<int>(a)];
  const auto place = [&](const std::string& term) {
    Dims index;
    for (const char c : term) index.push_back(at[c]);
    return index;
  };
  Dims shape;
  for (const char c : result) shape.push_back(sizes[c]);
  Tensor sum = zeros(shape, kF64);
  const auto walk = [&](auto& self, auto letter) -> void {
    if (letter == sizes.end()) {
      double product = 1;
      for (size_t t = 0; t < terms.size(); t++) product *= xs[t].at<double>(place(terms[t]));
      sum.at<double>(place(result)) += product;
      return;
    }
    for (at[letter->first] = 0; at[letter->first] < letter->second; at[letter->first]++) self(self, std::next(letter));
  };
  walk(walk, sizes.begin());
  return sum;
}

void expect_close(const Tensor& a, const Tensor& b) {
  ASSERT_EQ(a.shape(), b.shape());
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  for (size_t i = 0; i < x.size(); i++) EXPECT_NEAR(x[i], y[i], 1e-11 * (1 + std::abs(y[i])));
}

TEST(Einsum, RandomEquationsAreTheNestedLoops) {
  std::mt19937 random(1);
  for (int round = 0; round < 150; round++) {
    const int operands = 1 + static_cast<int>(random() % 6);
    const int letters = 2 + static_cast<int>(random() % 5);
    std::vector<int64_t> sizes;
    sizes.reserve(static_cast<size_t>(letters));
    for (int i = 0; i < letters; i++) sizes.push_back(1 + static_cast<int64_t>(random() % 4));
    std::string equation, used;
    std::vector<Tensor> xs;
    for (int t = 0; t < operands; t++) {
      Dims shape;
      if (t > 0) equation += ',';
      for (int i = 0; i < letters; i++)
        if (random() % 2 == 0 && shape.size() < 4) {
          equation += static_cast<char>('a' + i);
          if (used.find(equation.back()) == std::string::npos) used += equation.back();
          shape.push_back(sizes[static_cast<size_t>(i)]);
        }
      xs.push_back(uniform(shape, round * 10 + t, -1, 1, 0, kF64));
    }
    std::shuffle(used.begin(), used.end(), random);
    equation += "->" + used.substr(0, random() % (std::min<size_t>(used.size(), 3) + 1));
    const Tensor expected = by_definition(xs, equation);
    SCOPED_TRACE(equation);
    expect_close(einsum(xs, equation), expected);
    for (const int64_t limit : {64, 256}) {
      const std::string refusal = error_of([&] { expect_close(einsum(xs, equation, limit), expected); });
      if (refusal != "no error") EXPECT_NE(refusal.find("raise most_bytes"), std::string::npos) << refusal;
    }
  }
}

// The scratch of a call, kernels' own aside: what a limit is about.
size_t scratch_of(const std::vector<Tensor>& xs, const char* equation, int64_t most_bytes) {
  const Op& op = *find_op("einsum");
  std::vector<const Tensor*> in;
  in.reserve(xs.size());
  for (const Tensor& x : xs) in.push_back(&x);
  const Attrs attrs = Attrs().set("equation", equation).set("most_bytes", most_bytes);
  Prepared block;
  const Call call = prepare({op, in, attrs}, block);
  const Tensor out = einsum(xs, equation, most_bytes);
  return op.scratch(call, &out, 1);
}

TEST(Einsum, ALimitIsKeptBySlices) {
  const std::vector<Tensor> chain{uniform({2, 200}, 1, -1, 1, 0, kF64), uniform({200, 300}, 2, -1, 1, 0, kF64),
                                  uniform({300, 200}, 3, -1, 1, 0, kF64), uniform({200, 2}, 4, -1, 1, 0, kF64)};
  expect_close(einsum(chain, "ab,bc,cd,da->"), einsum(chain, "ab,bc,cd,da->", 2000));
  // 27,000 elements on the way, whatever the order.
  std::vector<Tensor> ring{uniform({30, 30, 30}, 1, -1, 1, 0, kF64), uniform({30, 30, 30}, 2, -1, 1, 0, kF64)};
  for (int i = 0; i < 3; i++) ring.push_back(uniform({30, 30}, 3 + i, -1, 1, 0, kF64));
  const char* equation = "abc,def,ad,be,cf->";
  const Tensor expected = einsum(ring, equation);
  EXPECT_GT(scratch_of(ring, equation, 0), 27000u * 8);
  const size_t kernels = scratch_of({ones({900, 30}, kF64), ones({30, 30}, kF64)}, "ab,bc->ac", 0);
  for (const int64_t limit : {100000, 20000, 4000}) {
    expect_close(einsum(ring, equation, limit), expected);
    EXPECT_LE(scratch_of(ring, equation, limit), kernels + static_cast<size_t>(limit));
  }
}

TEST(Einsum, ALimitThatNothingKeepsNamesTheOperands) {
  const std::vector<Tensor> xs{ones({20, 30}), ones({30, 40}), ones({40, 50}), ones({50, 60})};
  const std::string error = error_of([&] { einsum(xs, "ab,bc,cd,de->ae", 8); });
  EXPECT_NE(error.find("einsum: "), std::string::npos) << error;
  EXPECT_NE(error.find("product of operands "), std::string::npos) << error;
  EXPECT_NE(error.find("raise most_bytes"), std::string::npos) << error;
  EXPECT_NE(error_of([&] { einsum(xs, "ab,bc,cd,de->ae", -1); }).find("0 sets no limit"), std::string::npos);
}

TEST(Einsum, FourteenOperandsInTheRightOrder) {  // from left to right this takes 10^14 products
  std::vector<Tensor> xs;
  std::string equation;
  for (int i = 0; i < 14; i++) {
    xs.push_back(full({10, 10}, 0.1, kF64));
    equation += std::string(i > 0 ? "," : "") + static_cast<char>('a' + (i * 5) % 14) +
                static_cast<char>('a' + (i * 5) % 14 + 1);
  }
  expect_close(einsum(xs, equation + "->ao"), full({10, 10}, 0.1, kF64));
}

}  // namespace
}  // namespace ingot
