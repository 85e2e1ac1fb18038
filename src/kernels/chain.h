// Several element-wise operations on the same elements, one after the other, without leaving the registers: a block of
// vectors is loaded, goes through all of them, and is stored.
#pragma once
#include <cstdint>

namespace ingot::kernels {

/// What happens to the value v in the registers, given an operand o.
enum class ChainOp : uint8_t {
  kLoad,          // o
  kStore,         // v, and o becomes v
  kAdd,           // v + o
  kSubtract,      // v - o
  kSubtractFrom,  // o - v
  kMultiply,      // v · o
  kDivide,        // v / o
  kDivideInto,    // o / v
  kMinimum,       // the smaller; NaN if either is
  kMinimumOf,     // the same with the arguments exchanged: which NaN comes out differs
  kMaximum,
  kMaximumOf,
  kAddScaled,    // v + factor · o, rounded once where the machine can
  kAddToScaled,  // o + factor · v
  kReluGrad,     // v where o is positive, else 0
  kReluGradOf,   // o where v is positive, else 0
  kLimitBelow,   // max(o, v)
  kLimitAbove,   // min(o, v)
  kRelu,
  kNegate,
  kAbs,
  kSquare,
  kSqrt,
  kReciprocal,
};

inline constexpr int kMostSteps = 128, kMostArrays = 32;

struct ChainStep {
  ChainOp op;
  bool constant = false;  // the operand is `value`
  bool repeated = false;  // the operand is one element for all
  int operand = -1;       // else: which array
  double value = 0;       // the constant
  double factor = 0;      // of kAddScaled and kAddToScaled
};

/// Runs the steps on n elements of the arrays; the first step loads. f32 and f64. An element's bits do not depend on
/// where it stands.
template <class T>
void run_chain(const ChainStep* steps, int count, char* const* arrays, int64_t n);

}  // namespace ingot::kernels
