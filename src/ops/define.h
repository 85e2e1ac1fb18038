// How ops are written down. A family is a file of src/ops; an op is one block in it:
//
//   INGOT_OP(matmul) = {.name = "matmul", .signature = "matmul(a, b)", .doc = "…",
//                       .infer = …, .run = …, .gradient = …};
//
// and, in files that foreach_target.h compiles once per instruction set, between INGOT_SIMD_BEGIN and INGOT_SIMD_END:
//
//   struct Relu { …functor, see kernels/elementwise-inl.h… };
//   INGOT_ELEMENTWISE(relu, Relu, .signature = "relu(x)", .doc = "…", .gradient = [](Gradient& g) { … })
//
// tools/opgen.py reads these blocks and writes include/ingot/ops/ops.h and plumbing.h: run `./dev generate` after adding
// one. The functions' definitions and the table are written when the room is built. No include guard: the last macro changes between the targets' passes over a file.
#include "ingot/base/dispatch.h"
#include "ingot/base/error.h"
#include "ingot/ops/op.h"
#include "ingot/ops/ops.h"
#include "ingot/ops/own_op.h"
#include "ingot/ops/plumbing.h"
#include "ingot/ops/samples.h"
#include "ops/elementwise.h"

#undef INGOT_SIMD_BEGIN
#undef INGOT_SIMD_END
#undef INGOT_TILE
#undef INGOT_ELEMENTWISE

#define INGOT_SIMD_BEGIN  \
  HWY_BEFORE_NAMESPACE(); \
  namespace ingot {       \
  namespace HWY_NAMESPACE {
#define INGOT_SIMD_END \
  }                    \
  }                    \
  HWY_AFTER_NAMESPACE();

#define INGOT_TILE(id, Functor)                                                     \
  TileFn tile_##id(DType t) { return kernels::HWY_NAMESPACE::tile_of<Functor>(t); } \
  const ChainForms* chain_##id() { return kernels::HWY_NAMESPACE::chain_forms_of<Functor>(); }

#if HWY_ONCE
// The tile kernel is compiled for every target; the table entry once, outside the per-target namespace.
#define INGOT_ELEMENTWISE(id, Functor, ...)                                     \
  INGOT_TILE(id, Functor)                                                       \
  INGOT_SIMD_END                                                                \
  namespace ingot {                                                             \
  INGOT_OP(id) = make_elementwise<HWY_STATIC_DISPATCH(Functor)>(                \
      #id, INGOT_FAMILY, [](DType t) { return INGOT_DISPATCH(tile_##id)(t); },  \
      [] { return INGOT_DISPATCH(chain_##id)(); }, ElementwiseOp{__VA_ARGS__}); \
  }                                                                             \
  INGOT_SIMD_BEGIN
#else
#define INGOT_ELEMENTWISE(id, Functor, ...) INGOT_TILE(id, Functor)
#endif
