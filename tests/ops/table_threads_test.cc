// The same bits at 1, 2 and 3 threads, with the work shared out however small it is.
#include "ingot/base/memory.h"
#include "ops/elementwise.h"
#include "tests/ops/harness.h"

namespace ingot::harness {
namespace {

struct TableThreads : OpTest {
  void TearDown() override { set_threads(before_); }
  int before_ = threads();
};

// What op.cc does with a call, without asking whether the work is worth a team.
std::vector<Tensor> run_shared(const Case& c) {
  const std::vector<const Tensor*> in = c.pointers();
  Prepared block;
  const Call call = prepare({*c.op, in, c.attrs}, block);
  const Specs specs = infer(c);
  std::vector<Tensor> out;
  for (int i = 0; i < specs.count; i++) out.push_back(Tensor::empty(specs.of[i].shape, specs.of[i].dtype));
  bool empty = true;
  for (const Tensor& t : out) empty = empty && t.numel() == 0;
  if (empty) return out;
  if (c.op->tile != nullptr) {
    const TileFn tile = c.op->tile(c.inputs.back().dtype());
    parallel(true, [&](const Team& team) { run_tiles(tile, call, tile_params(call), out[0], team); });
    return out;
  }
  const size_t bytes = c.op->scratch != nullptr ? c.op->scratch(call, out.data(), threads()) : 0;
  void* scratch = bytes > 0 ? workspace(bytes) : nullptr;
  parallel(true, [&](const Team& team) { c.op->run(call, out.data(), scratch, team); });
  return out;
}

TEST_P(TableThreads, SameBitsAtAnyCount) {
  std::vector<Case> cases;
  std::vector<PlacedCase> placed;
  for (DType type : types_of(op())) {
    for (const Case& c : cases_of(op(), type)) {
      cases.push_back(c);
      placed.emplace_back(c, std::vector<Layout>{Layout::kStrided, Layout::kTransposed});
      cases.push_back(placed.back().call);
    }
  }
  std::vector<std::vector<Tensor>> alone;
  set_threads(1);
  for (const Case& c : cases) alone.push_back(run_shared(c));
  for (int n : {2, 3}) {
    set_threads(n);
    for (size_t k = 0; k < cases.size(); k++) {
      const std::vector<Tensor> together = run_shared(cases[k]);
      for (size_t i = 0; i < together.size(); i++)
        ASSERT_TRUE(same_bits(together[i], alone[k][i])) << describe(cases[k]) << " with " << n << " threads";
    }
  }
}

INGOT_FOR_OPS(TableThreads, [](const Op& op) { return op.view == nullptr; });

}  // namespace
}  // namespace ingot::harness
