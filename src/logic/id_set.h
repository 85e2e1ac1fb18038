// A set of small numbers: sorted ids while it is small, a row of bits when that takes less time, changed by itself. Or a
// list in the order of arrival, whose owner knows that nothing comes twice.
#pragma once
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "logic/meter.h"

namespace ingot::logic {

class IdSet {
 public:
  enum class Mode : uint8_t { kSorted, kList, kBits };

  explicit IdSet(Mode mode = Mode::kSorted) : mode_(mode) {}
  IdSet(IdSet&& other) noexcept { *this = std::move(other); }
  IdSet& operator=(IdSet&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    std::swap(capacity_, other.capacity_);
    std::swap(mode_, other.mode_);
    return *this;
  }
  IdSet(const IdSet&) = delete;
  IdSet& operator=(const IdSet&) = delete;
  ~IdSet() { std::free(data_); }

  uint32_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  bool is_bits() const { return mode_ == Mode::kBits; }
  const uint32_t* ids() const { return static_cast<const uint32_t*>(data_); }
  const uint64_t* words() const { return static_cast<const uint64_t*>(data_); }
  uint32_t word_count() const { return capacity_; }  // of bits
  uint64_t bytes() const { return uint64_t{capacity_} * (is_bits() ? 8 : 4); }

  bool contains(uint32_t id) const {
    if (is_bits()) return id / 64 < capacity_ && (words()[id / 64] >> (id % 64) & 1) != 0;
    return find(id) < count_ && ids()[find(id)] == id;
  }

  /// False if it was there. Ids are below `universe`, which decides when bits are the better form.
  bool insert(uint32_t id, uint32_t universe, Meter& meter);
  /// Puts an id behind the others of a list (or in bits): it must be new.
  void append(uint32_t id, uint32_t universe, Meter& meter) {
    if (mode_ == Mode::kList && count_ < capacity_) {
      static_cast<uint32_t*>(data_)[count_++] = id;
      return;
    }
    append_slowly(id, universe, meter);
  }
  /// False if it was not there. The order of a list changes.
  bool erase(uint32_t id);
  /// Takes the ids of another set in, none of which it has.
  void unite_new(const IdSet& other, uint32_t universe, Meter& meter);
  /// Makes it the same ids, sorted or as bits.
  void copy(const IdSet& other, Meter& meter);
  /// Makes it these words, `count` bits of which are set.
  void assign_words(const uint64_t* words, uint32_t word_count, uint32_t count, Meter& meter);
  /// Makes it these ids, which are sorted and different.
  void assign_sorted(const uint32_t* ids, uint32_t count, uint32_t universe, Meter& meter);
  /// Room for all ids below `universe`, as bits.
  uint64_t* make_bits(uint32_t universe, Meter& meter);
  void set_count(uint32_t count) { count_ = count; }  // after writing to make_bits()
  /// Empty, and its memory given back.
  void clear(Meter& meter, Mode mode);

  /// Calls f(id) for every id, in ascending order (a list: in its own). f may insert into this set if it is bits.
  template <class F>
  void for_each(F&& f) const {
    if (!is_bits()) {
      for (uint32_t i = 0; i < count_; i++) f(ids()[i]);
      return;
    }
    for (uint32_t w = 0; w < capacity_; w++)
      for (uint64_t bits = words()[w]; bits != 0; bits &= bits - 1)
        f(w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }

  /// Ids from which on a set below `universe` is bits: as ids it would be searched and moved too long.
  static uint32_t most_ids(uint32_t universe) { return universe / 256 < 32 ? 32 : universe / 256; }
  /// The same for lists, which are only ever read in order.
  static uint32_t most_listed(uint32_t universe) { return universe / 32 < 32 ? 32 : universe / 32; }

 private:
  uint32_t find(uint32_t id) const {  // the first place whose id is not less
    uint32_t low = 0, length = count_;
    const uint32_t* at = ids();
    while (length > 0) {
      const uint32_t half = length / 2;
      const bool right = at[low + half] < id;
      low = right ? low + half + 1 : low;
      length = right ? length - half - 1 : half;
    }
    return low;
  }
  void grow(uint32_t capacity, uint32_t element, Meter& meter);
  void append_slowly(uint32_t id, uint32_t universe, Meter& meter);
  bool set_bit(uint32_t id, uint32_t universe, Meter& meter);

  void* data_ = nullptr;
  uint32_t count_ = 0, capacity_ = 0;  // ids, or words
  Mode mode_ = Mode::kSorted;
};

}  // namespace ingot::logic
