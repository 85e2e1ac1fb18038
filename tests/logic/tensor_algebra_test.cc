#include <gtest/gtest.h>

#include <map>
#include <random>

#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/logic/algebra.h"
#include "tests/error_of.h"
#include "tests/logic/gradients.h"
#include "tests/ops/harness.h"

namespace ingot::logic {
namespace {

// The definition of ⊕ over all products, number by number.
double by_definition(const std::string& name, const std::vector<double>& products, double p) {
  if (products.empty()) return algebra(name).zero;
  double sum = 0, none = 1, most = products[0], least = products[0], exps = 0, powers = 0;
  for (const double t : products) {
    sum += t, none *= 1 - t, most = std::max(most, t), least = std::min(least, t);
    exps += std::exp(t), powers += std::pow(t, p);
  }
  if (name == "real" || name == "counting") return sum;
  if (name == "boolean") return most;
  if (name == "min-plus") return least;
  if (name == "log-sum-exp") return std::log(exps);
  if (name == "noisy-or") return 1 - none;
  if (name == "p-mean") return std::pow(powers / static_cast<double>(products.size()), 1 / p);
  return most;
}
double product_of(const std::string& name, const std::vector<double>& factors) {
  double t = algebra(name).one;
  for (const double x : factors) {
    if (name == "max-min" || name == "boolean")
      t = std::min(t, x);
    else if (name == "lukasiewicz")
      t = std::max(0.0, t + x - 1);
    else if (name == "min-plus" || name == "log-sum-exp")
      t += x;
    else
      t *= x;
  }
  return t;
}

// Contracts by walking all values of all letters.
Tensor nested_loops(const std::vector<Tensor>& xs, const std::string& equation, const std::string& name, double p) {
  const size_t arrow = equation.find("->");
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) c == ',' ? (void)terms.emplace_back() : (void)(terms.back() += c);
  const std::string result = equation.substr(arrow + 2);
  std::map<char, int64_t> sizes, at;
  for (size_t t = 0; t < terms.size(); t++)
    for (size_t a = 0; a < terms[t].size(); a++)
      sizes[terms[t][a]] = std::max(sizes[terms[t][a]], xs[t].shape()[static_cast<int>(a)]);
  std::map<std::vector<int64_t>, std::vector<double>> products;
  const auto walk = [&](auto& self, auto letter) -> void {
    if (letter != sizes.end()) {
      for (at[letter->first] = 0; at[letter->first] < letter->second; at[letter->first]++)
        self(self, std::next(letter));
      return;
    }
    std::vector<double> factors;
    for (size_t t = 0; t < terms.size(); t++) {
      Tensor x = to(xs[t], kF64);
      Dims place;
      for (size_t a = 0; a < terms[t].size(); a++)
        place.push_back(x.shape()[static_cast<int>(a)] == 1 ? 0 : at[terms[t][a]]);
      factors.push_back(x.at<double>(place));
    }
    std::vector<int64_t> place;
    for (const char c : result) place.push_back(at[c]);
    products[place].push_back(product_of(name, factors));
  };
  walk(walk, sizes.begin());
  Dims shape;
  for (const char c : result) shape.push_back(sizes[c]);
  Tensor out = full(shape, algebra(name).zero, kF64);
  for (const auto& [place, all] : products) {
    Dims index;
    for (const int64_t i : place) index.push_back(i);
    out.at<double>(index) = by_definition(name, all, p);
  }
  return out;
}

Tensor random_elements(const Algebra& algebra, const Dims& shape, int64_t seed) {
  if (algebra.dtype == kBool) return bernoulli(shape, seed, 0.4);
  const Tensor x = uniform(shape, seed, 0.05, 0.95, 0, kF64);
  return algebra.dtype == kI64 ? to(multiply(x, 9.0), kI64) : x;
}

void expect_close(const Tensor& actual, const Tensor& expected, double tolerance = 1e-12) {
  ASSERT_EQ(actual.shape(), expected.shape());
  const std::vector<double> a = numbers(actual), e = numbers(expected);
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i] == e[i]) continue;
    EXPECT_NEAR(a[i], e[i], tolerance * std::max(1.0, std::abs(e[i])));
  }
}

struct EveryAlgebra : testing::TestWithParam<const char*> {
  const Algebra& own() const { return algebra(GetParam()); }
};
std::vector<const char*> algebra_names() {
  std::vector<const char*> names;
  for (const Algebra& each : algebras()) names.push_back(each.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Algebra, EveryAlgebra, testing::ValuesIn(algebra_names()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A law that the table claims holds for all elements tried; one that it denies fails for some.
TEST_P(EveryAlgebra, HasTheLawsOfTheTable) {
  const std::string name = GetParam();
  const auto elements = [&](int64_t seed) { return random_elements(own(), {400}, seed); };
  const Tensor x = elements(1), y = elements(2), z = elements(3);
  const auto same = [](const Tensor& a, const Tensor& b) {
    const std::vector<double> p = numbers(a), q = numbers(b);
    for (size_t i = 0; i < p.size(); i++)
      if (std::abs(p[i] - q[i]) > 1e-12 * std::max(1.0, std::abs(q[i]))) return false;
    return true;
  };
  const auto t = [&](const Tensor& a, const Tensor& b) { return times(a, b, name); };
  EXPECT_EQ(same(t(x, y), t(y, x)), own().commutative);
  EXPECT_TRUE(same(t(t(x, y), z), t(x, t(y, z))));
  EXPECT_TRUE(same(t(x, full({400}, own().one, x.dtype())), x));
  if (name == "p-mean") {
    EXPECT_REFUSED(plus(x, y, name), "use contract");
    return;
  }
  const auto s = [&](const Tensor& a, const Tensor& b) { return plus(a, b, name); };
  EXPECT_TRUE(same(s(x, y), s(y, x)));
  EXPECT_TRUE(same(s(s(x, y), z), s(x, s(y, z))));
  EXPECT_TRUE(same(s(x, full({400}, own().zero, x.dtype())), x));
  EXPECT_EQ(same(t(x, s(y, z)), s(t(x, y), t(x, z))), own().distributive);
  EXPECT_EQ(same(s(x, x), x), own().idempotent);
  EXPECT_EQ(same(s(x, t(x, y)), x), own().absorptive);
}

TEST_P(EveryAlgebra, ContractsAsNestedLoopsDo) {
  const struct {
    const char* equation;
    std::vector<Dims> shapes;
  } cases[] = {
      {"ij,jk->ik", {{3, 4}, {4, 5}}},
      {"ij,jk->ki", {{3, 4}, {4, 20}}},
      {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
      {"ibd,jbd->bij", {{3, 2, 4}, {5, 2, 4}}},
      {"ij->", {{3, 4}}},
      {"ijk->ki", {{2, 3, 4}}},
      {"ii->i", {{4, 4}}},
      {"iji->j", {{3, 2, 3}}},
      {"i,j->ij", {{3}, {4}}},
      {"i,i->i", {{5}, {5}}},
      {"ij,k->i", {{2, 3}, {4}}},
      {"ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}}},
      {"i,j,k,ijk->", {{2}, {3}, {4}, {2, 3, 4}}},
      {"ab,bc,cd,da->ac", {{3, 2}, {2, 3}, {3, 2}, {2, 3}}},
      {"ab,bc,ca,ad,be->de", {{2, 3}, {3, 2}, {2, 2}, {2, 3}, {3, 2}}},
      {"xy,yz->xz", {{1, 4}, {4, 3}}},
      {"xy,xy->x", {{3, 1}, {3, 4}}},
      {"ij,jk->ik", {{3, 0}, {0, 2}}},
      {"->", {{}}},
  };
  for (const double p : {2.0, 3.5})
    for (const auto& c : cases) {
      SCOPED_TRACE(c.equation);
      std::vector<Tensor> xs;
      for (const Dims& shape : c.shapes)
        xs.push_back(random_elements(own(), shape, static_cast<int64_t>(xs.size()) + 5));
      const Tensor out = contract(xs, c.equation, GetParam(), {.p = p});
      EXPECT_EQ(out.dtype(), xs[0].dtype());
      expect_close(out, nested_loops(xs, c.equation, GetParam(), p));
    }
}

TEST_P(EveryAlgebra, DifferentiatesOrHasNoGradient) {
  if (own().gradient == nullptr) {
    EXPECT_NE(own().dtype, kF32);
    return;
  }
  const auto x = [&](const Dims& shape, int64_t seed) { return random_elements(own(), shape, seed); };
  const auto check = [&](const char* equation, const std::vector<Tensor>& xs) {
    SCOPED_TRACE(equation);
    expect_gradients([&](const std::vector<Tensor>& at) { return contract(at, equation, GetParam(), {.p = 2.5}); }, xs);
  };
  check("ij,jk->ik", {x({3, 4}, 1), x({4, 5}, 2)});
  check("ij->i", {x({3, 7}, 3)});
  check("ij,jk,kl->il", {x({2, 3}, 4), x({3, 4}, 5), x({4, 2}, 6)});
  check("bij,bj->b", {x({2, 3, 4}, 7), x({2, 4}, 8)});
}

TEST_P(EveryAlgebra, APlanAllocatesNothingAndHasTheSameBitsAtAnyNumberOfThreads) {
  const Tensor a = random_elements(own(), {40, 70}, 1), b = random_elements(own(), {70, 90}, 2),
               c = random_elements(own(), {90, 3}, 3);
  const int before = threads();
  std::vector<uint8_t> expected;
  for (const int count : {1, 2, 3}) {
    set_threads(count);
    Plan plan = compile(
        [&](const Tensor& x, const Tensor& y, const Tensor& z) {
          return contract({x, y, z}, "ij,jk,kl->il", GetParam());
        },
        {{a.shape(), a.dtype()}, {b.shape(), b.dtype()}, {c.shape(), c.dtype()}});
    plan.run(a, b, c);
    const uint64_t calls = harness::malloc_calls();
    plan.run(a, b, c);
    EXPECT_EQ(harness::malloc_calls(), calls);
    const std::vector<uint8_t> bytes = harness::bytes_of(plan.outputs()[0]);
    if (count == 1) expected = bytes;
    EXPECT_EQ(bytes, expected) << count << " threads";
  }
  set_threads(before);
}

TEST(TensorAlgebra, RealProductsAreGemms) {
  const auto dump = [](const char* name) {
    return compile(
               [=](const Tensor& x, const Tensor& y) {
                 return contract({x, y}, "ij,jk->ik", name);
               },
               {{{8, 9}, kF32}, {{9, 7}, kF32}})
        .dump();
  };
  EXPECT_NE(dump("real").find(" matmul"), std::string::npos) << dump("real");
  EXPECT_NE(dump("max-product").find("algebra_matmul"), std::string::npos);
}

TEST(TensorAlgebra, TheGradientOfASelectionGoesToTheFirstOfTheBest) {
  const Tensor a = Tensor::from<double>({0.5, 0.7, 0.7}), b = Tensor::from<double>({0.9, 0.7, 0.7});
  const auto gradients = [&](const char* name) {
    return value_and_grad([&] { return contract({a, b}, "i,i->", name); }, {a, b}).gradients;
  };
  EXPECT_EQ(numbers(gradients("max-min")[0]), (std::vector<double>{0, 1, 0}));  // min(0.7, 0.7): the first operand
  EXPECT_EQ(numbers(gradients("max-min")[1]), (std::vector<double>{0, 0, 0}));
  EXPECT_EQ(numbers(gradients("max-product")[0]), (std::vector<double>{0, 0.7, 0}));
  EXPECT_EQ(numbers(gradients("lukasiewicz")[0]), (std::vector<double>{1, 0, 0}));  // 0.4, 0.4, 0.4
}

TEST(TensorAlgebra, NoisyOrOfACertainFactHasAGradient) {  // where 1 - x is 0 and cannot be divided by
  const Tensor x = Tensor::from<double>({0.5, 1.0, 0.25});
  const auto gradient = [&] {
    return value_and_grad([&] { return contract({x}, "i->", "noisy-or"); }, {x}).gradients[0];
  };
  EXPECT_EQ(numbers(gradient()), (std::vector<double>{0, 0.375, 0}));
}

TEST(TensorAlgebra, ShortestPathsAreSquaresOverMinPlus) {
  const double inf = std::numeric_limits<double>::infinity();
  Tensor d = full({5, 5}, inf, kF64);
  for (int64_t i = 0; i < 5; i++) d.at<double>({i, i}) = 0, d.at<double>({i, (i + 1) % 5}) = 1;
  for (int round = 0; round < 3; round++) d = contract({d, d}, "ij,jk->ik", "min-plus");
  for (int64_t i = 0; i < 5; i++)
    for (int64_t j = 0; j < 5; j++) EXPECT_EQ(d.at<double>({i, j}), static_cast<double>((j - i + 5) % 5));
}

TEST(TensorAlgebra, ALimitIsKeptBySlicesOfWhatIsSummed) {
  std::vector<Tensor> xs{uniform({12, 12, 12}, 1, 0, 1, 0, kF64), uniform({12, 12, 12}, 2, 0, 1, 0, kF64)};
  for (int i = 0; i < 3; i++) xs.push_back(uniform({12, 12}, 3 + i, 0, 1, 0, kF64));
  const char* equation = "abc,def,ad,be,cf->";
  for (const char* name : {"max-product", "min-plus", "real", "log-sum-exp"}) {
    const Tensor whole = contract(xs, equation, name);
    expect_close(contract(xs, equation, name, {.most_bytes = 2000}), whole, 1e-10);
    EXPECT_REFUSED(contract(xs, equation, name, {.most_bytes = 8}), "raise most_bytes");
  }
}

TEST(TensorAlgebra, MistakesGetASentence) {
  const Tensor x = ones({2, 3}), y = ones({3, 4});
  EXPECT_REFUSED(contract({x, y}, "ij,jk->ik", "maxmin"), "the algebras are boolean, counting");
  EXPECT_REFUSED(contract({x, y}, "ij,ik->jk", "max-min"), "contract: \"ij,ik->jk\": one axis name stands for sizes");
  EXPECT_REFUSED(contract({x, y}, "ij,jk->ik", "boolean"), "the elements of boolean are not f32");
  EXPECT_REFUSED(contract({x, to(y, kF64)}, "ij,jk->ik", "real"), "differ in their types");
  EXPECT_REFUSED(contract({}, "->", "real"), "0 operands");
  EXPECT_REFUSED(contract({x, Tensor()}, "ij,jk->ik", "real"), "not defined");
  EXPECT_REFUSED(contract({x, y}, "ij,jk->ik", "p-mean", {.p = -1}), "p is -1");
  EXPECT_REFUSED(contract({x, y}, "ij,jk->ik", "real", {.most_bytes = -1}), "0 sets no limit");
  const Tensor wide = ones({2, 2, 2, 2, 2});
  EXPECT_REFUSED(contract({wide, wide, wide}, "abcde,efghi,ijklm->a", "noisy-or"), "more than 8 axes");
}

}  // namespace
}  // namespace ingot::logic
