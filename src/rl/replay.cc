#include "ingot/rl/replay.h"

#include <algorithm>
#include <cmath>
#include <exception>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/random.h"

namespace ingot::rl {
namespace {

constexpr uint64_t kDrawStream = 0x7265706C6179;  // "replay"

int64_t rows_of(const ReplayOptions& o) {
  if (o.environments < 1 || o.capacity < o.environments)
    throw Error("replay: " + std::to_string(o.capacity) + " transitions for " + std::to_string(o.environments) +
                " environments — give room for at least one of each");
  if (o.n_step < 1) throw Error("replay: n_step = " + std::to_string(o.n_step) + " — it must be 1 or more");
  if (!(o.discount >= 0 && o.discount <= 1) || !(o.alpha >= 0) || !(o.least_priority > 0))
    throw Error("replay: discount is from 0 to 1, alpha 0 or more, least_priority more than 0");
  return (o.capacity + o.environments - 1) / o.environments;
}

}  // namespace

ReplayOrder::ReplayOrder(const ReplayOptions& options)
    : options_(options), all_rows_(rows_of(options)), priorities_(1) {}

void ReplayOrder::take_memory() {
  if (!options_.prioritised || priorities_.size() == capacity()) return;
  try {
    priorities_ = SumTree(capacity());
  } catch (const std::exception&) {
    refuse_memory();
  }
}

void ReplayOrder::refuse_memory() const {
  throw Error(ErrorKind::kMemory,
              "replay: there is no memory for " + std::to_string(capacity()) + " transitions — give it less capacity");
}

int64_t ReplayOrder::add_row() {
  take_memory();
  const int64_t first = next_row_ * options_.environments;
  next_row_ = (next_row_ + 1) % all_rows_;
  rows_ = std::min(rows_ + 1, all_rows_);
  if (options_.prioritised)
    for (int64_t i = 0; i < options_.environments; i++) priorities_.set(first + i, largest_);
  return first;
}

int64_t ReplayOrder::after(int64_t slot) const {
  const int64_t row = (slot / options_.environments + 1) % all_rows_;
  return row == next_row_ ? -1 : row * options_.environments + slot % options_.environments;
}

double ReplayOrder::chance(int64_t slot) const {
  return options_.prioritised ? priorities_[slot] / priorities_.total() : 1 / static_cast<double>(size());
}

void ReplayOrder::sample(double beta, std::span<int64_t> slots, std::span<float> weights) {
  if (rows_ == 0) throw Error("replay: nothing to draw from — push transitions first");
  if (slots.size() != weights.size()) throw Error("replay: as many weights as slots are drawn");
  const auto n = static_cast<int64_t>(slots.size());
  uniform_.resize(slots.size());
  fill_uniform(uniform_.data(), n, static_cast<int64_t>(draws_), 0.0, 1.0, {options_.seed, kDrawStream});
  draws_ += slots.size();
  if (!options_.prioritised) {
    for (size_t i = 0; i < slots.size(); i++) {
      slots[i] = std::min(static_cast<int64_t>(uniform_[i] * static_cast<double>(size())), size() - 1);
      weights[i] = 1;
    }
    return;
  }
  double largest = 0;
  const double share = priorities_.total() / static_cast<double>(n), all = static_cast<double>(size());
  for (size_t i = 0; i < slots.size(); i++) uniform_[i] = (static_cast<double>(i) + uniform_[i]) * share;
  priorities_.find(uniform_, slots);
  for (size_t i = 0; i < slots.size(); i++) {
    uniform_[i] = std::pow(all * chance(slots[i]), -beta);
    largest = std::max(largest, uniform_[i]);
  }
  for (size_t i = 0; i < slots.size(); i++) weights[i] = static_cast<float>(uniform_[i] / largest);
}

void ReplayOrder::set_priorities(std::span<const int64_t> slots, std::span<const float> td_errors) {
  if (!options_.prioritised) return;
  uniform_.resize(slots.size());
  for (size_t i = 0; i < slots.size(); i++) {
    uniform_[i] = std::pow(std::abs(static_cast<double>(td_errors[i])) + options_.least_priority, options_.alpha);
    largest_ = std::max(largest_, uniform_[i]);
  }
  priorities_.set(slots, uniform_);
}

void ReplayOrder::save(nn::TrainingState& state, const std::string& name) {
  take_memory();
  save_number(state, name + ".rows", rows_);
  save_number(state, name + ".next_row", next_row_);
  save_number(state, name + ".draws", static_cast<int64_t>(draws_));
  save_number(state, name + ".largest", largest_);
  save_memory(state, name + ".priorities", std::as_bytes(priorities_.numbers()));
}

void ReplayOrder::load(const nn::TrainingState& state, const std::string& name) {
  take_memory();
  const int64_t rows = saved_integer(state, name + ".rows"), next = saved_integer(state, name + ".next_row");
  if (rows < 0 || rows > all_rows_ || next < 0 || next >= all_rows_ || (rows < all_rows_ && next != rows))
    throw Error(ErrorKind::kFile, "checkpoint: \"" + name + "\" cannot be such a ring of transitions");
  rows_ = rows, next_row_ = next;
  draws_ = static_cast<uint64_t>(saved_count(state, name + ".draws"));
  largest_ = saved_real(state, name + ".largest");
  if (!(largest_ >= 0 && std::isfinite(largest_))) refuse_saved("\"" + name + ".largest\" is no priority");
  std::vector<double> priorities(static_cast<size_t>(priorities_.size()));
  load_memory(state, name + ".priorities", std::as_writable_bytes(std::span(priorities)));
  for (int64_t i = 0; i < priorities_.size(); i++) {
    const double p = priorities[static_cast<size_t>(i)];
    if (!(p >= 0 && std::isfinite(p)) || (options_.prioritised && i >= size() && p != 0))
      throw Error(ErrorKind::kFile, "checkpoint: \"" + name + "\" has no such priority");
    priorities_.set(i, p);
  }
}

}  // namespace ingot::rl
