// For the code that tools/opgen.py writes: the functions of ops.h and what it asserts about them.
#pragma once
#include <array>
#include <string>

#include "ingot/base/error.h"
#include "ingot/base/export.h"
#include "ingot/ops/op.h"
#include "ingot/ops/options.h"

namespace ingot {

// The generated functions have the right number of inputs and results by construction: they skip the counting that call()
// and call_into() do.
INGOT_API void call_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                            std::span<Tensor> results);
INGOT_API void call_into_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                                 std::span<const Tensor* const> destinations);

/// Inputs of a variadic op: the list, then the fixed ones.
class InputList {
 public:
  InputList(const Tensors& list, std::initializer_list<const Tensor*> fixed) {
    if (list.size() + fixed.size() > kMaxInputs)
      throw Error("inputs: " + std::to_string(list.size()) + " tensors given — at most " + std::to_string(kMaxInputs) +
                  " go into one call");
    for (size_t i = 0; i < list.size(); i++) pointers_[count_++] = &list[i];
    for (const Tensor* t : fixed) pointers_[count_++] = t;
  }
  operator std::span<const Tensor* const>() const { return {pointers_, count_}; }

 private:
  const Tensor* pointers_[kMaxInputs];
  size_t count_ = 0;
};

/// Does the generator's reading "a,b|axis,options|dst" (inputs, arguments behind them, outputs) equal the signature's?
constexpr bool reads_as(const Signature& s, std::string_view read) {
  const auto take = [&](std::string_view name, char end) {
    const bool same = read.substr(0, name.size()) == name && read.size() > name.size() && read[name.size()] == end;
    if (same) read.remove_prefix(name.size() + 1);
    return same;
  };
  if (s.input_count() == 0 && !take("", '|')) return false;
  for (int i = 0; i < s.input_count(); i++)
    if (!take(s.input(i).name, i + 1 < s.input_count() ? ',' : '|')) return false;
  if (s.attr_count() == 0 && !take("", '|')) return false;
  for (int i = 0; i < s.attr_count(); i++) {
    const Signature::Attribute a = s.attr(i);
    if (!a.group.empty() && i + 1 < s.attr_count() && s.attr(i + 1).group == a.group) continue;  // one argument
    if (!take(a.group.empty() ? a.name : a.group, i + 1 < s.attr_count() ? ',' : '|')) return false;
  }
  for (int i = 0; i + 1 < s.output_count(); i++)
    if (!take(s.output(i), ',')) return false;
  return read == s.output(s.output_count() - 1);
}

/// True if a header declares a function of that type; it does not compile otherwise: run `./dev generate`.
template <class F>
constexpr bool is_declared(F*) {
  return true;
}

}  // namespace ingot
