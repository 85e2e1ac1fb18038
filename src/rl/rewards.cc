#include "ingot/rl/rewards.h"

#include <limits>

#include "ingot/rl/saved.h"

namespace ingot::rl {

static_assert(VisitCounts::kCounters == size_t{1} << (64 - 44), "the highest bits of a hash are the counter's number");

void VisitCounts::visit(uint64_t cell) {
  if (counts_.empty()) counts_.resize(kCounters);
  uint32_t& n = counts_[cell >> 44];
  if (n < std::numeric_limits<uint32_t>::max()) n++;
}

void VisitCounts::save(nn::TrainingState& state, const std::string& name) {
  counts_.resize(kCounters);
  save_memory(state, name, std::as_bytes(std::span(counts_)));
}

void VisitCounts::load(const nn::TrainingState& state, const std::string& name) {
  counts_.resize(kCounters);
  load_memory(state, name, std::as_writable_bytes(std::span(counts_)));
}

}  // namespace ingot::rl
