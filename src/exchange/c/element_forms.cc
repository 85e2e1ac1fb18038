// Element-wise ops as expressions. NaN goes through all of them that let it through in the library.
#include <algorithm>

#include "exchange/c/forms.h"

namespace ingot::exchange {
namespace {

// Integers wrap around: unsigned arithmetic does, signed arithmetic must not be asked to.
constexpr ElementForm kForms[] = {
    {"copy", "$a"},  // in chains: elements that go to memory of the user's
    {"add", "$a + $b", "($T)(($U)$a + ($U)$b)"},
    {"subtract", "$a - $b", "($T)(($U)$a - ($U)$b)"},
    {"multiply", "$a * $b", "($T)(($U)$a * ($U)$b)"},
    {"divide", "$a / $b"},
    {"add_scalar", "$a + $p", "($T)(($U)$a + ($U)$p)"},
    {"subtract_scalar", "$a - $p", "($T)(($U)$a - ($U)$p)"},
    {"multiply_scalar", "$a * $p", "($T)(($U)$a * ($U)$p)"},
    {"divide_scalar", "$a / $p"},
    {"add_scaled", "$a + $p * $b"},
    {"minimum", "$a != $a ? $a : $b < $a || $b != $b ? $b : $a", "$b < $a ? $b : $a"},
    {"maximum", "$a != $a ? $a : $b > $a || $b != $b ? $b : $a", "$b > $a ? $b : $a"},
    {"clamp", "$a > $q ? $q : $a < $p ? ($q < $p ? $q : $p) : $a"},
    {"negative", "-$a", "($T)(0 - ($U)$a)"},
    {"abs", "$a <= 0 ? 0 - $a : $a", "$a < 0 ? ($T)(0 - ($U)$a) : $a"},
    {"sign", "$a > 0 ? 1 : $a < 0 ? -1 : $a != $a ? $a : 0", "$a > 0 ? 1 : $a < 0 ? -1 : 0"},
    {"square", "$a * $a", "($T)(($U)$a * ($U)$a)"},
    {"sqrt", "@sqrt($a)"},
    {"reciprocal", "1 / $a"},
    {"exp", "@exp($a)"},
    {"log", "@log($a)"},
    {"sin", "@sin($a)"},
    {"cos", "@cos($a)"},
    {"erf", "@erf($a)"},
    {"pow", "@pow($a, $b)"},
    {"pow_scalar", "@pow($a, $p)"},

    {"relu", "$a < 0 ? 0 : $a"},
    {"relu_grad", "$a > 0 ? $b : 0"},
    {"relu6", "$a < 0 ? 0 : $a > 6 ? 6 : $a"},
    {"leaky_relu", "$a > 0 ? $a : $a * $p"},
    {"elu", "$a > 0 ? $a : $p * @expm1($a)"},
    {"selu", "$a > 0 ? #1.0507009873554805 * $a : #1.7580993408473766 * @expm1($a)"},
    {"softplus", "$a > 0 ? $a + @log1p(@exp(-$a)) : @log1p(@exp($a))"},
    {"sigmoid", "1 / (1 + @exp(-$a))"},
    {"tanh", "@tanh($a)"},
    {"hard_sigmoid", "$a <= -3 ? 0 : $a >= 3 ? 1 : $a / 6 + #0.5"},
    {"silu", "$a == -#inf ? 0 : $a / (1 + @exp(-$a))"},
    {"gelu", "$a == -#inf ? 0 : #0.5 * $a * (1 + @tanh(#0.7978845608028654 * ($a + #0.044715 * $a * $a * $a)))"},
    {"gelu_grad",  // from ±16 on the derivative is 0 or 1
     "z = $a > 16 ? 16 : $a < -16 ? -16 : $a; "
     "t = @tanh(#0.7978845608028654 * ($z + #0.044715 * $z * $z * $z)); "
     "slope = #0.7978845608028654 * (1 + 3 * #0.044715 * $z * $z); "
     "$b * (#0.5 * (1 + $t) + #0.5 * $z * (1 - $t * $t) * $slope)"},
    {"gelu_erf", "$a == -#inf ? 0 : #0.5 * $a * @erfc(-$a * #0.7071067811865476)"},
    {"gelu_erf_grad",
     "z = $a > 40 ? 40 : $a < -40 ? -40 : $a; "
     "$b * (#0.5 * @erfc(-$z * #0.7071067811865476) + $z * #0.3989422804014327 * @exp(-#0.5 * $z * $z))"},

    {"equal", "(uint8_t)($a == $b)"},
    {"not_equal", "(uint8_t)($a != $b)"},
    {"greater", "(uint8_t)($a > $b)"},
    {"greater_equal", "(uint8_t)($a >= $b)"},
    {"less", "(uint8_t)($a < $b)"},
    {"less_equal", "(uint8_t)($a <= $b)"},
    {"equal_scalar", "(uint8_t)($a == $p)", "(uint8_t)((double)$a == $p)"},
    {"not_equal_scalar", "(uint8_t)($a != $p)", "(uint8_t)((double)$a != $p)"},
    {"greater_scalar", "(uint8_t)($a > $p)", "(uint8_t)((double)$a > $p)"},
    {"greater_equal_scalar", "(uint8_t)($a >= $p)", "(uint8_t)((double)$a >= $p)"},
    {"less_scalar", "(uint8_t)($a < $p)", "(uint8_t)((double)$a < $p)"},
    {"less_equal_scalar", "(uint8_t)($a <= $p)", "(uint8_t)((double)$a <= $p)"},
    {"where", "$a ? $b : $c"},
};

}  // namespace

const ElementForm* find_element_form(std::string_view op) {
  const auto* found =
      std::find_if(std::begin(kForms), std::end(kForms), [&](const ElementForm& f) { return f.op == op; });
  return found == std::end(kForms) ? nullptr : found;
}

}  // namespace ingot::exchange
