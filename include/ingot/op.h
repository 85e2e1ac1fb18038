// Op: an entry of the one table that every operation comes from, and the generic way to call one. ops.h has the
// functions people write; this header is for those who walk the table (documentation, tests, bindings, the graph).
#pragma once
#include <cstddef>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ingot/tensor.h"
#include "ingot/threads.h"
#include "ingot/tile.h"

namespace ingot {

struct Op;

inline constexpr int kMaxInputs = 64, kMaxOutputs = 3, kMaxAttrs = 8;
inline constexpr std::string_view kRelu = "relu";  // see Op::takes_relu

/// A named constant of a call: an axis, a shape, a factor.
struct Attr {
  enum class Kind : uint8_t { kInt, kReal, kInts, kText, kPointer };
  std::string_view name;
  Kind kind;
  int64_t integer;
  double real;
  Dims ints;
  std::string_view text;
  const void* pointer;
};

/// The constants of one call, in the order of the op's signature. No heap: they live where the call lives.
class Attrs {
 public:
  Attrs() = default;
  Attrs& set(std::string_view name, int64_t value);
  Attrs& set(std::string_view name, int value) { return set(name, static_cast<int64_t>(value)); }
  Attrs& set(std::string_view name, bool value) { return set(name, static_cast<int64_t>(value)); }
  Attrs& set(std::string_view name, DType value) { return set(name, static_cast<int64_t>(value)); }
  Attrs& set(std::string_view name, double value);
  Attrs& set(std::string_view name, const Dims& value);
  Attrs& set(std::string_view name, std::string_view value);
  Attrs& set(std::string_view name, const char* value) { return set(name, std::string_view(value)); }
  Attrs& set(std::string_view name, const void* value);

  int size() const { return size_; }
  const Attr& operator[](int i) const { return reinterpret_cast<const Attr*>(storage_)[i]; }
  const Attr* find(std::string_view name) const;
  /// Another value for an integer that is there.
  void replace(std::string_view name, int64_t value) { const_cast<Attr*>(find(name))->integer = value; }

 private:
  Attr& add(std::string_view name, Attr::Kind kind);
  alignas(Attr)
      std::byte storage_[kMaxAttrs * sizeof(Attr)];  // only the first size_ are alive; Attr is trivially destructible
  int size_ = 0;
};

/// One use of an op: its inputs and constants. Kernels, shape rules and gradients read it; nothing is copied.
struct Call {
  const Op& op;
  std::span<const Tensor* const> inputs;
  const Attrs& attrs;

  const Tensor& in(int i) const { return *inputs[static_cast<size_t>(i)]; }
  int count() const { return static_cast<int>(inputs.size()); }
  /// Is input i there? (Optional inputs may be undefined or missing.)
  bool has(int i) const { return i < count() && in(i).defined(); }
  int64_t integer(std::string_view name) const;
  bool flag(std::string_view name) const { return integer(name) != 0; }
  DType dtype(std::string_view name) const { return static_cast<DType>(integer(name)); }
  double real(std::string_view name) const;
  const Dims& ints(std::string_view name) const;
  std::string_view text(std::string_view name) const;
  const void* pointer(std::string_view name) const;
};

/// What a result will be, known before it exists.
struct Spec {
  DType dtype = kF32;
  Dims shape;
};

/// The results' specs; a shape rule fills them.
struct Specs {
  Spec of[kMaxOutputs];
  int count = 0;
  void add(DType dtype, const Dims& shape) { of[count++] = {dtype, shape}; }
};

/// What a gradient rule sees: the call, its results, the gradients of the results; and where it leaves the gradients of
/// the inputs. Rules are written with ops on tensors, so they run eagerly, are captured, and can be differentiated
/// again.
class Gradient {
 public:
  Gradient(const Call& call, std::span<const Tensor> outputs, std::span<const Tensor> output_gradients,
           std::span<const bool> wanted);
  const Tensor& in(int i = 0) const { return call_.in(i); }
  const Tensor& out(int i = 0) const { return outputs_[static_cast<size_t>(i)]; }
  /// The gradient of result i; zeros if nobody used that result.
  Tensor dy(int i = 0) const;
  bool has_dy(int i) const { return output_gradients_[static_cast<size_t>(i)].defined(); }
  const Call& call() const { return call_; }
  int count() const { return call_.count(); }
  /// Does anybody need the gradient of input i? (False for inputs that are absent or not of a floating type.)
  bool wants(int i) const;
  /// The gradient of input i; axes along which the input was broadcast are summed.
  void set(int i, const Tensor& value);
  std::vector<Tensor> take() { return std::move(results_); }

 private:
  const Call& call_;
  std::span<const Tensor> outputs_, output_gradients_;
  std::span<const bool> wanted_;
  std::vector<Tensor> results_;
};

class Samples;  // collects the inputs an op is tested on (ops/samples.h)

/// Evaluated when an entry of the table is compiled: leaving out both, or giving both, does not build.
constexpr bool says_how_it_differentiates(bool gradient, bool reason) {
  return gradient != reason ? true : throw "give an op either .gradient or .not_differentiable";
}

/// An entry of the table. Exactly one of `view`, `tile`, `run` says how it computes, and exactly one of `gradient` and
/// `not_differentiable` how it differentiates.
struct Op {
  const char* name = nullptr;
  const char* signature = nullptr;  // as in ops.h: "sum(x, axes:ints={}, keepdim:bool=false)"
  const char* doc = nullptr;        // one sentence, with shapes
  const char* family = nullptr;
  Types types = Types::kFloats;

  /// The shape rule: throws an Error for inputs that do not fit.
  void (*infer)(const Call&, Specs&) = nullptr;
  /// Further checks that need the values, such as indices in range; throws.
  void (*check)(const Call&) = nullptr;

  /// A zero-copy view of input 0.
  Tensor (*view)(const Call&) = nullptr;
  /// Element-wise: the tile kernel for the type of the main input (the last one), and the params it gets.
  TileFn (*tile)(DType) = nullptr;
  /// Anything else: run by every member of a team.
  void (*run)(const Call&, const Tensor* out, void* scratch, const Team&) = nullptr;
  size_t (*scratch)(const Call&, const Tensor* out, int team_size) = nullptr;
  /// `run` reads element i of its inputs only to write element i: destinations may alias inputs, as for tiles.
  bool in_place = false;
  /// The number of rows that `run` shares out with team.share(rows) when its operands are contiguous: a member touches
  /// only its rows of the operands that have as many, so the next op that splits alike need not wait. 0 or null:
  /// unknown.
  int64_t (*rows)(const Call&) = nullptr;
  /// `run` and `reference` give max(0, result) when the call has the attribute kRelu: a plan lets them take over a relu
  /// that follows.
  bool takes_relu = false;
  /// The plain loop: oracle of the tests, and what INGOT_SIMD=scalar runs.
  void (*reference)(const Call&, const Tensor* out) = nullptr;
  /// Rough nanoseconds on one thread; decides whether a team is worth waking. Null: by the size of inputs and results.
  double (*cost)(const Call&) = nullptr;
  /// Element-wise: rough cost of one element, in additions.
  float weight = 1;

  void (*gradient)(Gradient&) = nullptr;
  const char* not_differentiable = nullptr;  // why

  /// Adds the inputs to test on; random values are drawn from [low, high].
  void (*samples)(Samples&) = nullptr;
  double low = -3, high = 3;
  bool complete = says_how_it_differentiates(gradient != nullptr, not_differentiable != nullptr);
};

/// All ops, in the order of the documentation.
std::span<const Op* const> all_ops();
/// The op of that name, or null.
const Op* find_op(std::string_view name);

/// Calls an op on inputs; results are new tensors (views for view ops).
Tensor call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs);
/// The same for ops with any number of results, into `results`.
void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results);
/// Calls an op with destinations: exactly the results' shapes and types, any layout; allocates nothing. A destination
/// may alias an input only if the op is element-wise and both have the same layout. On an Error no destination is
/// touched.
void call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
               std::span<const Tensor* const> destinations);
/// The gradients of the wanted inputs (undefined for the others), given results and their gradients.
std::vector<Tensor> gradient(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                             std::span<const Tensor> outputs, std::span<const Tensor> output_gradients,
                             std::span<const bool> wanted);
/// Number of results of an op, from its signature.
int output_count(const Op& op);

}  // namespace ingot
