#include "ingot/graph/plan_cache.h"

#include "graph/cpu/context.h"
#include "ingot/base/error.h"

namespace ingot {

void detail::check_cache_size(size_t most) {
  if (most == 0) throw Error("plan cache: it must keep at least one plan");
}

PlanCache::PlanCache(PlanFunction fn, PlanOptions options, size_t most)
    : plans_([fn = std::move(fn), options = std::move(options)](
                 std::span<const InputSpec> inputs) { return compile_function(fn, inputs, options); },
             most) {}

Plan& PlanCache::plan_for(std::span<const Tensor* const> inputs) {
  if (const uint64_t now = move_count(); now != moves_) {
    plans_.drop([](const Plan& plan) { return graph::executable_of(plan).moved() != nullptr; });
    moves_ = now;
  }
  if (Plan* const found = plans_.find(inputs)) return *found;
  std::vector<InputSpec> specs;
  for (const Tensor* t : inputs) {
    if (!t->defined()) throw Error("plan cache: an input is undefined");
    specs.emplace_back(t->shape(), t->dtype());
  }
  return plans_.get(specs);
}

size_t PlanCache::bytes() const {
  size_t sum = 0;
  plans_.each([&](const Plan& plan) { sum += plan.bytes().own(); });
  return sum;
}

}  // namespace ingot
