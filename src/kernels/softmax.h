// Softmax and log-softmax along one axis, their gradients, and softmax cross-entropy with integer labels. f32 and f64.
#pragma once
#include <cstdint>

#include "ingot/base/threads.h"
#include "kernels/reduce_axis.h"

namespace ingot::kernels {

/// out = exp(x - max) / Σ exp(x - max), or its logarithm. Operands: in, out; they may be the same memory with the same
/// strides. A row with a NaN or +inf, or of only -inf, is NaN throughout.
template <class T>
void softmax(const AxisLayout& layout, bool log, const T* in, T* out, const Team& team);

/// dx = y (dy - Σ dy y), or for the logarithm dx = dy - exp(y) Σ dy. Operands: y, dy, dx; dx may be y or dy.
template <class T>
void softmax_grad(const AxisLayout& layout, bool log, const T* y, const T* dy, T* dx, const Team& team);

/// loss[r] = log Σ exp(x[r]) - x[r][labels[r]] for logits [rows, classes] with contiguous rows `row_stride` apart. A
/// negative label means "ignore": its loss is 0. Labels must be less than classes.
template <class T, class Label>
void softmax_cross_entropy(int64_t rows, int64_t classes, const T* logits, int64_t row_stride, const Label* labels,
                           T* loss, const Team& team);

/// grad[r] = (softmax(x[r]) - onehot(labels[r])) · scale[r · scale_stride]; rows with a negative label are 0. grad may
/// be the logits. The loss comes along unless it is null.
template <class T, class Label>
void softmax_cross_entropy_grad(int64_t rows, int64_t classes, const T* logits, int64_t row_stride, const Label* labels,
                                const T* scale, int64_t scale_stride, T* grad, int64_t grad_stride, T* loss,
                                const Team& team);

}  // namespace ingot::kernels
