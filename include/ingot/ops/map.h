// map: a user's own element-wise function as an op like any other.
#pragma once
#include <memory>
#include <type_traits>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/options.h"

namespace ingot {

/// A function of one to three numbers, applied element by element, with optional partial derivatives. The callables
/// take and return float or double (write them with `auto`). A Plan that uses the function shares its state.
///
///   const MapFunction softsign("softsign", [](auto x) { return x / (1 + std::abs(x)); },
///                              [](auto x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); });
///   Tensor y = map(softsign, x);
class MapFunction {
 public:
  template <class F, class... Derivatives>
  explicit MapFunction(const char* name, F fn, Derivatives... derivatives) : name_(name), inputs_(arity<F>()) {
    static_assert(sizeof...(Derivatives) == 0 || sizeof...(Derivatives) == arity<F>(),
                  "give one derivative per argument of the function, or none");
    parts_[0] = part<arity<F>()>(std::move(fn));
    [[maybe_unused]] int i = 1;
    ((parts_[i++] = part<arity<F>()>(std::move(derivatives))), ...);
    differentiable_ = sizeof...(Derivatives) > 0;
  }
  const char* name() const { return name_; }
  int inputs() const { return inputs_; }
  bool differentiable() const { return differentiable_; }
  /// Is it a copy of the other?
  bool same_as(const MapFunction& other) const { return identity() == other.identity(); }
  /// What a function and its copies have in common.
  const void* identity() const { return parts_[0].state.get(); }

  /// The function itself (part 0) or its derivative by argument part - 1, on n elements of type f32 or f64.
  void run(int part, DType dtype, void* out, const void* const* in, unsigned scalars, int64_t n) const {
    const Part& p = parts_[part];
    (dtype == kF32 ? p.f32 : p.f64)(p.state.get(), out, in, scalars, n);
  }

 private:
  using Loop = void (*)(const void* state, void* out, const void* const* in, unsigned scalars, int64_t n);
  struct Part {
    std::shared_ptr<const void> state;
    Loop f32 = nullptr, f64 = nullptr;
  };
  template <class F>
  static constexpr int arity() {
    if constexpr (std::is_invocable_v<F, float>)
      return 1;
    else if constexpr (std::is_invocable_v<F, float, float>)
      return 2;
    else
      return 3;
  }
  template <class F, class T, int kInputs>
  static void loop(const void* state, void* out, const void* const* in, unsigned scalars, int64_t n) {
    const F& f = *static_cast<const F*>(state);
    T* y = static_cast<T*>(out);
    const auto at = [&](int k, int64_t i) { return static_cast<const T*>(in[k])[scalars >> k & 1 ? 0 : i]; };
    for (int64_t i = 0; i < n; i++) {
      if constexpr (kInputs == 1)
        y[i] = static_cast<T>(f(at(0, i)));
      else if constexpr (kInputs == 2)
        y[i] = static_cast<T>(f(at(0, i), at(1, i)));
      else
        y[i] = static_cast<T>(f(at(0, i), at(1, i), at(2, i)));
    }
  }
  template <int kInputs, class F>
  static Part part(F fn) {
    return {std::make_shared<const F>(std::move(fn)), &loop<F, float, kInputs>, &loop<F, double, kInputs>};
  }

  const char* name_;
  int inputs_;
  bool differentiable_ = false;
  Part parts_[4];
};

/// fn of every element, with broadcasting; all operands f32 or all f64. `fn` must outlive the call.
INGOT_API Tensor map(const MapFunction& fn, Tensors xs);
INGOT_API void map_into(const Tensor& dst, const MapFunction& fn, Tensors xs);
inline Tensor map(const MapFunction& fn, const Tensor& x) { return map(fn, Tensors{x}); }
inline Tensor map(const MapFunction& fn, const Tensor& x, const Tensor& y) { return map(fn, Tensors{x, y}); }

/// The same for a plain lambda without captures: map([](auto x) { return x * x; }, x).
template <class F, class... X>
requires std::is_empty_v<F> && std::is_default_constructible_v<F> Tensor map(F, const Tensor& x, const X&... more) {
  static const MapFunction kFunction("lambda", F{});
  return map(kFunction, Tensors{x, more...});
}

}  // namespace ingot
