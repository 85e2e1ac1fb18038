// What can be compiled: how a function of tensors becomes a PlanFunction, and the sentences for those that cannot.
#pragma once
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"

namespace ingot {

/// The general form of what is compiled: tensors in, named tensors out.
using PlanFunction = std::function<std::vector<NamedTensor>(std::span<const Tensor>)>;

namespace detail {

inline std::vector<NamedTensor> as_outputs(const Tensor& t) { return {{"", t}}; }
inline std::vector<NamedTensor> as_outputs(std::vector<NamedTensor> list) { return list; }
template <class List>
requires requires(const List& list) { list.begin()->shape(); }
std::vector<NamedTensor> as_outputs(const List& list) {
  std::vector<NamedTensor> named;
  named.reserve(std::size(list));
  for (const Tensor& t : list) named.push_back({"", t});
  return named;
}
// Several results of an op keep their names.
template <class Results>
requires requires(const Results& results) {
  Results::kNames[0];
  results[0].shape();
}
std::vector<NamedTensor> as_outputs(const Results& results) {
  std::vector<NamedTensor> named;
  for (size_t i = 0; i < std::size(Results::kNames); i++) named.push_back({Results::kNames[i], results[i]});
  return named;
}

template <class R>
concept PlanResult = std::is_void_v<R> || requires(R (&make)()) {
  as_outputs(make());
};

template <class F, class... A>
std::vector<NamedTensor> outputs_of(F& fn, const A&... arguments) {
  using Result = std::invoke_result_t<F&, const A&...>;
  constexpr bool kFits = PlanResult<Result>;  // by itself, for a short message
  static_assert(kFits, "the function must return a Tensor, a list of Tensors, a std::vector<NamedTensor>, or nothing");
  if constexpr (std::is_void_v<Result>) {
    fn(arguments...);
    return {};
  } else if constexpr (PlanResult<Result>) {
    return as_outputs(fn(arguments...));
  } else {
    return {};
  }
}

template <size_t, class T>
using Repeat = T;
template <class F, size_t... I>
constexpr bool takes_tensors(std::index_sequence<I...>) {
  return std::is_invocable_v<F&, Repeat<I, const Tensor&>...>;
}
inline constexpr size_t kMostTensors = 16, kNoArity = kMostTensors + 1;
/// How many tensors F takes: the first number from kCount on that it can be called with.
template <class F, size_t kCount>
constexpr size_t tensor_arity() {
  if constexpr (kCount == kNoArity || takes_tensors<F>(std::make_index_sequence<kCount>{}))
    return kCount;
  else
    return tensor_arity<F, kCount + 1>();
}
/// A generic lambda is tried with one tensor first: `auto...` takes none as well, and means one.
template <class F>
constexpr size_t tensor_arity() {
  if constexpr (requires { &F::operator(); } || !std::is_class_v<F>)
    return tensor_arity<F, 0>();
  else
    return tensor_arity<F, 1>();
}

template <class F, size_t... I>
std::vector<NamedTensor> call_with(F& fn, [[maybe_unused]] std::span<const Tensor> in, std::index_sequence<I...>) {
  return outputs_of(fn, in[I]...);
}
[[noreturn]] INGOT_API void wrong_input_count(size_t takes, size_t given);

template <class F>
PlanFunction as_plan_function(F fn, size_t inputs) {
  constexpr size_t kCount = tensor_arity<F>();
  if constexpr (kCount != kNoArity) {
    if (inputs != kCount) wrong_input_count(kCount, inputs);
    return [fn = std::move(fn)](std::span<const Tensor> in) mutable {
      return call_with(fn, in, std::make_index_sequence<kCount>{});
    };
  } else if constexpr (std::is_invocable_v<F&, std::span<const Tensor>>) {
    return [fn = std::move(fn)](std::span<const Tensor> in) mutable { return outputs_of(fn, in); };
  } else {
    static_assert(
        kCount != kNoArity,
        "every parameter of the function must be a const Tensor& or a Tensor (no Tensor&, no number; up to 16), "
        "or it takes one std::span<const Tensor>; capture everything else");
    return {};
  }
}

}  // namespace detail
}  // namespace ingot
