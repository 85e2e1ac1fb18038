// One step of an optimiser: one pass over parameters, gradients and state. Operands are contiguous; f32 and f64. A
// result may be any of the arrays read, as long as it is all of it. Elements are independent: the same bits at any team
// size.
#pragma once
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// What the optimisers do to a gradient before they use it: g = min(max(scale · g, -clip_value), clip_value).
struct GradientScaling {
  double scale = 1;
  double clip_value = 0;  // 0: no limit
};

/// With g += weight_decay · p: p -= lr · g; or, with momentum, b = momentum · b + g and p -= lr · b; or, with nesterov,
/// p -= lr · (g + momentum · b).
struct SgdStep {
  double lr, weight_decay = 0, momentum = 0;
  bool nesterov = false;
  GradientScaling scaling = {};
};

template <class T>
void sgd_step(const SgdStep& step, int64_t n, const T* p, const T* g, T* new_p, const Team& team);
template <class T>
void sgd_momentum_step(const SgdStep& step, int64_t n, const T* p, const T* g, const T* b, T* new_p, T* new_b,
                       const Team& team);

/// m = beta1 · m + (1 - beta1) · g, v = beta2 · v + (1 - beta2) · g², p -= lr · m̂ / (√v̂ + eps), where m̂ and v̂ are m and
/// v without their bias towards zero at step `count` (1 at first). Weight decay is added to the gradient, or,
/// decoupled, shrinks p by lr · weight_decay first.
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay = 0;
  bool decoupled = false;
  int64_t count = 1;
  GradientScaling scaling = {};
};

template <class T>
struct AdamArrays {
  const T *p, *g, *m, *v;
  T *new_p, *new_m, *new_v;
};

template <class T>
void adam_step(const AdamStep& step, int64_t n, const AdamArrays<T>& arrays, const Team& team);

}  // namespace ingot::kernels
