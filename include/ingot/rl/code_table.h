// Which states have been seen, by their codes: open addressing, emptied at once, memory kept from solve to solve.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "ingot/rl/puzzle.h"

namespace ingot::rl {

/// Codes with a number each.
template <class Code>
class CodeTable {
 public:
  size_t size() const { return size_; }

  void clear() {
    size_ = 0;
    if (++now_ == 0) {  // after 2³² times: entries of long ago look like those of now
      for (Entry& e : entries_) e.when = 0;
      now_ = 1;
    }
  }

  /// The code's number, and whether it is new: then `number` is its number from now on. The reference holds until the
  /// next call.
  std::pair<int32_t&, bool> insert(const Code& code, int32_t number) {
    if (2 * size_ >= entries_.size()) grow();
    Entry& e = entries_[slot_of(code)];
    if (e.when == now_) return {e.number, false};
    e = {code, number, now_};
    size_++;
    return {e.number, true};
  }

  /// nullptr: it is not there.
  const int32_t* find(const Code& code) const {
    if (entries_.empty()) return nullptr;
    const Entry& e = entries_[slot_of(code)];
    return e.when == now_ ? &e.number : nullptr;
  }

 private:
  struct Entry {
    Code code{};
    int32_t number = 0;
    uint32_t when = 0;
  };

  size_t slot_of(const Code& code) const {
    const size_t mask = entries_.size() - 1;
    size_t slot = hash_of(code) >> 20 & mask;
    while (entries_[slot].when == now_ && !(entries_[slot].code == code)) slot = (slot + 1) & mask;
    return slot;
  }

  void grow() {
    std::vector<Entry> old(std::max<size_t>(1024, 2 * entries_.size()));
    old.swap(entries_);
    for (const Entry& e : old)
      if (e.when == now_) entries_[slot_of(e.code)] = e;
  }

  std::vector<Entry> entries_;  // a power of two
  size_t size_ = 0;
  uint32_t now_ = 1;
};

}  // namespace ingot::rl
