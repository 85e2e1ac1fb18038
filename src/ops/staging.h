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

#include "ingot/tensor.h"
#include "ingot/threads.h"

namespace ingot {

/// Scratch that staging `t` takes: 0 if it is contiguous or undefined, else a multiple of 64.
size_t staging_bytes(const Tensor& t);

/// `t`'s elements in row-major order: its own memory, or a copy at `scratch`, made by the whole team; the caller puts
/// one barrier after all its stage_in calls. Null for an undefined tensor.
const void* stage_in(const Tensor& t, void*& scratch, const Team& team);
template <class T>
const T* stage_in(const Tensor& t, void*& scratch, const Team& team) {
  return static_cast<const T*>(stage_in(t, scratch, team));
}

/// Where to compute the elements of `t` in row-major order: its own memory, or room at `scratch`.
void* stage_out(const Tensor& t, void*& scratch);
template <class T>
T* stage_out(const Tensor& t, void*& scratch) {
  return static_cast<T*>(stage_out(t, scratch));
}

/// Moves what was computed at `staged` to `t`, with a barrier first; nothing to do if that is `t`'s own memory.
void unstage(const Tensor& t, const void* staged, const Team& team);

/// Copies elements between tensors of one shape and element size; this member's share.
void copy_share(const Tensor& to, const Tensor& from, const Team& team);

/// Sets every element of `to` to the `size_of(to.dtype())` bytes at `element`; this member's share.
void fill_share(const Tensor& to, const void* element, const Team& team);

}  // namespace ingot
