// Reductions of a strided tensor over any set of axes.
#pragma once
#include <cstddef>
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::kernels {

enum class Reduce : uint8_t { kSum, kProd, kMax, kMin, kSumSquares, kSumAbs };

constexpr int kMaxReduceRank = 8;

/// The axes of the input, split by the caller into those that stay and those that are folded. Strides count elements
/// and may be 0 or negative; adjacent axes need not be merged.
struct ReduceLayout {
  int kept_rank = 0, reduced_rank = 0;
  int64_t kept[kMaxReduceRank] = {}, kept_in[kMaxReduceRank] = {}, kept_out[kMaxReduceRank] = {};
  int64_t reduced[kMaxReduceRank] = {}, reduced_in[kMaxReduceRank] = {};
};

/// out = scale · reduction of `in` (the scale is for floats: 1/n makes a mean). Sums are blocked and cascaded, max and
/// min propagate NaN. An empty range gives 0, 1, -inf or +inf (lowest/largest for integers). Pairs (T, R): (f32, f32),
/// (f64, f64); integers: kSum and kProd to i64, kMax and kMin to the same type, of i32, i64 and u8.
template <class T, class R>
void reduce(Reduce kind, const ReduceLayout& layout, const T* in, R* out, double scale, void* scratch,
            const Team& team);

/// Bytes of scratch for `reduce`, whatever the types.
size_t reduce_scratch(const ReduceLayout& layout);

/// Index of the largest (smallest) element in the flattened reduced axes: the first winner; a NaN wins, as in NumPy.
/// T: f32, f64, i32, i64, u8. The reduced range must not be empty.
template <class T>
void arg_reduce(bool largest, const ReduceLayout& layout, const T* in, int64_t* out, void* scratch, const Team& team);
size_t arg_reduce_scratch(const ReduceLayout& layout);

/// Σ(x - mean)² / (n - correction), in two passes. f32, f64.
template <class T>
void variance(const ReduceLayout& layout, const T* in, T* out, int64_t correction, void* scratch, const Team& team);

/// log Σ exp(x), shifted by the maximum; a row of -inf gives -inf, a +inf gives +inf. f32, f64.
template <class T>
void logsumexp(const ReduceLayout& layout, const T* in, T* out, void* scratch, const Team& team);

/// Bytes of scratch for `variance` and `logsumexp`.
size_t centred_reduce_scratch(const ReduceLayout& layout);

}  // namespace ingot::kernels
