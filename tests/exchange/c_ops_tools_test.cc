// Every op of the table as C, on every sample: compiled by tcc and compared with the op's plain loop; gcc and clang have
// nothing to say about it.
#include <set>
#include <string>

#include "ingot/graph/plan.h"
#include "tests/exchange/compiled_c.h"
#include "tests/ops/harness.h"
#include "tests/sanitized.h"

namespace ingot::harness {
namespace {

using exchange::CFolder;
using exchange::CSource;

constexpr const char* kWarnings = " -std=c99 -Wall -Wextra -Wpedantic -Wconversion";

struct COp : OpTest {};

std::vector<InputSpec> specs_of(const Case& c) {
  std::vector<InputSpec> specs;
  for (const Tensor& t : c.inputs)
    if (t.defined()) specs.emplace_back(t.shape(), t.dtype());
  return specs;
}

Case with_inputs(const Case& c, std::span<const Tensor> given) {
  Case result = c;
  size_t next = 0;
  for (Tensor& t : result.inputs)
    if (t.defined()) t = given[next++];
  return result;
}

std::vector<const Tensor*> defined_inputs(const Case& c) {
  std::vector<const Tensor*> list;
  for (const Tensor& t : c.inputs)
    if (t.defined()) list.push_back(&t);
  return list;
}

PlanOptions options_for(const std::string& name, bool passes) {
  PlanOptions options{.name = name};
  options.threads = 1;
  if (!passes)
    for (const char* pass : pass_names()) options.without.emplace_back(pass);
  return options;
}

struct Emitted {
  Case call;
  Plan plan;
  CSource c;
  std::vector<Tensor> expected;
  bool bound;
};

TEST_P(COp, ComputesWhatItsReferenceDoes) {
  if (!exchange::has_c_form(op())) GTEST_SKIP() << "no form in C";
  CFolder all;
  std::vector<Emitted> emitted;
  for (const DType type : types_of(op())) {
    int sample = 0;
    for (const Case& c : cases_of(op(), type)) {
      const auto add = [&](Plan plan, const Case& call, bool bound) {
        CSource source = exchange::to_c(plan, {.name = "p" + std::to_string(emitted.size())});
        all.add(source, plan);
        emitted.push_back({call, std::move(plan), std::move(source), reference(call), bound});
      };
      const auto function = [&](std::span<const Tensor> in) { return run(with_inputs(c, in)); };
      add(compile(function, specs_of(c), options_for("sample", true)), c, false);
      if (sample++ % 2 == 0) {
        add(compile(function, specs_of(c), options_for("sample", false)), c, false);
        continue;
      }
      // Where they are, strided, read at every run.
      const PlacedCase placed(c, {Layout::kTransposed, Layout::kStrided, Layout::kReversed});
      if (placed.allowed())
        add(compile([&](std::span<const Tensor>) { return run(placed.call); }, {}, options_for("bound", true)),
            placed.call, true);
    }
  }
  ASSERT_EQ(all.compile("tcc -Wall -std=c99"), "");
  for (const Emitted& e : emitted) {
    const std::vector<Tensor> results =
        all.call(e.c, e.plan, e.bound ? std::vector<const Tensor*>{} : defined_inputs(e.call));
    ASSERT_TRUE(agrees(e.call, results, e.expected, 2)) << describe(e.call) << "\n" << e.c.source;
  }
}
INGOT_FOR_EVERY_OP(COp);

// The largest sample of every op and type, read by compilers that warn.
TEST(COps, HaveNothingThatCompilersWarnAbout) {
  CFolder all;
  int count = 0;
  for (const Op* op : ops_under_test()) {
    if (!exchange::has_c_form(*op)) continue;
    for (const DType type : types_of(*op)) {
      const std::vector<Case> cases = cases_of(*op, type);
      const Case& c = cases[cases.size() / 2];
      const Plan plan = compile([&](std::span<const Tensor> in) { return run(with_inputs(c, in)); }, specs_of(c),
                                options_for(op->name, true));
      all.add(exchange::to_c(plan, {.name = "p" + std::to_string(count++)}), plan);
    }
  }
  for (const char* compiler : {"gcc", "clang"}) EXPECT_EQ(all.check(compiler + std::string(kWarnings)), "");
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
