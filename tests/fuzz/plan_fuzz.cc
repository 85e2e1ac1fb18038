#include "fuzz.h"
#include "graph/cpu/context.h"
#include "ingot/base/threads.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace {

using namespace ingot;

// Elements of all operands: a small file may ask for more work than anybody waits for.
double size_of(const graph::Program& p) {
  double elements = 0;
  for (const graph::Program::Input& in : p.inputs) elements += static_cast<double>(element_count(in.shape));
  for (const graph::Record& r : p.records) {
    elements += static_cast<double>(element_count(r.chain.shape));
    for (const graph::Operand& o : r.operands) elements += static_cast<double>(o.numel());
  }
  return elements;
}

void run_on(Plan& plan, const graph::Program& program, double value) {
  std::vector<Tensor> inputs;
  std::vector<const Tensor*> pointers;
  for (const graph::Program::Input& in : program.inputs) inputs.push_back(full(in.shape, value, in.dtype));
  for (const Tensor& t : inputs) pointers.push_back(&t);
  try {
    plan.run(pointers);
  } catch (const Error&) {  // an index that is none
  }
}

// What loads is drawn and run; memory of the user's is what the seeds are bound to.
void read(std::span<const std::byte> bytes) {
  set_threads(1);
  const Tensor w = full({3, 2}, 0.5), g = zeros({3, 2});
  Plan plan = Plan::from_bytes(bytes, {{"w", w}, {"g", g}}, 4 << 20);
  plan.dump();
  plan.svg();
  const graph::Program& program = graph::executable_of(plan).program;
  if (size_of(program) > 1e4) return;
  for (const double value : {1, -1, 100}) run_on(plan, program, value);
}

}  // namespace

INGOT_FUZZ(read(b))
