#include "ingot/data/batch_size.h"

#include <algorithm>
#include <string>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::data {

int64_t recommended_batch(const StepBytes& bytes, int workers, const MachineInfo& machine) {
  const auto [per_sample, fixed] = bytes;
  if (!(per_sample >= 0) || !(fixed >= 0) || workers < 1)
    throw Error(std::string("recommended_batch: ") + std::to_string(per_sample) + " bytes per sample, " +
                std::to_string(fixed) + " fixed, " + std::to_string(workers) +
                " workers — bytes are 0 or more, workers 1 or more");
  const double l2 = machine.l2_bytes > 0 ? static_cast<double>(machine.l2_bytes) : 256 * 1024;
  const double near = l2 * workers, most = std::max(near, static_cast<double>(machine.l3_bytes) / 2);
  const double room = std::min(std::max(near, fixed), most);
  int64_t batch = 8;
  while (batch < 4096 && 2 * static_cast<double>(batch) * per_sample <= room) batch *= 2;
  const auto free = static_cast<double>(machine.free_bytes);
  if (free == 0) return batch;  // not known
  if (per_sample > free)
    throw Error(ErrorKind::kMemory, "recommended_batch: a step on one sample takes " +
                                        format_bytes(static_cast<uint64_t>(per_sample)) + ", and " +
                                        format_bytes(machine.free_bytes) +
                                        " of memory are free — use smaller samples or layers");
  while (batch > 1 && static_cast<double>(batch) * per_sample > free / 2) batch /= 2;
  return batch;
}

namespace {

StepBytes bytes_of(const Plan& plan, int64_t batch, double batch_bytes) {
  if (batch < 1)
    throw Error(std::string("recommended_batch: a plan for ") + std::to_string(batch) +
                " samples — give the batch size that it was compiled for");
  const PlanBytes bytes = plan.bytes();
  const double growing = static_cast<double>(bytes.arena + bytes.outputs) + batch_bytes;
  return {.per_sample = growing / static_cast<double>(batch),
          .fixed = static_cast<double>(bytes.parameters + bytes.gradients + bytes.state + bytes.bound)};
}

}  // namespace

StepBytes step_bytes(const Plan& plan, int64_t batch) { return bytes_of(plan, batch, 0); }

StepBytes step_bytes(const Plan& plan, const Loader& loader) {
  double bytes = 0;
  for (const InputSpec& spec : loader.fields())
    bytes += static_cast<double>(element_count(spec.shape)) * static_cast<double>(size_of(spec.dtype));
  return bytes_of(plan, loader.fields()[0].shape[0], bytes);
}

int64_t recommended_batch(const Plan& plan, int64_t batch) {
  return recommended_batch(step_bytes(plan, batch), plan.threads(), machine_info());
}
int64_t recommended_batch(const Plan& plan, const Loader& loader) {
  return recommended_batch(step_bytes(plan, loader), plan.threads(), machine_info());
}

}  // namespace ingot::data
