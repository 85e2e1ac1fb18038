// Op: an entry of the one table that every operation comes from, and the generic way to call one. ops.h has the
// functions people write; this header is for those who walk the table (documentation, tests, bindings, the graph).
#pragma once
#include <cassert>
#include <cstddef>
#include <initializer_list>
#include <new>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/base/threads.h"
#include "ingot/base/tile.h"
#include "ingot/ops/signature.h"

namespace ingot {

struct Op;

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
class INGOT_API Attrs {
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

/// What an op's `prepare` made of a call's constants: plain data of the op's own type, decoded once, read by every run.
class Prepared {
 public:
  static constexpr size_t kBytes = 416;
  template <class T>
  void set(const T& params) {
    static_assert(std::is_trivially_destructible_v<T> && sizeof(T) <= kBytes && alignof(T) <= alignof(Prepared));
    new (bytes_) T(params);
    type_ = &kTypeTag<T>;
  }
  template <class T>
  const T& get() const {
    assert(type_ == &kTypeTag<T>);
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }

 private:
  template <class T>
  static constexpr char kTypeTag = 0;
  const void* type_ = nullptr;
  alignas(8) std::byte bytes_[kBytes];
};

/// One use of an op: its inputs and constants. Shape rules, gradients and references read the constants by name; what
/// runs at every step (`check`, `run`, `scratch`, `rows`, `cost`) gets them decoded, as params(). Nothing is copied.
struct INGOT_API Call {
  const Op& op;
  std::span<const Tensor* const> inputs;
  const Attrs& attrs;
  const Prepared* prepared = nullptr;

  /// The constants as the op's `prepare` left them.
  template <class T>
  const T& params() const {
    assert(prepared != nullptr);
    return prepared->get<T>();
  }

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
class INGOT_API Gradient {
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

class Samples;      // collects the inputs an op is tested on (samples.h)
class Rewrite;      // what a rewrite rule sees and says (graph's passes drive it)
struct ChainForms;  // the op's formula, compiled for chains in registers (kernels/chain)

/// What kind of work an op does; passes go by it and know no op by name.
enum class OpRole : uint8_t {
  kOther,
  kElementwise,  // has a tile kernel
  kView,         // the input's memory with other strides
  kProduct,      // input 0 · input 1, [m, k]·[k, n] (see Op::transposed); plus a row of biases if there is an input 2
  kFold,         // input 0 folded over `axes` by Op::fold
  kCopy,         // the elements of input 0, as they are
  kFill,         // the attribute `value` everywhere
  kRandom,       // numbers drawn by the attribute `seed`
  kUpdate,       // new parameters and state from old ones and a gradient
};

/// How a kFold op joins elements; kNone for folds that have their own kernel only.
enum class Fold : uint8_t { kNone, kSum, kMean, kMax, kMin };

/// What the kernel of a product can do to its result in place of an op that follows.
enum class Epilogue : uint8_t { kNone, kAddBias, kRectify };

/// What the real constants of a call must be if its result holds integers: nothing is rounded in silence.
enum class RealConstants : uint8_t {
  kElements,  // numbers that the result's type holds
  kBounds,    // those, or infinite: they limit elements
  kOwn,       // the shape rule knows
};

/// Where rounding of an op's result comes from, in units of the last place: |error| ≤ ulps · |result| + scaled ·
/// (largest magnitude of inputs and results). Negative: by the kind of op.
struct Rounding {
  double ulps = -1, scaled = -1;
};

/// Evaluated when an entry of the table is compiled: leaving out both, or giving both, does not build.
constexpr bool says_how_it_differentiates(bool gradient, bool reason) {
  return gradient != reason ? true : throw "give an op either .gradient or .not_differentiable";
}

constexpr OpRole role_by_kernel(bool tile, bool view) {
  return tile ? OpRole::kElementwise : view ? OpRole::kView : OpRole::kOther;
}

/// An entry of the table. Exactly one of `view`, `tile`, `run` says how it computes, and exactly one of `gradient` and
/// `not_differentiable` how it differentiates.
struct Op {
  const char* name = nullptr;
  Signature signature = {};   // as in ops.h: "sum(x, axes:ints={}, keepdim:bool=false)"
  const char* doc = nullptr;  // one sentence, with shapes
  const char* family = nullptr;
  Types types = Types::kFloats;
  RealConstants real_constants = RealConstants::kElements;
  /// Part of a gradient or of a fused form: declared in plumbing.h, where users do not meet it.
  bool plumbing = false;

  /// The shape rule: throws an Error for inputs that do not fit.
  void (*infer)(const Call&, Specs&) = nullptr;
  /// Decodes the constants and chooses a kernel, once: depends on attributes and on the inputs' types and shapes, never
  /// on addresses. Write it with prepared<function>.
  void (*prepare)(const Call&, Prepared&) = nullptr;
  /// Further checks that need the values, such as indices in range; throws.
  void (*check)(const Call&) = nullptr;

  /// A zero-copy view of input 0.
  Tensor (*view)(const Call&) = nullptr;
  /// Element-wise: the tile kernel for the type of the main input (the last one), and the params it gets.
  TileFn (*tile)(DType) = nullptr;
  /// Element-wise, optional: the same formula for chains whose values stay in registers.
  const ChainForms* (*chain)() = nullptr;
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

  // What passes go by.
  OpRole role = role_by_kernel(tile != nullptr, view != nullptr);
  Fold fold = Fold::kNone;
  Epilogue epilogue = Epilogue::kNone;
  bool transposed = false;  // kProduct: input 1 is [n, k]
  /// What can be done better when a plan is compiled; written with ops, as gradients are.
  bool (*simplify)(Rewrite&) = nullptr;

  void (*gradient)(Gradient&) = nullptr;
  const char* not_differentiable = nullptr;  // why

  /// Adds the inputs to test on; random values are drawn from [low, high].
  void (*samples)(Samples&) = nullptr;
  double low = -3, high = 3;
  Rounding rounding = {};
  /// Sums inside are taken in an order of the kernel's own, so infinities of both signs may meet or not.
  bool reorders_sums = false;
  /// Elements that do not count are multiplied by zero, not skipped: NaN and infinity there reach the result.
  bool multiplies_padding = false;
  bool complete = says_how_it_differentiates(gradient != nullptr, not_differentiable != nullptr);
};

/// For Op::prepare: the block is what `decode(call)` returns, of the op's own type.
///   static SliceParams decode_slice(const Call& call);
///   .prepare = prepared<decode_slice>, .run = … call.params<SliceParams>() …
template <auto decode>
void prepared(const Call& call, Prepared& block) {
  block.set(decode(call));
}

/// The call as kernels see it: decoded constants in `block`, no attributes. `block` must outlive it.
INGOT_API Call prepare(const Call& call, Prepared& block);

/// All ops, in the order of the documentation.
INGOT_API std::span<const Op* const> all_ops();
/// The op of that name, or null.
INGOT_API const Op* find_op(std::string_view name);

/// Calls an op on inputs; results are new tensors (views for view ops).
INGOT_API Tensor call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs);
/// The same for ops with any number of results, into `results`.
INGOT_API void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results);
/// Calls an op with destinations: exactly the results' shapes and types, any layout; allocates nothing. A destination
/// may alias an input only if the op is element-wise and both have the same layout. On an Error no destination is
/// touched.
INGOT_API void call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                         std::span<const Tensor* const> destinations);
/// The gradients of the wanted inputs (undefined for the others), given results and their gradients.
INGOT_API std::vector<Tensor> gradient(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                                       std::span<const Tensor> outputs, std::span<const Tensor> output_gradients,
                                       std::span<const bool> wanted);
/// Number of results of an op.
inline int output_count(const Op& op) { return op.signature.output_count(); }

}  // namespace ingot
