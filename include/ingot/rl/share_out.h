// Work of the user's code on all threads: what it throws, the caller sees.
#pragma once
#include <cstdint>
#include <exception>
#include <mutex>

#include "ingot/base/threads.h"

namespace ingot::rl {

/// Calls body(first, last) for shares of [0, count) that begin at multiples of `block`: on all workers if `together`, else
/// once. Of several exceptions, the caller gets that of the first share.
template <class Body>
void share_out(bool together, int64_t count, int64_t block, const Body& body) {
  if (!together) return body(size_t{0}, static_cast<size_t>(count));
  std::mutex guard;
  std::exception_ptr error;
  int64_t thrower = count;
  parallel(true, [&](const Team& team) {
    const auto [first, last] = team.share(count, block);
    try {
      body(static_cast<size_t>(first), static_cast<size_t>(last));
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!error || first < thrower) thrower = first, error = std::current_exception();
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace ingot::rl
