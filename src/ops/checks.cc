#include "ingot/ops/checks.h"

#include <cmath>
#include <string>

#include "ingot/base/numbers.h"

namespace ingot {

void fail(const Call& call, const std::string& what, const std::string& hint, ErrorKind kind) {
  std::string shapes;
  for (int i = 0; i < call.count(); i++) {
    if (i > 0) shapes += ", ";
    shapes += call.has(i) ? std::string(name(call.in(i).dtype())) + " " + to_string(call.in(i).shape()) : "none";
    if (i == 3 && call.count() > 5) {
      shapes += ", …";
      break;
    }
  }
  throw Error(kind,
              std::string(call.op.name) + ": " + what + (shapes.empty() ? "" : " (" + shapes + ")") + " — " + hint);
}

void fail_argument(const Call& call, const std::string& what, const std::string& hint) {
  fail(call, what, hint, ErrorKind::kArgument);
}

void require_type(const Call& call, DType type) {
  const Types types = call.op.types;
  if (is_float(type) || (types != Types::kFloats && is_number(type))) return;
  if (types == Types::kAll && (type == kU8 || type == kBool)) return;
  if (type == kF16 || type == kBF16)
    fail(call, std::string(name(type)) + " is a storage type", "convert with to(x, kF32) first", ErrorKind::kType);
  fail(call, std::string("not defined for ") + name(type),
       types == Types::kFloats ? "convert with to(x, kF32)" : "convert with to(x, kF32) or to(x, kI64)",
       ErrorKind::kType);
}

void require_rank(const Call& call, int i, int rank, const char* meaning) {
  if (call.in(i).rank() != rank)
    fail(call, "input " + std::to_string(i) + " has " + std::to_string(call.in(i).rank()) + " axes",
         "it must be " + std::string(meaning));
}

void require_same_type(const Call& call, int i, int j) {
  if (call.in(i).dtype() != call.in(j).dtype())
    fail(call,
         std::string("element types ") + name(call.in(i).dtype()) + " and " + name(call.in(j).dtype()) + " differ",
         "convert one with to()", ErrorKind::kType);
}

void require_indices(const Call& call, int i) {
  const DType type = call.in(i).dtype();
  if (type != kI32 && type != kI64)
    fail(call, std::string("indices are ") + name(type), "give them as i32 or i64 (to(x, kI64))", ErrorKind::kType);
}

DType require_dtype(const Call& call) {
  const int64_t type = call.integer("dtype");
  if (type < 0 || type > static_cast<int64_t>(DType::kBF16))
    fail(call, "there is no dtype " + std::to_string(type), "use kF32, kF64, kI32, kI64, kU8, kBool, kF16 or kBF16",
         ErrorKind::kType);
  return static_cast<DType>(type);
}

void require_element(const Call& call, DType type, std::string_view what, double value) {
  if (!is_integer(type)) return;
  const double least = type == kU8 ? 0 : type == kI32 ? -0x1p31 : -0x1p63;
  const double beyond = type == kU8 ? 0x1p8 : type == kI32 ? 0x1p31 : 0x1p63;
  if (value >= least && value < beyond && value == std::trunc(value)) return;
  fail(call, std::string(what) + " is " + exact_text(value) + ", which " + name(type) + " does not hold",
       call.count() > 0 ? "convert first, to(x, kF32), or give a number that it holds"
                        : "choose another dtype, or give a number that it holds",
       ErrorKind::kType);
}

int64_t index_at(const Tensor& t, int64_t k) {
  int64_t offset = k;
  if (!t.is_contiguous()) {
    offset = 0;
    for (int a = t.rank() - 1; a >= 0; a--) {
      offset += k % t.shape()[a] * t.strides()[a];
      k /= t.shape()[a];
    }
  }
  return t.dtype() == kI32 ? static_cast<const int32_t*>(t.raw())[offset]
                           : static_cast<const int64_t*>(t.raw())[offset];
}

namespace {

template <class T>
bool all_within(const T* values, int64_t n, int64_t low, int64_t high) {
  T least = values[0], most = values[0];
  for (int64_t k = 1; k < n; k++) {
    least = values[k] < least ? values[k] : least;
    most = values[k] > most ? values[k] : most;
  }
  return least >= low && most < high;
}

}  // namespace

void require_index_range(const Call& call, int i, int64_t low, int64_t high) {
  const Tensor& t = call.in(i);
  if (t.is_contiguous() && t.numel() > 0) {  // the usual case, as fast as memory; a culprit is looked for below
    const bool fine = t.dtype() == kI32 ? all_within(static_cast<const int32_t*>(t.raw()), t.numel(), low, high)
                                        : all_within(static_cast<const int64_t*>(t.raw()), t.numel(), low, high);
    if (fine) return;
  }
  for (int64_t k = 0; k < t.numel(); k++) {
    const int64_t index = index_at(t, k);
    if (index < low || index >= high)
      fail_argument(call, "index " + std::to_string(index) + " at position " + std::to_string(k) + " is out of range",
                    low == INT64_MIN ? "indices must be less than " + std::to_string(high)
                                     : "indices must lie in " + std::to_string(low) + " … " + std::to_string(high - 1));
  }
}

}  // namespace ingot
