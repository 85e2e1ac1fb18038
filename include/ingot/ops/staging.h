// Contiguous stand-ins for strided operands, for kernels that only know contiguous memory. They live in the op's
// scratch:
//
//   .scratch: staging_bytes(call.in(0)) + staging_bytes(out[0]) + what the kernel wants
//   .run:     const void* x = stage_in(call.in(0), scratch, team);   // each advances `scratch`
//             void* y = stage_out(out[0], scratch);
//             team.barrier();
//             kernel(y, x, …);
//             unstage(out[0], y, team);
//
// Operands that are contiguous already cost nothing: no bytes, no copy, no barrier.
#pragma once
#include <cstddef>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/base/threads.h"
#include "ingot/ops/op.h"

namespace ingot {

/// Scratch that staging `t` takes: 0 if it is contiguous or undefined, else a multiple of 64.
INGOT_API size_t staging_bytes(const Tensor& t);

/// `t`'s elements in row-major order: its own memory, or a copy at `scratch`, made by the whole team; the caller puts
/// one barrier after all its stage_in calls. Null for an undefined tensor.
INGOT_API const void* stage_in(const Tensor& t, void*& scratch, const Team& team);
template <class T>
const T* stage_in(const Tensor& t, void*& scratch, const Team& team) {
  return static_cast<const T*>(stage_in(t, scratch, team));
}

/// Where to compute the elements of `t` in row-major order: its own memory, or room at `scratch`.
INGOT_API void* stage_out(const Tensor& t, void*& scratch);
template <class T>
T* stage_out(const Tensor& t, void*& scratch) {
  return static_cast<T*>(stage_out(t, scratch));
}

/// Moves what was computed at `staged` to `t`, with a barrier first; nothing to do if that is `t`'s own memory.
INGOT_API void unstage(const Tensor& t, const void* staged, const Team& team);

/// Copies elements between tensors of one shape and element size; this member's share.
INGOT_API void copy_share(const Tensor& to, const Tensor& from, const Team& team);

/// Sets every element of `to` to the `size_of(to.dtype())` bytes at `element`; this member's share.
INGOT_API void fill_share(const Tensor& to, const void* element, const Team& team);

/// Scratch that with_staged() takes for a call and its results.
INGOT_API size_t staged_bytes(const Call& call, const Tensor* out);

inline constexpr int kMostStaged = 8;

/// Stages all operands (up to kMostStaged inputs; absent ones are null), calls kernel(in, out, rest of the scratch)
/// with arrays of pointers to the results' element type, f32 or f64, and moves the results to where they belong.
template <class Kernel>
void with_staged(const Call& call, const Tensor* out, void* scratch, const Team& team, Kernel kernel) {
  const int results = output_count(call.op);
  const void* in[kMostStaged] = {};
  void* to[kMaxOutputs] = {};
  for (int i = 0; i < call.count(); i++) in[i] = stage_in(call.in(i), scratch, team);
  for (int i = 0; i < results; i++) to[i] = stage_out(out[i], scratch);
  if (staged_bytes(call, out) > 0) team.barrier();
  const auto typed = [&](auto tag) {
    using T = decltype(tag);
    const T* inputs[kMostStaged];
    for (int i = 0; i < kMostStaged; i++) inputs[i] = static_cast<const T*>(in[i]);
    T* outputs[3] = {static_cast<T*>(to[0]), static_cast<T*>(to[1]), static_cast<T*>(to[2])};
    kernel(inputs, outputs, scratch);
  };
  out[0].dtype() == kF32 ? typed(0.0f) : typed(0.0);
  for (int i = 0; i < results; i++) unstage(out[i], to[i], team);
}

}  // namespace ingot
