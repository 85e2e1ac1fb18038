// The largest element of windows side by side: what max pooling and a convolution with pooling share.
#include <hwy/highway.h>

#include <cmath>
#include <cstdint>

#if defined(INGOT_KERNELS_POOL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef INGOT_KERNELS_POOL_INL_H_
#undef INGOT_KERNELS_POOL_INL_H_
#else
#define INGOT_KERNELS_POOL_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The largest elements so far and, with kTaps, which ones they are. The first of equals wins, a NaN against everything.
template <bool kTaps, class D>
class Largest {
 public:
  using V = hn::Vec<D>;
  HWY_INLINE Largest(D d, V first) : value_(first), tap_(hn::Zero(hn::RebindToSigned<D>())) { (void)d; }
  HWY_INLINE void meet(V v, int64_t tap) {
    const hn::RebindToSigned<D> di;
    const auto stays = hn::Or(hn::Ge(value_, v), hn::IsNaN(value_));
    value_ = hn::IfThenElse(stays, value_, v);
    if constexpr (kTaps)
      tap_ = hn::IfThenElse(hn::RebindMask(di, stays), tap_, hn::Set(di, static_cast<hn::TFromD<decltype(di)>>(tap)));
  }
  HWY_INLINE V value() const { return value_; }
  HWY_INLINE void store_taps(uint8_t* to) const {
    const hn::RebindToSigned<D> di;
    if constexpr (sizeof(hn::TFromD<D>) == 4) {
      const hn::Rebind<uint8_t, decltype(di)> d8;
      hn::StoreU(hn::DemoteTo(d8, tap_), d8, to);
    } else {
      HWY_ALIGN hn::TFromD<decltype(di)> buffer[hn::MaxLanes(di)];
      hn::Store(tap_, di, buffer);
      for (size_t i = 0; i < hn::Lanes(di); ++i) to[i] = static_cast<uint8_t>(buffer[i]);
    }
  }

 private:
  V value_;
  hn::Vec<hn::RebindToSigned<D>> tap_;
};

// The same for one element: does v take the place of the largest so far?
template <class T>
HWY_INLINE bool is_larger(T v, T best) {
  return !std::isnan(best) && (v > best || std::isnan(v));
}

template <bool kTaps, class T>
HWY_INLINE void pool_one(int64_t rows, int64_t columns, const T* from, int64_t pitch, bool relu, T* y, uint8_t* tap) {
  T best = from[0];
  int64_t at = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c) {
      const T v = from[r * pitch + c];
      if (is_larger(v, best)) best = v, at = r * columns + c;
    }
  *y = relu && best < 0 ? T(0) : best;
  if constexpr (kTaps) *tap = static_cast<uint8_t>(at);
}

// Windows two columns wide, `kVector` at a time; the last block overlaps its neighbour.
template <bool kTaps, int64_t kVector, class T>
HWY_INLINE void pool_pairs(int64_t rows, int64_t count, const T* from, int64_t pitch, bool relu, T* y, uint8_t* taps) {
  const hn::CappedTag<T, kVector> d;
  if constexpr (kVector * sizeof(T) > 16) {
    if (count < kVector) return pool_pairs<kTaps, kVector / 2>(rows, count, from, pitch, relu, y, taps);
  }
  if (count < kVector) {
    for (int64_t i = 0; i < count; ++i)
      pool_one<kTaps>(rows, 2, from + 2 * i, pitch, relu, y + i, kTaps ? taps + i : nullptr);
    return;
  }
  const auto block = [&](int64_t i) HWY_ATTR {
    const T* at = from + 2 * i;
    const auto low = hn::LoadU(d, at), high = hn::LoadU(d, at + kVector);
    Largest<kTaps, decltype(d)> best(d, hn::ConcatEven(d, high, low));
    best.meet(hn::ConcatOdd(d, high, low), 1);
    for (int64_t r = 1; r < rows; ++r) {
      const auto a = hn::LoadU(d, at + r * pitch), b = hn::LoadU(d, at + r * pitch + kVector);
      best.meet(hn::ConcatEven(d, b, a), 2 * r);
      best.meet(hn::ConcatOdd(d, b, a), 2 * r + 1);
    }
    hn::StoreU(relu ? hn::Max(hn::Zero(d), best.value()) : best.value(), d, y + i);  // in this order NaN stays NaN
    if constexpr (kTaps) best.store_taps(taps + i);
  };
  for (int64_t i = 0; i + kVector <= count; i += kVector) block(i);
  if (count % kVector != 0) block(count - kVector);
}

// One row of `count` windows of `rows` x `columns`; rows of `from` are `pitch` apart. Only the windows' elements are
// read; `taps` is used with kTaps only.
template <bool kTaps, class T>
HWY_INLINE void pool_row(int64_t rows, int64_t columns, int64_t count, const T* from, int64_t pitch, bool relu, T* y,
                         uint8_t* taps) {
  if (columns == 2) return pool_pairs<kTaps, HWY_LANES(T)>(rows, count, from, pitch, relu, y, taps);
  for (int64_t i = 0; i < count; ++i)
    pool_one<kTaps>(rows, columns, from + i * columns, pitch, relu, y + i, kTaps ? taps + i : nullptr);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
