// Arithmetic, functions of one number and activations.
#include <cmath>

#include "exchange/onnx/elementwise.h"
#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

using Binary = Tensor (*)(const Tensor&, const Tensor&);
using Unary = Tensor (*)(const Tensor&);

template <Binary f>
void arithmetic(Use& u) {
  u.out(wrapped(f(u.in(0), second_operand(u)), u.type()));
}
template <Unary f>
void function(Use& u) {
  u.out(f(u.in()));
}
// As above; integers go through f64.
template <Unary f>
void real_function(Use& u) {
  u.out(is_integer(u.type()) ? f(as(u.in(), kF64)) : f(u.in()));
}
template <Unary f>
void whole(Use& u) {
  u.out(is_integer(u.type()) ? u.in() : f(u.in()));
}

// Integers are divided exactly: towards zero.
Tensor quotient(const Tensor& a, const Tensor& b) {
  if (is_float(a.dtype())) return divide(a, b);
  return to(divide(as(a, kF64), as(b, kF64)), a.dtype());
}

// Folded integers are beyond what f64 holds, perhaps.
template <class F>
void integer_pairs(Use& u, F f) {
  const Dims shape = broadcast_shapes("broadcast", u.in(0).shape(), u.in(1).shape());
  const std::vector<int64_t> a = to_integers(broadcast_to(u.in(0), shape)),
                             b = to_integers(broadcast_to(u.in(1), shape));
  std::vector<int64_t> y(a.size());
  for (size_t i = 0; i < y.size(); i++) y[i] = f(a[i], b[i]);
  u.out(as(Tensor::from(y, shape), carrier(u.type())));
}

void divide_op(Use& u) {
  if (!is_integer(u.type()) || !u.all_known()) return u.out(quotient(u.in(0), second_operand(u)));
  integer_pairs(u, [&](int64_t a, int64_t b) {
    if (b == 0) u.fail("a division by zero", "integers have no infinity");
    return b == -1 ? static_cast<int64_t>(0 - static_cast<uint64_t>(a)) : a / b;
  });
}

void mod_op(Use& u) {
  const bool like_c = u.integer("fmod", 0) != 0;
  if (is_integer(u.type()) && u.all_known())
    return integer_pairs(u, [&](int64_t a, int64_t b) {
      if (b == 0) u.fail("a division by zero", "integers have no infinity");
      const int64_t rest = b == -1 ? 0 : a % b;
      return !like_c && rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    });
  const bool real = is_float(u.in().dtype());
  const Tensor a = real ? u.in(0) : as(u.in(0), kF64), b = real ? u.in(1) : as(u.in(1), kF64);
  u.out(like_c ? fmod(a, b) : a - b * floor(a / b));
}

// The type of the result is the base's, whatever the exponent's is.
void pow_op(Use& u) {
  const DType wide = u.type() == Type::kFloat && carrier(u.type(1)) == kF32 ? kF32 : kF64;
  const Tensor base = as(u.in(0), wide), exponent = second_operand(u);
  if (u.value(1).known && exponent.numel() == 1 && exponent.rank() <= base.rank())
    return u.out(pow(base, to_reals(exponent)[0]));
  u.out(pow(base, as(exponent, wide)));
}

template <Binary f>
void fold_inputs(Use& u) {
  Tensor y = u.in(0);
  for (int i = 1; i < u.count(); i++) y = f(y, u.in(i));
  u.out(y);
}
void mean_op(Use& u) {
  Tensor y = u.in(0);
  for (int i = 1; i < u.count(); i++) y = add(y, u.in(i));
  u.out(u.count() == 1 ? y : y / static_cast<double>(u.count()));
}

void clip_op(Use& u) {
  const bool inputs = u.opset() >= 11;
  Tensor y = u.in();
  const auto bound = [&](int i, const char* attribute, bool low) {
    if (inputs ? !u.has(i) : !u.given(attribute)) return;
    const Tensor limit = inputs ? u.in(i) : scalar_like(y, u.real(attribute, 0));
    if (is_float(y.dtype()) && (!inputs || u.value(i).known) && limit.numel() == 1) {
      const double value = to_reals(limit)[0];
      y = low ? clamp(y, value, HUGE_VAL) : clamp(y, -HUGE_VAL, value);
    } else {
      y = low ? maximum(y, limit) : minimum(y, limit);
    }
  };
  bound(1, "min", true);
  bound(2, "max", false);
  u.out(y);
}

void relu_op(Use& u) { u.out(is_float(u.in().dtype()) ? relu(u.in()) : maximum(u.in(), scalar_like(u.in(), 0))); }
void leaky_relu_op(Use& u) { u.out(leaky_relu(u.in(), u.real("alpha", 0.01))); }
void elu_op(Use& u) { u.out(elu(u.in(), u.real("alpha", 1))); }
void celu_op(Use& u) {
  const double alpha = u.real("alpha", 1);
  u.out(multiply(elu(divide(u.in(), alpha), 1), alpha));
}
void selu_op(Use& u) {
  const double alpha = u.real("alpha", u.opset() < 6 ? 1.6732 : 1.67326319217681884765625),
               gamma = u.real("gamma", u.opset() < 6 ? 1.0507 : 1.05070102214813232421875);
  u.out(multiply(elu(u.in(), alpha), gamma));
}
void prelu_op(Use& u) {
  const Tensor& x = u.in();
  Tensor slope = u.in(1);
  // One number per channel stands on axis 1; before opset 7 it was always so.
  if (slope.rank() == 1 && slope.numel() > 1 && (u.opset() < 7 || slope.numel() != x.size(-1)) && x.rank() > 1) {
    Dims shape = Dims::filled(x.rank(), 1);
    shape[1] = slope.numel();
    slope = reshaped(slope, shape);
  }
  const Tensor zero = scalar_like(x, 0);
  u.out(add(maximum(x, zero), multiply(slope, minimum(x, zero))));
}
void thresholded_relu_op(Use& u) { u.out(where(greater(u.in(), u.real("alpha", 1)), u.in(), scalar_like(u.in(), 0))); }
void hard_sigmoid_op(Use& u) { u.out(clamp(add(multiply(u.in(), u.real("alpha", 0.2)), u.real("beta", 0.5)), 0, 1)); }
void hard_swish_op(Use& u) { u.out(u.in() * clamp(u.in() / 6.0 + 0.5, 0, 1)); }
void softsign_op(Use& u) { u.out(u.in() / (abs(u.in()) + 1.0)); }
void shrink_op(Use& u) {
  const Tensor x = is_float(u.in().dtype()) ? u.in() : as(u.in(), kF64), zero = scalar_like(x, 0);
  const double lambda = u.real("lambd", 0.5), bias = u.real("bias", 0);
  u.out(where(less(x, -lambda), x + bias, where(greater(x, lambda), x - bias, zero)));
}
void gelu_op(Use& u) { u.out(u.text("approximate", "none") == "tanh" ? gelu(u.in()) : gelu_erf(u.in())); }

void cast_to(Use& u, Type type) {
  const Tensor& x = u.in();
  if (type == Type::kUndefined) u.fail("no type to cast to", "the attribute `to` names it");
  if (is_integer(type) && !is_real(u.type())) return u.out(wrapped(as(x, carrier(type)), type), type);
  if (is_integer(type) && type != Type::kInt64) {  // out of range wraps, as in C
    const Tensor wide = as(as(x, kI64), carrier(type) == kI32 && type != Type::kInt32 ? kI64 : carrier(type));
    return u.out(as(wrapped(wide, type), carrier(type)), type);
  }
  u.out(rounded_to(as(x, carrier(type)), type), type);
}
Type type_named(const std::string& text) {
  for (int i = 1; i <= 16; i++) {
    static constexpr const char* kNames[] = {"",       "FLOAT",  "UINT8",     "INT8",       "UINT16",  "INT16",
                                             "INT32",  "INT64",  "STRING",    "BOOL",       "FLOAT16", "DOUBLE",
                                             "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
    if (text == kNames[i]) return static_cast<Type>(i);
  }
  return Type::kUndefined;
}
void cast_op(Use& u) {  // before opset 6 the type was text
  cast_to(u, u.opset() < 6 ? type_named(u.text("to", "")) : static_cast<Type>(u.integer("to", 0)));
}

// Multiplication and division by powers of two. A value of 64 bits without a sign divides as what it is.
void bit_shift_op(Use& u) {
  const bool left = u.text("direction", "") == "LEFT";
  const std::vector<int64_t> a = u.known_integers(0), b = to_integers(broadcast_to(u.known(1), u.in(0).shape()));
  std::vector<int64_t> y;
  for (size_t i = 0; i < a.size(); i++) {
    const auto bits = static_cast<uint64_t>(a[i]);
    y.push_back(static_cast<int64_t>(b[i] > 63 || b[i] < 0 ? 0 : left ? bits << b[i] : bits >> b[i]));
  }
  u.out(wrapped(as(Tensor::from(y, u.in(0).shape()), carrier(u.type())), u.type()));
}

}  // namespace

std::span<const Row> math_rows() {
  static constexpr Row kRows[] = {
      {"Add", 1, arithmetic<add>, "ab"},
      {"Sub", 1, arithmetic<subtract>, "ab"},
      {"Mul", 1, arithmetic<multiply>, "ab"},
      {"Div", 1, divide_op, "ab"},
      {"Mod", 10, mod_op},
      {"Pow", 1, pow_op},
      {"Sum", 1, fold_inputs<add>},
      {"Max", 1, fold_inputs<maximum>},
      {"Min", 1, fold_inputs<minimum>},
      {"Mean", 1, mean_op},
      {"Abs", 1, function<abs>},
      {"Neg", 1, [](Use& u) { u.out(wrapped(negative(u.in()), u.type())); }},
      {"Sign", 9, function<sign>},
      {"Sqrt", 1, function<sqrt>},
      {"Reciprocal", 1, function<reciprocal>},
      {"Exp", 1, function<exp>},
      {"Log", 1, function<log>},
      {"Sin", 7, function<sin>},
      {"Cos", 7, function<cos>},
      {"Tan", 7, function<tan>},
      {"Asin", 7, function<asin>},
      {"Acos", 7, function<acos>},
      {"Atan", 7, function<atan>},
      {"Sinh", 9, function<sinh>},
      {"Cosh", 9, function<cosh>},
      {"Asinh", 9, function<asinh>},
      {"Acosh", 9, function<acosh>},
      {"Atanh", 9, function<atanh>},
      {"Erf", 9, real_function<erf>},
      {"Floor", 1, whole<floor>},
      {"Ceil", 1, [](Use& u) { u.out(negative(floor(negative(u.in())))); }},
      {"Round", 11, whole<round_even>},
      {"Clip", 1, clip_op},
      {"Relu", 1, relu_op},
      {"LeakyRelu", 1, leaky_relu_op},
      {"Elu", 1, elu_op},
      {"Celu", 12, celu_op},
      {"Selu", 1, selu_op},
      {"PRelu", 1, prelu_op, "1"},
      {"ThresholdedRelu", 10, thresholded_relu_op},
      {"Sigmoid", 1, function<sigmoid>},
      {"Tanh", 1, function<tanh>},
      {"HardSigmoid", 1, hard_sigmoid_op},
      {"HardSwish", 14, hard_swish_op},
      {"Softplus", 1, function<softplus>},
      {"Softsign", 1, softsign_op},
      {"Shrink", 9, shrink_op},
      {"Gelu", 20, gelu_op},
      {"com.microsoft:Gelu", 1, function<gelu_erf>},
      {"Cast", 1, cast_op},
      {"CastLike", 15, [](Use& u) { cast_to(u, u.type(1)); }},
      {"BitShift", 11, bit_shift_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
