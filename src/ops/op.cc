#include "ingot/ops/op.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "ingot/base/dispatch.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/ops.h"
#include "kernels/cost.h"
#include "ops/call.h"
#include "ops/elementwise.h"

namespace ingot {

static_assert(std::is_trivially_destructible_v<Attr>);

Attr& Attrs::add(std::string_view name, Attr::Kind kind) {
  if (size_ == kMaxAttrs) throw Error("attrs: more than " + std::to_string(kMaxAttrs) + " attributes");
  Attr* attr = new (storage_ + sizeof(Attr) * static_cast<size_t>(size_++)) Attr;
  attr->name = name;
  attr->kind = kind;
  return *attr;
}
Attrs& Attrs::set(std::string_view name, int64_t value) { return add(name, Attr::Kind::kInt).integer = value, *this; }
Attrs& Attrs::set(std::string_view name, double value) { return add(name, Attr::Kind::kReal).real = value, *this; }
Attrs& Attrs::set(std::string_view name, const Dims& value) { return add(name, Attr::Kind::kInts).ints = value, *this; }
Attrs& Attrs::set(std::string_view name, std::string_view value) {
  return add(name, Attr::Kind::kText).text = value, *this;
}
Attrs& Attrs::set(std::string_view name, const void* value) {
  return add(name, Attr::Kind::kPointer).pointer = value, *this;
}
const Attr* Attrs::find(std::string_view name) const {
  for (int i = 0; i < size_; i++)
    if ((*this)[i].name == name) return &(*this)[i];
  return nullptr;
}

namespace {

const Attr& attr_of(const Call& call, std::string_view name, Attr::Kind kind) {
  const Attr* attr = call.attrs.find(name);
  if (attr == nullptr || attr->kind != kind)
    throw Error(std::string(call.op.name) + ": attribute \"" + std::string(name) +
                "\" is missing or of another kind — the op is " + call.op.signature.text());
  return *attr;
}

}  // namespace

int64_t Call::integer(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kInt).integer; }
double Call::real(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kReal).real; }
const Dims& Call::ints(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kInts).ints; }
std::string_view Call::text(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kText).text; }
const void* Call::pointer(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kPointer).pointer; }

namespace {

// Does the signature have that many inputs and results?
void check_counts(const Op& op, size_t inputs, size_t results) {
  const Signature& s = op.signature;
  if (inputs < static_cast<size_t>(s.least_inputs()) || inputs > static_cast<size_t>(s.most_inputs()) ||
      results != static_cast<size_t>(s.output_count()))
    throw Error(std::string(op.name) + ": " + std::to_string(inputs) + " inputs and " + std::to_string(results) +
                " results given — the op is " + s.text());
}

// Runs a rule of the op; whatever sentence it throws starts with the op's name.
template <class Rule>
auto named(const Op& op, Rule&& rule) {
  try {
    return rule();
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.rfind(op.name, 0) == 0) throw;
    throw Error(e.kind(), std::string(op.name) + ": " + text);
  }
}

[[noreturn]] void fail_symbolic(const Call& c, int i) {
  throw Error(std::string(c.op.name) + ": input " + std::to_string(i) + " " + to_string(c.in(i).shape()) +
              " is symbolic, and no capture is under way — a symbolic tensor lives only inside the function that is "
              "compiled");
}

bool takes_type(const Op& op, DType type) {
  return is_float(type) || (op.types != Types::kFloats && is_number(type)) ||
         (op.types == Types::kAll && (type == kU8 || type == kBool));
}

// Captures under way on all threads: while there is none, calls need not look further.
std::atomic<int> recorders{0};
thread_local Recorder* thread_recorder = nullptr;

}  // namespace

Recorder* recorder() { return recorders.load(std::memory_order_relaxed) == 0 ? nullptr : thread_recorder; }

Recorder* set_recorder(Recorder* next) {
  Recorder* before = thread_recorder;
  recorders.fetch_add((next != nullptr) - (before != nullptr));
  thread_recorder = next;
  return before;
}

namespace {

// Real constants of a call whose result holds integers: what the type does not hold would be cut off in silence.
void check_real_constants(const Call& c, DType result) {
  if (!is_integer(result) || c.op.real_constants == RealConstants::kOwn) return;
  for (int i = 0; i < c.attrs.size(); i++) {
    const Attr& a = c.attrs[i];
    if (a.kind != Attr::Kind::kReal) continue;
    if (c.op.real_constants == RealConstants::kBounds && std::isinf(a.real)) continue;
    require_element(c, result, a.name, a.real);
  }
}

}  // namespace

Specs infer(const Call& c) {
  for (int i = 0; i < c.count(); i++)
    if (!c.in(i).defined() && !c.op.signature.optional(i))
      throw Error(std::string(c.op.name) + ": input " + std::to_string(i) + " is undefined — the op is " +
                  c.op.signature.text());
  return named(c.op, [&] {
    Specs specs;
    c.op.infer(c, specs);
    check_real_constants(c, specs.of[0].dtype);
    return specs;
  });
}

Call prepare(const Call& call, Prepared& block) {
  static const Attrs kNone{};
  if (call.op.prepare == nullptr) return {call.op, call.inputs, kNone, nullptr};
  call.op.prepare(call, block);
  return {call.op, call.inputs, kNone, &block};
}

namespace {

[[noreturn]] void fail_destination(const Op& op, const std::string& what, const std::string& hint,
                                   ErrorKind kind = ErrorKind::kArgument) {
  throw Error(kind, std::string(op.name) + "_into: " + what + " — " + hint);
}

std::string describe(DType dtype, const Dims& shape) { return std::string(name(dtype)) + " " + to_string(shape); }

}  // namespace

bool coincide(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && size_of(a.dtype()) == size_of(b.dtype()) && a.shape() == b.shape() &&
         (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

void check_destination(const Call& c, const Tensor& dst, const Spec& spec) {
  if (!dst.defined())
    fail_destination(c.op, "dst is undefined", "make it with Tensor::empty(" + to_string(spec.shape) + ")");
  if (dst.dtype() != spec.dtype || !(dst.shape() == spec.shape))
    fail_destination(
        c.op, "dst is " + describe(dst.dtype(), dst.shape()) + ", the result is " + describe(spec.dtype, spec.shape),
        "give a destination of exactly that shape and type",
        dst.dtype() != spec.dtype ? ErrorKind::kType : ErrorKind::kShape);
  if (overlaps_itself(dst))
    fail_destination(c.op, "dst " + to_string(dst.shape()) + " is a view whose elements share memory",
                     "write into a plain tensor");
  const bool in_place = c.op.tile != nullptr || c.op.in_place;
  for (int i = 0; i < c.count(); i++) {
    if (!c.has(i) || (in_place && coincide(dst, c.in(i))) || !overlaps(dst, c.in(i))) continue;
    fail_destination(
        c.op,
        "dst " + to_string(dst.shape()) + " overlaps input " + std::to_string(i) + " " + to_string(c.in(i).shape()),
        in_place ? "an input may alias dst only with the same layout"
                 : "this op cannot work in place; give another destination");
  }
}

double estimate_cost(const Call& c, const Tensor* out, int n_out) {
  if (c.op.cost != nullptr) return c.op.cost(c);
  double bytes = 0;
  for (int i = 0; i < n_out; i++)
    bytes += static_cast<double>(out[i].numel()) * static_cast<double>(size_of(out[i].dtype()));
  for (int i = 0; i < c.count(); i++)
    if (c.has(i)) bytes += static_cast<double>(c.in(i).numel()) * static_cast<double>(size_of(c.in(i).dtype()));
  return bytes / cost::kColdBytes;
}

namespace {

void require_elements(const Call& c) {
  for (int i = 0; i < c.count(); i++)
    if (c.in(i).is_symbolic()) fail_symbolic(c, i);
}

// `given` has the attributes for a reference, `c` the same call's decoded constants.
void execute(const Call& given, const Call& c, const Tensor* out, int n_out) {
  bool empty = true;
  for (int i = 0; i < n_out; i++) empty = empty && out[i].numel() == 0;
  if (empty) return;
  if (c.op.view != nullptr) return copy_into(out[0], given.op.view(given));
  if (simd() == Simd::kScalar && c.op.reference != nullptr) return c.op.reference(given, out);
  if (c.op.tile != nullptr) {
    const TileFn tile = c.op.tile(c.in(c.count() - 1).dtype());
    const double ns = static_cast<double>(out[0].numel()) * c.op.weight / cost::kColdAdditions;
    if (ns < cost::kCallWorthSharing || threads() == 1) return run_tiles(tile, c, tile_params(c), out[0], Team());
    return parallel(true, [&](const Team& team) { run_tiles(tile, c, tile_params(c), out[0], team); });
  }
  const bool wide = threads() > 1 && estimate_cost(c, out, n_out) >= cost::kCallWorthSharing;
  void* scratch = nullptr;
  if (c.op.scratch != nullptr)
    if (const size_t bytes = c.op.scratch(c, out, wide ? threads() : 1); bytes > 0) scratch = workspace(bytes);
  parallel(wide, [&](const Team& team) { c.op.run(c, out, scratch, team); });
}

// The usual small call: an element-wise op on one or two contiguous tensors of one shape and type, too small for a team.
// Nothing that the long way checks can be wrong then; half of such a call would be asking.
bool is_small_elementwise(const Call& c) {
  if (c.op.infer != infer_elementwise || c.count() > 2 || c.attrs.size() != c.op.signature.attr_count()) return false;
  const Tensor& x = c.in(0);
  if (!x.defined() || x.is_symbolic() || !x.is_contiguous() || !takes_type(c.op, x.dtype()) || x.numel() == 0)
    return false;
  if (c.attrs.size() > 0 && !is_float(x.dtype())) return false;
  if (c.count() == 2) {
    const Tensor& y = c.in(1);
    if (!y.defined() || y.is_symbolic() || !y.is_contiguous() || y.dtype() != x.dtype() || !(y.shape() == x.shape()))
      return false;
  }
  const double ns = static_cast<double>(x.numel()) * c.op.weight / cost::kColdAdditions;
  return ns < cost::kCallWorthSharing && simd() != Simd::kScalar;
}
// Has dst the form of such a call's inputs, and does it stand apart from them or in the same place?
bool suits_small_elementwise(const Call& c, const Tensor& dst) {
  const Tensor& x = c.in(0);
  if (!dst.defined() || dst.is_symbolic() || !dst.is_contiguous() || dst.dtype() != x.dtype() ||
      !(dst.shape() == x.shape()))
    return false;
  const auto bytes = static_cast<uintptr_t>(x.numel()) * size_of(x.dtype());
  const auto to = reinterpret_cast<uintptr_t>(dst.raw());
  for (int i = 0; i < c.count(); i++) {
    const auto from = reinterpret_cast<uintptr_t>(c.in(i).raw());
    if (from != to && from < to + bytes && to < from + bytes) return false;
  }
  return true;
}
void run_small_elementwise(const Call& c, const Tensor& out) {
  const void* in[2] = {c.in(0).raw(), c.count() == 2 ? c.in(1).raw() : nullptr};
  const TileFn tile = c.op.tile(out.dtype());
  if (c.attrs.size() == 0) return tile(out.raw(), in, 0, out.numel(), nullptr);
  tile(out.raw(), in, 0, out.numel(), Params(c).values);
}

}  // namespace

void call_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results) {
  if (Recorder* r = recorder()) return r->call(op, inputs, attrs, results);
  const Call c{op, inputs, attrs};
  if (is_small_elementwise(c)) {
    results[0] = Tensor::empty(c.in(0).shape(), c.in(0).dtype());
    return run_small_elementwise(c, results[0]);
  }
  const Specs specs = infer(c);
  require_elements(c);
  if (op.view != nullptr) {
    results[0] = op.view(c);
    return;
  }
  Prepared block;
  const Call ready = prepare(c, block);
  if (op.check != nullptr) op.check(ready);
  named(op, [&] {
    for (int i = 0; i < specs.count; i++)
      results[static_cast<size_t>(i)] = Tensor::empty(specs.of[i].shape, specs.of[i].dtype);
    execute(c, ready, results.data(), specs.count);
  });
}

void call_into_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                       std::span<const Tensor* const> destinations) {
  if (Recorder* r = recorder()) return r->call_into(op, inputs, attrs, destinations);
  const Call c{op, inputs, attrs};
  if (is_small_elementwise(c) && suits_small_elementwise(c, *destinations[0]))
    return run_small_elementwise(c, *destinations[0]);
  const Specs specs = infer(c);
  require_elements(c);
  for (int i = 0; i < specs.count; i++) check_destination(c, *destinations[static_cast<size_t>(i)], specs.of[i]);
  for (int i = 1; i < specs.count; i++)
    for (int k = 0; k < i; k++)
      if (overlaps(*destinations[static_cast<size_t>(i)], *destinations[static_cast<size_t>(k)]))
        fail_destination(op, "two destinations overlap", "give each result its own memory");
  Prepared block;
  const Call ready = prepare(c, block);
  if (op.check != nullptr) op.check(ready);
  if (specs.count == 1) return execute(c, ready, destinations[0], 1);
  Tensor out[kMaxOutputs];
  for (int i = 0; i < specs.count; i++) out[i] = *destinations[static_cast<size_t>(i)];
  execute(c, ready, out, specs.count);
}

const Tensor& result_at(std::initializer_list<const Tensor*> results, size_t i) {
  if (i >= results.size())
    throw Error("result " + std::to_string(i) + " of " + std::to_string(results.size()) +
                " — they are numbered from 0");
  return *results.begin()[i];
}

Tensor call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs) {
  Tensor result;
  call(op, inputs, attrs, {&result, 1});
  return result;
}

void call(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results) {
  check_counts(op, inputs.size(), results.size());
  call_counted(op, inputs, attrs, results);
}

void call_into(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
               std::span<const Tensor* const> destinations) {
  check_counts(op, inputs.size(), destinations.size());
  call_into_counted(op, inputs, attrs, destinations);
}

Gradient::Gradient(const Call& call, std::span<const Tensor> outputs, std::span<const Tensor> output_gradients,
                   std::span<const bool> wanted)
    : call_(call),
      outputs_(outputs),
      output_gradients_(output_gradients),
      wanted_(wanted),
      results_(call.inputs.size()) {}

Tensor Gradient::dy(int i) const {
  const Tensor& given = output_gradients_[static_cast<size_t>(i)];
  return given.defined() ? given : zeros(out(i).shape(), out(i).dtype());
}

bool Gradient::wants(int i) const {
  return call_.has(i) && is_float(call_.in(i).dtype()) && (wanted_.empty() || wanted_[static_cast<size_t>(i)]);
}

void Gradient::set(int i, const Tensor& value) {
  if (wants(i)) results_[static_cast<size_t>(i)] = sum_to(value, call_.in(i).shape());
}

std::vector<Tensor> gradient(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                             std::span<const Tensor> outputs, std::span<const Tensor> output_gradients,
                             std::span<const bool> wanted) {
  if (op.gradient == nullptr) throw Error(std::string(op.name) + ": not differentiable — " + op.not_differentiable);
  check_counts(op, inputs.size(), outputs.size());
  if (output_gradients.size() != outputs.size() || (!wanted.empty() && wanted.size() != inputs.size()))
    throw Error(std::string(op.name) + ": " + std::to_string(output_gradients.size()) + " gradients for " +
                std::to_string(outputs.size()) + " results, " + std::to_string(wanted.size()) + " wishes for " +
                std::to_string(inputs.size()) + " inputs — give one of each (or no wishes: all are wanted)");
  const Call c{op, inputs, attrs};
  Gradient g(c, outputs, output_gradients, wanted);
  op.gradient(g);
  return g.take();
}

}  // namespace ingot
