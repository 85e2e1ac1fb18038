// LSTM and GRU layers over whole sequences: the recurrent half, given what the inputs contribute to the gates. A member
// of the team walks the whole sequence with rows of the batch of its own, so nobody waits for anybody between steps.
// f32 and f64; all operands contiguous.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

/// [steps, batch, …] operands are walked from the first step to the last, or from the last to the first.
struct Recurrence {
  int64_t steps = 0, batch = 0, hidden = 0;
  bool reverse = false;
};

/// Gates i, f, g, o: c = σ(f) c' + σ(i) tanh(g), y = σ(o) tanh(c), where c' and y' are of the step before.
template <class T>
struct Lstm {
  const T* x;        // [steps, batch, 4 hidden]: what the inputs (and biases) contribute
  const T* weight;   // [4 hidden, hidden]: times y'
  const T *h0, *c0;  // [batch, hidden], or null for zeros
  T *y, *c, *gates;  // [steps, batch, hidden] twice, [steps, batch, 4 hidden]: the gates behind their σ and tanh
};

/// dy, dc and dgates are gradients by the results of Lstm (null for zeros); dh0 and dc0 may be null.
template <class T>
struct LstmGrad {
  const T *dy, *dc, *dgates;
  const T *weight, *c, *gates, *c0;
  T *dx, *dh0, *dc0;
};

/// Gates r, z, n: n = tanh(x_n + r·(W_n y' + b_n)), y = (1 - z) n + z y'.
template <class T>
struct Gru {
  const T* x;              // [steps, batch, 3 hidden]
  const T *weight, *bias;  // [3 hidden, hidden], [3 hidden] or null: times y', plus
  const T* h0;
  T *y, *gates;  // [steps, batch, hidden], [steps, batch, 4 hidden]: r, z, n and W_n y' + b_n
};

/// dx is by x, dhidden by W y' + b; both [steps, batch, 3 hidden].
template <class T>
struct GruGrad {
  const T *dy, *dgates;
  const T *weight, *y, *gates, *h0;
  T *dx, *dhidden, *dh0;
};

/// Bytes of scratch (64-byte aligned) for any of the four, with so many gates (4 or 3) in the weight.
size_t recurrent_scratch(const Recurrence& r, int64_t gates, size_t element_size);

template <class T>
void lstm(const Recurrence& r, const Lstm<T>& l, void* scratch, const Team& team);
template <class T>
void lstm_grad(const Recurrence& r, const LstmGrad<T>& l, void* scratch, const Team& team);
template <class T>
void gru(const Recurrence& r, const Gru<T>& l, void* scratch, const Team& team);
template <class T>
void gru_grad(const Recurrence& r, const GruGrad<T>& l, void* scratch, const Team& team);

}  // namespace ingot::kernels
