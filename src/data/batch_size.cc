#include "ingot/data/batch_size.h"

#include <algorithm>
#include <string>

#include "ingot/base/error.h"

namespace ingot::data {

int64_t recommended_batch(double bytes_per_sample, double fixed, int workers, const MachineInfo& machine) {
  if (!(bytes_per_sample >= 0) || !(fixed >= 0) || workers < 1)
    throw Error(std::string("recommended_batch: ") + std::to_string(bytes_per_sample) + " bytes per sample, " +
                std::to_string(fixed) + " fixed, " + std::to_string(workers) +
                " workers — bytes are 0 or more, workers 1 or more");
  const double l2 = machine.l2_bytes > 0 ? static_cast<double>(machine.l2_bytes) : 256 * 1024;
  const double near = l2 * workers, most = std::max(near, static_cast<double>(machine.l3_bytes) / 2);
  const double room = std::min(std::max(near, fixed), most);
  int64_t batch = 8;
  while (batch < 4096 && 2 * static_cast<double>(batch) * bytes_per_sample <= room) batch *= 2;
  const double free = static_cast<double>(machine.free_bytes) / 2;
  while (free > 0 && batch > 1 && static_cast<double>(batch) * bytes_per_sample > free) batch /= 2;
  return batch;
}

namespace {

int64_t recommended(const Plan& plan, int64_t batch, double batch_bytes) {
  if (batch < 1)
    throw Error(std::string("recommended_batch: a plan for ") + std::to_string(batch) +
                " samples — give the batch size that it was compiled for");
  const PlanBytes bytes = plan.bytes();
  const auto fixed = static_cast<double>(bytes.parameters + bytes.gradients + bytes.state + bytes.bound);
  const double growing = static_cast<double>(bytes.arena + bytes.outputs) + batch_bytes;
  return recommended_batch(growing / static_cast<double>(batch), fixed, plan.threads(), machine_info());
}

}  // namespace

int64_t recommended_batch(const Plan& plan, int64_t batch) { return recommended(plan, batch, 0); }

int64_t recommended_batch(const Plan& plan, const Loader& loader) {
  double bytes = 0;
  for (const InputSpec& spec : loader.fields())
    bytes += static_cast<double>(element_count(spec.shape)) * static_cast<double>(size_of(spec.dtype));
  return recommended(plan, loader.fields()[0].shape[0], bytes);
}

}  // namespace ingot::data
