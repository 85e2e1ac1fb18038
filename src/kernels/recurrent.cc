#include "kernels/recurrent.h"

#include <algorithm>
#include <type_traits>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/recurrent.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/block-inl.h"
#include "kernels/math-exp-inl.h"

#ifndef INGOT_KERNELS_RECURRENT_CC_ONCE_
#define INGOT_KERNELS_RECURRENT_CC_ONCE_
namespace ingot::kernels {
namespace {

constexpr int64_t kMostPanel = 64;  // elements, of any target: columns are packed in whole panels
constexpr int64_t kBlockK = 256;    // with a panel of two vectors, half of a first cache of 32 KB

int64_t padded(int64_t hidden) { return (hidden + kMostPanel - 1) / kMostPanel * kMostPanel; }

}  // namespace
}  // namespace ingot::kernels
#endif  // INGOT_KERNELS_RECURRENT_CC_ONCE_

HWY_BEFORE_NAMESPACE();
namespace ingot::kernels::HWY_NAMESPACE {
namespace {

template <class T>
using D = hn::ScalableTag<T>;
template <class T>
using V = hn::Vec<D<T>>;

// Where a member's rows of one step lie: the step's first row in an operand of `width` elements per row.
struct Walk {
  const Recurrence& r;
  int64_t step(int64_t s) const { return r.reverse ? r.steps - 1 - s : s; }  // the s-th to be walked
  template <class T>
  T* at(T* operand, int64_t s, int64_t width) const {
    return operand == nullptr ? nullptr : operand + step(s) * r.batch * width;
  }
  // The state before walked step s.
  template <class T>
  const T* before(const T* operand, const T* initial, int64_t s) const {
    return s == 0 ? initial : at(operand, s - 1, r.hidden);
  }
};

// Forward
// ---------------------------------------------------------------------------------------------------------------

// The weight [gates · hidden, hidden] as panels, one for a vector of units: for each k, a vector of every gate.
template <int kGates, class T>
void pack_forward(int64_t hidden, const T* weight, T* packed, const Team& team) {
  const auto [first, last] = team.share((hidden + kLanes<T> - 1) / kLanes<T>);
  for (int64_t panel = first; panel < last; ++panel) {
    const int64_t unit = panel * kLanes<T>, units = std::min(kLanes<T>, hidden - unit);
    for (int64_t g = 0; g < kGates; ++g) {
      const T* from = weight + (g * hidden + unit) * hidden;
      T* to = packed + (panel * hidden * kGates + g) * kLanes<T>;
      int64_t k = 0;
      for (; k + kBlock<T> <= hidden; k += kBlock<T>) {
        V<T> column[kBlock<T>];
        transpose(D<T>(), from + k, hidden, units, column);
        for (int64_t q = 0; q < kBlock<T>; ++q) hn::Store(column[q], D<T>(), to + (k + q) * kGates * kLanes<T>);
      }
      for (; k < hidden; ++k)
        for (int64_t lane = 0; lane < kLanes<T>; ++lane)  // beyond the last unit: junk that nobody stores
          to[k * kGates * kLanes<T> + lane] = from[std::min(lane, units - 1) * hidden + k];
    }
  }
}

// One step of a layer. `load` gives the sums to begin with, `finish` makes the new state of them.
template <class T>
struct LstmStep {
  static constexpr int kGates = 4, kRows = 3;
  int64_t hidden;
  const T *x, *c_before;
  T *y, *c, *gates;

  HWY_INLINE void load(int64_t row, int64_t unit, int64_t n, V<T> (&sum)[4]) const {
    const D<T> d;
    const T* from = x + row * 4 * hidden + unit;
    HWY_UNROLL(4)
    for (int g = 0; g < 4; ++g) {
      sum[g] = load_part(d, from + g * hidden, n);
      hwy::Prefetch(from + (kRows * 4 + g) * hidden);  // of the next tile
    }
  }
  HWY_INLINE void finish(int64_t row, int64_t unit, int64_t n, const V<T> (&sum)[4]) const {
    const D<T> d;
    const V<T> i = Sigmoid(d, sum[0]), f = Sigmoid(d, sum[1]), g = Tanh(d, sum[2]), o = Sigmoid(d, sum[3]);
    const int64_t at = row * hidden + unit;
    V<T> cell = hn::Mul(i, g);
    if (c_before != nullptr) cell = hn::MulAdd(f, load_part(d, c_before + at, n), cell);
    store_part(d, cell, c + at, n);
    store_part(d, hn::Mul(o, Tanh(d, cell)), y + at, n);
    T* to = gates + row * 4 * hidden + unit;
    store_part(d, i, to, n);
    store_part(d, f, to + hidden, n);
    store_part(d, g, to + 2 * hidden, n);
    store_part(d, o, to + 3 * hidden, n);
  }
};

template <class T>
struct GruStep {
  static constexpr int kGates = 3, kRows = 4;
  int64_t hidden;
  const T *x, *bias, *h_before;
  T *y, *gates;

  HWY_INLINE void load(int64_t row, int64_t unit, int64_t n, V<T> (&sum)[3]) const {
    const D<T> d;
    const T* from = x + row * 3 * hidden + unit;
    for (int g = 0; g < 3; ++g) {
      sum[g] = bias != nullptr ? load_part(d, bias + g * hidden + unit, n) : hn::Zero(d);
      if (g < 2) sum[g] = hn::Add(sum[g], load_part(d, from + g * hidden, n));
      hwy::Prefetch(from + (kRows * 3 + g) * hidden);
    }
  }
  HWY_INLINE void finish(int64_t row, int64_t unit, int64_t n, const V<T> (&sum)[3]) const {
    const D<T> d;
    const V<T> r = Sigmoid(d, sum[0]), z = Sigmoid(d, sum[1]);
    const V<T> candidate = Tanh(d, hn::MulAdd(r, sum[2], load_part(d, x + (row * 3 + 2) * hidden + unit, n)));
    const int64_t at = row * hidden + unit;
    V<T> state = hn::NegMulAdd(z, candidate, candidate);
    if (h_before != nullptr) state = hn::MulAdd(z, load_part(d, h_before + at, n), state);
    store_part(d, state, y + at, n);
    T* to = gates + row * 4 * hidden + unit;
    store_part(d, r, to, n);
    store_part(d, z, to + hidden, n);
    store_part(d, candidate, to + 2 * hidden, n);
    store_part(d, sum[2], to + 3 * hidden, n);
  }
};

template <int kRows, class Step, class T>
HWY_INLINE void forward_tile(const Step& step, const T* h, const T* panel, int64_t row, int64_t unit, int64_t n) {
  V<T> sum[kRows][Step::kGates];
  HWY_UNROLL(8)
  for (int i = 0; i < kRows; ++i) step.load(row + i, unit, n, sum[i]);
  if (h != nullptr) multiply_block<kRows, Step::kGates, T>(step.hidden, h + row * step.hidden, step.hidden, panel, sum);
  for (int i = 0; i < kRows; ++i) step.finish(row + i, unit, n, sum[i]);
}

// Rows [first, last) of one step: a panel of the weight stays in the first cache for all of them.
template <class Step, class T>
HWY_NOINLINE void forward_step(const Step& step, const T* h, const T* packed, int64_t first, int64_t last) {
  for (int64_t unit = 0; unit < step.hidden; unit += kLanes<T>) {
    const T* panel = packed + unit * step.hidden * Step::kGates;
    const int64_t n = std::min(kLanes<T>, step.hidden - unit);
    for_each_row_tile<Step::kRows>(first, last, [&](auto rows, int64_t row) HWY_ATTR {
      forward_tile<decltype(rows)::value>(step, h, panel, row, unit, n);
    });
  }
}

template <class T>
void lstm_all(const Recurrence& r, const Lstm<T>& l, void* scratch, const Team& team) {
  T* packed = static_cast<T*>(scratch);
  pack_forward<4>(r.hidden, l.weight, packed, team);
  team.barrier();
  const auto [first, last] = team.share(r.batch);
  const Walk walk{r};
  for (int64_t s = 0; s < r.steps; ++s) {
    const LstmStep<T> step{r.hidden,
                           walk.at(l.x, s, 4 * r.hidden),
                           walk.before<T>(l.c, l.c0, s),
                           walk.at(l.y, s, r.hidden),
                           walk.at(l.c, s, r.hidden),
                           walk.at(l.gates, s, 4 * r.hidden)};
    forward_step(step, walk.before<T>(l.y, l.h0, s), packed, first, last);
  }
}

template <class T>
void gru_all(const Recurrence& r, const Gru<T>& l, void* scratch, const Team& team) {
  T* packed = static_cast<T*>(scratch);
  pack_forward<3>(r.hidden, l.weight, packed, team);
  team.barrier();
  const auto [first, last] = team.share(r.batch);
  const Walk walk{r};
  for (int64_t s = 0; s < r.steps; ++s) {
    const T* h = walk.before<T>(l.y, l.h0, s);
    const GruStep<T> step{r.hidden, walk.at(l.x, s, 3 * r.hidden), l.bias,
                          h,        walk.at(l.y, s, r.hidden),     walk.at(l.gates, s, 4 * r.hidden)};
    forward_step(step, h, packed, first, last);
  }
}

// Backward
// --------------------------------------------------------------------------------------------------------------

constexpr int kVectors = 2;
template <class T>
constexpr int64_t kColumns = kVectors* kLanes<T>;

// The weight as panels of columns: what gradients of gates are multiplied by.
template <class T>
void pack_backward(int64_t rows, int64_t hidden, const T* weight, T* packed, const Team& team) {
  const auto [first, last] = team.share((hidden + kColumns<T> - 1) / kColumns<T>);
  for (int64_t panel = first; panel < last; ++panel) {
    T* to = packed + panel * rows * kColumns<T>;
    const int64_t column = panel * kColumns<T>, n = std::min(kColumns<T>, hidden - column);
    for (int64_t k = 0; k < rows; ++k, to += kColumns<T>) {
      copy_few(to, weight + k * hidden + column, n);
      std::fill(to + n, to + kColumns<T>, T(0));
    }
  }
}

// One step back. `load` gives what reaches the state besides the product with the gates' gradients of the step after;
// `finish` makes the gates' gradients of the state's gradient dh.
template <class T>
struct LstmStepBack {
  static constexpr int kRows = 6;
  int64_t hidden;
  const T *dy, *dc_given, *dgates, *gates, *c, *c_before;
  T* dc;  // by the cell state, from the step after to this one
  T* dx;

  HWY_INLINE V<T> load(int64_t row, int64_t unit, int64_t n) const {
    const D<T> d;
    const int64_t at = row * hidden + unit;
    for (int g = 0; g < 4; ++g) hwy::Prefetch(gates + (row * 4 + g) * hidden + unit);  // for finish
    hwy::Prefetch(c + at);
    return dy != nullptr ? load_part(d, dy + at, n) : hn::Zero(d);
  }
  // σ' = σ (1 - σ), tanh' = 1 - tanh².
  HWY_INLINE void store_sigmoid(T* to, int64_t n, V<T> gate, V<T> slope) const {
    store_part(D<T>(), hn::Mul(slope, hn::NegMulAdd(gate, gate, gate)), to, n);
  }
  HWY_INLINE V<T> given(const T* from, int64_t n, V<T> slope) const {
    return dgates != nullptr ? hn::Add(slope, load_part(D<T>(), dgates + (from - gates), n)) : slope;
  }
  HWY_INLINE void finish(int64_t row, int64_t unit, int64_t n, V<T> dh) const {
    const D<T> d;
    const int64_t at = row * hidden + unit, at4 = row * 4 * hidden + unit;
    const T *gi = gates + at4, *gf = gi + hidden, *gg = gf + hidden, *go = gg + hidden;
    const V<T> i = load_part(d, gi, n), f = load_part(d, gf, n), g = load_part(d, gg, n), o = load_part(d, go, n);
    const V<T> squashed = Tanh(d, load_part(d, c + at, n)), one = hn::Set(d, T(1));
    V<T> cell = load_part(d, dc + at, n);
    if (dc_given != nullptr) cell = hn::Add(cell, load_part(d, dc_given + at, n));
    cell = hn::MulAdd(hn::Mul(dh, o), hn::NegMulAdd(squashed, squashed, one), cell);
    store_part(d, hn::Mul(cell, f), dc + at, n);
    T* to = dx + at4;
    store_sigmoid(to, n, i, given(gi, n, hn::Mul(cell, g)));
    const V<T> before = c_before != nullptr ? load_part(d, c_before + at, n) : hn::Zero(d);
    store_sigmoid(to + hidden, n, f, given(gf, n, hn::Mul(cell, before)));
    store_part(d, hn::Mul(given(gg, n, hn::Mul(cell, i)), hn::NegMulAdd(g, g, one)), to + 2 * hidden, n);
    store_sigmoid(to + 3 * hidden, n, o, given(go, n, hn::Mul(dh, squashed)));
  }
};

template <class T>
struct GruStepBack {
  static constexpr int kRows = 6;
  int64_t hidden;
  const T *dy, *dgates, *gates, *h_before;
  T* carried;  // what reaches the state before past the gates: dh · z
  T *dx, *dhidden;

  HWY_INLINE V<T> load(int64_t row, int64_t unit, int64_t n) const {
    const D<T> d;
    const V<T> carry = load_part(d, carried + row * hidden + unit, n);
    return dy != nullptr ? hn::Add(carry, load_part(d, dy + row * hidden + unit, n)) : carry;
  }
  HWY_INLINE V<T> given(const T* from, int64_t n, V<T> slope) const {
    return dgates != nullptr ? hn::Add(slope, load_part(D<T>(), dgates + (from - gates), n)) : slope;
  }
  HWY_INLINE void finish(int64_t row, int64_t unit, int64_t n, V<T> dh) const {
    const D<T> d;
    const int64_t at = row * hidden + unit, at4 = row * 4 * hidden + unit;
    const T *gr = gates + at4, *gz = gr + hidden, *gn = gz + hidden, *gh = gn + hidden;
    const V<T> r = load_part(d, gr, n), z = load_part(d, gz, n), c = load_part(d, gn, n), h = load_part(d, gh, n);
    const V<T> before = h_before != nullptr ? load_part(d, h_before + at, n) : hn::Zero(d);
    store_part(d, hn::Mul(dh, z), carried + at, n);
    const V<T> one = hn::Set(d, T(1));
    const V<T> dc = hn::Mul(given(gn, n, hn::Mul(dh, hn::Sub(one, z))), hn::NegMulAdd(c, c, one));
    const V<T> dz = hn::Mul(given(gz, n, hn::Mul(dh, hn::Sub(before, c))), hn::NegMulAdd(z, z, z));
    const V<T> dr = hn::Mul(given(gr, n, hn::Mul(dc, h)), hn::NegMulAdd(r, r, r));
    const V<T> dproduct = given(gh, n, hn::Mul(dc, r));
    const int64_t at3 = row * 3 * hidden + unit;
    for (T* to : {dx + at3, dhidden + at3}) {
      store_part(d, dr, to, n);
      store_part(d, dz, to + hidden, n);
    }
    store_part(d, dc, dx + at3 + 2 * hidden, n);
    store_part(d, dproduct, dhidden + at3 + 2 * hidden, n);
  }
};

// The gradient by the initial state: the product alone, and what was carried past the gates.
template <class T>
struct InitialState {
  static constexpr int kRows = 3;  // once per sequence: not worth more forms of the loop
  int64_t hidden;
  const T* carried;
  T* dh0;
  HWY_INLINE V<T> load(int64_t row, int64_t unit, int64_t n) const {
    const D<T> d;
    return carried != nullptr ? load_part(d, carried + row * hidden + unit, n) : hn::Zero(d);
  }
  HWY_INLINE void finish(int64_t row, int64_t unit, int64_t n, V<T> dh) const {
    store_part(D<T>(), dh, dh0 + row * hidden + unit, n);
  }
};

// Rows of the product of `da` [rows, k] with the packed weight, begun by step.load and handed to step.finish. Blocks of
// k keep the panel in the first cache; sums wait in `dh` between blocks.
template <class Step, class T>
HWY_NOINLINE void backward_step(const Step& step, int64_t k, const T* da, const T* packed, T* dh, int64_t first,
                                int64_t last) {
  const D<T> d;
  const int64_t hidden = step.hidden, pitch = padded(hidden);
  for (int64_t unit = 0; unit < hidden; unit += kColumns<T>) {
    for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
      const int64_t depth = std::min(kBlockK, k - k0);
      const bool begins = k0 == 0, ends = k0 + depth == k;
      const T* panel = packed + (unit * k + k0 * kColumns<T>);
      for_each_row_tile<Step::kRows>(first, last, [&](auto rows, int64_t row) HWY_ATTR {
        constexpr int kTile = decltype(rows)::value;
        V<T> sum[kTile][kVectors];
        HWY_UNROLL(8)
        for (int i = 0; i < kTile; ++i) HWY_UNROLL(2)
        for (int v = 0; v < kVectors; ++v) {
          const int64_t at = unit + v * kLanes<T>;
          sum[i][v] = !begins       ? hn::LoadU(d, dh + (row + i) * pitch + at)
                      : at < hidden ? step.load(row + i, at, hidden - at)
                                    : hn::Zero(d);
        }
        multiply_block<kTile, kVectors, T>(depth, da + row * k + k0, k, panel, sum);
        for (int i = 0; i < kTile; ++i)
          for (int v = 0; v < kVectors; ++v) {
            const int64_t at = unit + v * kLanes<T>;
            if (!ends)
              hn::StoreU(sum[i][v], d, dh + (row + i) * pitch + at);
            else if (at < hidden)
              step.finish(row + i, at, hidden - at, sum[i][v]);
          }
      });
    }
  }
}

// The last step of the walk: no product reaches it.
template <class T, class Step>
HWY_NOINLINE void backward_first(const Step& step, int64_t first, int64_t last) {
  for (int64_t row = first; row < last; ++row)
    for (int64_t unit = 0; unit < step.hidden; unit += kLanes<T>)
      step.finish(row, unit, step.hidden - unit, step.load(row, unit, step.hidden - unit));
}

// What both gradients keep in scratch: the packed weight, sums between blocks of k, a state carried from step to step.
template <class T>
struct BackScratch {
  T *packed, *dh, *carried;
  BackScratch(const Recurrence& r, int64_t gates, void* scratch) {
    packed = static_cast<T*>(scratch);
    dh = packed + gates * r.hidden * padded(r.hidden);
    carried = dh + r.batch * padded(r.hidden);
  }
};

template <class T>
void lstm_grad_all(const Recurrence& r, const LstmGrad<T>& l, void* scratch, const Team& team) {
  const int64_t h = r.hidden, width = 4 * h;
  BackScratch<T> own(r, 4, scratch);
  if (l.dc0 != nullptr) own.carried = l.dc0;
  pack_backward(width, h, l.weight, own.packed, team);
  team.barrier();
  const auto [first, last] = team.share(r.batch);
  std::fill(own.carried + first * h, own.carried + last * h, T(0));
  const Walk walk{r};
  for (int64_t s = r.steps - 1; s >= 0; --s) {
    const LstmStepBack<T> step{h,
                               walk.at(l.dy, s, h),
                               walk.at(l.dc, s, h),
                               walk.at(l.dgates, s, width),
                               walk.at(l.gates, s, width),
                               walk.at(l.c, s, h),
                               walk.before(l.c, l.c0, s),
                               own.carried,
                               walk.at(l.dx, s, width)};
    if (s == r.steps - 1)
      backward_first<T>(step, first, last);
    else
      backward_step(step, width, walk.at<const T>(l.dx, s + 1, width), own.packed, own.dh, first, last);
  }
  if (l.dh0 != nullptr)
    backward_step(InitialState<T>{h, nullptr, l.dh0}, width, walk.at<const T>(l.dx, 0, width), own.packed, own.dh,
                  first, last);
}

template <class T>
void gru_grad_all(const Recurrence& r, const GruGrad<T>& l, void* scratch, const Team& team) {
  const int64_t h = r.hidden, width = 3 * h;
  const BackScratch<T> own(r, 3, scratch);
  pack_backward(width, h, l.weight, own.packed, team);
  team.barrier();
  const auto [first, last] = team.share(r.batch);
  std::fill(own.carried + first * h, own.carried + last * h, T(0));
  const Walk walk{r};
  for (int64_t s = r.steps - 1; s >= 0; --s) {
    const GruStepBack<T> step{h,
                              walk.at(l.dy, s, h),
                              walk.at(l.dgates, s, 4 * h),
                              walk.at(l.gates, s, 4 * h),
                              walk.before(l.y, l.h0, s),
                              own.carried,
                              walk.at(l.dx, s, width),
                              walk.at(l.dhidden, s, width)};
    if (s == r.steps - 1)
      backward_first<T>(step, first, last);
    else
      backward_step(step, width, walk.at<const T>(l.dhidden, s + 1, width), own.packed, own.dh, first, last);
  }
  if (l.dh0 != nullptr)
    backward_step(InitialState<T>{h, own.carried, l.dh0}, width, walk.at<const T>(l.dhidden, 0, width), own.packed,
                  own.dh, first, last);
}

}  // namespace

#define INGOT_RECURRENT(T, suffix)                                                                            \
  void lstm_##suffix(const Recurrence& r, const Lstm<T>& l, void* s, const Team& t) { lstm_all(r, l, s, t); } \
  void gru_##suffix(const Recurrence& r, const Gru<T>& l, void* s, const Team& t) { gru_all(r, l, s, t); }    \
  void lstm_grad_##suffix(const Recurrence& r, const LstmGrad<T>& l, void* s, const Team& t) {                \
    lstm_grad_all(r, l, s, t);                                                                                \
  }                                                                                                           \
  void gru_grad_##suffix(const Recurrence& r, const GruGrad<T>& l, void* s, const Team& t) { gru_grad_all(r, l, s, t); }
INGOT_RECURRENT(float, f32)
INGOT_RECURRENT(double, f64)
#undef INGOT_RECURRENT

}  // namespace ingot::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::kernels {

size_t recurrent_scratch(const Recurrence& r, int64_t gates, size_t element_size) {
  const int64_t elements = (gates * r.hidden + 2 * r.batch) * padded(r.hidden);
  return static_cast<size_t>(elements) * element_size;
}

#define INGOT_RECURRENT(name, Args)                                                        \
  template <>                                                                              \
  void name(const Recurrence& r, const Args<float>& l, void* scratch, const Team& team) {  \
    INGOT_DISPATCH(name##_f32)(r, l, scratch, team);                                       \
  }                                                                                        \
  template <>                                                                              \
  void name(const Recurrence& r, const Args<double>& l, void* scratch, const Team& team) { \
    INGOT_DISPATCH(name##_f64)(r, l, scratch, team);                                       \
  }
INGOT_RECURRENT(lstm, Lstm)
INGOT_RECURRENT(lstm_grad, LstmGrad)
INGOT_RECURRENT(gru, Gru)
INGOT_RECURRENT(gru_grad, GruGrad)
#undef INGOT_RECURRENT

}  // namespace ingot::kernels
#endif
