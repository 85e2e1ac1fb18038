// Everything element-wise ops share: broadcasting, the walk over strided operands in contiguous tiles, the reference
// walk.
#pragma once
#include <cstdint>

#include "ingot/ops/op.h"
#include "ingot/ops/own_op.h"

namespace ingot {

/// What a functor inherits: how many inputs, which types, whether the result is a bool.
template <int kN, Types kT = Types::kFloats, bool kBool = false>
struct Elementwise {
  static constexpr int kInputs = kN;
  static constexpr Types kTypes = kT;
  static constexpr bool kToBool = kBool;
  static constexpr float kWeight = 1;  // rough cost of one element, in additions; heavier functors say so
};

/// The part of an element-wise op that its author writes; make_elementwise adds the rest.
struct ElementwiseOp {
  const char* signature = nullptr;
  const char* doc = nullptr;
  RealConstants real_constants = RealConstants::kElements;
  Epilogue epilogue = Epilogue::kNone;
  bool (*simplify)(Rewrite&) = nullptr;
  void (*gradient)(Gradient&) = nullptr;
  const char* not_differentiable = nullptr;
  double low = -3, high = 3;  // where test inputs are drawn from
  void (*samples)(Samples&) =
      nullptr;  // null: shapes and layouts common to all element-wise ops, drawn from [low, high]
  Rounding rounding = {};
  bool plumbing = false;
};

void infer_comparison(const Call& call, Specs& out);

/// Runs a tile kernel over operands of any layout; this member's share of the elements.
void run_tiles(TileFn tile, const Call& call, const double* params, const Tensor& out, const Team& team);

/// The real-valued attributes of a call, in order: what tile kernels get as `params`.
struct Params {
  double values[kMaxAttrs] = {};
  explicit Params(const Call& call) {
    for (int i = 0, n = 0; i < call.attrs.size(); i++)
      if (call.attrs[i].kind == Attr::Kind::kReal) values[n++] = call.attrs[i].real;
  }
  static Params of(const Call& call) { return Params(call); }
};
/// The same of a prepared call; null for an op without attributes.
inline const double* tile_params(const Call& call) {
  return call.op.prepare == nullptr ? nullptr : call.params<Params>().values;
}

/// Walks a result and its inputs element by element, in row-major order: f(out, in…) gets their addresses.
template <class F>
void for_each_element(const Call& call, const Tensor& out, F&& f) {
  const int n_in = call.count(), rank = out.rank();
  const char* in[3] = {};
  int64_t step[3][kMaxRank] = {};
  for (int i = 0; i < n_in; i++) {
    const Tensor& t = call.in(i);
    in[i] = static_cast<const char*>(t.raw());
    const int shift = rank - t.rank();
    for (int a = shift; a < rank; a++)
      step[i][a] = t.shape()[a - shift] == 1 ? 0 : t.strides()[a - shift] * static_cast<int64_t>(size_of(t.dtype()));
  }
  char* base = static_cast<char*>(out.raw());
  Dims index = Dims::filled(rank, 0);
  for (int64_t k = 0; k < out.numel(); k++) {
    const void* at[3] = {};
    int64_t offset = 0;
    for (int a = 0; a < rank; a++) offset += index[a] * out.strides()[a];
    for (int i = 0; i < n_in; i++) {
      const char* p = in[i];
      for (int a = 0; a < rank; a++) p += index[a] * step[i][a];
      at[i] = p;
    }
    f(base + offset * static_cast<int64_t>(size_of(out.dtype())), at);
    for (int a = rank - 1; a >= 0 && ++index[a] == out.shape()[a]; a--) index[a] = 0;
  }
}

int64_t load_as_int(const void* element, DType dtype);
void store_from_int(void* element, DType dtype, int64_t value);

/// The plain loop of a functor: integers in 64 bits, everything else in double.
template <class F>
void elementwise_reference(const Call& call, const Tensor* outs) {
  const Tensor& out = outs[0];
  Params params(call);
  const double* p = params.values;
  const DType main = call.in(call.count() - 1).dtype();
  if (main == kF32)  // kernels see their constants in the element type
    for (double& v : params.values) v = static_cast<float>(v);
  if (main == kI32 && !F::kToBool)
    for (double& v : params.values) v = v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
  const auto apply = [&](auto... v) {
    if constexpr (requires { F::plain(v..., p); })
      return F::plain(v..., p);
    else
      return F::plain(v...);
  };
  for_each_element(call, out, [&](void* to, const void* const* from) {
    const auto value = [&](auto load) {
      if constexpr (F::kInputs == 1)
        return apply(load(from[0], main));
      else if constexpr (F::kInputs == 2)
        return apply(load(from[0], main), load(from[1], main));
      else
        return apply(*static_cast<const uint8_t*>(from[0]), load(from[1], main), load(from[2], main));
    };
    if constexpr (F::kTypes != Types::kFloats) {
      if (!is_float(main)) return store_from_int(to, out.dtype(), static_cast<int64_t>(value(load_as_int)));
    }
    store_from_double(to, out.dtype(), static_cast<double>(value(load_as_double)));
  });
}

template <class F>
constexpr Op make_elementwise(const char* name, const char* family, TileFn (*tile)(DType), const ChainForms* (*chain)(),
                              const ElementwiseOp& e) {
  return {.name = name,
          .signature = e.signature,
          .doc = e.doc,
          .family = family,
          .types = F::kTypes,
          .real_constants = e.real_constants,
          .plumbing = e.plumbing,
          .infer = F::kToBool ? infer_comparison : infer_elementwise,
          .prepare = Signature(e.signature).attr_count() > 0 ? prepared<Params::of> : nullptr,
          .tile = tile,
          .chain = chain,
          .reference = elementwise_reference<F>,
          .weight = F::kWeight,
          .epilogue = e.epilogue,
          .simplify = e.simplify,
          .gradient = e.gradient,
          .not_differentiable = e.not_differentiable,
          .samples = e.samples != nullptr ? e.samples : sample_elementwise,
          .low = e.low,
          .high = e.high,
          .rounding = e.rounding};
}

}  // namespace ingot
