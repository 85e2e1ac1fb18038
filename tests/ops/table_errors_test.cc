// Wrong input gets a sentence that starts with the op's name, or a right result; never a crash. Valid samples are
// changed in one place at random; the sanitizers watch what happens.
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct TableErrors : OpTest {};

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

TEST_P(TableErrors, ChangedSamplesNeverCrash) {
  Random random(17);
  std::vector<Case> cases = cases_of(op(), kF32);
  for (DType type : types_of(op()))
    if (type == kI64 || type == kU8)
      for (Case& c : cases_of(op(), type)) cases.push_back(std::move(c));
  for (int round = 0; round < 400; round++) {
    Case c = cases[static_cast<size_t>(random.below(std::ssize(cases)))];
    change(c, random);
    if (random.chance(0.5)) change(c, random);
    ASSERT_TRUE(right_or_error(c)) << describe(c);
  }
}

TEST_P(TableErrors, UndefinedInput) {
  const Signature& signature = op().signature;
  for (const Case& c : cases_of(op(), kF32)) {
    for (size_t i = 0; i < c.inputs.size(); i++) {
      if (signature.optional(static_cast<int>(i))) continue;
      Case changed = c;
      changed.inputs[i] = Tensor();
      ASSERT_TRUE(named_error(changed)) << describe(changed);
    }
  }
}

TEST_P(TableErrors, TooFewOrTooManyInputs) {
  const Signature& signature = op().signature;
  const Case c = cases_of(op(), kF32)[0];
  Case none{&op(), {}, c.attrs};
  if (signature.least_inputs() > 0) {
    EXPECT_TRUE(named_error(none));
  }
  if (!signature.variadic()) {
    Case more = c;
    while (std::ssize(more.inputs) <= signature.most_inputs()) more.inputs.push_back(Tensor::empty({2}));
    EXPECT_TRUE(named_error(more)) << describe(more);
  }
}

TEST_P(TableErrors, MissingAttributes) {
  for (const Case& c : cases_of(op(), kF32)) {
    if (c.attrs.size() == 0) continue;
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

// What takes half precision gives the bits that the same numbers in f32 would give, rounded.
TEST_P(TableErrors, HalfPrecisionArrives) {
  for (const Case& c : cases_of(op(), kF32)) {
    if (magnitude_of(c) == 0) continue;  // nothing to convert
    for (DType half : {kF16, kBF16}) {
      const Case narrow = converted(c, kF32, half);
      try {
        infer(narrow);
      } catch (const Error&) {
        continue;  // refused, as the test above checks
      }
      const std::vector<Tensor> results = run(narrow), wide = run(converted(narrow, half, kF32));
      for (size_t i = 0; i < results.size(); i++) {
        const Tensor expected = mapped(
            wide[i], [](double v, size_t) { return v; }, wide[i].dtype() == kF32 ? half : wide[i].dtype());
        ASSERT_TRUE(same_bits(results[i], expected)) << describe(narrow) << ", result " << i;
      }
    }
  }
}

// A call like this one with another value for a real constant.
Case with_constant(const Case& c, int which, double value) {
  Case changed{c.op, c.inputs, {}};
  for (int i = 0; i < c.attrs.size(); i++) {
    const Attr& a = c.attrs[i];
    switch (a.kind) {
      case Attr::Kind::kInt: changed.attrs.set(a.name, a.integer); break;
      case Attr::Kind::kReal: changed.attrs.set(a.name, i == which ? value : a.real); break;
      case Attr::Kind::kInts: changed.attrs.set(a.name, a.ints); break;
      case Attr::Kind::kText: changed.attrs.set(a.name, a.text); break;
      case Attr::Kind::kPointer: changed.attrs.set(a.name, a.pointer); break;
    }
  }
  return changed;
}

// A number that a result of integers does not hold would be cut off: it is refused, whatever the op. Where results are
// no integers (comparisons) such numbers have a meaning, and ops that say so have rules of their own.
TEST_P(TableErrors, IntegersRefuseNumbersTheyDoNotHold) {
  if (op().real_constants == RealConstants::kOwn) GTEST_SKIP() << "has a rule of its own";
  for (const DType type : types_of(op()))
    for (const Case& c : cases_of(op(), type)) {
      if (!is_integer(infer(c).of[0].dtype)) continue;
      for (int i = 0; i < c.attrs.size(); i++) {
        if (c.attrs[i].kind != Attr::Kind::kReal) continue;
        for (const double wrong : {0.5, -1.25, 1e30, -1e30, std::nan("")}) {
          const Case changed = with_constant(c, i, wrong);
          ASSERT_TRUE(named_error(changed)) << describe(changed);
        }
      }
    }
}

INGOT_FOR_EVERY_OP(TableErrors);

// A scale that the type does not hold would make every score infinite.
TEST(AttentionErrors, ScaleBeyondTheType) {
  const Tensor x = full({1, 2, 3}, 1), wide = full({1, 2, 3}, 1, kF64);
  for (const double scale : {1e39, -1e300, HUGE_VAL, std::nan("")}) {
    EXPECT_REFUSED(attention(x, x, x, 1, false, scale), "does not hold") << scale;
    EXPECT_REFUSED(self_attention(x, 1, false, scale), "does not hold") << scale;
  }
  EXPECT_EQ(attention(wide, wide, wide, 1, false, 1e300)[0].at<double>({0, 0, 0}), 1);
}

}  // namespace
}  // namespace ingot::harness
