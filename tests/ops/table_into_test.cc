// The contract of `_into`, for every op: the same bits as the allocating form, no allocation, aliases right or refused,
// and a destination that does not fit is refused untouched.
#include <cstring>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct TableInto : OpTest {};

TEST_P(TableInto, SameBitsAsAllocatingForm) {
  for (DType type : types_of(op())) {
    for (const Case& c : cases_of(op(), type)) {
      const std::vector<Tensor> results = run(c);
      const std::vector<Placed> out = destinations(c, Layout::kContiguous);
      run_into(c, tensors_of(out));
      for (size_t i = 0; i < out.size(); i++) ASSERT_TRUE(same_bits(out[i].tensor(), results[i])) << describe(c);
    }
  }
}

TEST_P(TableInto, AllocatesNothing) {
  for (DType type : types_of(op())) {
    for (const Case& source : cases_of(op(), type)) {
      for (Layout layout : {Layout::kContiguous, Layout::kStrided, Layout::kTransposed}) {
        const PlacedCase placed(source, {layout});
        if (!placed.allowed()) continue;
        const std::vector<Placed> out = destinations(source, layout);
        std::vector<const Tensor*> destination;
        for (const Placed& p : out) destination.push_back(&p.tensor());
        const std::vector<const Tensor*> in = placed.call.pointers();
        call_into(op(), in, source.attrs, destination);  // the first call may grow the thread's workspace
        const MemoryStats stats = memory_stats();
        const uint64_t before = malloc_calls();
        call_into(op(), in, source.attrs, destination);
        const uint64_t after = malloc_calls();
        ASSERT_EQ(memory_stats().allocations, stats.allocations) << describe(source) << " " << name(layout);
        ASSERT_EQ(after, before) << describe(source) << " " << name(layout) << " called malloc";
      }
    }
  }
}

// Another look at memory that already holds an input, in the result's type.
Tensor look(const Tensor& at, int64_t byte_offset, const Spec& spec, const Dims& strides) {
  return Tensor::wrap(static_cast<char*>(at.raw()) + byte_offset, spec.shape, spec.dtype, strides);
}

struct TableInPlace : OpTest {};

TEST_P(TableInPlace, SameBits) {
  for (DType type : types_of(op())) {
    for (const Case& c : cases_of(op(), type)) {
      const Specs specs = infer(c);
      const std::vector<Tensor> expected = run(c);
      for (size_t i = 0; i < c.inputs.size(); i++) {
        for (int o = 0; o < specs.count; o++) {
          const Spec& spec = specs.of[o];
          if (!c.inputs[i].defined() || !(c.inputs[i].shape() == spec.shape) ||
              size_of(c.inputs[i].dtype()) != size_of(spec.dtype))
            continue;
          for (Layout layout : kDestinationLayouts) {
            const PlacedCase placed(c, {layout});
            const std::vector<Placed> plain = destinations(c, layout);
            std::vector<Tensor> out = tensors_of(plain);
            const Tensor& input = placed.call.inputs[i];
            out[static_cast<size_t>(o)] = look(input, 0, spec, input.strides());
            run_into(placed.call, out);
            for (size_t k = 0; k < out.size(); k++)
              ASSERT_TRUE(same_bits(out[k], expected[k]))
                  << describe(c) << " in place of input " << i << ", " << name(layout);
          }
        }
      }
    }
  }
}

// Runs what must be refused; the text must start with the op's name and hold `mention`.
testing::AssertionResult refuses(const Case& c, const std::vector<Tensor>& out, const std::string& mention) {
  try {
    run_into(c, out);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.rfind(std::string(c.op->name), 0) != 0 || text.find(mention) == std::string::npos)
      return testing::AssertionFailure() << "the text does not start with " << c.op->name << " or lacks \"" << mention
                                         << "\": " << text;
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "was not refused";
}

TEST_P(TableInto, RefusesOtherOverlaps) {
  for (const Case& c : cases_of(op(), kF32)) {
    const Specs specs = infer(c);
    for (size_t i = 0; i < c.inputs.size(); i++) {
      if (!c.inputs[i].defined() || c.inputs[i].numel() < 2) continue;
      for (int o = 0; o < specs.count; o++) {
        if (element_count(specs.of[o].shape) < 2) continue;
        for (int64_t shift : {0, 1}) {
          const bool in_place = works_in_place(op()) && c.inputs[i].shape() == specs.of[o].shape &&
                                size_of(c.inputs[i].dtype()) == size_of(specs.of[o].dtype);
          // Room for the input and for a destination that starts a little into it.
          const int64_t element = static_cast<int64_t>(size_of(specs.of[o].dtype));
          const int64_t taken = c.inputs[i].numel() * static_cast<int64_t>(size_of(c.inputs[i].dtype()));
          if ((shift == 0 && in_place) || taken <= shift * element) continue;
          const int64_t bytes = taken + element_count(specs.of[o].shape) * element + element;
          const Tensor memory = Tensor::empty({bytes}, kU8);
          const Tensor input = look(memory, 0, {c.inputs[i].dtype(), c.inputs[i].shape()}, {});
          const std::vector<uint8_t> values = bytes_of(c.inputs[i]);
          std::memset(memory.raw(), 0x5A, static_cast<size_t>(bytes));
          std::memcpy(memory.raw(), values.data(), values.size());
          Case overlapping = c;
          overlapping.inputs[i] = input;
          const std::vector<Placed> plain = destinations(c, Layout::kContiguous);
          std::vector<Tensor> out = tensors_of(plain);
          out[static_cast<size_t>(o)] = look(memory, shift * element, specs.of[o], {});
          const std::vector<uint8_t> before = bytes_of(memory);
          ASSERT_TRUE(refuses(overlapping, out, to_string(specs.of[o].shape)))
              << describe(c) << ": dst " << o << " " << shift << " elements into input " << i;
          ASSERT_EQ(before, bytes_of(memory)) << describe(c);
          for (size_t k = 0; k < plain.size(); k++) ASSERT_TRUE(plain[k].untouched()) << describe(c);
        }
      }
    }
  }
}

TEST_P(TableInto, RefusesDestinationsThatDoNotFit) {
  for (const Case& c : cases_of(op(), kF32)) {
    const Specs specs = infer(c);
    for (int o = 0; o < specs.count; o++) {
      const Spec spec = specs.of[o];
      const auto check = [&](const Tensor& wrong, const Placed* memory, const char* what) {
        const std::vector<Placed> plain = destinations(c, Layout::kContiguous);
        std::vector<Tensor> out = tensors_of(plain);
        out[static_cast<size_t>(o)] = wrong;
        ASSERT_TRUE(refuses(c, out, to_string(spec.shape))) << describe(c) << ": " << what << " as dst " << o;
        ASSERT_TRUE(memory == nullptr || memory->untouched()) << describe(c) << ": " << what;
        for (const Placed& p : plain) ASSERT_TRUE(p.untouched()) << describe(c) << ": " << what;
      };
      check(Tensor(), nullptr, "an undefined tensor");
      const Placed other_type(spec.dtype == kI32 ? kF32 : kI32, spec.shape, Layout::kContiguous);
      check(other_type.tensor(), &other_type, "another type");
      Dims longer = spec.shape, bigger = spec.shape;
      if (longer.size() < kMaxRank) {
        longer.push_back(1);
        const Placed extra_axis(spec.dtype, longer, Layout::kContiguous);
        check(extra_axis.tensor(), &extra_axis, "an axis more");
      }
      if (!bigger.empty()) {
        bigger[0]++;
        const Placed too_large(spec.dtype, bigger, Layout::kContiguous);
        check(too_large.tensor(), &too_large, "a larger tensor");
      }
      if (element_count(spec.shape) > 1) {
        const Placed repeated(spec.dtype, spec.shape, Layout::kRepeatAll);
        check(repeated.tensor(), &repeated, "a tensor whose elements share memory");
      }
      if (HasFatalFailure()) return;
    }
    // Two results in the same memory.
    if (specs.count > 1 && element_count(specs.of[0].shape) > 0 && element_count(specs.of[1].shape) > 0) {
      const Placed first(specs.of[0].dtype, specs.of[0].shape, Layout::kContiguous);
      std::vector<Tensor> out = tensors_of(destinations(c, Layout::kContiguous));
      const int64_t bytes = (element_count(specs.of[0].shape) + element_count(specs.of[1].shape)) * 8;
      const Placed memory(kU8, {bytes}, Layout::kContiguous);
      out[0] = look(memory.tensor(), 0, specs.of[0], {});
      out[1] = look(memory.tensor(), 0, specs.of[1], {});
      ASSERT_TRUE(refuses(c, out, "overlap")) << describe(c);
      ASSERT_TRUE(memory.untouched()) << describe(c);
    }
  }
}

INGOT_FOR_EVERY_OP(TableInto);
INGOT_FOR_OPS(TableInPlace, works_in_place);

}  // namespace
}  // namespace ingot::harness
