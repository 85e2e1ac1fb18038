// Work that is shared among threads by rows: a worker has the rows of its shard to itself, so who does it changes nothing.
#pragma once
#include <exception>
#include <vector>

#include "ingot/base/threads.h"

namespace ingot::logic {

extern uint64_t shared_from;  // new facts in a round that are worth more than one worker; tests set it to 1

constexpr uint32_t kShardKeys = 32;  // neighbours share cache lines, so they stay together

/// Who has the row.
inline int shard_of(uint64_t x, int workers) {
  return static_cast<int>((x / kShardKeys * 0x9e3779b97f4a7c15u >> 32) % static_cast<uint64_t>(workers));
}

/// parallel(), for work that may throw: the error of the first member that had one is thrown.
template <class Work>
void in_shards(bool wide, Work&& work) {
  if (!wide) return work(Team());
  std::vector<std::exception_ptr> errors(static_cast<size_t>(threads()));
  parallel(true, [&](const Team& team) {
    try {
      work(team);
    } catch (...) {
      errors[static_cast<size_t>(team.rank())] = std::current_exception();
    }
  });
  for (const std::exception_ptr& e : errors)
    if (e) std::rethrow_exception(e);
}

}  // namespace ingot::logic
