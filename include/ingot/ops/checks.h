// Sentences for inputs that do not fit, shared by the shape rules.
#pragma once
#include "ingot/base/error.h"
#include "ingot/base/export.h"
#include "ingot/ops/op.h"

namespace ingot {

/// An Error in the house's form: "op: what (shapes of the inputs) — hint"; shapes that do not fit, if not said otherwise.
[[noreturn]] INGOT_API void fail(const Call& call, const std::string& what, const std::string& hint,
                                 ErrorKind kind = ErrorKind::kShape);
/// The same for a constant, a value or a number of inputs that does not fit.
[[noreturn]] INGOT_API void fail_argument(const Call& call, const std::string& what, const std::string& hint);
/// Fails unless the op is defined for elements of this type.
INGOT_API void require_type(const Call& call, DType type);
/// Fails unless input i has `rank` axes; `meaning` names them, as in "[batch, channels, length]".
INGOT_API void require_rank(const Call& call, int i, int rank, const char* meaning);
/// Fails unless inputs i and j have one element type.
INGOT_API void require_same_type(const Call& call, int i, int j);
/// Fails unless input i holds i32 or i64.
INGOT_API void require_indices(const Call& call, int i);
/// The attribute `dtype`; fails if it is none of the eight types.
INGOT_API DType require_dtype(const Call& call);
/// Fails unless `value`, called `what`, is a number that elements of an integer type hold; other types take any.
INGOT_API void require_element(const Call& call, DType type, std::string_view what, double value);
/// Fails unless every value of input i (i32 or i64) lies in [low, high).
INGOT_API void require_index_range(const Call& call, int i, int64_t low, int64_t high);
/// Element k, in row-major order, of an index tensor of any layout.
INGOT_API int64_t index_at(const Tensor& indices, int64_t k);

}  // namespace ingot
