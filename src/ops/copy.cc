// Copies and conversions: any type, any layout.
#include <cstring>

#include "ingot/ops/checks.h"
#include "ingot/ops/staging.h"
#include "kernels/copy.h"
#include "ops/define.h"
#include "ops/rules.h"

namespace ingot {
namespace {

void sample_shapes(Samples& s, const Attrs& attrs) {
  for (const Dims& shape :
       {Dims{}, Dims{1}, Dims{0, 3}, Dims{7}, Dims{3, 5}, Dims{2, 3, 4}, Dims{9, 1, 6}, Dims{33, 34}})
    s.add({s.real(shape)}, attrs);
}

void copy_reference(const Call& call, const Tensor* out) {
  const size_t bytes = size_of(out->dtype());
  for_each_element(call, *out, [&](void* to, const void* const* from) { std::memcpy(to, from[0], bytes); });
}

bool is_real(DType t) { return is_float(t) || t == kF16 || t == kBF16; }

void to_reference(const Call& call, const Tensor* out) {
  const DType from_type = call.in(0).dtype(), to_type = out->dtype();
  const bool exact = !is_real(from_type) && !is_real(to_type);
  for_each_element(call, *out, [&](void* to, const void* const* from) {
    if (exact && to_type != kBool && from_type != kBool) {
      const int64_t value = load_as_int(from[0], from_type);
      if (to_type == kI64 || from_type == to_type) return store_from_int(to, to_type, value);
    }
    store_from_double(to, to_type, load_as_double(from[0], from_type));
  });
}

}  // namespace

INGOT_OP(copy) = {
    .name = "copy",
    .signature = "copy(x)",
    .doc = "The elements of x in memory of their own, row by row.",
    .family = "copy",
    .types = Types::kAll,
    .infer = [](const Call& call, Specs& out) { out.add(call.in(0).dtype(), call.in(0).shape()); },
    .run = [](const Call& call, const Tensor* out, void*, const Team& team) { copy_share(*out, call.in(0), team); },
    .reference = copy_reference,
    .role = OpRole::kCopy,
    .simplify = [](Rewrite& r) { return r.pass() == "algebra" && r.replace(r.in()); },  // values never change
    .gradient = [](Gradient& g) { g.set(0, g.dy()); },
    .samples = [](Samples& s) { sample_shapes(s, {}); }};

INGOT_OP(to) = {.name = "to",
                .signature = "to(x, dtype:dtype)",
                .doc =
                    "x converted to another element type: reals to integers towards zero, NaN to 0, out of range to "
                    "the nearest end; "
                    "to bool as x ≠ 0; to narrower reals to nearest even (f64 to f16 and bf16 by way of f32).",
                .family = "copy",
                .types = Types::kAll,
                .infer = [](const Call& call, Specs& out) { out.add(require_dtype(call), call.in(0).shape()); },
                .run =
                    [](const Call& call, const Tensor* out, void*, const Team& team) {
                      const Tensor& x = call.in(0);
                      if (x.dtype() == out->dtype()) return copy_share(*out, x, team);
                      kernels::convert(out->raw(), out->dtype(), out->strides().begin(), x.raw(), x.dtype(),
                                       x.strides().begin(), x.shape().begin(), x.rank(), team);
                    },
                .reference = to_reference,
                .gradient =
                    [](Gradient& g) {  // integers and bools pass nothing back
                      if (is_real(g.out().dtype())) g.set(0, to(g.dy(), g.in().dtype()));
                    },
                .samples =
                    [](Samples& s) {
                      for (const DType type : {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16}) {
                        // Central differences see only rounding through a narrower type.
                        if (s.dtype() == kF64 && is_real(type) && type != kF64) continue;
                        sample_shapes(s, Attrs().set("dtype", type));
                      }
                    }};

}  // namespace ingot
