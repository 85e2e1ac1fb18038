// Random changes of a valid call: another shape, type, attribute or index. What comes out is right or refused.
#include <cmath>
#include <limits>

#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max(), kSmallest = std::numeric_limits<int64_t>::min();

Attrs with_attr(const Attrs& attrs, int changed, const Attr& value) {
  Attrs result;
  for (int i = 0; i < attrs.size(); i++) {
    const Attr& a = i == changed ? value : attrs[i];
    switch (a.kind) {
      case Attr::Kind::kInt: result.set(a.name, a.integer); break;
      case Attr::Kind::kReal: result.set(a.name, a.real); break;
      case Attr::Kind::kInts: result.set(a.name, a.ints); break;
      case Attr::Kind::kText: result.set(a.name, a.text); break;
      case Attr::Kind::kPointer: result.set(a.name, a.pointer); break;
    }
  }
  return result;
}

void change_attr(Case& c, Random& random) {
  const int64_t integers[] = {-1,       0,        1, 2, -2, 5, -7, 9, 64, 1 << 20, int64_t{1} << 32, int64_t{1} << 62,
                              kLargest, kSmallest};
  const double reals[] = {0, -1, 1, 0.5, 1e300, -1e300, std::nan(""), INFINITY, -INFINITY};
  const char* const texts[] = {"",   "x",     "->",       "ij,jk->ik", "...", "i,i,i->",
                               "ii", "i->ii", "\xff\xfe", "ij->k",     ",",   "mean"};
  if (c.attrs.size() == 0) return;
  const int k = static_cast<int>(random.below(c.attrs.size()));
  Attr a = c.attrs[k];
  switch (a.kind) {
    case Attr::Kind::kInt: a.integer = integers[random.below(std::ssize(integers))]; break;
    case Attr::Kind::kReal: a.real = reals[random.below(std::ssize(reals))]; break;
    case Attr::Kind::kText: a.text = texts[random.below(std::ssize(texts))]; break;
    case Attr::Kind::kPointer: a.pointer = nullptr; break;
    case Attr::Kind::kInts: {
      const int64_t what = random.below(4);
      const int64_t value = integers[random.below(std::ssize(integers))];
      if (what == 0 && a.ints.size() < kMaxRank)
        a.ints.push_back(value);
      else if (what == 1 && !a.ints.empty())
        a.ints.erase(static_cast<int>(random.below(a.ints.size())));
      else if (!a.ints.empty())
        a.ints[static_cast<int>(random.below(a.ints.size()))] = value;
      break;
    }
  }
  c.attrs = with_attr(c.attrs, k, a);
}

void change_shape(Case& c, Random& random) {
  if (c.inputs.empty()) return;
  const size_t i = static_cast<size_t>(random.below(std::ssize(c.inputs)));
  if (!c.inputs[i].defined()) return;
  Dims shape = c.inputs[i].shape();
  const int at = static_cast<int>(random.below(std::max(shape.size(), 1)));
  switch (random.below(6)) {
    case 0:
      if (!shape.empty()) shape[at]++;
      break;
    case 1:
      if (!shape.empty()) shape[at] = 0;
      break;
    case 2:
      if (!shape.empty()) shape[at] = 1;
      break;
    case 3:
      if (!shape.empty()) shape.erase(at);
      break;
    case 4:
      if (shape.size() < kMaxRank) shape.insert(at, 1 + random.below(3));
      break;
    case 5:
      while (shape.size() < kMaxRank) shape.insert(0, 1);
      break;
  }
  const DType type = c.inputs[i].dtype();
  if (type == kI32 || type == kI64)  // small numbers, in and out of an index's range
    c.inputs[i] = random.tensor(shape, type, -1, 4);
  else
    c.inputs[i] = random.tensor(shape, type, c.op->low, c.op->high);
}

void change_type(Case& c, Random& random) {
  const DType types[] = {kF32, kF64, kI32, kI64, kU8, kBool, kF16, kBF16};
  if (c.inputs.empty()) return;
  const size_t i = static_cast<size_t>(random.below(std::ssize(c.inputs)));
  if (!c.inputs[i].defined()) return;
  const DType type = types[random.below(8)];
  c.inputs[i] = mapped(
      c.inputs[i], [](double v, size_t) { return v; }, type);
}

// Indices out of range, among other numbers.
void change_values(Case& c, Random& random) {
  const double values[] = {-1, 0, 1e6, -1e6, 9.3e18, -9.3e18};
  for (Tensor& t : c.inputs) {
    if (!t.defined() || (t.dtype() != kI32 && t.dtype() != kI64)) continue;
    const double value = values[random.below(std::ssize(values))];
    t = mapped(
        t, [&](double v, size_t) { return random.chance(0.3) ? value : v; }, t.dtype());
  }
}

}  // namespace

bool too_large(const Specs& specs) {
  for (int i = 0; i < specs.count; i++)
    if (element_count(specs.of[i].shape) > 1 << 20) return true;
  return false;
}

void change(Case& c, Random& random) {
  switch (random.below(4)) {
    case 0: return change_attr(c, random);
    case 1: return change_shape(c, random);
    case 2: return change_type(c, random);
    case 3: return change_values(c, random);
  }
}

}  // namespace ingot::harness
