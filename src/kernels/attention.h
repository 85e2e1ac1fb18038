// Scaled dot-product attention of many heads, block by block with an online softmax: no memory of the size queries ×
// keys. f32 and f64.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// Rows of all heads, side by side: element c of head h, position t, sample b is data[b · batch + t · row + h · depth +
/// c].
template <class T>
struct HeadRows {
  T* data = nullptr;
  int64_t batch = 0, row = 0;
};

/// With `causal`, query i sees the keys up to i + keys - queries (the last query sees all); keys ≥ queries then.
struct Attention {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0, depth = 0;
  double scale = 1;
  bool causal = false;
};

/// Bytes of scratch (64-byte aligned) that both kernels need.
size_t attention_scratch(const Attention& a, size_t element_size, int team_size);

/// y = softmax(scale · q·kᵀ)·v for each sample and head; lse [batch, heads, queries] is log Σ exp of each row's scores.
/// Samples and heads are shared out; depth, queries and keys are at least 1.
template <class T>
void attention(const Attention& a, HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v, HeadRows<T> y, T* lse,
               void* scratch, const Team& team);

/// The gradients by q, k and v, from results and their gradients; dlse may be null.
template <class T>
void attention_grad(const Attention& a, HeadRows<const T> q, HeadRows<const T> k, HeadRows<const T> v,
                    HeadRows<const T> y, HeadRows<const T> dy, const T* lse, const T* dlse, HeadRows<T> dq,
                    HeadRows<T> dk, HeadRows<T> dv, void* scratch, const Team& team);

}  // namespace ingot::kernels
