#include "ingot/op.h"

#include <algorithm>
#include <new>
#include <string>

#include "base/simd.h"
#include "ingot/error.h"
#include "ingot/memory.h"
#include "ingot/ops.h"
#include "ops/call.h"
#include "ops/checks.h"
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
                "\" is missing or of another kind — the op is " + call.op.signature);
  return *attr;
}

}  // namespace

int64_t Call::integer(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kInt).integer; }
double Call::real(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kReal).real; }
const Dims& Call::ints(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kInts).ints; }
std::string_view Call::text(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kText).text; }
const void* Call::pointer(std::string_view name) const { return attr_of(*this, name, Attr::Kind::kPointer).pointer; }

namespace {

// Work below this many nanoseconds is not worth waking the team for.
constexpr double kWorthSharing = 10000;

// Is input i marked optional ("bias?") in the signature? Asked only when an input is undefined, so speed is no matter.
bool is_optional(const Op& op, int i) {
  std::string_view text(op.signature);
  text = text.substr(text.find('(') + 1);
  for (; i > 0; i--) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) return false;
    text = text.substr(comma + 1);
  }
  const size_t end = text.find_first_of(",):");
  return text.substr(0, end).find('?') != std::string_view::npos;
}

// Does the signature have that many inputs and results? Optional inputs at the end may be missing; "xs..." is any
// number.
void check_counts(const Op& op, size_t inputs, size_t results) {
  std::string_view text(op.signature);
  text = text.substr(text.find('(') + 1);
  size_t least = 0, most = 0;
  while (true) {
    const size_t end = text.find_first_of(",):=");
    const std::string_view input = text.substr(0, end);
    if (input.empty() || text[end] == ':' || text[end] == '=') break;  // the attributes begin
    most = input.ends_with("...") ? kMaxInputs : most + 1;
    if (!input.ends_with("...") && !input.ends_with("?")) least = std::min(most, least + 1);
    if (text[end] == ')') break;
    text = text.substr(end + 1);
  }
  if (inputs < least || inputs > std::min<size_t>(most, kMaxInputs) || results != static_cast<size_t>(output_count(op)))
    throw Error(std::string(op.name) + ": " + std::to_string(inputs) + " inputs and " + std::to_string(results) +
                " results given — the op is " + op.signature);
}

// Runs a rule of the op; whatever sentence it throws starts with the op's name.
template <class Rule>
auto named(const Op& op, Rule&& rule) {
  try {
    return rule();
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.rfind(op.name, 0) == 0) throw;
    throw Error(std::string(op.name) + ": " + text);
  }
}

[[noreturn]] void fail_symbolic(const Call& c, int i) {
  throw Error(std::string(c.op.name) + ": input " + std::to_string(i) + " " + to_string(c.in(i).shape()) +
              " is symbolic, and no capture is under way — a symbolic tensor lives only inside the function that is "
              "compiled");
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

Specs infer(const Call& c) {
  for (int i = 0; i < c.count(); i++)
    if (!c.in(i).defined() && !is_optional(c.op, i))
      throw Error(std::string(c.op.name) + ": input " + std::to_string(i) + " is undefined — the op is " +
                  c.op.signature);
  return named(c.op, [&] {
    Specs specs;
    c.op.infer(c, specs);
    return specs;
  });
}

namespace {

[[noreturn]] void fail_destination(const Op& op, const std::string& what, const std::string& hint) {
  throw Error(std::string(op.name) + "_into: " + what + " — " + hint);
}

std::string describe(DType dtype, const Dims& shape) { return std::string(name(dtype)) + " " + to_string(shape); }

bool same_layout(const Tensor& a, const Tensor& b) {
  return a.raw() == b.raw() && size_of(a.dtype()) == size_of(b.dtype()) && a.shape() == b.shape() &&
         (a.strides() == b.strides() || (a.is_contiguous() && b.is_contiguous()));
}

}  // namespace

void check_destination(const Call& c, const Tensor& dst, const Spec& spec) {
  if (!dst.defined())
    fail_destination(c.op, "dst is undefined", "make it with Tensor::empty(" + to_string(spec.shape) + ")");
  if (dst.dtype() != spec.dtype || !(dst.shape() == spec.shape))
    fail_destination(
        c.op, "dst is " + describe(dst.dtype(), dst.shape()) + ", the result is " + describe(spec.dtype, spec.shape),
        "give a destination of exactly that shape and type");
  if (overlaps_itself(dst))
    fail_destination(c.op, "dst " + to_string(dst.shape()) + " is a view whose elements share memory",
                     "write into a plain tensor");
  const bool in_place = c.op.tile != nullptr || c.op.in_place;
  for (int i = 0; i < c.count(); i++) {
    if (!c.has(i) || (in_place && same_layout(dst, c.in(i))) || !overlaps(dst, c.in(i))) continue;
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
  return bytes / 20;  // about 20 GB/s
}

namespace {

void require_elements(const Call& c) {
  for (int i = 0; i < c.count(); i++)
    if (c.in(i).is_symbolic()) fail_symbolic(c, i);
}

void execute(const Call& c, const Tensor* out, int n_out) {
  bool empty = true;
  for (int i = 0; i < n_out; i++) empty = empty && out[i].numel() == 0;
  if (empty) return;
  if (c.op.view != nullptr) return copy_into(out[0], c.op.view(c));
  if (simd() == Simd::kScalar && c.op.reference != nullptr) return c.op.reference(c, out);
  if (c.op.tile != nullptr) {
    const TileFn tile = c.op.tile(c.in(c.count() - 1).dtype());
    const Params params(c);
    const double cost = static_cast<double>(out[0].numel()) * c.op.weight / 4;
    if (cost < kWorthSharing || threads() == 1) return run_tiles(tile, c, params.values, out[0], Team());
    return parallel(true, [&](const Team& team) { run_tiles(tile, c, params.values, out[0], team); });
  }
  const bool wide = threads() > 1 && estimate_cost(c, out, n_out) >= kWorthSharing;
  void* scratch = nullptr;
  if (c.op.scratch != nullptr)
    if (const size_t bytes = c.op.scratch(c, out, wide ? threads() : 1); bytes > 0) scratch = workspace(bytes);
  parallel(wide, [&](const Team& team) { c.op.run(c, out, scratch, team); });
}

}  // namespace

void call_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs, std::span<Tensor> results) {
  if (Recorder* r = recorder()) return r->call(op, inputs, attrs, results);
  const Call c{op, inputs, attrs};
  const Specs specs = infer(c);
  require_elements(c);
  if (op.check != nullptr) op.check(c);
  if (op.view != nullptr) {
    results[0] = op.view(c);
    return;
  }
  named(op, [&] {
    for (int i = 0; i < specs.count; i++)
      results[static_cast<size_t>(i)] = Tensor::empty(specs.of[i].shape, specs.of[i].dtype);
    execute(c, results.data(), specs.count);
  });
}

void call_into_counted(const Op& op, std::span<const Tensor* const> inputs, const Attrs& attrs,
                       std::span<const Tensor* const> destinations) {
  if (Recorder* r = recorder()) return r->call_into(op, inputs, attrs, destinations);
  const Call c{op, inputs, attrs};
  const Specs specs = infer(c);
  require_elements(c);
  for (int i = 0; i < specs.count; i++) check_destination(c, *destinations[static_cast<size_t>(i)], specs.of[i]);
  for (int i = 1; i < specs.count; i++)
    for (int k = 0; k < i; k++)
      if (overlaps(*destinations[static_cast<size_t>(i)], *destinations[static_cast<size_t>(k)]))
        fail_destination(op, "two destinations overlap", "give each result its own memory");
  if (op.check != nullptr) op.check(c);
  if (specs.count == 1) return execute(c, destinations[0], 1);
  Tensor out[kMaxOutputs];
  for (int i = 0; i < specs.count; i++) out[i] = *destinations[static_cast<size_t>(i)];
  execute(c, out, specs.count);
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

int output_count(const Op& op) {
  const std::string_view text(op.signature);
  const size_t arrow = text.find("->");
  if (arrow == std::string_view::npos) return 1;
  int count = 1;
  for (char c : text.substr(arrow)) count += c == ',';
  return count;
}

}  // namespace ingot
