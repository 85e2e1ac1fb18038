#include "recipe/auto_batch.h"

#include <fmt/format.h>

#include <algorithm>

#include "ingot/base/text.h"
#include "ingot/data/batch_size.h"
#include "ingot/recipe/page.h"

namespace ingot::recipe {
namespace {

constexpr int64_t kBatches = 16;  // in an epoch, at least: a network learns by updates, not by epochs
constexpr int64_t kFew = 8;       // samples that a batch has even so

// Samples in a batch, at most, so that enough of them come of this data.
int64_t most_samples(const Job& job) {
  const bool epoch_is_all = job.description.settings("train").integer("batches") == 0;
  int64_t most = job.data.train->size();
  if (epoch_is_all) most = std::min(most, std::max(most / kBatches, kFew));
  // A text that goes on from batch to batch is laid out in as many rows, and so is the part to test with.
  if (job.data.task.rows > 0 && job.data.test != nullptr) most = std::min(most, job.data.test->size());
  return most;
}

}  // namespace

BatchChoice choose_batch(const Job& sized) {
  MachineInfo machine = machine_info();
  const data::StepBytes bytes = data::step_bytes(sized.trainer->step_for(*sized.train).plan(), *sized.train);
  const int64_t fitting = data::recommended_batch(bytes, machine.cores, machine);
  const std::string free = format_bytes(machine.free_bytes);
  machine.free_bytes = 0;  // what it would be if there were any amount
  const bool scarce = fitting < data::recommended_batch(bytes, machine.cores, machine);
  BatchChoice out{fitting, fmt::format("a step takes {} per sample, and {} suit {}",
                                       format_bytes(static_cast<uint64_t>(bytes.per_sample)), grouped(fitting),
                                       scarce ? free + " of free memory"
                                              : fmt::format("the caches of {} core{}", machine.cores,
                                                            machine.cores == 1 ? "" : "s"))};
  const int64_t most = most_samples(sized);
  if (fitting <= most) return out;
  while (out.batch > most && out.batch > 1) out.batch /= 2;
  out.why += fmt::format(", but there are {} samples", grouped(sized.data.train->size()));
  return out;
}

}  // namespace ingot::recipe
