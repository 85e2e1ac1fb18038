#include "exchange/onnx/elementwise.h"

#include <cmath>

#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/own_op.h"

namespace ingot::onnx {
namespace {

constexpr const char* kSteps = "its slope is 0 wherever it has one";

// A function of one number from the standard library, with the rule for its gradient.
#define INGOT_ONNX_FUNCTION(id, text, cost, expression, ...) \
  struct F_##id {                                            \
    static constexpr int kInputs = 1;                        \
    template <class T>                                       \
    static T run(T x, const T*) {                            \
      return expression;                                     \
    }                                                        \
  };                                                         \
  constexpr Op k_##id = own_elementwise<F_##id>(             \
      {.name = "onnx_" #id, .signature = "onnx_" #id "(x)", .doc = text, .weight = cost, __VA_ARGS__});

INGOT_ONNX_FUNCTION(floor, "The largest whole number that is not above x.", 1, std::floor(x),
                    .not_differentiable = kSteps)
INGOT_ONNX_FUNCTION(round, "The nearest whole number, halves to the even one.", 1, std::nearbyint(x),
                    .not_differentiable = kSteps)
INGOT_ONNX_FUNCTION(
    tan, "The tangent of x radians.", 8, std::tan(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() * (square(g.out()) + 1.0)); })
INGOT_ONNX_FUNCTION(
    asin, "The angle whose sine is x.", 8, std::asin(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() / sqrt(1.0 - square(g.in()))); })
INGOT_ONNX_FUNCTION(
    acos, "The angle whose cosine is x.", 8, std::acos(x),
    .gradient = [](Gradient& g) { g.set(0, -g.dy() / sqrt(1.0 - square(g.in()))); })
INGOT_ONNX_FUNCTION(
    atan, "The angle whose tangent is x.", 8, std::atan(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() / (square(g.in()) + 1.0)); })
INGOT_ONNX_FUNCTION(
    sinh, "The hyperbolic sine.", 8, std::sinh(x), .gradient = [](Gradient& g) { g.set(0, g.dy() * cosh(g.in())); })
INGOT_ONNX_FUNCTION(
    cosh, "The hyperbolic cosine.", 8, std::cosh(x), .gradient = [](Gradient& g) { g.set(0, g.dy() * sinh(g.in())); })
INGOT_ONNX_FUNCTION(
    asinh, "The number whose hyperbolic sine is x.", 8, std::asinh(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() / sqrt(square(g.in()) + 1.0)); })
INGOT_ONNX_FUNCTION(
    acosh, "The number whose hyperbolic cosine is x.", 8, std::acosh(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() / sqrt(square(g.in()) - 1.0)); })
INGOT_ONNX_FUNCTION(
    atanh, "The number whose hyperbolic tangent is x.", 8, std::atanh(x),
    .gradient = [](Gradient& g) { g.set(0, g.dy() / (1.0 - square(g.in()))); })
#undef INGOT_ONNX_FUNCTION

struct Fmod {
  static constexpr int kInputs = 2;
  template <class T>
  static T run(T a, T b, const T*) {
    return std::fmod(a, b);
  }
};
constexpr Op k_fmod = own_elementwise<Fmod>({.name = "onnx_fmod",
                                             .signature = "onnx_fmod(a, b)",
                                             .doc = "What is left of a after whole steps of b, of a's sign.",
                                             .weight = 8,
                                             .not_differentiable = "the slope by b is 0 almost everywhere"});

constexpr const Op* kOps[] = {&k_floor, &k_round, &k_tan,   &k_asin,  &k_acos,  &k_atan,
                              &k_sinh,  &k_cosh,  &k_asinh, &k_acosh, &k_atanh, &k_fmod};

}  // namespace

Tensor floor(const Tensor& x) { return call(k_floor, {x}); }
Tensor round_even(const Tensor& x) { return call(k_round, {x}); }
Tensor tan(const Tensor& x) { return call(k_tan, {x}); }
Tensor asin(const Tensor& x) { return call(k_asin, {x}); }
Tensor acos(const Tensor& x) { return call(k_acos, {x}); }
Tensor atan(const Tensor& x) { return call(k_atan, {x}); }
Tensor sinh(const Tensor& x) { return call(k_sinh, {x}); }
Tensor cosh(const Tensor& x) { return call(k_cosh, {x}); }
Tensor asinh(const Tensor& x) { return call(k_asinh, {x}); }
Tensor acosh(const Tensor& x) { return call(k_acosh, {x}); }
Tensor atanh(const Tensor& x) { return call(k_atanh, {x}); }
Tensor fmod(const Tensor& a, const Tensor& b) { return call(k_fmod, {a, b}); }

std::span<const Op* const> elementwise_ops() { return kOps; }

}  // namespace ingot::onnx
