// An optimiser at work: its counters, and what it records into plans.
#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

// Seeds of different batches must differ, whatever the user's seed: an odd factor keeps them apart.
int64_t seed_of_batch(int64_t seed, int64_t batch) {
  return static_cast<int64_t>(static_cast<uint64_t>(seed) * 0x9E3779B97F4A7C15u + static_cast<uint64_t>(batch));
}

}  // namespace

Updates::Updates(const ParameterSlab& slab, const Optimizer& optimizer, const UpdateOptions& options)
    : slab_(&slab),
      optimizer_(optimizer),
      options_(options),
      state_(make_state(optimizer, slab)),
      lr_tensor_(zeros({})),
      step_tensor_(zeros({}, kI64)),
      seed_tensor_(zeros({}, kI64)),
      average_share_(zeros({}, slab.values().dtype())),
      carry_(zeros({}, kBool)),
      lr_(optimizer.lr()) {
  if (options.accumulate < 1)
    throw Error(std::string("updates: accumulate = ") + std::to_string(options.accumulate) + " — it must be 1 or more");
  if (!(options.ema >= 0 && options.ema < 1))
    throw Error(std::string("updates: ema = ") + std::to_string(options.ema) +
                " — it must be at least 0 and less than 1");
  if (options.ema > 0) averages_ = clone(slab.values());
  if (options.accumulate > 1)
    update_ = compile([this] { record(); }, {}, {.name = "update", .roles = roles(), .names = {}});
}

std::vector<std::pair<Tensor, Role>> Updates::roles() const {
  std::vector<std::pair<Tensor, Role>> roles = {{slab_->values(), Role::kParameter},
                                                {slab_->gradients(), Role::kGradient}};
  if (state_.defined()) roles.emplace_back(state_, Role::kState);
  if (averages_.defined()) roles.emplace_back(averages_, Role::kState);
  return roles;
}

void Updates::set_counters(int64_t steps, int64_t batches) {
  if (steps < 0 || batches < 0) throw Error("updates: counters are 0 or more");
  steps_ = steps;
  batches_ = batches;
}

void Updates::before_batch() {
  if (batches_ == 0 && averages_.defined()) copy_into(averages_, slab_->values());  // as they are when training begins
  *lr_tensor_.data<float>() = lr_;
  *step_tensor_.data<int64_t>() = steps_ + 1;
  *seed_tensor_.data<int64_t>() = seed_of_batch(options_.seed, batches_);
  *carry_.data<bool>() = batches_ % options_.accumulate != 0;
  // The first averages would remember the initial weights for long: they begin as a mean over few updates.
  const double updates = static_cast<double>(steps_ + 1);
  fill(average_share_, 1 - std::min(options_.ema, (1 + updates) / (10 + updates)));
}

void Updates::after_batch() {
  batches_++;
  if (batches_ % options_.accumulate != 0) return;
  if (options_.accumulate > 1) update_.run();
  steps_++;
}

void Updates::record_gradients(std::span<const Tensor> gradients) const {
  const Scope scope("gradients");
  const Tensor nothing = zeros({}, slab_->values().dtype());
  for (size_t i = 0; i < slab_->size(); i++) {
    const Tensor& sum = slab_->gradient(i);
    if (options_.accumulate == 1)
      copy_into(sum, gradients[i]);
    else
      copy_into(sum, where(carry_, sum, nothing) + gradients[i] * (1 / static_cast<double>(options_.accumulate)));
  }
}

void Updates::record() const {
  const Scope scope("update");
  record_update(optimizer_, *slab_, state_, lr_tensor_, step_tensor_);
  if (averages_.defined()) copy_into(averages_, averages_ + (slab_->values() - averages_) * average_share_);
}

}  // namespace ingot
