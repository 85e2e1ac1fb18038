#include "kernels/chain.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/chain.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "ingot/base/dispatch.h"
#include "kernels/chain-inl.h"

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

inline constexpr size_t kBlock = 8;  // vectors of a block: as many as are passed in registers

// A load as a formula: the other input.
struct Other {
  static constexpr int kInputs = 2;
  template <class D, class V>
  static HWY_INLINE V run(D, V, V other) {
    return other;
  }
};

template <class T, size_t... i, class... V>
HWY_INLINE void store_all(std::index_sequence<i...>, const Link<T>* s, int64_t place, V... v) {
  const hn::ScalableTag<T> d;
  T* p = const_cast<T*>(s->at) + place;
  (hn::StoreU(v, d, p + i * hn::Lanes(d)), ...);
  next(s + 1, place, v...);
}
template <class T, class... V>
void store(const Link<T>* s, int64_t place, V... v) {
  store_all(std::index_sequence_for<V...>(), s, place, v...);
}

template <class T, class... V>
void done(const Link<T>*, int64_t, V...) {}

template <size_t, class V>
using Each = V;  // V, once for every index of a pack

// The handlers that are no op's.
template <class T, class... V>
ChainHandler own_handler(const ChainStep& s) {
  if (s.kind == ChainStep::Kind::kStore) return reinterpret_cast<ChainHandler>(&store<T, V...>);
  return s.repeated ? reinterpret_cast<ChainHandler>(&link<Other, 0, true, T, V...>)
                    : reinterpret_cast<ChainHandler>(&link<Other, 0, false, T, V...>);
}
template <class T, size_t... i>
ChainHandler own_handler(std::index_sequence<i...>, const ChainStep& s) {
  using V = hn::Vec<hn::ScalableTag<T>>;
  return own_handler<T, Each<i, V>...>(s);
}
template <class T, size_t... i>
ChainHandler done_handler(std::index_sequence<i...>) {
  using V = hn::Vec<hn::ScalableTag<T>>;
  return reinterpret_cast<ChainHandler>(&done<T, Each<i, V>...>);
}

// Runs whole blocks of kVectors and returns where the next one would begin.
template <size_t kVectors, class T, size_t... i>
HWY_INLINE int64_t run_blocks(std::index_sequence<i...> indices, const ChainStep* steps, int count, char* const* arrays,
                              int64_t place, int64_t n) {
  const int64_t size = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<T>()) * kVectors);
  if (place + size > n) return place;
  Link<T> links[kMostSteps + 1];
  for (int k = 0; k < count; k++) {
    const ChainStep& s = steps[k];
    links[k].at = s.operand < 0 ? nullptr : reinterpret_cast<const T*>(arrays[s.operand]);
    for (int p = 0; p < kMostChainParams; p++) links[k].params[p] = static_cast<T>(s.params[p]);
    links[k].handler = s.kind != ChainStep::Kind::kOp
                           ? own_handler<T>(indices, s)
                           : (kVectors == 1 ? s.form->single : s.form->block)[s.second][s.repeated];
  }
  links[count].handler = done_handler<T>(indices);
  const auto zero = hn::Zero(hn::ScalableTag<T>());
  if (steps[0].repeated)
    for (; place + size <= n; place += size) next(links, place, (static_cast<void>(i), zero)...);
  else  // the first step loads: done here, it needs no jump
    for (; place + size <= n; place += size) link<Other, 0, false>(links, place, (static_cast<void>(i), zero)...);
  return place;
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
      copies[s.operand][k] = s.repeated                          ? from[0]
                             : s.kind == ChainStep::Kind::kStore ? T(0)
                                                                 : from[at + (k < left ? k : left - 1)];
  }
  run_blocks<1, T>(std::make_index_sequence<1>(), steps, count, padded, 0, lanes);
  for (int i = 0; i < count; ++i)
    if (steps[i].kind == ChainStep::Kind::kStore)
      for (int64_t k = 0; k < left; ++k)
        reinterpret_cast<T*>(arrays[steps[i].operand])[at + k] = copies[steps[i].operand][k];
}

template <class T>
HWY_INLINE void run_all(const ChainStep* steps, int count, char* const* arrays, int64_t n) {
  int64_t at = run_blocks<kBlock, T>(std::make_index_sequence<kBlock>(), steps, count, arrays, 0, n);
  at = run_blocks<1, T>(std::make_index_sequence<1>(), steps, count, arrays, at, n);
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
