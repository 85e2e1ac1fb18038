// Every op of the table as C, on its samples, compared with the op's plain loop. Many calls are one plan and so one C file:
// tcc compiles all of them, gcc and clang a share, and have nothing to say about any.
#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ingot/base/error.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"
#include "tests/exchange/compiled_c.h"
#include "tests/ops/harness.h"
#include "tests/sanitized.h"

namespace ingot::harness {
namespace {

using exchange::CFolder;
using exchange::CSource;

constexpr const char* kWarnings = " -std=c99 -Wall -Wextra -Wpedantic -Wconversion";
constexpr size_t kCallsOfAPlan = 32;

enum class How { kFused, kPlain, kBound };  // with all passes, with none, or with operands that are views of memory

// Calls that are computed by one plan.
struct Calls {
  std::vector<Case> cases;
  Plan plan;
  CSource c;
  How how;

  Calls(std::vector<Case> given, How h, const std::string& name)
      : cases(std::move(given)), plan(planned(name, h)), c(exchange::to_c(plan, {.name = name})), how(h) {}

  Plan planned(const std::string& name, How h) const {
    PlanOptions options{.name = name, .threads = 1};
    if (h == How::kPlain)
      for (const char* pass : pass_names()) options.without.emplace_back(pass);
    std::vector<InputSpec> specs;
    if (h != How::kBound)
      for (const Tensor* t : inputs()) specs.emplace_back(t->shape(), t->dtype());
    return compile(
        [&](std::span<const Tensor> in) {
          std::vector<Tensor> results;
          size_t next = 0;
          for (Case call : cases) {
            for (Tensor& t : call.inputs)
              if (t.defined() && h != How::kBound) t = in[next++];
            for (Tensor& t : run(call)) results.push_back(std::move(t));
          }
          return results;
        },
        specs, options);
  }

  std::vector<const Tensor*> inputs() const {
    std::vector<const Tensor*> list;
    for (const Case& call : cases)
      for (const Tensor& t : call.inputs)
        if (t.defined()) list.push_back(&t);
    return list;
  }

  std::vector<Tensor> results_of(const CFolder& folder) const {
    return folder.call(c, plan, how == How::kBound ? std::vector<const Tensor*>{} : inputs());
  }

  void expect_agreement(const CFolder& folder) const {
    const std::vector<Tensor> results = results_of(folder);
    size_t next = 0;
    for (const Case& call : cases) {
      const std::vector<Tensor> expected = reference(call);
      const auto from = results.begin() + static_cast<int64_t>(next);
      next += expected.size();
      ASSERT_TRUE(agrees(call, {from, from + static_cast<int64_t>(expected.size())}, expected, 2))
          << describe(call) << ", one of " << folder.path() << "/" << c.name << ".c";
    }
  }
};

// Plans of them, a few calls each, all with one compiler.
class Batch {
 public:
  void add(const Case& call, How how) {
    std::vector<Case>& open = open_[static_cast<size_t>(how)];
    open.push_back(call);
    if (open.size() == kCallsOfAPlan) close(how);
  }
  void close_all() {
    for (const How how : {How::kFused, How::kPlain, How::kBound}) close(how);
  }
  std::string compile(const std::string& compiler) {
    close_all();
    return folder_.compile(compiler);
  }
  void expect_agreement(const std::string& compiler) {
    ASSERT_EQ(compile(compiler), "");
    for (const Calls& calls : all_) {
      calls.expect_agreement(folder_);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  const CFolder& folder() const { return folder_; }
  std::vector<Calls>& all() { return all_; }

 private:
  void close(How how) {
    std::vector<Case>& open = open_[static_cast<size_t>(how)];
    if (open.empty()) return;
    all_.emplace_back(std::move(open), how, "p" + std::to_string(all_.size()));
    open.clear();
    folder_.add(all_.back().c, all_.back().plan);
  }
  CFolder folder_;
  std::vector<Case> open_[3];
  std::vector<Calls> all_;
};

TEST(COps, ComputeWhatTheirReferencesDo) {
  Batch batch;
  std::vector<PlacedCase> placed;  // their memory is the plans' as long as they run
  for (const Op* op : ops_under_test()) {
    if (!exchange::has_c_form(*op)) continue;
    for (const DType type : types_of(*op)) {
      const std::vector<Case> cases = cases_of(*op, type);
      for (size_t i = kSanitized ? cases.size() - 1 : 0; i < cases.size(); i++) {
        batch.add(cases[i], How::kFused);
        if (i % 2 == 0) {
          batch.add(cases[i], How::kPlain);
          continue;
        }
        // Where they are, strided, read at every run.
        PlacedCase views(cases[i], {Layout::kTransposed, Layout::kStrided, Layout::kReversed});
        if (!views.allowed()) continue;
        batch.add(views.call, How::kBound);
        placed.push_back(std::move(views));
      }
    }
  }
  batch.expect_agreement("tcc -Wall -std=c99");
}

int64_t elements_of(const Case& call) {
  int64_t n = 0;
  for (const Tensor& t : call.inputs)
    if (t.defined()) n += t.numel() == 0 ? 1'000'000 : t.numel();
  return n;
}

// One sample of every op, of this type or that: one that is usual, or that with the fewest elements.
std::vector<Case> one_of_every_op(bool smallest) {
  std::vector<Case> chosen;
  for (const Op* op : ops_under_test()) {
    if (!exchange::has_c_form(*op)) continue;
    const std::vector<DType> types = types_of(*op);
    const std::vector<Case> cases = cases_of(*op, types[chosen.size() % types.size()]);
    const auto fewest = std::min_element(cases.begin(), cases.end(),
                                         [](const Case& a, const Case& b) { return elements_of(a) < elements_of(b); });
    chosen.push_back(smallest ? *fewest : cases[cases.size() / 2]);
  }
  return chosen;
}

TEST(COps, ComputeTheSameWithCompilersThatOptimise) {
  const std::vector<Case> chosen = one_of_every_op(false);
  for (const size_t third : {0, 1}) {
    Batch batch;
    for (size_t i = third; i < chosen.size(); i += kSanitized ? 12 : 3) batch.add(chosen[i], How::kFused);
    batch.expect_agreement((third == 0 ? "gcc -O1" : "clang -O1") + std::string(kWarnings));
    if (HasFatalFailure()) return;
  }
}

TEST(COps, HaveNothingThatCompilersWarnAbout) {
  Batch batch;
  for (const bool smallest : {false, true})
    for (const Case& call : one_of_every_op(smallest)) batch.add(call, How::kFused);
  batch.close_all();
  for (const char* compiler : {"gcc", "clang"}) EXPECT_EQ(batch.folder().check(compiler + std::string(kWarnings)), "");
}

// The call with some elements NaN, infinite, -0, huge or below what is normal; of integers, the least and the greatest.
Case with_special_numbers(const Case& call) {
  Case result = call;
  for (size_t k = 0; k < result.inputs.size(); k++) {
    Tensor& t = result.inputs[k];
    const bool element_wise = call.op->tile != nullptr;  // other integers may be indices
    if (!t.defined() || (!is_float(t.dtype()) && (!element_wise || size_of(t.dtype()) < 4))) continue;
    const std::vector<double> special =
        is_float(t.dtype()) ? std::vector<double>{NAN,
                                                  INFINITY,
                                                  -INFINITY,
                                                  -0.0,
                                                  t.dtype() == kF32 ? 1e18 : 1e150,
                                                  t.dtype() == kF32 ? 1e-40 : 1e-310}
                            : std::vector<double>{t.dtype() == kI32 ? -0x1p31 : -0x1p63, 0x1p31 - 1, -1, 0};
    const auto changed = [&](double v, size_t i) {
      const size_t n = (i * 7 + k * 5) % 17;
      return n < special.size() ? special[n] : v;
    };
    t = mapped(t, changed, t.dtype());
  }
  return result;
}

void expect_what_plans_compute(Batch& batch) {
  ASSERT_EQ(batch.compile("tcc -Wall -std=c99"), "");
  for (Calls& calls : batch.all()) {
    std::vector<Tensor> expected;
    for (const Tensor& t : calls.plan.run(calls.inputs())) expected.push_back(clone(t));
    const std::vector<Tensor> results = calls.results_of(batch.folder());
    size_t next = 0;
    for (const Case& call : calls.cases)
      for (size_t i = 0; i < static_cast<size_t>(output_count(*call.op)); i++, next++) {
        Tolerance tolerance = tolerance_of(*call.op, expected[next].dtype());
        tolerance.scaled *= 4;
        EXPECT_TRUE(close(results[next], expected[next], tolerance, magnitude_of(call)))
            << describe(call) << ", result " << i;
      }
  }
}

TEST(COps, TreatSpecialNumbersAsThePlanDoes) {
  Batch batch;
  for (const Op* op : ops_under_test()) {
    if (!exchange::has_c_form(*op)) continue;
    // Infinite times 0 is NaN, and who multiplies by the zeros of a border, a mask or a first state differs.
    const std::string name = op->name;
    if (name.starts_with("conv") || name.find("attention") != name.npos || name.find("_sequence") != name.npos)
      continue;
    for (const DType type : types_of(*op)) {
      const std::vector<Case> cases = cases_of(*op, type);
      for (size_t i = 0; i < cases.size(); i += kSanitized ? 50 : std::max<size_t>(cases.size() / 3, 1))
        batch.add(with_special_numbers(cases[i]), How::kFused);
    }
  }
  expect_what_plans_compute(batch);
}

// Other shapes and constants than those of samples: whatever the op takes.
TEST(COps, ComputeCallsThatWereChangedAtRandom) {
  Batch batch;
  Random random(1);
  for (const Op* op : ops_under_test()) {
    if (!exchange::has_c_form(*op)) continue;
    for (const DType type : types_of(*op)) {
      const std::vector<Case> cases = cases_of(*op, type);
      for (int tries = kSanitized ? 1 : 4; tries > 0; tries--) {
        Case call = cases[static_cast<size_t>(random.below(static_cast<int64_t>(cases.size())))];
        change(call, random);
        try {
          if (too_large(infer(call))) continue;
          run(call);  // looks at indices, too
        } catch (const Error&) {
          continue;
        }
        batch.add(call, tries % 2 == 0 ? How::kFused : How::kPlain);
      }
    }
  }
  expect_what_plans_compute(batch);
}

// Whoever adds an op adds its form, or its name here.
TEST(COps, AllHaveAFormButThese) {
  const std::set<std::string> none = {"map"};  // a function of the user's
  std::string missing;
  for (const Op* op : ops_under_test())
    if (exchange::has_c_form(*op) == none.contains(op->name)) missing += std::string(" ") + op->name;
  EXPECT_EQ(missing, "");
}

}  // namespace
}  // namespace ingot::harness
