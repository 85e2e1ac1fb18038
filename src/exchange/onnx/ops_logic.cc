// Comparisons, truth, choices.
#include <cmath>

#include "exchange/onnx/use.h"

namespace ingot::onnx {
namespace {

template <Tensor (*f)(const Tensor&, const Tensor&)>
void compare(Use& u) {
  u.out(f(u.in(0), second_operand(u)), Type::kBool);
}

void and_op(Use& u) { u.out(where(u.in(0), second_operand(u), scalar_like(u.in(0), 0)), Type::kBool); }
void or_op(Use& u) { u.out(where(u.in(0), scalar_like(u.in(0), 1), second_operand(u)), Type::kBool); }

void is_inf_op(Use& u) {
  const bool up = u.integer("detect_positive", 1) != 0, down = u.integer("detect_negative", 1) != 0;
  const Tensor x = up && down ? abs(u.in()) : up ? u.in() : negative(u.in());
  if (!up && !down) return u.out(zeros(u.in().shape(), kBool), Type::kBool);
  u.out(equal(x, scalar_like(x, HUGE_VAL)), Type::kBool);
}

void where_op(Use& u) { u.out(where(u.in(0), u.in(1), u.in(2)), u.type(1)); }

}  // namespace

std::span<const Row> logic_rows() {
  static constexpr Row kRows[] = {
      {"Equal", 1, compare<equal>},
      {"Greater", 1, compare<greater>},
      {"GreaterOrEqual", 12, compare<greater_equal>},
      {"Less", 1, compare<less>},
      {"LessOrEqual", 12, compare<less_equal>},
      {"And", 1, and_op},
      {"Or", 1, or_op},
      {"Xor", 1, compare<not_equal>},
      {"Not", 1, [](Use& u) { u.out(logical_not(u.in())); }},
      {"IsNaN", 9, [](Use& u) { u.out(not_equal(u.in(), u.in()), Type::kBool); }},
      {"IsInf", 10, is_inf_op},
      {"Where", 9, where_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
