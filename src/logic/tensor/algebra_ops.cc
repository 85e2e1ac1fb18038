// The ops that contractions over an algebra come down to: batches of matrix products with ⊕ and ⊗ for + and ·.
#include <algorithm>
#include <cmath>

#include "ingot/logic/algebra.h"
#include "ingot/logic/ops.h"
#include "ingot/logic/plumbing.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/own_op.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/samples.h"
#include "ingot/ops/staging.h"
#include "logic/tensor/algebra_kernels.h"

namespace ingot::logic {
namespace {

constexpr const char* kNames[] = {"max-min",     "max-product", "lukasiewicz", "min-plus",
                                  "log-sum-exp", "noisy-or",    "p-mean"};

struct Params {
  RealAlgebra algebra;
  double p;
};
Params decode(const Call& call) {
  const std::string_view name = call.text("algebra");
  const auto* found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames))
    fail_argument(call, "\"" + std::string(name) + "\" is no algebra that this op has",
                  "give max-min, max-product, lukasiewicz, min-plus, log-sum-exp, noisy-or or p-mean");
  const double p = call.real("p");
  if (!(p > 0) || p > 1e6) fail_argument(call, "p is " + std::to_string(p), "give a number above 0");
  return {static_cast<RealAlgebra>(found - kNames), p};
}

// Inputs `first` and `first` + 1 are a [batch, m, k] and b [batch, k, n].
MatrixSizes sizes_of(const Call& call, int first) {
  const Tensor &a = call.in(first), &b = call.in(first + 1);
  return {a.size(0), a.size(1), b.size(2), a.size(2)};
}
// Input i is [m, k]: the ⊕ of each row.
MatrixSizes rows_of(const Call& call, int i) { return {1, call.in(i).size(0), 1, call.in(i).size(1)}; }

void require_matrices(const Call& call, int first) {
  require_rank(call, first, 3, "[batch, m, k]");
  require_rank(call, first + 1, 3, "[batch, k, n]");
  require_same_type(call, first, first + 1);
  const Tensor &a = call.in(first), &b = call.in(first + 1);
  if (a.size(0) != b.size(0) || a.size(2) != b.size(1))
    fail(call, "the matrices do not fit", "a must be [batch, m, k] and b [batch, k, n]");
}

Dims result_shape(const MatrixSizes& s) { return {s.batch, s.m, s.n}; }

double cost_of(const MatrixSizes& s, double each) {
  return static_cast<double>(s.batch * s.m * s.n) * static_cast<double>(s.k) * each;
}
double nanoseconds(RealAlgebra algebra) {
  return algebra == RealAlgebra::kLogSumExp ? 1.5 : algebra == RealAlgebra::kPMean ? 0.5 : 0.15;
}

// Plain loops, one number at a time; intermediate numbers are of the elements' own type.
struct PlainAlgebra {
  Params params;
  DType type;
  double narrow(double x) const { return type == kF32 ? static_cast<double>(static_cast<float>(x)) : x; }
  double times(double a, double b) const {
    if (std::isnan(a) || std::isnan(b)) return std::nan("");
    switch (params.algebra) {
      case RealAlgebra::kMaxMin: return std::min(a, b);
      case RealAlgebra::kLukasiewicz: {
        const double t = narrow(narrow(a + b) - 1);
        return t < 0 ? 0 : t;
      }
      case RealAlgebra::kMinPlus:
      case RealAlgebra::kLogSumExp: return narrow(a + b);
      default: return narrow(a * b);
    }
  }
  double sum(const std::vector<double>& products) const {
    if (products.empty()) return zero_of(params.algebra);
    const bool bad = std::any_of(products.begin(), products.end(), [](double t) { return std::isnan(t); });
    if (bad) return std::nan("");
    const double largest = *std::max_element(products.begin(), products.end());
    double result = params.algebra == RealAlgebra::kNoisyOr ? 1 : 0;
    switch (params.algebra) {
      case RealAlgebra::kMinPlus: return *std::min_element(products.begin(), products.end());
      case RealAlgebra::kLogSumExp:
        if (std::isinf(largest)) return largest;
        for (const double t : products) result += std::exp(t - largest);
        return largest + std::log(result);
      case RealAlgebra::kNoisyOr:
        for (const double t : products) result = narrow(result * narrow(1 - t));
        return 1 - result;
      case RealAlgebra::kPMean:
        for (const double t : products) result = narrow(result + narrow(std::pow(t, params.p)));
        return std::pow(result / static_cast<double>(products.size()), 1 / params.p);
      default: return largest;
    }
  }
};

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> all;
  for_each_index(t.shape(), [&](const Dims& i) { all.push_back(load_as_double(element_at(t, i), t.dtype())); });
  return all;
}
void store(const Tensor& t, const std::vector<double>& all) {
  size_t k = 0;
  for_each_index(t.shape(), [&](const Dims& i) { store_from_double(element_at(t, i), t.dtype(), all[k++]); });
}

// Calls f(place of an element of c, places of the elements of a and of b whose products it sums).
template <class F>
void for_each_sum(const MatrixSizes& s, F f) {
  for (int64_t r = 0; r < s.batch * s.m; r++)
    for (int64_t j = 0; j < s.n; j++) {
      std::vector<std::pair<size_t, size_t>> places;
      for (int64_t q = 0; q < s.k; q++)
        places.emplace_back(static_cast<size_t>(r * s.k + q), static_cast<size_t>((r / s.m * s.k + q) * s.n + j));
      f(static_cast<size_t>(r * s.n + j), places);
    }
}

void reference(const Call& call, const Tensor* out, const MatrixSizes& sizes) {
  const PlainAlgebra algebra{decode(call), out->dtype()};
  const std::vector<double> a = values_of(call.in(0)),
                            b = call.count() > 1 ? values_of(call.in(1)) : std::vector<double>();
  std::vector<double> c(static_cast<size_t>(out->numel()));
  for_each_sum(sizes, [&](size_t to, const auto& places) {
    std::vector<double> products;
    products.reserve(places.size());
    for (const auto& [x, z] : places) products.push_back(b.empty() ? a[x] : algebra.times(a[x], b[z]));
    c[to] = algebra.sum(products);
  });
  store(*out, c);
}

// The derivative of an element y of c by each of the products it sums.
std::vector<double> derivatives(const PlainAlgebra& algebra, const std::vector<double>& products, double y) {
  const RealAlgebra kind = algebra.params.algebra;
  const double p = algebra.params.p;
  size_t chosen = 0;
  for (size_t q = 1; q < products.size(); q++)
    if (kind == RealAlgebra::kMinPlus ? products[q] < products[chosen] : products[q] > products[chosen]) chosen = q;
  std::vector<double> all;
  for (size_t q = 0; q < products.size(); q++) {
    double g = selects(kind) && q != chosen ? 0 : 1;
    if (kind == RealAlgebra::kLogSumExp) g = std::isinf(y) ? 0 : std::exp(products[q] - y);
    if (kind == RealAlgebra::kNoisyOr)
      for (size_t other = 0; other < products.size(); other++) g *= other == q ? 1 : 1 - products[other];
    if (kind == RealAlgebra::kPMean)
      g = y == 0 && p != 1 ? 0
                           : std::pow(y, 1 - p) / static_cast<double>(products.size()) * std::pow(products[q], p - 1);
    all.push_back(g);
  }
  return all;
}

// Inputs are dy, y, a and, unless rows alone are summed, b.
void reference_grad(const Call& call, const Tensor* out, const MatrixSizes& sizes) {
  const PlainAlgebra algebra{decode(call), out->dtype()};
  const RealAlgebra kind = algebra.params.algebra;
  const bool pair = call.count() > 3;
  const std::vector<double> dy = values_of(call.in(0)), y = values_of(call.in(1)), a = values_of(call.in(2)),
                            b = pair ? values_of(call.in(3)) : std::vector<double>();
  std::vector<double> da(a.size()), db(b.size());
  for_each_sum(sizes, [&](size_t from, const auto& places) {
    std::vector<double> products;
    products.reserve(places.size());
    for (const auto& [x, z] : places) products.push_back(pair ? algebra.times(a[x], b[z]) : a[x]);
    const std::vector<double> by = derivatives(algebra, products, y[from]);
    for (size_t q = 0; q < places.size(); q++) {
      const auto [x, z] = places[q];
      if (by[q] == 0) continue;
      double to_a = dy[from] * by[q], to_b = to_a;
      if (pair && kind == RealAlgebra::kMaxMin) {
        (b[z] < a[x] ? to_a : to_b) = 0;
      } else if (pair && kind == RealAlgebra::kLukasiewicz) {
        to_a = to_b = a[x] + b[z] > 1 ? to_a : 0;
      } else if (pair && !adds(kind)) {
        to_a *= b[z], to_b *= a[x];
      }
      da[x] += to_a;
      if (pair) db[z] += to_b;
    }
  });
  store(out[0], da);
  if (pair) store(out[1], db);
}

constexpr MatrixSizes kSizes[] = {{1, 1, 1, 1}, {2, 3, 4, 5}, {1, 5, 19, 7}, {1, 9, 8, 3},
                                  {3, 2, 1, 6}, {0, 2, 3, 2}, {2, 3, 2, 0}};
constexpr int64_t kRows[][2] = {{1, 1}, {3, 7}, {2, 41}, {0, 3}, {4, 0}};

Attrs sample_attrs(const char* name, int64_t rows) {
  return Attrs().set("algebra", name).set("p", rows == 3 ? 3.0 : rows == 9 ? 2.5 : 2.0);
}

double nanoseconds_of(const Call& call, const MatrixSizes& s, double factor = 1) {
  return cost_of(s, factor * nanoseconds(call.params<Params>().algebra));
}

void run_product(const Call& call, const Tensor* out, void* scratch, const Team& team, const MatrixSizes& sizes) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void*) {
    using T = std::remove_reference_t<decltype(**to)>;
    const auto [algebra, p] = call.params<Params>();
    algebra_matmul(AlgebraMatmul<T>{algebra, p, sizes, in[0], in[1], to[0]}, team);
  });
}

void run_gradient(const Call& call, const Tensor* out, void* scratch, const Team& team, const MatrixSizes& sizes) {
  with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
    using T = std::remove_reference_t<decltype(**to)>;
    const auto [algebra, p] = call.params<Params>();
    algebra_matmul_grad(AlgebraMatmulGrad<T>{algebra, p, sizes, in[0], in[2], in[3], in[1], to[0], to[1]}, rest, team);
  });
}

void require_gradient(const Call& call, const Dims& shape) {
  for (const int i : {1, 2}) require_same_type(call, 0, i);
  decode(call);
  if (!(call.in(0).shape() == shape) || !(call.in(1).shape() == shape))
    fail(call, "dy or y is not the result's", "they must be " + to_string(shape));
}

constexpr const char* kNoSecond =
    "it looks back at the products and keeps none of them; second derivatives are not there";

}  // namespace

INGOT_OP(algebra_matmul) = {
    .name = "algebra_matmul",
    .signature = "algebra_matmul(a, b, algebra:text, p:real=2)",
    .doc =
        "Matrix product over an algebra of real numbers (max-min, max-product, lukasiewicz, min-plus, "
        "log-sum-exp, noisy-or, p-mean): a [batch, m, k] and b [batch, k, n] to the ⊕ over k of a ⊗ b, [batch, m, n]. "
        "Where ⊕ selects, the gradient goes to the first of the best.",
    .family = "algebra",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_matrices(call, 0);
          decode(call);
          out.add(call.in(0).dtype(), result_shape(sizes_of(call, 0)));
        },
    .prepare = prepared<decode>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_product(call, out, scratch, team, sizes_of(call, 0)); },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .reference = [](const Call& call, const Tensor* out) { reference(call, out, sizes_of(call, 0)); },
    .cost = [](const Call& call) { return nanoseconds_of(call, sizes_of(call, 0)); },
    .gradient =
        [](Gradient& g) {
          const Params params = decode(g.call());
          const auto [da, db] =
              algebra_matmul_grad(g.dy(), g.out(), g.in(0), g.in(1), g.call().text("algebra"), params.p);
          if (g.wants(0)) g.set(0, da);
          if (g.wants(1)) g.set(1, db);
        },
    .samples =
        [](Samples& s) {
          for (const char* name : kNames)
            for (const MatrixSizes& m : kSizes)
              s.add({s.real({m.batch, m.m, m.k}), s.real({m.batch, m.k, m.n})}, sample_attrs(name, m.m));
        },
    .low = 0.05,
    .high = 0.95,
    .rounding = {.ulps = 64, .scaled = 16},
    .reorders_sums = true,
};

INGOT_OP(algebra_matmul_grad) = {
    .name = "algebra_matmul_grad",
    .signature = "algebra_matmul_grad(dy, y, a, b, algebra:text, p:real=2) -> da, db",
    .doc = "Gradients of algebra_matmul by a and by b.",
    .family = "algebra",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_matrices(call, 2);
          require_gradient(call, result_shape(sizes_of(call, 2)));
          out.add(call.in(2).dtype(), call.in(2).shape());
          out.add(call.in(2).dtype(), call.in(3).shape());
        },
    .prepare = prepared<decode>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_gradient(call, out, scratch, team, sizes_of(call, 2)); },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) + algebra_matmul_grad_scratch(sizes_of(call, 2), size_of(out->dtype()));
        },
    .reference = [](const Call& call, const Tensor* out) { reference_grad(call, out, sizes_of(call, 2)); },
    .cost = [](const Call& call) { return nanoseconds_of(call, sizes_of(call, 2), 8); },
    .not_differentiable = kNoSecond,
    .samples =
        [](Samples& s) {
          for (const char* name : kNames)
            for (const MatrixSizes& m : kSizes) {
              const Attrs attrs = sample_attrs(name, m.m);
              const Tensor a = s.real({m.batch, m.m, m.k}), b = s.real({m.batch, m.k, m.n});
              s.add({s.real(result_shape(m)), algebra_matmul(a, b, name, attrs.find("p")->real), a, b}, attrs);
            }
        },
    .low = 0.05,
    .high = 0.95,
    .rounding = {.ulps = 256, .scaled = 64},
    .reorders_sums = true,
};

INGOT_OP(algebra_fold) = {
    .name = "algebra_fold",
    .signature = "algebra_fold(x, algebra:text, p:real=2)",
    .doc =
        "The ⊕ of every row of x [m, k] over an algebra of real numbers (as algebra_matmul's), to [m]; the gradient "
        "goes "
        "to the first of the best where ⊕ selects.",
    .family = "algebra",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 2, "[m, k]");
          decode(call);
          out.add(call.in(0).dtype(), {call.in(0).size(0)});
        },
    .prepare = prepared<decode>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_product(call, out, scratch, team, rows_of(call, 0)); },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .reference = [](const Call& call, const Tensor* out) { reference(call, out, rows_of(call, 0)); },
    .cost = [](const Call& call) { return nanoseconds_of(call, rows_of(call, 0)); },
    .gradient =
        [](Gradient& g) {
          g.set(0, algebra_fold_grad(g.dy(), g.out(), g.in(0), g.call().text("algebra"), decode(g.call()).p));
        },
    .samples =
        [](Samples& s) {
          for (const char* name : kNames)
            for (const auto& [m, k] : kRows) s.add({s.real({m, k})}, sample_attrs(name, m));
        },
    .low = 0.05,
    .high = 0.95,
    .rounding = {.ulps = 64, .scaled = 16},
    .reorders_sums = true,
};

INGOT_OP(algebra_fold_grad) = {
    .name = "algebra_fold_grad",
    .signature = "algebra_fold_grad(dy, y, x, algebra:text, p:real=2)",
    .doc = "Gradient of algebra_fold.",
    .family = "algebra",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 2, 2, "[m, k]");
          require_gradient(call, {call.in(2).size(0)});
          out.add(call.in(2).dtype(), call.in(2).shape());
        },
    .prepare = prepared<decode>,
    .run = [](const Call& call, const Tensor* out, void* scratch,
              const Team& team) { run_gradient(call, out, scratch, team, rows_of(call, 2)); },
    .scratch =
        [](const Call& call, const Tensor* out, int) {
          return staged_bytes(call, out) + algebra_matmul_grad_scratch(rows_of(call, 2), size_of(out->dtype()));
        },
    .reference = [](const Call& call, const Tensor* out) { reference_grad(call, out, rows_of(call, 2)); },
    .cost = [](const Call& call) { return nanoseconds_of(call, rows_of(call, 2), 8); },
    .not_differentiable = kNoSecond,
    .samples =
        [](Samples& s) {
          for (const char* name : kNames)
            for (const auto& [m, k] : kRows) {
              const Attrs attrs = sample_attrs(name, m);
              const Tensor x = s.real({m, k});
              s.add({s.real({m}), algebra_fold(x, name, attrs.find("p")->real), x}, attrs);
            }
        },
    .low = 0.05,
    .high = 0.95,
    .rounding = {.ulps = 256, .scaled = 64},
    .reorders_sums = true,
};

INGOT_OP(boolean_matmul) = {
    .name = "boolean_matmul",
    .signature = "boolean_matmul(a, b)",
    .doc =
        "Boolean matrix product: a [batch, m, k] and b [batch, k, n] of bool to the ∨ over k of a ∧ b, [batch, m, n]. "
        "Large ones are packed into bits.",
    .family = "algebra",
    .infer =
        [](const Call& call, Specs& out) {
          if (call.in(0).dtype() != kBool)
            fail(call, std::string("not defined for ") + name(call.in(0).dtype()), "compare first: greater(x, 0.5)",
                 ErrorKind::kType);
          require_matrices(call, 0);
          out.add(kBool, result_shape(sizes_of(call, 0)));
        },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const auto* a = static_cast<const uint8_t*>(stage_in(call.in(0), scratch, team));
          const auto* b = static_cast<const uint8_t*>(stage_in(call.in(1), scratch, team));
          auto* c = static_cast<uint8_t*>(stage_out(*out, scratch));
          if (staged_bytes(call, out) > 0) team.barrier();
          boolean_matmul(sizes_of(call, 0), a, b, c, scratch, team);
          unstage(*out, c, team);
        },
    .scratch = [](const Call& call, const Tensor* out,
                  int) { return staged_bytes(call, out) + boolean_matmul_scratch(sizes_of(call, 0)); },
    .reference =
        [](const Call& call, const Tensor* out) {
          const std::vector<double> a = values_of(call.in(0)), b = values_of(call.in(1));
          std::vector<double> c(static_cast<size_t>(out->numel()));
          for_each_sum(sizes_of(call, 0), [&](size_t to, const auto& places) {
            for (const auto& [x, z] : places)
              if (a[x] != 0 && b[z] != 0) c[to] = 1;
          });
          store(*out, c);
        },
    .cost = [](const Call& call) { return cost_of(sizes_of(call, 0), 0.01); },
    .not_differentiable = "booleans do not change by little",
    .samples =
        [](Samples& s) {
          for (const MatrixSizes& m : kSizes) s.add({s.mask({m.batch, m.m, m.k}), s.mask({m.batch, m.k, m.n})});
          s.add({s.mask({2, 20, 70}), s.mask({2, 70, 130})});
        },
};

INGOT_OP(counting_matmul) = {
    .name = "counting_matmul",
    .signature = "counting_matmul(a, b)",
    .doc =
        "Matrix product of whole numbers: a [batch, m, k] and b [batch, k, n] of i64 to [batch, m, n]; without b the "
        "sum "
        "of a's rows, [batch, m, 1]. It wraps, as sums of integers do.",
    .family = "algebra",
    .infer =
        [](const Call& call, Specs& out) {
          if (call.in(0).dtype() != kI64)
            fail(call, std::string("not defined for ") + name(call.in(0).dtype()), "convert with to(x, kI64)",
                 ErrorKind::kType);
          require_matrices(call, 0);
          out.add(kI64, result_shape(sizes_of(call, 0)));
        },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const auto* a = stage_in<int64_t>(call.in(0), scratch, team);
          const auto* b = stage_in<int64_t>(call.in(1), scratch, team);
          auto* c = stage_out<int64_t>(*out, scratch);
          if (staged_bytes(call, out) > 0) team.barrier();
          counting_matmul(sizes_of(call, 0), a, b, c, team);
          unstage(*out, c, team);
        },
    .scratch = [](const Call& call, const Tensor* out, int) { return staged_bytes(call, out); },
    .reference =
        [](const Call& call, const Tensor* out) {
          const std::vector<double> a = values_of(call.in(0)), b = values_of(call.in(1));
          std::vector<double> c(static_cast<size_t>(out->numel()));
          for_each_sum(sizes_of(call, 0), [&](size_t to, const auto& places) {
            for (const auto& [x, z] : places) c[to] += a[x] * b[z];
          });
          store(*out, c);
        },
    .cost = [](const Call& call) { return cost_of(sizes_of(call, 0), 0.5); },
    .not_differentiable = "whole numbers do not change by little",
    .samples =
        [](Samples& s) {
          for (const MatrixSizes& m : kSizes)
            s.add({s.indices({m.batch, m.m, m.k}, -9, 10), s.indices({m.batch, m.k, m.n}, 0, 9)});
        },
};

}  // namespace ingot::logic
