#include "logic/tensor/diagram_kernels.h"

#include <algorithm>
#include <cstddef>

#include "ingot/base/dispatch.h"

// Plain loops, which the compiler turns into vectors of each target.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/tensor/diagram_kernels.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::logic::HWY_NAMESPACE {
namespace {

constexpr int64_t kLanes = 16;  // samples side by side

size_t rows_of(const Diagram& d) { return static_cast<size_t>(d.count + 2 + d.coins); }
size_t scratch_of_one(const Diagram& d, bool grad, size_t element_size) {
  return rows_of(d) * (grad ? 2 : 1) * static_cast<size_t>(kLanes) * element_size;
}

// Some samples: weights of the coins in columns, and the values of all nodes.
template <class T>
class Tile {
 public:
  Tile(const Diagram& d, void* scratch, const Team& team, bool grad) : d_(d) {
    auto* own =
        static_cast<std::byte*>(scratch) + static_cast<size_t>(team.rank()) * scratch_of_one(d, grad, sizeof(T));
    values_ = reinterpret_cast<T*>(own);
    weights_ = values_ + (d.count + 2) * kLanes;
    dvalues_ = weights_ + d.coins * kLanes;
    dweights_ = dvalues_ + (d.count + 2) * kLanes;
  }

  void forward(const T* weights, int64_t samples) {
    for (int64_t c = 0; c < d_.coins; c++)
      for (int64_t l = 0; l < kLanes; l++) weights_[c * kLanes + l] = l < samples ? weights[l * d_.coins + c] : T(0);
    std::fill(values_, values_ + kLanes, T(0));
    std::fill(values_ + kLanes, values_ + 2 * kLanes, T(1));
    for (int64_t k = 0; k < d_.count; k++) {
      const int32_t* n = d_.nodes + 3 * k;
      const T *w = weights_ + n[0] * kLanes, *low = values_ + n[1] * kLanes, *high = values_ + n[2] * kLanes;
      T* v = values_ + (k + 2) * kLanes;
      for (int64_t l = 0; l < kLanes; l++) v[l] = w[l] * high[l] + (1 - w[l]) * low[l];
    }
  }
  void outputs(T* y, int64_t samples) const {
    const T* first = values_ + (2 + d_.count - d_.outputs) * kLanes;
    for (int64_t o = 0; o < d_.outputs; o++)
      for (int64_t l = 0; l < samples; l++) y[l * d_.outputs + o] = first[o * kLanes + l];
  }
  void backward(const T* dy, T* dweights, int64_t samples) {
    std::fill(dvalues_, dvalues_ + static_cast<int64_t>(rows_of(d_)) * kLanes, T(0));
    T* first = dvalues_ + (2 + d_.count - d_.outputs) * kLanes;
    for (int64_t o = 0; o < d_.outputs; o++)
      for (int64_t l = 0; l < samples; l++) first[o * kLanes + l] = dy[l * d_.outputs + o];
    for (int64_t k = d_.count; k-- > 0;) {
      const int32_t* n = d_.nodes + 3 * k;
      const T *w = weights_ + n[0] * kLanes, *low = values_ + n[1] * kLanes, *high = values_ + n[2] * kLanes,
              *d = dvalues_ + (k + 2) * kLanes;
      T *dw = dweights_ + n[0] * kLanes, *dlow = dvalues_ + n[1] * kLanes, *dhigh = dvalues_ + n[2] * kLanes;
      for (int64_t l = 0; l < kLanes; l++) dw[l] += d[l] * (high[l] - low[l]);
      for (int64_t l = 0; l < kLanes; l++) dlow[l] += d[l] * (1 - w[l]);  // low and high may be one
      for (int64_t l = 0; l < kLanes; l++) dhigh[l] += d[l] * w[l];
    }
    for (int64_t c = 0; c < d_.coins; c++)
      for (int64_t l = 0; l < samples; l++) dweights[l * d_.coins + c] = dweights_[c * kLanes + l];
  }

 private:
  const Diagram& d_;
  T *values_, *weights_, *dvalues_, *dweights_;
};

template <class F>
void each_tile(int64_t batch, const Team& team, F f) {
  const auto [first, last] = team.share((batch + kLanes - 1) / kLanes);
  for (int64_t t = first; t < last; t++) f(t * kLanes, std::min(kLanes, batch - t * kLanes));
}

template <class T>
void values(const DiagramValues<T>& x, void* scratch, const Team& team) {
  Tile<T> tile(x.diagram, scratch, team, false);
  each_tile(x.batch, team, [&](int64_t at, int64_t samples) {
    tile.forward(x.weights + at * x.diagram.coins, samples);
    tile.outputs(x.y + at * x.diagram.outputs, samples);
  });
}

template <class T>
void grad(const DiagramGrad<T>& x, void* scratch, const Team& team) {
  Tile<T> tile(x.diagram, scratch, team, true);
  each_tile(x.batch, team, [&](int64_t at, int64_t samples) {
    tile.forward(x.weights + at * x.diagram.coins, samples);
    tile.backward(x.dy + at * x.diagram.outputs, x.dweights + at * x.diagram.coins, samples);
  });
}

}  // namespace

void values_f32(const DiagramValues<float>& x, void* scratch, const Team& team) { values(x, scratch, team); }
void values_f64(const DiagramValues<double>& x, void* scratch, const Team& team) { values(x, scratch, team); }
void grad_f32(const DiagramGrad<float>& x, void* scratch, const Team& team) { grad(x, scratch, team); }
void grad_f64(const DiagramGrad<double>& x, void* scratch, const Team& team) { grad(x, scratch, team); }
size_t scratch_bytes(const Diagram& d, bool grad, size_t element_size) { return scratch_of_one(d, grad, element_size); }

}  // namespace ingot::logic::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::logic {

size_t diagram_scratch(const Diagram& d, bool grad, size_t element_size, int team) {
  return HWY_STATIC_DISPATCH(scratch_bytes)(d, grad, element_size) * static_cast<size_t>(team);
}

template <>
void diagram_values(const DiagramValues<float>& x, void* scratch, const Team& team) {
  INGOT_DISPATCH(values_f32)(x, scratch, team);
}
template <>
void diagram_values(const DiagramValues<double>& x, void* scratch, const Team& team) {
  INGOT_DISPATCH(values_f64)(x, scratch, team);
}
template <>
void diagram_grad(const DiagramGrad<float>& x, void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_f32)(x, scratch, team);
}
template <>
void diagram_grad(const DiagramGrad<double>& x, void* scratch, const Team& team) {
  INGOT_DISPATCH(grad_f64)(x, scratch, team);
}

}  // namespace ingot::logic
#endif  // HWY_ONCE
