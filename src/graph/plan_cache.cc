#include <algorithm>

#include "ingot/error.h"
#include "ingot/plan.h"

namespace ingot {

PlanCache::PlanCache(PlanFunction fn, PlanOptions options, size_t most)
    : fn_(std::move(fn)), options_(std::move(options)), most_(most) {
  if (most == 0) throw Error("plan cache: it must keep at least one plan");
  entries_.reserve(most);
}

Plan& PlanCache::plan_for(std::span<const Tensor* const> inputs) {
  clock_++;
  for (Entry& e : entries_) {
    bool same = e.specs.size() == inputs.size();
    for (size_t i = 0; same && i < inputs.size(); i++)
      same = e.specs[i].dtype == inputs[i]->dtype() && e.specs[i].shape == inputs[i]->shape();
    if (!same) continue;
    e.used = clock_;
    return e.plan;
  }
  Entry made;
  for (const Tensor* t : inputs) {
    if (!t->defined()) throw Error("plan cache: an input is undefined");
    made.specs.emplace_back(t->shape(), t->dtype());
  }
  made.plan = compile_function(fn_, made.specs, options_);
  made.used = clock_;
  compiles_++;
  if (entries_.size() < most_) {
    entries_.push_back(std::move(made));
    return entries_.back().plan;
  }
  // The others stay where they are: their users may hold references.
  Entry& oldest = *std::min_element(entries_.begin(), entries_.end(),
                                    [](const Entry& a, const Entry& b) { return a.used < b.used; });
  evictions_++;
  oldest = std::move(made);
  return oldest.plan;
}

size_t PlanCache::bytes() const {
  size_t sum = 0;
  for (const Entry& e : entries_) sum += e.plan.bytes().own();
  return sum;
}

}  // namespace ingot
