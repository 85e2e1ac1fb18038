#include "gates/soft.h"

#include <algorithm>
#include <cstring>

#include "gates/soft_plan.h"
#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gates/soft.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace ingot::gates::soft::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using D = hn::ScalableTag<T>;
template <class T>
using V = hn::Vec<D<T>>;
template <class T>
constexpr int64_t kLanes = HWY_LANES(T);

// One tile
// ------------------------------------------------------------------------------------------------------------

// kAdds: are there gates that add to the one before? Automata have none, and no branch for them.
template <int kVectors, bool kAdds, class T>
HWY_NOINLINE void forward(const GateStep* HWY_RESTRICT steps, int64_t count, const T* HWY_RESTRICT coefficients,
                          T* signals) {
  const D<T> d;
  for (const GateStep* s = steps; s < steps + count; ++s) {
    const T *a = signals + s->a, *b = signals + s->b, *c = coefficients + s->coefficients;
    T* result = signals + s->result;
    if constexpr (kAdds)
      if (s->coefficients < 0) {
        c = coefficients + (-1 - s->coefficients);
        const V<T> c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]);
        HWY_UNROLL(16)
        for (int v = 0; v < kVectors; ++v) {
          const int64_t at = v * kLanes<T>;
          const V<T> sum = hn::MulAdd(c1, hn::Load(d, a + at), hn::Load(d, result + at));
          hn::Store(hn::MulAdd(c2, hn::Load(d, b + at), sum), d, result + at);
        }
        continue;
      }
    const V<T> c0 = hn::Set(d, c[0]), c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      const V<T> x = hn::Load(d, a + v * kLanes<T>), y = hn::Load(d, b + v * kLanes<T>);
      hn::Store(hn::MulAdd(y, hn::MulAdd(c3, x, c2), hn::MulAdd(c1, x, c0)), d, result + v * kLanes<T>);
    }
  }
}

// to[0..3] += the sums of four vectors' lanes.
template <class T>
HWY_INLINE void add_sums(const V<T>& s0, const V<T>& s1, const V<T>& s2, const V<T>& s3, T* HWY_RESTRICT to) {
  const D<T> d;
  if constexpr (sizeof(T) == 4 && HWY_LANES(T) <= 8) {
    const V<T> even = hn::Add(hn::InterleaveLower(d, s0, s2), hn::InterleaveUpper(d, s0, s2));
    const V<T> odd = hn::Add(hn::InterleaveLower(d, s1, s3), hn::InterleaveUpper(d, s1, s3));
    const V<T> all = hn::Add(hn::InterleaveLower(d, even, odd), hn::InterleaveUpper(d, even, odd));
    const hn::FixedTag<T, 4> quarter;
    if constexpr (HWY_LANES(T) == 8) {
      const auto sum = hn::Add(hn::LowerHalf(quarter, all), hn::UpperHalf(quarter, all));
      hn::Store(hn::Add(hn::Load(quarter, to), sum), quarter, to);
    } else {
      hn::Store(hn::Add(hn::Load(quarter, to), all), quarter, to);
    }
  } else {
    to[0] += hn::GetLane(hn::SumOfLanes(d, s0));
    to[1] += hn::GetLane(hn::SumOfLanes(d, s1));
    to[2] += hn::GetLane(hn::SumOfLanes(d, s2));
    to[3] += hn::GetLane(hn::SumOfLanes(d, s3));
  }
}

// From the outputs' rows of the gradient area to the inputs'.
template <int kVectors, bool kAdds, class T>
HWY_NOINLINE void backward(const GateBack* HWY_RESTRICT back, int64_t count, const T* HWY_RESTRICT coefficients,
                           const T* HWY_RESTRICT signals, T* gradients, T* HWY_RESTRICT sums) {
  const D<T> d;
  for (const GateBack* gate = back; gate < back + count; ++gate, sums += 4) {
    const T *a = signals + gate->a, *b = signals + gate->b, *c = coefficients + gate->coefficients;
    const T *g = gradients + gate->result, *from_a = gradients + gate->from_a, *from_b = gradients + gate->from_b;
    T *to_a = gradients + gate->to_a, *to_b = gradients + gate->to_b;
    if constexpr (kAdds)
      if (gate->coefficients < 0) {
        c = coefficients + (-1 - gate->coefficients);
        const V<T> c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]);
        V<T> s1 = hn::Zero(d), s2 = s1;
        HWY_UNROLL(16)
        for (int v = 0; v < kVectors; ++v) {
          const int64_t at = v * kLanes<T>;
          const V<T> dy = hn::Load(d, g + at);
          s1 = hn::MulAdd(dy, hn::Load(d, a + at), s1);
          s2 = hn::MulAdd(dy, hn::Load(d, b + at), s2);
          hn::Store(hn::MulAdd(dy, c1, hn::Load(d, from_a + at)), d, to_a + at);
          hn::Store(hn::MulAdd(dy, c2, hn::Load(d, from_b + at)), d, to_b + at);
        }
        add_sums<T>(hn::Zero(d), s1, s2, hn::Zero(d), sums);
        continue;
      }
    const V<T> c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]), c3 = hn::Set(d, c[3]);
    V<T> s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0;
    HWY_UNROLL(16)
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = v * kLanes<T>;
      const V<T> x = hn::Load(d, a + at), y = hn::Load(d, b + at);
      const V<T> dy = hn::Load(d, g + at), dy_x = hn::Mul(dy, x);
      s0 = hn::Add(s0, dy);
      s1 = hn::Add(s1, dy_x);
      s2 = hn::MulAdd(dy, y, s2);
      s3 = hn::MulAdd(dy_x, y, s3);
      hn::Store(hn::MulAdd(dy, hn::MulAdd(c3, y, c1), hn::Load(d, from_a + at)), d, to_a + at);
      // Behind the store: from_b is to_a where a gate reads one signal twice.
      hn::Store(hn::MulAdd(dy, hn::MulAdd(c3, x, c2), hn::Load(d, from_b + at)), d, to_b + at);
    }
    add_sums<T>(s0, s1, s2, s3, sums);
  }
}

template <class T>
struct TileLoops {
  void (*forward)(const GateStep*, int64_t, const T*, T*);
  void (*backward)(const GateBack*, int64_t, const T*, const T*, T*, T*);
};

// The loops for tiles of so many lanes.
template <bool kAdds, class T>
TileLoops<T> loops_for(int64_t tile) {
  constexpr int kMost = static_cast<int>(kMostLanes * 4 / static_cast<int64_t>(sizeof(T)) / kLanes<T>);
  switch (kMost * kLanes<T> / tile) {
    case 1: return {forward<kMost, kAdds, T>, backward<kMost, kAdds, T>};
    case 2: return {forward<kMost / 2, kAdds, T>, backward<kMost / 2, kAdds, T>};
    default: return {forward<kMost / 4, kAdds, T>, backward<kMost / 4, kAdds, T>};
  }
}
template <class T>
TileLoops<T> loops_for(const GateProgram& p, int64_t tile) {
  for (int64_t i = 0; i < p.gates; ++i)
    if (p.adds(i)) return loops_for<true, T>(tile);
  return loops_for<false, T>(tile);
}

// What one member of the team works with.
template <class T>
struct Bench {
  T* signals;              // of the tile
  T* gradients = nullptr;  // of the tile, on the way back
  T* sums = nullptr;  // [groups][walked][4]: in the order of the walk back, which memory likes better than any other
  const GateStep* steps;
  const GateBack* back = nullptr;
  int64_t count, walked = 0;  // gates of steps, and of back
  TileLoops<T> loops;

  void forward(const T* coefficients) const { loops.forward(steps, count, coefficients, signals); }
  void backward(const T* coefficients, int64_t group) const {
    loops.backward(back, walked, coefficients, signals, gradients, sums + group * walked * 4);
  }
};

template <class T>
Bench<T> set_up(const GateProgram& p, const Tiling& tiling, bool backward, Pieces& pieces, const Team& team) {
  Bench<T> bench;
  const int64_t signals = p.inputs + p.gates, tile = tiling.tile;
  auto* plan_size = pieces.take<int64_t>(1);
  bench.loops = loops_for<T>(p, tile);
  bench.signals = pieces.take<T>(signals * tile * team.size()) + signals * tile * team.rank();
  auto* steps = pieces.take<GateStep>(p.gates);
  auto* row_of = pieces.take<int32_t>(2 * signals);
  auto* freed = pieces.take<int32_t>(signals);
  bench.steps = steps;
  if (!backward) {
    if (team.rank() == 0) *plan_size = plan_forward_only(p, static_cast<int32_t>(tile), steps, row_of, freed);
    team.barrier();
    bench.count = *plan_size;
    return bench;
  }
  T* gradients = pieces.take<T>((signals + 1) * tile * team.size());
  bench.gradients = gradients + (signals + 1) * tile * team.rank();
  auto* back = pieces.take<GateBack>(p.gates);
  if (team.rank() == 0) {
    plan_forward(p, static_cast<int32_t>(tile), steps, row_of);
    *plan_size = plan_backward(p, static_cast<int32_t>(tile), steps, back, row_of, freed);
  }
  std::fill_n(bench.gradients + (p.inputs + p.outputs) * tile, tile, T(0));
  bench.back = back;
  bench.count = p.gates;
  bench.sums = pieces.take<T>(tiling.groups * p.gates * 4);
  team.barrier();
  bench.walked = *plan_size;
  const auto [first, last] = team.share(tiling.groups);
  std::fill(bench.sums + first * bench.walked * 4, bench.sums + last * bench.walked * 4, T(0));
  return bench;
}

// The sums of all groups, in their order, and of all gates that share a row, in that of the walk.
template <class T>
void add_up(const GateProgram& p, const Tiling& tiling, const Bench<T>& bench, T* result, const Team& team) {
  team.barrier();
  const auto [first, last] = team.share(bench.walked * 4);
  for (int64_t g = 1; g < tiling.groups; ++g)
    for (int64_t k = first; k < last; ++k) bench.sums[k] += bench.sums[g * bench.walked * 4 + k];
  team.barrier();
  if (team.rank() != 0) return;
  std::fill(result, result + p.rows * 4, T(0));
  if (tiling.groups == 0) return;
  for (int64_t i = 0; i < bench.walked; ++i) {
    const int32_t place = bench.back[i].coefficients;
    for (int64_t k = 0; k < 4; ++k) result[(place < 0 ? -1 - place : place) + k] += bench.sums[4 * i + k];
  }
}

// Calls f(tile, group) for this member's tiles: those of its groups.
template <class F>
HWY_INLINE void for_each_tile(const Tiling& tiling, const Team& team, F f) {
  const auto [first, last] = team.share(tiling.groups);
  for (int64_t g = first; g < last; ++g)
    for (int64_t t = tiling.first_tile(g); t < tiling.first_tile(g + 1); ++t) f(t, g);
}

// Samples
// ---------------------------------------------------------------------------------------------------------------

// Rows of [batch, n] to lanes of [n][tile], and back. Lanes beyond the batch are zero.
template <class T>
void to_lanes(const T* rows, int64_t n, int64_t count, int64_t tile, T* lanes) {
  constexpr int64_t kBlock = 64;  // columns whose lines stay in the first cache
  for (int64_t k0 = 0; k0 < n; k0 += kBlock)
    for (int64_t lane = 0; lane < tile; ++lane)
      for (int64_t k = k0; k < std::min(n, k0 + kBlock); ++k)
        lanes[k * tile + lane] = lane < count ? rows[lane * n + k] : T(0);
}
template <class T>
void from_lanes(const T* lanes, int64_t n, int64_t count, int64_t tile, T* rows) {
  constexpr int64_t kBlock = 64;
  for (int64_t k0 = 0; k0 < n; k0 += kBlock)
    for (int64_t lane = 0; lane < count; ++lane)
      for (int64_t k = k0; k < std::min(n, k0 + kBlock); ++k) rows[lane * n + k] = lanes[k * tile + lane];
}

template <class T>
void network_all(const GateNetwork<T>& n, void* scratch, const Team& team) {
  const GateProgram& p = n.program;
  const Tiling tiling(p, n.batch, false, sizeof(T));
  Pieces pieces(scratch);
  const Bench<T> bench = set_up<T>(p, tiling, false, pieces, team);
  for_each_tile(tiling, team, [&](int64_t t, int64_t) {
    const int64_t row = t * tiling.tile, count = tiling.count(t);
    to_lanes(n.x + row * p.inputs, p.inputs, count, tiling.tile, bench.signals);
    bench.forward(n.coefficients);
    from_lanes(bench.signals + p.inputs * tiling.tile, p.outputs, count, tiling.tile, n.y + row * p.outputs);
  });
}

template <class T>
void network_grad_all(const GateNetworkGrad<T>& n, void* scratch, const Team& team) {
  const GateProgram& p = n.program;
  const Tiling tiling(p, n.batch, true, sizeof(T));
  Pieces pieces(scratch);
  const Bench<T> bench = set_up<T>(p, tiling, true, pieces, team);
  for_each_tile(tiling, team, [&](int64_t t, int64_t group) {
    const int64_t row = t * tiling.tile, count = tiling.count(t);
    to_lanes(n.x + row * p.inputs, p.inputs, count, tiling.tile, bench.signals);
    bench.forward(n.coefficients);
    std::fill(bench.gradients, bench.gradients + p.inputs * tiling.tile, T(0));  // some may be read by nobody
    to_lanes(n.dy + row * p.outputs, p.outputs, count, tiling.tile, bench.gradients + p.inputs * tiling.tile);
    bench.backward(n.coefficients, group);
    from_lanes(bench.gradients, p.inputs, count, tiling.tile, n.dx + row * p.inputs);
  });
  add_up(p, tiling, bench, n.dcoefficients, team);
}

// Cells
// -----------------------------------------------------------------------------------------------------------------

// Calls f(batch, y, x, n, lane) for the runs of cells in one row of the grid that a tile is made of.
template <class F>
HWY_INLINE void for_each_run(const CellField& f, int64_t first, int64_t count, F call) {
  for (int64_t lane = 0; lane < count;) {
    const int64_t cell = first + lane, x = cell % f.width, row = cell / f.width;
    const int64_t n = std::min(f.width - x, count - lane);
    call(row / f.height, row % f.height, x, n, lane);
    lane += n;
  }
}

// The row that lies dy (and dx) further, or -1 beyond a border.
HWY_INLINE int64_t moved(int64_t at, int64_t by, int64_t size, bool wrap) {
  const int64_t to = at + by;
  if (to >= 0 && to < size) return to;
  return wrap ? (to + size) % size : -1;
}

// to[i] = row[x + i] (or += with kAdd), where x may be one before the row or reach one behind it.
template <bool kAdd, class T>
HWY_INLINE void take_row(const T* row, int64_t width, int64_t x, int64_t n, bool wrap, T* to) {
  const int64_t first = x < 0 ? 1 : 0, last = x + n > width ? n - 1 : n;
  const auto put = [](T* at, T value) { *at = kAdd ? *at + value : value; };
  if (first > 0) put(to, wrap ? row[width - 1] : T(0));
  for (int64_t i = first; i < last; ++i) put(to + i, row[x + i]);
  if (last < n) put(to + last, wrap ? row[0] : T(0));
}

// The neighbourhoods of a tile's cells as the program's inputs.
template <class T>
HWY_NOINLINE void look_around(const CellField& f, const T* state, int64_t first, int64_t count, int64_t tile,
                              T* inputs) {
  if (count < tile) std::fill(inputs, inputs + 9 * f.channels * tile, T(0));
  for_each_run(f, first, count, [&](int64_t b, int64_t y, int64_t x, int64_t n, int64_t lane) {
    for (int64_t dy = -1; dy <= 1; ++dy) {
      const int64_t from = moved(y, dy, f.height, f.wrap);
      for (int64_t c = 0; c < f.channels; ++c) {
        T* to = inputs + (9 * c + 3 * (dy + 1)) * tile + lane;
        if (from < 0) {
          for (int64_t k = 0; k < 3; ++k) std::fill(to + k * tile, to + k * tile + n, T(0));
          continue;
        }
        const T* row = state + ((b * f.channels + c) * f.height + from) * f.width;
        for (int64_t dx = -1; dx <= 1; ++dx) take_row<false>(row, f.width, x + dx, n, f.wrap, to + (dx + 1) * tile);
      }
    }
  });
}

// Calls f(lane, place in a state, place in a mask, n) for the runs of every channel of a tile.
template <class F>
HWY_INLINE void for_each_channel_run(const CellField& f, int64_t first, int64_t count, F call) {
  for_each_run(f, first, count, [&](int64_t b, int64_t y, int64_t x, int64_t n, int64_t lane) {
    for (int64_t c = 0; c < f.channels; ++c)
      call(c, lane, ((b * f.channels + c) * f.height + y) * f.width + x, (b * f.height + y) * f.width + x, n);
  });
}

template <class T>
void automaton_all(const GateAutomaton<T>& a, void* scratch, const Team& team) {
  const GateProgram& p = a.program;
  const CellField& f = a.field;
  const Tiling tiling(p, f.cells(), false, sizeof(T));
  Pieces pieces(scratch);
  const Bench<T> bench = set_up<T>(p, tiling, false, pieces, team);
  const auto [begin, end] = team.share(f.elements());
  std::copy(a.state + begin, a.state + end, a.states + begin);
  const T* outputs = bench.signals + p.inputs * tiling.tile;
  for (int64_t s = 0; s < f.steps; ++s) {
    const T* before = a.states + s * f.elements();
    T* after = a.states + (s + 1) * f.elements();
    const uint8_t* fire = a.fire == nullptr ? nullptr : a.fire + s * f.cells();
    team.barrier();
    for_each_tile(tiling, team, [&](int64_t t, int64_t) {
      const int64_t first = t * tiling.tile, count = tiling.count(t);
      look_around(f, before, first, count, tiling.tile, bench.signals);
      bench.forward(a.coefficients);
      for_each_channel_run(f, first, count, [&](int64_t c, int64_t lane, int64_t at, int64_t cell, int64_t n) {
        const T* next = outputs + c * tiling.tile + lane;
        if (fire == nullptr) {
          std::copy(next, next + n, after + at);
        } else {
          for (int64_t i = 0; i < n; ++i) after[at + i] = fire[cell + i] != 0 ? next[i] : before[at + i];
        }
      });
    });
  }
}

// dstate, which holds the gradient by the state after a step, becomes that by the state before: what every cell's
// inputs say of this one, what it kept, and what is wanted of the state itself.
template <class T>
HWY_NOINLINE void look_back(const CellField& f, const T* inputs, int64_t row_step, const uint8_t* fire, const T* wanted,
                            T* dstate, const Team& team) {
  const auto [first, last] = team.share(f.batch * f.channels * f.height);
  for (int64_t r = first; r < last; ++r) {
    const int64_t y = r % f.height, c = r / f.height % f.channels, b = r / f.height / f.channels;
    T* to = dstate + r * f.width;
    const T* own = wanted + r * f.width;
    if (fire == nullptr) {
      std::copy(own, own + f.width, to);
    } else {
      const uint8_t* fires = fire + (b * f.height + y) * f.width;
      for (int64_t x = 0; x < f.width; ++x) to[x] = own[x] + (fires[x] != 0 ? T(0) : to[x]);
    }
    for (int64_t dy = -1; dy <= 1; ++dy) {
      const int64_t from = moved(y, -dy, f.height, f.wrap);
      if (from < 0) continue;
      for (int64_t dx = -1; dx <= 1; ++dx) {
        const int64_t k = 9 * c + 3 * (dy + 1) + dx + 1;
        take_row<true>(inputs + k * row_step + (b * f.height + from) * f.width, f.width, -dx, f.width, f.wrap, to);
      }
    }
  }
}

template <class T>
void automaton_grad_all(const GateAutomatonGrad<T>& a, void* scratch, const Team& team) {
  const GateProgram& p = a.program;
  const CellField& f = a.field;
  const Tiling tiling(p, f.cells(), true, sizeof(T));
  Pieces pieces(scratch);
  T* inputs = pieces.take<T>(9 * f.channels * tiling.padded());  // gradients by all cells' inputs
  const Bench<T> bench = set_up<T>(p, tiling, true, pieces, team);
  const auto [begin, end] = team.share(f.elements());
  const T* wanted = a.dstates + f.steps * f.elements();
  std::copy(wanted + begin, wanted + end, a.dstate + begin);
  const int64_t tile = tiling.tile;
  T* outputs = bench.gradients + p.inputs * tile;
  for (int64_t s = f.steps - 1; s >= 0; --s) {
    const T* before = a.states + s * f.elements();
    const uint8_t* fire = a.fire == nullptr ? nullptr : a.fire + s * f.cells();
    team.barrier();
    for_each_tile(tiling, team, [&](int64_t t, int64_t group) {
      const int64_t first = t * tile, count = tiling.count(t);
      look_around(f, before, first, count, tile, bench.signals);
      bench.forward(a.coefficients);
      std::fill(bench.gradients, bench.gradients + p.inputs * tile, T(0));
      if (count < tile) std::fill(outputs, outputs + p.outputs * tile, T(0));
      for_each_channel_run(f, first, count, [&](int64_t c, int64_t lane, int64_t at, int64_t cell, int64_t n) {
        T* to = outputs + c * tile + lane;
        for (int64_t i = 0; i < n; ++i) to[i] = fire == nullptr || fire[cell + i] != 0 ? a.dstate[at + i] : T(0);
      });
      bench.backward(a.coefficients, group);
      for (int64_t k = 0; k < p.inputs; ++k)
        std::copy(bench.gradients + k * tile, bench.gradients + (k + 1) * tile, inputs + k * tiling.padded() + first);
    });
    team.barrier();
    look_back(f, inputs, tiling.padded(), fire, a.dstates + s * f.elements(), a.dstate, team);
  }
  add_up(p, tiling, bench, a.dcoefficients, team);
}

}  // namespace

#define INGOT_GATES(T, suffix)                                                                                        \
  void gate_network_##suffix(const GateNetwork<T>& n, void* s, const Team& t) { network_all(n, s, t); }               \
  void gate_network_grad_##suffix(const GateNetworkGrad<T>& n, void* s, const Team& t) { network_grad_all(n, s, t); } \
  void gate_automaton_##suffix(const GateAutomaton<T>& a, void* s, const Team& t) { automaton_all(a, s, t); }         \
  void gate_automaton_grad_##suffix(const GateAutomatonGrad<T>& a, void* s, const Team& t) {                          \
    automaton_grad_all(a, s, t);                                                                                      \
  }
INGOT_GATES(float, f32)
INGOT_GATES(double, f64)
#undef INGOT_GATES

}  // namespace ingot::gates::soft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::gates::soft {
#define INGOT_GATES(name, Args)                                       \
  template <>                                                         \
  void name(const Args<float>& a, void* scratch, const Team& team) {  \
    INGOT_DISPATCH(name##_f32)(a, scratch, team);                     \
  }                                                                   \
  template <>                                                         \
  void name(const Args<double>& a, void* scratch, const Team& team) { \
    INGOT_DISPATCH(name##_f64)(a, scratch, team);                     \
  }
INGOT_GATES(gate_network, GateNetwork)
INGOT_GATES(gate_network_grad, GateNetworkGrad)
INGOT_GATES(gate_automaton, GateAutomaton)
INGOT_GATES(gate_automaton_grad, GateAutomatonGrad)
#undef INGOT_GATES

}  // namespace ingot::gates::soft
#endif
