#include "tests/ops/harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/ops/samples.h"

namespace ingot::harness {

uint64_t Random::next() {  // splitmix64
  uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

double Random::real(double low, double high) {
  return low + (high - low) * static_cast<double>(next() >> 11) * 0x1p-53;
}

Tensor Random::tensor(const Dims& shape, DType dtype, double low, double high) {
  Tensor t = Tensor::empty(shape, dtype);
  char* p = static_cast<char*>(t.raw());
  for (int64_t i = 0; i < t.numel(); i++, p += size_of(dtype)) store_from_double(p, dtype, real(low, high));
  return t;
}

std::vector<const Tensor*> Case::pointers() const {
  std::vector<const Tensor*> result;
  for (const Tensor& t : inputs) result.push_back(&t);
  return result;
}

Attr::Kind kind_of(AttrType type) {
  switch (type) {
    case AttrType::kReal: return Attr::Kind::kReal;
    case AttrType::kInts: return Attr::Kind::kInts;
    case AttrType::kText: return Attr::Kind::kText;
    case AttrType::kPointer: return Attr::Kind::kPointer;
    default: return Attr::Kind::kInt;
  }
}

std::string describe(const Case& c) {
  std::string text;
  for (const Tensor& t : c.inputs) {
    text += text.empty() ? "" : ", ";
    text += t.defined() ? std::string(name(t.dtype())) + " " + to_string(t.shape()) : "none";
  }
  for (int i = 0; i < c.attrs.size(); i++) {
    const Attr& a = c.attrs[i];
    text += (text.empty() ? "" : ", ") + std::string(a.name) + "=";
    switch (a.kind) {
      case Attr::Kind::kInt: text += std::to_string(a.integer); break;
      case Attr::Kind::kReal: text += std::to_string(a.real); break;
      case Attr::Kind::kInts: text += to_string(a.ints); break;
      case Attr::Kind::kText: text += "\"" + std::string(a.text) + "\""; break;
      case Attr::Kind::kPointer: text += "…"; break;
    }
  }
  return std::string(c.op->name) + "(" + text + ")";
}

std::vector<DType> types_of(const Op& op) {
  std::vector<DType> types = {kF32, kF64};
  if (op.types != Types::kFloats) types.insert(types.end(), {kI32, kI64});
  if (op.types == Types::kAll) types.insert(types.end(), {kU8, kBool});
  return types;
}

std::vector<const Op*> ops_where(bool (*chosen)(const Op&)) {
  std::vector<const Op*> ops;
  for (const Op* op : ops_under_test())
    if (chosen(*op)) ops.push_back(op);
  return ops;
}

std::vector<Case> cases_of(const Op& op, DType dtype) {
  Samples samples(op, dtype);
  if (op.samples != nullptr) op.samples(samples);
  std::vector<Case> cases;
  for (const Sample& s : samples.all()) cases.push_back({&op, s.inputs, s.attrs});
  return cases;
}

Specs infer(const Case& c) {
  const std::vector<const Tensor*> in = c.pointers();
  Specs specs;
  c.op->infer({*c.op, in, c.attrs}, specs);
  return specs;
}

std::vector<Tensor> run(const Case& c) {
  std::vector<Tensor> results(static_cast<size_t>(output_count(*c.op)));
  call(*c.op, c.pointers(), c.attrs, results);
  return results;
}

void run_into(const Case& c, const std::vector<Tensor>& destinations) {
  std::vector<const Tensor*> out;
  for (const Tensor& t : destinations) out.push_back(&t);
  call_into(*c.op, c.pointers(), c.attrs, out);
}

std::vector<Tensor> reference(const Case& c) {
  const std::vector<const Tensor*> in = c.pointers();
  const Call call{*c.op, in, c.attrs};
  const Specs specs = infer(c);
  std::vector<Tensor> results;
  for (int i = 0; i < specs.count; i++) results.push_back(Tensor::empty(specs.of[i].shape, specs.of[i].dtype));
  if (c.op->view != nullptr) {
    const std::vector<uint8_t> bytes = bytes_of(c.op->view(call));
    if (!bytes.empty()) std::memcpy(results[0].raw(), bytes.data(), bytes.size());
  } else {
    c.op->reference(call, results.data());
  }
  return results;
}

Case converted(const Case& c, DType from, DType to) {
  Case result{c.op, {}, {}};
  for (const Tensor& t : c.inputs) {
    if (!t.defined() || t.dtype() != from) {
      result.inputs.push_back(t);
      continue;
    }
    result.inputs.push_back(mapped(
        t, [](double v, size_t) { return v; }, to));
  }
  for (int i = 0; i < c.attrs.size(); i++) {  // a dtype attribute follows the tensors
    const Attr& a = c.attrs[i];
    switch (a.kind) {
      case Attr::Kind::kInt: {
        const bool is_type = a.name == "dtype" && a.integer == static_cast<int64_t>(from);
        result.attrs.set(a.name, is_type ? static_cast<int64_t>(to) : a.integer);
        break;
      }
      case Attr::Kind::kReal: result.attrs.set(a.name, a.real); break;
      case Attr::Kind::kInts: result.attrs.set(a.name, a.ints); break;
      case Attr::Kind::kText: result.attrs.set(a.name, a.text); break;
      case Attr::Kind::kPointer: result.attrs.set(a.name, a.pointer); break;
    }
  }
  return result;
}

// Comparison
// ------------------------------------------------------------------------------------------------------------

namespace {

// Calls f with the address of every element, in row-major order.
template <class F>
void for_each(const Tensor& t, F&& f) {
  const int64_t size = static_cast<int64_t>(size_of(t.dtype()));
  Dims index = Dims::filled(t.rank(), 0);
  char* at = static_cast<char*>(t.raw());
  for (int64_t i = 0; i < t.numel(); i++) {
    f(at);
    for (int a = t.rank() - 1; a >= 0; a--) {
      at += t.strides()[a] * size;
      if (++index[a] < t.shape()[a]) break;
      at -= t.shape()[a] * t.strides()[a] * size;
      index[a] = 0;
    }
  }
}

std::string index_text(const Tensor& t, size_t k) {
  Dims index = Dims::filled(t.rank(), 0);
  int64_t rest = static_cast<int64_t>(k);
  for (int a = t.rank() - 1; a >= 0; a--) {
    index[a] = rest % t.shape()[a];
    rest /= t.shape()[a];
  }
  return to_string(index);
}

testing::AssertionResult same_form(const Tensor& actual, const Tensor& expected) {
  if (!actual.defined()) return testing::AssertionFailure() << "the result is undefined";
  if (actual.dtype() == expected.dtype() && actual.shape() == expected.shape()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "the result is " << name(actual.dtype()) << " " << to_string(actual.shape())
                                     << ", not " << name(expected.dtype()) << " " << to_string(expected.shape());
}

testing::AssertionResult differ(const Tensor& t, size_t k, double actual, double expected) {
  return testing::AssertionFailure() << "at " << index_text(t, k) << " of " << to_string(t.shape()) << ": "
                                     << testing::PrintToString(actual) << ", not " << testing::PrintToString(expected)
                                     << " (off by " << actual - expected << ")";
}

}  // namespace

std::vector<double> values_of(const Tensor& t) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(t.numel()));
  for_each(t, [&](const char* p) { values.push_back(load_as_double(p, t.dtype())); });
  return values;
}

std::vector<uint8_t> bytes_of(const Tensor& t) {
  std::vector<uint8_t> bytes;
  bytes.reserve(static_cast<size_t>(t.numel()) * size_of(t.dtype()));
  for_each(t, [&](const char* p) { bytes.insert(bytes.end(), p, p + size_of(t.dtype())); });
  return bytes;
}

double largest(const Tensor& t) {
  double most = 0;
  if (t.defined())
    for (double v : values_of(t))
      if (std::isfinite(v)) most = std::max(most, std::fabs(v));
  return most;
}

double magnitude_of(const Case& c) {
  double magnitude = 0;
  for (const Tensor& t : c.inputs)
    if (t.defined() && is_float(t.dtype())) magnitude = std::max(magnitude, largest(t));
  return magnitude;
}

Tolerance tolerance_of(const Op& op, DType dtype) {
  if (op.view != nullptr) return {};
  if (op.rounding.ulps >= 0) return {op.rounding.ulps, op.rounding.scaled};
  if (op.tile == nullptr) {
    // References of f32 compute in f64 and are as good as exact; those of f64 carry the rounding of a plain loop.
    const double growth = dtype == kF32 ? 16 : 128;
    return {growth, growth};
  }
  return {4, 0};
}

testing::AssertionResult close(const Tensor& actual, const Tensor& expected, Tolerance tolerance, double magnitude) {
  if (testing::AssertionResult form = same_form(actual, expected); !form) return form;
  if (!is_float(actual.dtype())) return same_bits(actual, expected);
  const double eps = actual.dtype() == kF32 ? 0x1p-23 : 0x1p-52;
  const double tiny = actual.dtype() == kF32 ? 0x1p-149 : 0x1p-1074;  // subnormals may go where larger errors may
  const double floor = tolerance.scaled > 0 ? tiny / eps : tolerance.ulps * tiny;
  const std::vector<double> a = values_of(actual), e = values_of(expected);
  const double around = std::max(magnitude, largest(expected));
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const double bound = eps * (tolerance.ulps * std::fabs(e[i]) + tolerance.scaled * around) + floor;
    if (!std::isfinite(e[i]) || !(std::fabs(a[i] - e[i]) <= bound)) return differ(actual, i, a[i], e[i]);
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(const Tensor& actual, const Tensor& expected) {
  if (testing::AssertionResult form = same_form(actual, expected); !form) return form;
  const std::vector<uint8_t> a = bytes_of(actual), e = bytes_of(expected);
  if (a == e) return testing::AssertionSuccess();
  const size_t at = static_cast<size_t>(std::mismatch(a.begin(), a.end(), e.begin()).first - a.begin());
  const size_t k = at / size_of(actual.dtype());
  return differ(actual, k, values_of(actual)[k], values_of(expected)[k]) << "; the bits must be the same";
}

testing::AssertionResult agrees(const Case& c, const std::vector<Tensor>& results, const std::vector<Tensor>& expected,
                                double slack) {
  const double magnitude = magnitude_of(c);
  for (size_t i = 0; i < expected.size(); i++) {
    Tolerance tolerance = tolerance_of(*c.op, expected[i].dtype());
    tolerance.scaled *= slack;
    if (testing::AssertionResult r = close(results[i], expected[i], tolerance, magnitude); !r)
      return r << " in result " << i;
  }
  return testing::AssertionSuccess();
}

}  // namespace ingot::harness
