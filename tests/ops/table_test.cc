// For every op of the table and every sample it declares: run against reference, in every type and layout.
#include <cmath>
#include <limits>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

// The table itself
// -------------------------------------------------------------------------------------------------------

struct Table : OpTest {};

TEST_P(Table, EntryIsComplete) {
  EXPECT_FALSE(op().signature.function().empty());
  ASSERT_NE(op().doc, nullptr);
  EXPECT_NE(op().family, nullptr);
  EXPECT_TRUE(std::string(op().doc).ends_with(".")) << op().doc;
  EXPECT_NE(op().infer, nullptr);
  EXPECT_EQ((op().view != nullptr) + (op().tile != nullptr) + (op().run != nullptr), 1)
      << "exactly one of view, tile, run";
  EXPECT_TRUE(op().view != nullptr || op().reference != nullptr) << "no reference";
  EXPECT_EQ((op().gradient != nullptr) + (op().not_differentiable != nullptr), 1)
      << "exactly one of gradient, not_differentiable";
  if (op().not_differentiable != nullptr) {
    EXPECT_FALSE(std::string(op().not_differentiable).empty());
  }
  EXPECT_LT(op().low, op().high);
  EXPECT_GE(output_count(op()), 1);
  EXPECT_LE(output_count(op()), kMaxOutputs);
  EXPECT_EQ(find_op(op().name), &op()) << "the name is taken twice";
}

TEST_P(Table, SignatureMatchesSamples) {
  const Signature& signature = op().signature;
  for (const Case& c : cases_of(op(), kF32)) {
    const int count = static_cast<int>(c.inputs.size());
    ASSERT_TRUE(count >= signature.least_inputs() && count <= signature.most_inputs()) << describe(c);
    for (int i = 0; i < signature.attr_count(); i++) {
      const Signature::Attribute expected = signature.attr(i);
      const Attr* attr = c.attrs.find(expected.name);
      ASSERT_NE(attr, nullptr) << describe(c) << " lacks " << expected.name;
      EXPECT_EQ(attr->kind, kind_of(expected.type)) << describe(c) << ": " << expected.name;
    }
    EXPECT_EQ(infer(c).count, output_count(op()));
  }
}

TEST_P(Table, SamplesReachTheEdges) {
  ASSERT_NE(op().samples, nullptr);
  const std::vector<Case> cases = cases_of(op(), kF32);
  ASSERT_FALSE(cases.empty());
  bool empty = false, one = false;
  for (const Case& c : cases) {
    const Specs specs = infer(c);
    for (int i = 0; i < specs.count; i++) {
      empty = empty || element_count(specs.of[i].shape) == 0;
      one = one || element_count(specs.of[i].shape) == 1;
    }
    for (const Tensor& t : c.inputs) {
      empty = empty || (t.defined() && t.numel() == 0);
      one = one || (t.defined() && t.numel() == 1);
    }
  }
  EXPECT_TRUE(empty) << op().name << " has no sample with an empty tensor";
  EXPECT_TRUE(one) << op().name << " has no sample with a one-element tensor";
}

struct TableView : OpTest {};

TEST_P(TableView, SharesStorage) {
  for (const Case& c : cases_of(op(), kF32)) {
    const std::vector<const Tensor*> in = c.pointers();
    const uint64_t before = memory_stats().allocations;
    const Tensor result = call(op(), in, c.attrs);
    EXPECT_EQ(memory_stats().allocations, before) << describe(c);
    EXPECT_TRUE(result.shares_storage(c.inputs[0])) << describe(c);
    EXPECT_TRUE(overlaps(result, c.inputs[0]) || result.numel() == 0 || c.inputs[0].numel() == 0) << describe(c);
  }
}

INGOT_FOR_EVERY_OP(Table);
INGOT_FOR_OPS(TableView, [](const Op& op) { return op.view != nullptr; });

// Results
// ----------------------------------------------------------------------------------------------------------------

struct TableResult : OpTest {};

TEST_P(TableResult, AgreesWithReference) {
  for (DType type : types_of(op()))
    for (const Case& c : cases_of(op(), type)) ASSERT_TRUE(agrees(c, run(c), reference(c))) << describe(c);
}

// f32 results against the reference in f64, on the same numbers.
TEST_P(TableResult, SinglePrecisionAgreesWithDouble) {
  for (const Case& c : cases_of(op(), kF32)) {
    if (magnitude_of(c) == 0) continue;  // nothing to convert
    const Case wide = converted(c, kF32, kF64);
    const std::vector<Tensor> results = run(c), expected = reference(wide);
    for (size_t i = 0; i < results.size(); i++) {
      if (!is_float(results[i].dtype())) continue;
      const Tensor doubled = mapped(
          results[i], [](double v, size_t) { return v; }, kF64);
      const double unit = 0x1p29;  // an ulp of f32 in ulps of f64
      ASSERT_TRUE(close(doubled, expected[i], {16 * unit, 16 * unit}, magnitude_of(c))) << describe(c);
    }
  }
}

// What normalisation (and a sum after it) multiplies rounding errors by when all its elements are the same.
double slack_of(const Case& c, const std::vector<Layout>& inputs) {
  const Attr* eps = c.attrs.find("eps");
  bool repeated = false;
  for (Layout layout : inputs) repeated = repeated || repeats(layout);
  return repeated && eps != nullptr && eps->kind == Attr::Kind::kReal ? 64 / std::sqrt(eps->real) : 1;
}

void check_layouts(const Case& c, const std::vector<Layout>& inputs, Layout destination,
                   const std::vector<Tensor>* expected) {
  const auto text = [&] {
    std::string layouts;
    for (size_t i = 0; i < c.inputs.size(); i++) layouts += std::string(name(inputs[i % inputs.size()])) + ", ";
    return describe(c) + " with inputs " + layouts + "dst " + name(destination);
  };
  const PlacedCase placed(c, inputs);
  if (!placed.allowed()) return;
  const std::vector<Placed> out = destinations(placed.call, destination);
  run_into(placed.call, tensors_of(out));
  ASSERT_TRUE(agrees(c, tensors_of(out), expected != nullptr ? *expected : reference(placed.call), slack_of(c, inputs)))
      << text();
  for (const Placed& p : out) ASSERT_TRUE(p.surroundings_untouched()) << text();
  if (c.op->tile == nullptr) return;
  // An element's bits do not depend on where it lies: compare with the plain call on the same values.
  std::vector<Layout> plain(1, Layout::kContiguous);
  const PlacedCase again(placed.call, plain);
  ASSERT_TRUE(same_bits(out[0].tensor(), run(again.call)[0])) << text();
}

TEST_P(TableResult, RightInEveryLayout) {
  const size_t n_in = std::size(kInputLayouts), n_out = std::size(kDestinationLayouts);
  for (DType type : types_of(op())) {
    size_t turn = 0;
    for (const Case& c : cases_of(op(), type)) {
      const std::vector<Tensor> expected = reference(c);
      for (Layout layout : kInputLayouts) {
        check_layouts(c, {layout}, Layout::kContiguous, repeats(layout) ? nullptr : &expected);
        if (HasFatalFailure()) return;
      }
      for (Layout layout : kDestinationLayouts) {
        check_layouts(c, {Layout::kContiguous}, layout, &expected);
        if (HasFatalFailure()) return;
      }
      for (size_t k = 0; k < n_in; k++) {  // mixtures: each operand another layout
        std::vector<Layout> mixed;
        for (size_t i = 0; i < c.inputs.size(); i++) mixed.push_back(kInputLayouts[(k + (3 + turn % 4) * i) % n_in]);
        if (mixed.empty()) mixed.push_back(Layout::kContiguous);
        check_layouts(c, mixed, kDestinationLayouts[(k * 3 + turn) % n_out], nullptr);
        if (HasFatalFailure()) return;
      }
      turn++;
    }
  }
}

TEST_P(TableResult, InputsAreLeftAlone) {
  for (DType type : types_of(op())) {
    for (const Case& c : cases_of(op(), type)) {
      std::vector<std::vector<uint8_t>> before;
      for (const Tensor& t : c.inputs) before.push_back(t.defined() ? bytes_of(t) : std::vector<uint8_t>());
      run(c);
      for (size_t i = 0; i < before.size(); i++)
        ASSERT_TRUE(!c.inputs[i].defined() || before[i] == bytes_of(c.inputs[i]))
            << describe(c) << " wrote to input " << i;
    }
  }
}

// Many elements: beyond a chunk of the walk and beyond what one thread does alone.
struct TableElementwise : OpTest {};

TEST_P(TableElementwise, RightOnLargeTensors) {
  Random random(7);
  for (DType type : types_of(op())) {
    const std::vector<Case> cases = cases_of(op(), type);
    Case c{&op(), {}, cases.back().attrs};
    const Dims shapes[] = {{3, 40009}, {40009}, {3, 1}};
    for (size_t i = 0; i < cases.back().inputs.size(); i++) {
      const DType t = cases.back().inputs[i].dtype();
      c.inputs.push_back(random.tensor(shapes[i], t, t == kBool ? 0 : op().low, t == kBool ? 2 : op().high));
    }
    ASSERT_TRUE(agrees(c, run(c), reference(c))) << describe(c);
    const PlacedCase strided(c, {Layout::kStrided, Layout::kTransposed, Layout::kReversed});
    ASSERT_TRUE(agrees(c, run(strided.call), reference(c))) << describe(c);
  }
}

std::vector<Tensor> without_extra_nans(const std::vector<Tensor>& results, const std::vector<Tensor>& expected) {
  std::vector<Tensor> mended;
  for (size_t i = 0; i < results.size(); i++) {
    const std::vector<double> e = values_of(expected[i]);
    mended.push_back(mapped(
        results[i], [&](double v, size_t k) { return std::isnan(v) ? e[k] : v; }, results[i].dtype()));
  }
  return mended;
}

// NaN and infinity go where the reference says. Bit patterns of NaN and the sign of zero are free.
TEST_P(TableResult, SpecialValues) {
  Random random(11);
  for (DType type : {kF32, kF64}) {
    const double tiny = type == kF32 ? 0x1p-140 : 0x1p-1060, huge = type == kF32 ? 0x1p126 : 0x1p1020;
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const double specials[] = {nan, inf, -inf, 0.0, -0.0, tiny, -tiny, huge, -huge, 1.0, -1.0};
    for (const Case& c : cases_of(op(), type)) {
      for (int round = 0; round < (op().tile != nullptr ? 4 : 2); round++) {
        Case special{&op(), {}, c.attrs};
        // Sums of huge numbers overflow in f32 but not in the reference's f64, so only element-wise ops get those.
        const int64_t kinds = op().tile != nullptr ? 11 : round == 0 || op().reorders_sums ? 1 : 3;
        for (const Tensor& t : c.inputs) {
          if (!t.defined() || t.dtype() != type) {
            special.inputs.push_back(t);
            continue;
          }
          const double share = op().tile != nullptr ? 0.5 : 0.1;
          special.inputs.push_back(mapped(
              t, [&](double v, size_t) { return random.chance(share) ? specials[random.below(kinds)] : v; }, type));
        }
        std::vector<Tensor> results = run(special);
        const std::vector<Tensor> expected = reference(special);
        if (op().multiplies_padding) results = without_extra_nans(results, expected);
        ASSERT_TRUE(agrees(special, results, expected)) << describe(c);
      }
    }
  }
}

// The input whose special values meet no padding: dy where taps choose what counts, else the first.
size_t data_of(const Op& op) {
  for (int i = 0; i < op.signature.input_count(); i++)
    if (op.signature.input(i).name == "taps") return static_cast<size_t>(i - 1);
  return 0;
}

// Where padding is multiplied, special values of the weights reach further than the reference's. Those of the data must
// not: results that depend on no special value are right, so a result of nothing but NaN does not pass.
TEST_P(TableResult, SpecialValuesOfTheDataStayWhereTheyBelong) {
  if (!op().multiplies_padding) return;
  const size_t data = data_of(op());
  int finite = 0;
  for (DType type : {kF32, kF64})
    for (const Case& c : cases_of(op(), type)) {
      const Tensor& x = c.inputs[data];
      if (x.numel() == 0) continue;
      const Attr* causal = c.attrs.find("causal");  // hidden keys count as padding: the last query alone sees them all
      const bool hides = causal != nullptr && causal->integer != 0;
      const size_t last_row = static_cast<size_t>(x.numel() - x.size(-1));
      for (const size_t at : {hides ? last_row : 0, last_row})
        for (const double value : {std::nan(""), std::numeric_limits<double>::infinity()}) {
          Case special = c;
          special.inputs[data] = mapped(
              x, [&](double v, size_t k) { return k == at ? value : v; }, type);
          const std::vector<Tensor> expected = reference(special);
          ASSERT_TRUE(agrees(special, run(special), expected)) << describe(c) << ", " << value << " at " << at;
          for (const Tensor& t : expected)
            for (const double v : values_of(t)) finite += is_float(t.dtype()) && std::isfinite(v);
        }
    }
  EXPECT_GT(finite, 0) << "no sample shows a result without special values";
}

INGOT_FOR_EVERY_OP(TableResult);
INGOT_FOR_OPS(TableElementwise, [](const Op& op) { return op.tile != nullptr; });

}  // namespace
}  // namespace ingot::harness
