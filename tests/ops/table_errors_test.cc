// Wrong input gets a sentence that starts with the op's name, or a right result; never a crash. Valid samples are
// changed in one place at random; the sanitizers watch what happens.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "ingot/error.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct TableErrors : OpTest {};

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max(), kSmallest = std::numeric_limits<int64_t>::min();

// What happened: a result, or an Error that does or does not name the op.
testing::AssertionResult named_error(const Case& c) {
  try {
    run(c);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.rfind(c.op->name, 0) == 0) return testing::AssertionSuccess();
    return testing::AssertionFailure() << "the text does not start with the op's name: " << text;
  }
  return testing::AssertionFailure() << "was not refused";
}

// Too much to compute in a test: results of more than a million elements.
bool too_large(const Specs& specs) {
  for (int i = 0; i < specs.count; i++)
    if (element_count(specs.of[i].shape) > 1 << 20) return true;
  return false;
}

testing::AssertionResult right_or_error(const Case& c) {
  // A call that crashes or hangs cannot report itself: INGOT_TEST_TRACE=1 names every call before it runs.
  static const bool trace = std::getenv("INGOT_TEST_TRACE") != nullptr;
  if (trace) std::fprintf(stderr, "%s\n", describe(c).c_str());
  try {
    if (too_large(infer(c))) return testing::AssertionSuccess();
  } catch (const Error&) {  // as run() will say
  }
  try {
    run(c);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.rfind(c.op->name, 0) != 0)
      return testing::AssertionFailure() << "the text does not start with the op's name: " << text;
  }
  return testing::AssertionSuccess();
}

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

TEST_P(TableErrors, ChangedSamplesNeverCrash) {
  Random random(17);
  std::vector<Case> cases = cases_of(op(), kF32);
  for (DType type : types_of(op()))
    if (type == kI64 || type == kU8)
      for (Case& c : cases_of(op(), type)) cases.push_back(std::move(c));
  for (int round = 0; round < 400; round++) {
    Case c = cases[static_cast<size_t>(random.below(std::ssize(cases)))];
    const int64_t changes = 1 + random.below(2);
    for (int64_t k = 0; k < changes; k++) {
      switch (random.below(4)) {
        case 0: change_attr(c, random); break;
        case 1: change_shape(c, random); break;
        case 2: change_type(c, random); break;
        case 3: change_values(c, random); break;
      }
    }
    ASSERT_TRUE(right_or_error(c)) << describe(c);
  }
}

TEST_P(TableErrors, UndefinedInput) {
  const Signature signature(op());
  for (const Case& c : cases_of(op(), kF32)) {
    for (size_t i = 0; i < c.inputs.size(); i++) {
      if (signature.variadic ? i + 1 < signature.inputs.size() : signature.inputs[i].optional) continue;
      Case changed = c;
      changed.inputs[i] = Tensor();
      ASSERT_TRUE(named_error(changed)) << describe(changed);
    }
  }
}

TEST_P(TableErrors, TooFewOrTooManyInputs) {
  const Signature signature(op());
  const Case c = cases_of(op(), kF32)[0];
  Case none{&op(), {}, c.attrs};
  if (!signature.inputs.empty() && !signature.inputs[0].optional) {
    EXPECT_TRUE(named_error(none));
  }
  if (!signature.variadic) {
    Case more = c;
    while (more.inputs.size() <= signature.inputs.size()) more.inputs.push_back(Tensor::empty({2}));
    EXPECT_TRUE(named_error(more)) << describe(more);
  }
}

TEST_P(TableErrors, MissingAttributes) {
  for (const Case& c : cases_of(op(), kF32)) {
    if (c.attrs.size() == 0 || op().tile != nullptr) continue;
    const Case bare{&op(), c.inputs, {}};
    ASSERT_TRUE(named_error(bare)) << describe(c);
    return;
  }
}

// Half precision is storage: only what moves data takes it.
TEST_P(TableErrors, HalfPrecisionOnlyMoves) {
  for (const Case& c : cases_of(op(), kF32)) {
    for (DType half : {kF16, kBF16}) {
      const Case changed = converted(c, kF32, half);
      if (op().tile != nullptr || op().gradient == nullptr || op().types == Types::kFloats) {
        bool changes = false;
        for (const Tensor& t : c.inputs) changes = changes || (t.defined() && t.dtype() == kF32);
        if (changes && op().tile != nullptr) {
          ASSERT_TRUE(named_error(changed)) << describe(changed);
        }
      }
      ASSERT_TRUE(right_or_error(changed)) << describe(changed);
    }
  }
}

INGOT_FOR_EVERY_OP(TableErrors);

}  // namespace
}  // namespace ingot::harness
