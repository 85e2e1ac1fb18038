// Ops of your own: an element-wise op from one formula, and how ops of a library or a program join the table. An op
// needs neither to be called, captured, fused and differentiated like the others; the table is for finding it by name.
//
//   struct Softsign {
//     static constexpr int kInputs = 1;
//     template <class T>
//     static T run(T x, const T*) { return x / (1 + std::abs(x)); }
//   };
//   const Op kSoftsign = own_elementwise<Softsign>(
//       {.name = "softsign", .signature = "softsign(x)", .doc = "x / (1 + |x|).",
//        .gradient = [](Gradient& g) { g.set(0, divide(g.dy(), square(add(abs(g.in()), 1.0)))); }});
//   Tensor softsign(const Tensor& x) { return call(kSoftsign, {x}); }
//
// examples/own_op.cc is a whole program. For other kinds of ops fill in the fields of Op (op.h).
#pragma once
#include "ingot/base/export.h"
#include "ingot/ops/op.h"

// A block of the table: INGOT_OP(matmul) = {.name = "matmul", …}; tools/opgen.py reads those of libraries.
#define INGOT_OP(id)       \
  extern const Op op_##id; \
  constinit const Op op_##id

namespace ingot {

/// Puts ops of a library or of a program into the table, where names are looked up (a saved plan, `ingot ops`). They
/// must live to the end. Adding one twice is fine; another op of the same name is an Error, and nothing is added.
INGOT_API void add_ops(std::span<const Op* const> ops);

/// One result, by tensors: call(kSoftsign, {x}).
INGOT_API Tensor call(const Op& op, std::initializer_list<Tensor> inputs, const Attrs& attrs = {});

/// What its author says about an element-wise op.
struct OwnElementwise {
  const char* name = nullptr;
  const char* signature = nullptr;  // attributes, if any, are real; run() gets them in order
  const char* doc = nullptr;
  float weight = 1;  // rough cost of one element, in additions
  void (*gradient)(Gradient&) = nullptr;
  const char* not_differentiable = nullptr;  // why, if there is no gradient
};

// What all element-wise ops share; own_elementwise() puts it in.
INGOT_API void infer_elementwise(const Call& call, Specs& out);
INGOT_API void sample_elementwise(Samples& samples);
INGOT_API void prepare_elementwise(const Call& call, Prepared& block);
/// Calls tile(out, in, params) for single elements of any layout, one after the other: the plain loop.
INGOT_API void run_element_by_element(const Call& call, const Tensor& out, TileFn tile);

/// The loop over one tile of f32 or f64. F::run(x…, params) takes and returns T.
template <class F, class T>
void own_tile(void* out, const void* const* in, unsigned scalars, int64_t n, const double* params) {
  T* y = static_cast<T*>(out);
  T own[kMaxAttrs] = {};
  for (int k = 0; params != nullptr && k < kMaxAttrs; k++) own[k] = static_cast<T>(params[k]);
  const auto at = [&](int k, int64_t i) { return static_cast<const T*>(in[k])[scalars >> k & 1 ? 0 : i]; };
  for (int64_t i = 0; i < n; i++) {
    if constexpr (F::kInputs == 1)
      y[i] = F::run(static_cast<const T*>(in[0])[i], own);
    else
      y[i] = F::run(at(0, i), at(1, i), own);
  }
}

/// An element-wise op of one or two inputs, f32 and f64, with broadcasting.
template <class F>
constexpr Op own_elementwise(const OwnElementwise& e) {
  static_assert(F::kInputs == 1 || F::kInputs == 2, "an element-wise op of your own has one or two inputs");
  constexpr auto tile = [](DType t) -> TileFn { return t == kF32 ? own_tile<F, float> : own_tile<F, double>; };
  return {.name = e.name,
          .signature = e.signature,
          .doc = e.doc,
          .family = "own",
          .infer = infer_elementwise,
          .prepare = Signature(e.signature).attr_count() > 0 ? prepare_elementwise : nullptr,
          .tile = tile,
          .reference =
              [](const Call& call, const Tensor* out) {
                run_element_by_element(call, *out,
                                       call.in(0).dtype() == kF32 ? own_tile<F, float> : own_tile<F, double>);
              },
          .weight = e.weight,
          .gradient = e.gradient,
          .not_differentiable = e.not_differentiable,
          .samples = sample_elementwise};
}

}  // namespace ingot
