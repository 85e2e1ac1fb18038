#include "kernels/chain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/chain.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "base/simd.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One operation on one vector; the same formulas as the ops of these names.
template <ChainOp kOp, class D, class V>
HWY_INLINE V apply(D d, V v, V o, V factor) {
  if constexpr (kOp == ChainOp::kLoad) return o;
  if constexpr (kOp == ChainOp::kAdd) return hn::Add(v, o);
  if constexpr (kOp == ChainOp::kSubtract) return hn::Sub(v, o);
  if constexpr (kOp == ChainOp::kSubtractFrom) return hn::Sub(o, v);
  if constexpr (kOp == ChainOp::kMultiply) return hn::Mul(v, o);
  if constexpr (kOp == ChainOp::kDivide) return hn::Div(v, o);
  if constexpr (kOp == ChainOp::kDivideInto) return hn::Div(o, v);
  if constexpr (kOp == ChainOp::kMinimum) return hn::IfThenElse(hn::IsNaN(v), v, hn::Min(v, o));
  if constexpr (kOp == ChainOp::kMinimumOf) return hn::IfThenElse(hn::IsNaN(o), o, hn::Min(o, v));
  if constexpr (kOp == ChainOp::kMaximum) return hn::IfThenElse(hn::IsNaN(v), v, hn::Max(v, o));
  if constexpr (kOp == ChainOp::kMaximumOf) return hn::IfThenElse(hn::IsNaN(o), o, hn::Max(o, v));
  if constexpr (kOp == ChainOp::kAddScaled) return hn::MulAdd(o, factor, v);
  if constexpr (kOp == ChainOp::kAddToScaled) return hn::MulAdd(v, factor, o);
  if constexpr (kOp == ChainOp::kReluGrad) return hn::IfThenElseZero(hn::Gt(o, hn::Zero(d)), v);
  if constexpr (kOp == ChainOp::kReluGradOf) return hn::IfThenElseZero(hn::Gt(v, hn::Zero(d)), o);
  if constexpr (kOp == ChainOp::kLimitBelow) return hn::Max(o, v);
  if constexpr (kOp == ChainOp::kLimitAbove) return hn::Min(o, v);
  if constexpr (kOp == ChainOp::kRelu) return hn::Max(hn::Zero(d), v);
  if constexpr (kOp == ChainOp::kNegate) return hn::Neg(v);
  if constexpr (kOp == ChainOp::kAbs) return hn::Abs(v);
  if constexpr (kOp == ChainOp::kSquare) return hn::Mul(v, v);
  if constexpr (kOp == ChainOp::kSqrt) return hn::Sqrt(v);
  if constexpr (kOp == ChainOp::kReciprocal) return hn::Div(hn::Set(d, 1), v);
  return v;
}

// A block of vectors. Spelt out, so that the compiler keeps all of them in registers across the switch.
template <class T>
struct Block {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int64_t kVectors = 8;
  V v0, v1, v2, v3, v4, v5, v6, v7;
  static HWY_INLINE int64_t lanes() { return static_cast<int64_t>(hn::Lanes(D())); }

  template <ChainOp kOp>
  HWY_INLINE void with_vectors(const T* p, V factor) {
    const D d;
    const int64_t n = lanes();
    v0 = apply<kOp>(d, v0, hn::LoadU(d, p), factor);
    v1 = apply<kOp>(d, v1, hn::LoadU(d, p + n), factor);
    v2 = apply<kOp>(d, v2, hn::LoadU(d, p + 2 * n), factor);
    v3 = apply<kOp>(d, v3, hn::LoadU(d, p + 3 * n), factor);
    v4 = apply<kOp>(d, v4, hn::LoadU(d, p + 4 * n), factor);
    v5 = apply<kOp>(d, v5, hn::LoadU(d, p + 5 * n), factor);
    v6 = apply<kOp>(d, v6, hn::LoadU(d, p + 6 * n), factor);
    v7 = apply<kOp>(d, v7, hn::LoadU(d, p + 7 * n), factor);
  }
  template <ChainOp kOp>
  HWY_INLINE void with_one(V o, V factor) {
    const D d;
    v0 = apply<kOp>(d, v0, o, factor);
    v1 = apply<kOp>(d, v1, o, factor);
    v2 = apply<kOp>(d, v2, o, factor);
    v3 = apply<kOp>(d, v3, o, factor);
    v4 = apply<kOp>(d, v4, o, factor);
    v5 = apply<kOp>(d, v5, o, factor);
    v6 = apply<kOp>(d, v6, o, factor);
    v7 = apply<kOp>(d, v7, o, factor);
  }
  HWY_INLINE void store(T* p) const {
    const D d;
    const int64_t n = lanes();
    hn::StoreU(v0, d, p);
    hn::StoreU(v1, d, p + n);
    hn::StoreU(v2, d, p + 2 * n);
    hn::StoreU(v3, d, p + 3 * n);
    hn::StoreU(v4, d, p + 4 * n);
    hn::StoreU(v5, d, p + 5 * n);
    hn::StoreU(v6, d, p + 6 * n);
    hn::StoreU(v7, d, p + 7 * n);
  }
};

// One vector, for what is left of a block.
template <class T>
struct Single {
  using D = hn::ScalableTag<T>;
  using V = hn::Vec<D>;
  static constexpr int64_t kVectors = 1;
  V v0;
  template <ChainOp kOp>
  HWY_INLINE void with_vectors(const T* p, V factor) {
    v0 = apply<kOp>(D(), v0, hn::LoadU(D(), p), factor);
  }
  template <ChainOp kOp>
  HWY_INLINE void with_one(V o, V factor) {
    v0 = apply<kOp>(D(), v0, o, factor);
  }
  HWY_INLINE void store(T* p) const { hn::StoreU(v0, D(), p); }
};

// A step with its operand found: vectors from `at` + the block's place, or one number.
template <class T>
struct Resolved {
  const void* handler;
  const T* at;
  T value, factor;
};

// Runs whole blocks and returns where the next one would begin. Every handler jumps to the next step's by itself: one
// jump per step, each predicted by its own history.
template <class B, class T>
int64_t run_blocks(const ChainStep* steps, int count, char* const* arrays, int64_t at, int64_t n) {
// clang-format off
#define INGOT_BINARY_OPS(X)                                                                            \
  X(kLoad) X(kAdd) X(kSubtract) X(kSubtractFrom) X(kMultiply) X(kDivide) X(kDivideInto) X(kMinimum)    \
  X(kMinimumOf) X(kMaximum) X(kMaximumOf) X(kAddScaled) X(kAddToScaled) X(kReluGrad) X(kReluGradOf)    \
  X(kLimitBelow) X(kLimitAbove)
#define INGOT_UNARY_OPS(X) X(kRelu) X(kNegate) X(kAbs) X(kSquare) X(kSqrt) X(kReciprocal)
  // clang-format on

  const hn::ScalableTag<T> d;
  const int64_t size = static_cast<int64_t>(hn::Lanes(d)) * B::kVectors;
  if (at + size > n) return at;
  Resolved<T> list[kMostSteps + 1];
  for (int i = 0; i < count; ++i) {
    const ChainStep& s = steps[i];
    Resolved<T>& r = list[i];
    r.at = s.operand < 0 ? nullptr : reinterpret_cast<const T*>(arrays[s.operand]);
    r.value = s.repeated ? *r.at : static_cast<T>(s.value);
    r.factor = static_cast<T>(s.factor);
    const bool one = s.constant || s.repeated;
    switch (s.op) {
#define INGOT_HANDLER(op) \
  case ChainOp::op: r.handler = one ? &&op##_one : &&op##_vectors; break;
      INGOT_BINARY_OPS(INGOT_HANDLER)
#undef INGOT_HANDLER
#define INGOT_HANDLER(op) \
  case ChainOp::op: r.handler = &&op##_plain; break;
      INGOT_UNARY_OPS(INGOT_HANDLER)
#undef INGOT_HANDLER
      case ChainOp::kStore: r.handler = &&store; break;
    }
  }
  list[count].handler = &&done;

  B block{};
  const Resolved<T>* s = list;
  goto * s->handler;

#define INGOT_NEXT() \
  ++s;               \
  goto * s->handler
#define INGOT_CODE(op)                                                                          \
  op##_vectors : block.template with_vectors<ChainOp::op>(s->at + at, hn::Set(d, s->factor));   \
  INGOT_NEXT();                                                                                 \
  op##_one : block.template with_one<ChainOp::op>(hn::Set(d, s->value), hn::Set(d, s->factor)); \
  INGOT_NEXT();
  INGOT_BINARY_OPS(INGOT_CODE)
#undef INGOT_CODE
#define INGOT_CODE(op)                                                         \
  op##_plain : block.template with_one<ChainOp::op>(hn::Zero(d), hn::Zero(d)); \
  INGOT_NEXT();
  INGOT_UNARY_OPS(INGOT_CODE)
#undef INGOT_CODE
store:
  block.store(const_cast<T*>(s->at) + at);
  INGOT_NEXT();
done:
  at += size;
  if (at + size > n) return at;
  s = list;
  goto * s->handler;
#undef INGOT_NEXT
#undef INGOT_UNARY_OPS
#undef INGOT_BINARY_OPS
}

// The last few elements go through copies padded with the last one, so that no lane computes on garbage.
template <class T>
HWY_NOINLINE void run_tail(const ChainStep* steps, int count, char* const* arrays, int64_t at, int64_t left) {
  using D = hn::ScalableTag<T>;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(D()));
  HWY_ALIGN T copies[kMostArrays][hn::MaxLanes(D())];
  char* padded[kMostArrays] = {};
  for (int i = 0; i < count; ++i) {
    const ChainStep& s = steps[i];
    if (s.operand < 0 || padded[s.operand] != nullptr) continue;
    const T* from = reinterpret_cast<const T*>(arrays[s.operand]);
    padded[s.operand] = reinterpret_cast<char*>(copies[s.operand]);
    for (int64_t k = 0; k < lanes; ++k)
      copies[s.operand][k] = s.repeated                ? from[0]
                             : s.op == ChainOp::kStore ? T(0)
                                                       : from[at + (k < left ? k : left - 1)];
  }
  run_blocks<Single<T>, T>(steps, count, padded, 0, lanes);
  for (int i = 0; i < count; ++i)
    if (steps[i].op == ChainOp::kStore)
      for (int64_t k = 0; k < left; ++k)
        reinterpret_cast<T*>(arrays[steps[i].operand])[at + k] = copies[steps[i].operand][k];
}

template <class T>
HWY_INLINE void run_all(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  int64_t at = run_blocks<Block<T>, T>(steps, count, arrays, 0, n);
  at = run_blocks<Single<T>, T>(steps, count, arrays, at, n);
  if (at < n) run_tail<T>(steps, count, arrays, at, n - at);
}

void chain_f32(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  run_all<float>(steps, count, arrays, n);
}
void chain_f64(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  run_all<double>(steps, count, arrays, n);
}

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

template <>
void run_chain<float>(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  INGOT_DISPATCH(chain_f32)(steps, count, arrays, n);
}
template <>
void run_chain<double>(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  INGOT_DISPATCH(chain_f64)(steps, count, arrays, n);
}

}  // namespace ingot::kernels
#endif
