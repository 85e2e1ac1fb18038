#include <algorithm>

#include "graph/cpu/context.h"
#include "graph/memory_plan.h"
#include "graph/schedule.h"
#include "graph/verify.h"
#include "graph/verify_program.h"
#include "ingot/base/numbers.h"

namespace ingot::graph {

std::shared_ptr<Executable> make_executable(Lowered lowered, int threads) {
  auto e = std::make_shared<Executable>();
  e->program = std::move(lowered.program);
  e->memory = std::move(lowered.memory);
  if (verify_plans) verify(e->program, e->program.name);
  e->kernels = make_kernels(e->program, &e->memory);
  schedule(e->program, e->kernels, threads);
  if (verify_plans) verify_barriers(e->program, e->kernels, e->program.name);
  for (const auto& kernel : e->kernels) {
    e->own_scratch = std::max(e->own_scratch, round_up(kernel->own_scratch(), kAlignment));
    e->kept_bytes += kernel->kept_bytes();
  }
  return e;
}

const Program::Slab* Executable::writes() const {
  const auto slab = std::find_if(program.slabs.begin(), program.slabs.end(), [](const auto& s) { return s.written; });
  return slab == program.slabs.end() ? nullptr : &*slab;
}

const std::string* Executable::moved() const {
  for (size_t i = 0; i < program.slabs.size(); i++) {
    if (program.slabs[i].frozen) continue;  // the elements that were there are what the plan is for
    for (const Tensor& t : memory.slabs[i].keep)
      if (const std::string* name = moved_from(t)) return name;
  }
  return nullptr;
}

}  // namespace ingot::graph
