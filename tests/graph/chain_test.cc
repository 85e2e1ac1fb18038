// Chains in registers: the same bits as the ops one by one, at every length, for numbers that are none.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "ingot/ingot.h"
#include "ingot/ops/plumbing.h"

namespace ingot {
namespace {

// Numbers with zeros of both signs, infinities and NaN among them.
template <class T>
Tensor numbers(int64_t n, int64_t seed) {
  const Tensor x = uniform({n}, seed, -3, 3, 0, dtype_of<T>);
  const T special[] = {T(0),   T(-0.0), std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                       T(NAN), T(1),    std::numeric_limits<T>::min() / 2};
  for (int64_t i = seed % 3; i < n; i += 5) x.at<T>({i}) = special[(i + seed) % 7];
  return x;
}

using Function = std::function<Tensor(const Tensor&, const Tensor&)>;

template <class T>
void expect_same_bits(const char* name, const Function& f) {
  for (const int64_t n : {1, 3, 7, 8, 9, 31, 63, 64, 65, 100, 128, 500, 511, 512, 513, 1500}) {
    const Tensor x = numbers<T>(n, 1 + n % 3), y = numbers<T>(n, 2 + n % 3);
    const Tensor eager = f(x, y);
    Plan plan = compile(f, {InputSpec({n}, dtype_of<T>), InputSpec({n}, dtype_of<T>)});
    const Tensor& planned = plan.run(x, y)[0];
    ASSERT_EQ(plan.step_count(), 1) << plan.describe();
    for (int64_t i = 0; i < n; i++) {
      const T a = eager.at<T>({i}), b = planned.at<T>({i});
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_EQ(std::memcmp(&a, &b, sizeof a), 0) << name << ": element " << i << " of " << n << " is " << b << ", not "
                                                  << a << " (of " << x.at<T>({i}) << " and " << y.at<T>({i}) << ")";
    }
  }
}

struct Named {
  const char* name;
  Function f;
};

// Every op that has a form in registers, with its first and with its second input there.
const std::vector<Named>& functions() {
  static const std::vector<Named> all = {
      {"add", [](const Tensor& x, const Tensor& y) { return add(negative(x), y); }},
      {"add from the right", [](const Tensor& x, const Tensor& y) { return add(y, negative(x)); }},
      {"subtract", [](const Tensor& x, const Tensor& y) { return subtract(negative(x), y); }},
      {"subtract from the right", [](const Tensor& x, const Tensor& y) { return subtract(y, negative(x)); }},
      {"multiply", [](const Tensor& x, const Tensor& y) { return multiply(negative(x), y); }},
      {"divide", [](const Tensor& x, const Tensor& y) { return divide(negative(x), y); }},
      {"divide from the right", [](const Tensor& x, const Tensor& y) { return divide(y, negative(x)); }},
      {"minimum", [](const Tensor& x, const Tensor& y) { return minimum(negative(x), y); }},
      {"minimum from the right", [](const Tensor& x, const Tensor& y) { return minimum(y, negative(x)); }},
      {"maximum", [](const Tensor& x, const Tensor& y) { return maximum(negative(x), y); }},
      {"maximum from the right", [](const Tensor& x, const Tensor& y) { return maximum(y, negative(x)); }},
      {"relu_grad", [](const Tensor& x, const Tensor& y) { return relu_grad(negative(x), y); }},
      {"relu_grad from the right", [](const Tensor& x, const Tensor& y) { return relu_grad(y, negative(x)); }},
      {"add_scaled", [](const Tensor& x, const Tensor& y) { return add_scaled(negative(x), y, 0.3); }},
      {"add_scaled from the right", [](const Tensor& x, const Tensor& y) { return add_scaled(y, negative(x), 0.3); }},
      {"constants",
       [](const Tensor& x, const Tensor&) { return divide(multiply(subtract(add(x, 0.1), 0.7), 1.3), 0.9); }},
      {"clamp", [](const Tensor& x, const Tensor& y) { return multiply(clamp(x, -1, 0.5), y); }},
      {"unary", [](const Tensor& x, const Tensor&) { return reciprocal(sqrt(abs(square(relu(negative(x)))))); }},
      {"a value with itself",
       [](const Tensor& x, const Tensor& y) {
         const Tensor s = add(x, y);
         return subtract(multiply(s, s), s);
       }},
      {"a value used late",
       [](const Tensor& x, const Tensor& y) {
         const Tensor a = multiply(x, y), b = add(a, 1.0), c = square(b), d = subtract(c, a);
         return maximum(multiply(d, b), a);
       }},
      {"between other ops",
       [](const Tensor& x, const Tensor& y) {
         const Tensor a = add(multiply(x, y), x), b = tanh(a), c = where(greater(a, y), b, x);
         return multiply(subtract(c, a), 2.0);
       }},
  };
  return all;
}

TEST(Chain, SameBitsAsTheOps) {
  for (const Named& n : functions()) {
    expect_same_bits<float>(n.name, n.f);
    expect_same_bits<double>(n.name, n.f);
  }
}

TEST(Chain, BroadcastOperandsAndManyValues) {
  const Tensor x = numbers<float>(7 * 130, 1), row = uniform({130}, 2, -1, 1), column = uniform({7, 1}, 3, -1, 1),
               one = full({}, 0.3);
  const auto f = [&](const Tensor& t) {
    const Tensor m = reshape(t, {7, 130});
    Tensor sum = multiply(add(m, row), column);
    std::vector<Tensor> kept;
    for (int i = 0; i < 6; i++) kept.push_back(sum = subtract(multiply(sum, one), 0.1 * i));
    for (const Tensor& k : kept) sum = add(abs(sum), k);
    return sum;
  };
  Plan plan = compile(f, {{7 * 130}});
  const Tensor eager = f(x), planned = plan.run(x)[0];
  for (int64_t r = 0; r < 7; r++)
    for (int64_t c = 0; c < 130; c++) {
      const float a = eager.at<float>({r, c}), b = planned.at<float>({r, c});
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || a == b) << r << ", " << c << ": " << b << ", not " << a;
    }
}

// A chain that is folded along its rows: rows that follow each other are taken together, others one by one.
TEST(Chain, FoldedRowsOfAnyWidthAndLayout) {
  const auto f = [](const Tensor& x, const Tensor& each) {
    const Tensor registers = square(x * 0.75 + 0.5), memory = tanh(x) * registers - x, column = (x - each) * x;
    return std::vector<Tensor>{max(registers, {1}), max(memory, {1}), max(column, {1}), mean(registers, {1})};
  };
  for (const int64_t width : {3, 63, 64, 65, 100, 129, 256, 257, 512, 513, 700})
    for (const bool strided : {false, true}) {
      const Tensor wide = uniform({11, width + 3}, static_cast<uint64_t>(width), -2, 2), each = uniform({11, 1}, 5);
      const Tensor x = strided ? slice(wide, 1, 1, width + 1) : contiguous(slice(wide, 1, 1, width + 1));
      Plan plan = compile([&] { return f(x, each); }, {});
      const std::vector<Tensor> eager = f(x, each);
      const auto planned = plan.run();
      for (size_t k = 0; k < eager.size(); k++)
        for (int64_t r = 0; r < 11; r++)
          EXPECT_NEAR(planned[k].at<float>({r}), eager[k].at<float>({r}), k < 3 ? 0 : 1e-5)
              << "result " << k << ", row " << r << " of " << width << (strided ? ", strided" : "");
    }
}

}  // namespace
}  // namespace ingot
