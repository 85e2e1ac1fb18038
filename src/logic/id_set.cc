#include "logic/id_set.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::logic {

void Meter::refuse() {
  throw Error(ErrorKind::kMemory, "logic: facts take more than the limit of " + format_bytes(limit_) +
                                      " — raise it (--memory), or does a rule make ever more facts?");
}

void IdSet::grow(uint32_t capacity, uint32_t element, Meter& meter) {
  const uint64_t before = bytes(), after = uint64_t{capacity} * element;
  meter.take(after);
  void* grown = std::realloc(data_, after);
  if (grown == nullptr) throw std::bad_alloc();
  meter.give_back(before);
  data_ = grown;
  capacity_ = capacity;
}

uint64_t* IdSet::make_bits(uint32_t universe, Meter& meter) {
  const uint32_t words = universe / 64 + 1;
  if (is_bits()) {
    if (words > capacity_) {
      const uint32_t before = capacity_;
      grow(std::max(words, before + before / 4), 8, meter);
      std::memset(static_cast<uint64_t*>(data_) + before, 0, uint64_t{capacity_ - before} * 8);
    }
    return static_cast<uint64_t*>(data_);
  }
  meter.take(uint64_t{words} * 8);
  auto* bits = static_cast<uint64_t*>(std::calloc(words, 8));
  if (bits == nullptr) throw std::bad_alloc();
  for (uint32_t i = 0; i < count_; i++) bits[ids()[i] / 64] |= uint64_t{1} << (ids()[i] % 64);
  meter.give_back(bytes());
  std::free(data_);
  data_ = bits;
  capacity_ = words;
  mode_ = Mode::kBits;
  return bits;
}

bool IdSet::set_bit(uint32_t id, uint32_t universe, Meter& meter) {
  if (id / 64 >= capacity_) make_bits(std::max(id, universe), meter);
  uint64_t& word = static_cast<uint64_t*>(data_)[id / 64];
  const uint64_t bit = uint64_t{1} << (id % 64);
  if ((word & bit) != 0) return false;
  word |= bit;
  count_++;
  return true;
}

bool IdSet::insert(uint32_t id, uint32_t universe, Meter& meter) {
  if (is_bits()) return set_bit(id, universe, meter);
  const uint32_t place = find(id);
  if (place < count_ && ids()[place] == id) return false;
  if (count_ >= most_ids(universe)) {
    make_bits(std::max(id, universe), meter);
    return set_bit(id, universe, meter);
  }
  if (count_ == capacity_) grow(std::max(4u, capacity_ + capacity_ / 2), 4, meter);
  auto* at = static_cast<uint32_t*>(data_) + place;
  std::memmove(at + 1, at, uint64_t{count_ - place} * 4);
  *at = id;
  count_++;
  return true;
}

bool IdSet::erase(uint32_t id) {
  if (is_bits()) {
    if (!contains(id)) return false;
    static_cast<uint64_t*>(data_)[id / 64] &= ~(uint64_t{1} << (id % 64));
    count_--;
    return true;
  }
  auto *begin = static_cast<uint32_t*>(data_), *end = begin + count_;
  uint32_t* at = mode_ == Mode::kList ? std::find(begin, end, id) : begin + find(id);
  if (at == end || *at != id) return false;
  if (mode_ == Mode::kList)
    *at = end[-1];
  else
    std::memmove(at, at + 1, static_cast<size_t>(end - at - 1) * 4);
  count_--;
  return true;
}

void IdSet::append_slowly(uint32_t id, uint32_t universe, Meter& meter) {
  if (mode_ == Mode::kList && count_ >= most_listed(universe)) make_bits(std::max(id, universe), meter);
  if (is_bits()) {
    set_bit(id, universe, meter);
    return;
  }
  if (count_ == capacity_) grow(std::max(4u, capacity_ * 2), 4, meter);
  static_cast<uint32_t*>(data_)[count_++] = id;
}

void IdSet::unite_new(const IdSet& other, uint32_t universe, Meter& meter) {
  if (is_bits() || other.is_bits() || count_ + other.count_ > most_ids(universe)) {
    uint64_t* words = make_bits(std::max(universe, other.is_bits() ? other.capacity_ * 64 - 1 : 0), meter);
    if (other.is_bits())
      for (uint32_t w = 0; w < other.capacity_; w++) words[w] |= other.words()[w];
    else
      for (uint32_t i = 0; i < other.count_; i++) words[other.ids()[i] / 64] |= uint64_t{1} << (other.ids()[i] % 64);
    count_ += other.count_;
    return;
  }
  uint32_t mine = count_, theirs = other.count_, end = mine + theirs;
  if (end > capacity_) grow(std::max(end, capacity_ + capacity_ / 2), 4, meter);
  auto* id = static_cast<uint32_t*>(data_);
  while (theirs > 0)  // from behind
    id[--end] = mine > 0 && id[mine - 1] > other.ids()[theirs - 1] ? id[--mine] : other.ids()[--theirs];
  count_ += other.count_;
}

void IdSet::copy(const IdSet& other, Meter& meter) {
  if (other.is_bits())
    assign_words(other.words(), other.capacity_, other.count_, meter);
  else
    assign_sorted(other.ids(), other.count_, UINT32_MAX, meter);
}

void IdSet::clear(Meter& meter, Mode mode) {
  meter.give_back(bytes());
  std::free(data_);
  data_ = nullptr;
  count_ = capacity_ = 0;
  mode_ = mode;
}

void IdSet::assign_words(const uint64_t* words, uint32_t word_count, uint32_t count, Meter& meter) {
  clear(meter, Mode::kBits);
  grow(word_count, 8, meter);
  std::memcpy(data_, words, uint64_t{word_count} * 8);
  count_ = count;
}

void IdSet::assign_sorted(const uint32_t* ids, uint32_t count, uint32_t universe, Meter& meter) {
  clear(meter, Mode::kSorted);
  if (count > most_ids(universe)) {
    make_bits(universe, meter);
    for (uint32_t i = 0; i < count; i++) static_cast<uint64_t*>(data_)[ids[i] / 64] |= uint64_t{1} << (ids[i] % 64);
  } else if (count > 0) {
    grow(count, 4, meter);
    std::memcpy(data_, ids, uint64_t{count} * 4);
  }
  count_ = count;
}

}  // namespace ingot::logic
