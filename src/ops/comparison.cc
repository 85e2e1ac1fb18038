// Comparisons and selection. Comparisons give bool, and false for NaN except not_equal.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/comparison.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/chain-inl.h"
#include "ops/define.h"

#define INGOT_FAMILY "comparison"
INGOT_SIMD_BEGIN

using Comparison = Elementwise<2, Types::kAll, true>;
using ScalarComparison = Elementwise<1, Types::kNumbers, true>;

// A constant as the element type sees it: rounded to f32 for f32. Integers are compared as reals, so 2 < 2.5 is true.
template <class T>
HWY_INLINE auto comparand(const double* p) {
  if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(p[0]);
  else
    return p[0];
}

struct Equal : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a == b;
  }
};
INGOT_ELEMENTWISE(equal, Equal, .signature = "equal(a, b)", .doc = "a = b, as bool.",
                  .not_differentiable = "the result is a bool")

struct NotEqual : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a != b;
  }
};
INGOT_ELEMENTWISE(not_equal, NotEqual, .signature = "not_equal(a, b)", .doc = "a ≠ b, as bool; true for NaN.",
                  .not_differentiable = "the result is a bool")

struct Greater : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a > b;
  }
};
INGOT_ELEMENTWISE(greater, Greater, .signature = "greater(a, b)", .doc = "a > b, as bool.",
                  .not_differentiable = "the result is a bool")

struct GreaterEqual : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a >= b;
  }
};
INGOT_ELEMENTWISE(greater_equal, GreaterEqual, .signature = "greater_equal(a, b)", .doc = "a ≥ b, as bool.",
                  .not_differentiable = "the result is a bool")

struct Less : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a < b;
  }
};
INGOT_ELEMENTWISE(less, Less, .signature = "less(a, b)", .doc = "a < b, as bool.",
                  .not_differentiable = "the result is a bool")

struct LessEqual : Comparison {
  template <class T>
  static bool plain(T a, T b) {
    return a <= b;
  }
};
INGOT_ELEMENTWISE(less_equal, LessEqual, .signature = "less_equal(a, b)", .doc = "a ≤ b, as bool.",
                  .not_differentiable = "the result is a bool")

struct EqualScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a == comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(equal_scalar, EqualScalar, .signature = "equal(x, value:real)", .doc = "x = value, as bool.",
                  .not_differentiable = "the result is a bool")

struct NotEqualScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a != comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(not_equal_scalar, NotEqualScalar, .signature = "not_equal(x, value:real)",
                  .doc = "x ≠ value, as bool; true for NaN.", .not_differentiable = "the result is a bool")

struct GreaterScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a > comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(greater_scalar, GreaterScalar, .signature = "greater(x, value:real)", .doc = "x > value, as bool.",
                  .not_differentiable = "the result is a bool")

struct GreaterEqualScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a >= comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(greater_equal_scalar, GreaterEqualScalar, .signature = "greater_equal(x, value:real)",
                  .doc = "x ≥ value, as bool.", .not_differentiable = "the result is a bool")

struct LessScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a < comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(less_scalar, LessScalar, .signature = "less(x, value:real)", .doc = "x < value, as bool.",
                  .not_differentiable = "the result is a bool")

struct LessEqualScalar : ScalarComparison {
  template <class T>
  static bool plain(T a, const double* p) {
    return a <= comparand<T>(p);
  }
};
INGOT_ELEMENTWISE(less_equal_scalar, LessEqualScalar, .signature = "less_equal(x, value:real)",
                  .doc = "x ≤ value, as bool.", .not_differentiable = "the result is a bool")

struct Where : Elementwise<3, Types::kAll> {
  template <class T>
  static T plain(uint8_t condition, T a, T b) {
    return condition ? a : b;
  }
};
INGOT_ELEMENTWISE(
    where, Where, .signature = "where(condition, a, b)",
    .doc = "a where the bool `condition` holds, else b, with broadcasting.", .gradient = [](Gradient& g) {
      const Tensor zero = zeros({}, g.dy().dtype());
      if (g.wants(1)) g.set(1, where(g.in(0), g.dy(), zero));
      if (g.wants(2)) g.set(2, where(g.in(0), zero, g.dy()));
    })
INGOT_SIMD_END
