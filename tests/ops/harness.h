// What the table-driven tests share: an op's samples as calls, operands in every layout inside guarded memory,
// comparison with the reference, and counters of allocations.
#pragma once
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ingot/ops/op.h"

namespace ingot::harness {

/// May a destination be an input of the same layout?
inline bool works_in_place(const Op& op) { return op.tile != nullptr || op.in_place; }

/// Numbers that are the same in every run.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  /// In [0, n).
  int64_t below(int64_t n) { return static_cast<int64_t>(next() % static_cast<uint64_t>(n)); }
  /// In [low, high).
  double real(double low, double high);
  bool chance(double p) { return real(0, 1) < p; }
  Tensor tensor(const Dims& shape, DType dtype, double low, double high);

 private:
  uint64_t state_;
};

/// One call of an op, ready to run.
struct Case {
  const Op* op;
  std::vector<Tensor> inputs;
  Attrs attrs;
  std::vector<const Tensor*> pointers() const;
};

/// How a call holds an attribute of that type.
Attr::Kind kind_of(AttrType type);

/// "conv2d(f32 [1, 3, 5, 5], none, stride=[2, 2])".
std::string describe(const Case& c);

std::vector<DType> types_of(const Op& op);
std::vector<Case> cases_of(const Op& op, DType dtype);

std::vector<double> values_of(const Tensor& t);
/// The elements' bytes in row-major order.
std::vector<uint8_t> bytes_of(const Tensor& t);

/// The results' types and shapes; throws where the op does.
Specs infer(const Case& c);
std::vector<Tensor> run(const Case& c);
void run_into(const Case& c, const std::vector<Tensor>& destinations);
/// By the op's plain loop (a copy of the view, for views).
std::vector<Tensor> reference(const Case& c);
/// A contiguous tensor that is nobody else's, with t's values as f(value, position) changes them.
template <class F>
Tensor mapped(const Tensor& t, F&& f, DType dtype) {
  Tensor result = Tensor::empty(t.shape(), dtype);
  const std::vector<double> values = values_of(t);
  for (size_t i = 0; i < values.size(); i++)
    store_from_double(static_cast<char*>(result.raw()) + i * size_of(dtype), dtype, f(values[i], i));
  return result;
}
/// The same call with every tensor of type `from` converted to `to`.
Case converted(const Case& c, DType from, DType to);

/// Changes one thing of a call at random: a shape, a type, an attribute, some indices. It need not be valid any more.
void change(Case& c, Random& random);
/// Is this more than a test should compute: a result of more than a million elements?
bool too_large(const Specs& specs);

// Layouts
// ---------------------------------------------------------------------------------------------------------------

enum class Layout {
  kContiguous,
  kOffset,      // starts one element into its memory, and ends with it
  kStrided,     // every other element
  kRows,        // contiguous rows with gaps between them
  kTransposed,  // the first axis is the innermost in memory
  kRotated,     // as channels-last: the second axis is the innermost
  kReversed,    // all strides negative
  kRepeatFirst,
  kRepeatLast,
  kRepeatAll,  // stride 0; inputs only
};
inline constexpr Layout kDestinationLayouts[] = {Layout::kContiguous, Layout::kOffset,  Layout::kStrided, Layout::kRows,
                                                 Layout::kTransposed, Layout::kRotated, Layout::kReversed};
inline constexpr Layout kInputLayouts[] = {
    Layout::kContiguous, Layout::kOffset,   Layout::kStrided,     Layout::kRows,       Layout::kTransposed,
    Layout::kRotated,    Layout::kReversed, Layout::kRepeatFirst, Layout::kRepeatLast, Layout::kRepeatAll};
bool repeats(Layout layout);
const char* name(Layout layout);

/// A tensor of some layout inside memory of its own, all of it filled with a pattern.
class Placed {
 public:
  Placed(DType dtype, const Dims& shape, Layout layout);
  /// The values of `source`; layouts that repeat keep those at index 0.
  Placed(const Tensor& source, Layout layout) : Placed(source.dtype(), source.shape(), layout) { fill(source); }
  const Tensor& tensor() const { return tensor_; }
  void fill(const Tensor& source);
  /// Does the memory between and around the elements still hold the pattern?
  testing::AssertionResult surroundings_untouched() const;
  /// Does all of it?
  testing::AssertionResult untouched() const;

 private:
  std::vector<bool> element_bytes() const;
  std::shared_ptr<std::byte[]> memory_;
  int64_t bytes_ = 0;
  Tensor tensor_;
};

/// The case with each input placed in a layout; memory lives as long as the result.
struct PlacedCase {
  /// Does the op take these layouts? (A reshape is a view only where the memory allows it.)
  bool allowed() const;
  PlacedCase(const Case& source, const std::vector<Layout>& layouts);
  Case call;
  std::vector<Placed> placed;
};

/// `dst` of every result of a case.
std::vector<Placed> destinations(const Case& c, Layout layout);
std::vector<Tensor> tensors_of(const std::vector<Placed>& placed);

// Comparison
// ------------------------------------------------------------------------------------------------------------

double largest(const Tensor& t);  // of the finite magnitudes

/// |actual - expected| ≤ eps · (ulps · |expected| + scaled · largest magnitude around), eps being the type's.
struct Tolerance {
  double ulps = 0, scaled = 0;
};
Tolerance tolerance_of(const Op& op, DType dtype);
testing::AssertionResult close(const Tensor& actual, const Tensor& expected, Tolerance tolerance, double magnitude = 0);
testing::AssertionResult same_bits(const Tensor& actual, const Tensor& expected);
/// The largest magnitude of the floating inputs: cancellation is measured against it.
double magnitude_of(const Case& c);
/// Compares results with the reference's, as tightly as the op allows.
testing::AssertionResult agrees(const Case& c, const std::vector<Tensor>& results, const std::vector<Tensor>& expected,
                                double slack = 1);

// Allocations
// -----------------------------------------------------------------------------------------------------------

/// Calls of malloc and its kin by any thread since the program started.
uint64_t malloc_calls();

// One GoogleTest case per op
// --------------------------------------------------------------------------------------------

class OpTest : public testing::TestWithParam<const Op*> {
 protected:
  const Op& op() const { return *GetParam(); }
};

inline std::string test_name(const testing::TestParamInfo<const Op*>& test) { return test.param->name; }

/// What a test program is about: the core's ops, or those of a system; and the file of goldens that goes with them.
std::span<const Op* const> ops_under_test();
const char* goldens_under_test();

/// The ops under test that `chosen` says yes to.
std::vector<const Op*> ops_where(bool (*chosen)(const Op&));

#define INGOT_FOR_OPS(Suite, chosen)                                                            \
  INSTANTIATE_TEST_SUITE_P(Op, Suite, ::testing::ValuesIn(::ingot::harness::ops_where(chosen)), \
                           ::ingot::harness::test_name)
#define INGOT_FOR_EVERY_OP(Suite) INGOT_FOR_OPS(Suite, [](const ::ingot::Op&) { return true; })

}  // namespace ingot::harness
