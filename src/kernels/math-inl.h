// Vector mathematics for f32 and f64 lanes: Exp, Expm1, Log, Log1p, Softplus, Tanh, Sigmoid, Silu, GeluTanh, GeluErf,
// Erf, Sin, Cos, Pow. Special cases are libm's. Include after hwy/highway.h in a foreach_target file; call as Exp(d,
// x). A lane's result depends on that lane alone.
#if defined(INGOT_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_MATH_INL_H_
#undef INGOT_KERNELS_MATH_INL_H_
#else
#define INGOT_KERNELS_MATH_INL_H_
#endif

#include "kernels/math-erf-inl.h"
#include "kernels/math-exp-inl.h"
#include "kernels/math-log-inl.h"
#include "kernels/math-pow-inl.h"
#include "kernels/math-trig-inl.h"

#endif
