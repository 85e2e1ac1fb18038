#include "logic/rows.h"

#include <algorithm>

namespace ingot::logic {

const IdSet Rows::kNone;

Rows::~Rows() {
  for (auto* sets : {&rows_, &columns_, &fresh_, &next_}) {
    for (const IdSet& s : *sets) meter_.give_back(s.bytes());
    meter_.give_back(sets->size() * sizeof(IdSet));
  }
}

namespace {

void make_more_room(std::vector<IdSet>& sets, uint32_t x, IdSet::Mode mode, Meter& meter) {
  const size_t size = std::max<size_t>(x + size_t{1}, std::min<size_t>(sets.size() * 2, sets.size() + 1000000));
  meter.take((size - sets.size()) * sizeof(IdSet));
  sets.reserve(size);
  while (sets.size() < size) sets.emplace_back(mode);
}

inline void make_room(std::vector<IdSet>& sets, uint32_t x, IdSet::Mode mode, Meter& meter) {
  if (x >= sets.size()) make_more_room(sets, x, mode, meter);
}

}  // namespace

void Rows::reach(uint32_t x) { make_room(rows_, x, IdSet::Mode::kSorted, meter_); }

void Rows::note(uint32_t x, uint32_t y) {
  make_room(next_, x, IdSet::Mode::kList, meter_);
  if (next_[x].empty()) next_keys_.push_back(x);
  next_[x].append(y, top_, meter_);
}

bool Rows::insert(uint32_t x, uint32_t y) {
  if (x >= rows_.size()) reach(x);
  top_ = std::max(top_, y);
  IdSet& row = rows_[x];
  if (!row.insert(y, top_, meter_)) return false;
  size_++;
  used_ += row.size() == 1 ? 1 : 0;
  if (recording_) note(x, y);
  return true;
}

bool Rows::put(uint32_t x, uint32_t y) {
  if (!insert(x, y)) return false;
  if (has_columns_) {
    make_room(columns_, y, IdSet::Mode::kList, meter_);
    columns_[y].append(x, key_count(), meter_);
  }
  return true;
}

bool Rows::erase(uint32_t x, uint32_t y) {
  if (x >= rows_.size() || !rows_[x].erase(y)) return false;
  size_--;
  used_ -= rows_[x].empty() ? 1 : 0;
  if (has_columns_) columns_[y].erase(x);
  return true;
}

void Rows::unite_words(uint32_t x, const IdSet& source, std::span<const Sieve> sieves) {
  IdSet& row = rows_[x];
  const uint32_t before = row.size();
  uint64_t* to = row.make_bits(std::max(top_, source.word_count() * 64 - 1), meter_);
  const uint64_t* from = source.words();
  uint32_t count = before;
  for (uint32_t w = 0; w < source.word_count(); w++) {
    uint64_t add = from[w] & ~to[w];
    for (const Sieve& s : sieves) {
      const uint64_t other = w < s.set->word_count() ? s.set->words()[w] : 0;
      add &= s.negated ? ~other : other;
    }
    if (add == 0) continue;
    to[w] |= add;
    count += static_cast<uint32_t>(std::popcount(add));
    if (!recording_) continue;
    row.set_count(count);
    for (uint64_t bits = add; bits != 0; bits &= bits - 1)
      note(x, w * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
  }
  row.set_count(count);
  size_ += count - before;
  used_ += before == 0 && count > 0 ? 1 : 0;
}

// Ids into bits, which is what most of a large recursion does.
void Rows::unite_ids(uint32_t x, const IdSet& source) {
  IdSet& row = rows_[x];
  const uint32_t *id = source.ids(), *end = id + source.size(), *largest = std::max_element(id, end);
  top_ = std::max(top_, *largest);
  uint64_t* words = row.make_bits(*largest, meter_);
  uint32_t count = row.size();
  const uint32_t before = count;
  for (; id != end; id++) {
    uint64_t& word = words[*id / 64];
    const uint64_t bit = uint64_t{1} << (*id % 64);
    if ((word & bit) != 0) continue;
    word |= bit;
    count++;
    if (recording_) note(x, *id);
  }
  row.set_count(count);
  size_ += count - before;
  used_ += before == 0 ? 1 : 0;
}

void Rows::unite(uint32_t x, const IdSet& source, std::span<const Sieve> sieves) {
  if (source.empty()) return;
  if (x >= rows_.size()) reach(x);
  if (&source == &rows_[x]) return;
  // Words against words, if all are bits and the row is large enough to be bits, too.
  bool words = source.is_bits() && (rows_[x].is_bits() || source.size() > IdSet::most_ids(top_));
  for (const Sieve& s : sieves) words = words && (s.set->is_bits() || s.set->empty());
  if (words) {
    const uint32_t last = source.word_count();
    for (uint32_t w = last; w-- > 0;)
      if (source.words()[w] != 0) {
        top_ = std::max(top_, w * 64 + 63 - static_cast<uint32_t>(std::countl_zero(source.words()[w])));
        break;
      }
    unite_words(x, source, sieves);
    return;
  }
  if (rows_[x].is_bits() && !source.is_bits() && sieves.empty()) return unite_ids(x, source);
  const auto add = [&](uint32_t y) {
    for (const Sieve& s : sieves)
      if (s.set->contains(y) == s.negated) return;
    insert(x, y);
  };
  source.for_each(add);
}

void Rows::set_row(uint32_t x, const uint32_t* ids, uint32_t count, uint32_t top) {
  reach(x);
  top_ = std::max(top_, top);
  size_ += count - rows_[x].size();
  used_ += (count > 0 ? 1u : 0u) - (rows_[x].empty() ? 0u : 1u);
  rows_[x].assign_sorted(ids, count, top, meter_);
}

void Rows::set_row(uint32_t x, const uint64_t* words, uint32_t word_count, uint32_t count, uint32_t top) {
  reach(x);
  top_ = std::max(top_, top);
  size_ += count - rows_[x].size();
  used_ += (count > 0 ? 1u : 0u) - (rows_[x].empty() ? 0u : 1u);
  rows_[x].assign_words(words, word_count, count, meter_);
}

void Rows::assign(std::vector<uint32_t>& pairs) {
  const size_t n = pairs.size() / 2;
  uint32_t largest = 0, top = 0;
  bool sorted = true;
  for (size_t i = 0; i < n; i++) {
    largest = std::max(largest, pairs[2 * i]);
    top = std::max(top, pairs[2 * i + 1]);
    sorted = sorted && (i == 0 || pairs[2 * i - 2] < pairs[2 * i] ||
                        (pairs[2 * i - 2] == pairs[2 * i] && pairs[2 * i - 1] < pairs[2 * i + 1]));
  }
  if (n == 0) return;
  meter_.take(n * 4);
  std::vector<size_t> begin(size_t{largest} + 2, 0);
  std::vector<uint32_t> ys(n);
  for (size_t i = 0; i < n; i++) begin[pairs[2 * i] + size_t{1}]++;
  for (size_t x = 0; x <= largest; x++) begin[x + 1] += begin[x];
  if (sorted) {
    for (size_t i = 0; i < n; i++) ys[i] = pairs[2 * i + 1];
  } else {
    std::vector<size_t> at(begin.begin(), begin.end() - 1);
    for (size_t i = 0; i < n; i++) ys[at[pairs[2 * i]]++] = pairs[2 * i + 1];
  }
  pairs = {};
  reach(largest);
  for (uint32_t x = 0; x <= largest; x++) {
    uint32_t *first = ys.data() + begin[x], *last = ys.data() + begin[x + size_t{1}];
    if (first == last) continue;
    if (!sorted) {
      std::sort(first, last);
      last = std::unique(first, last);
    }
    set_row(x, first, static_cast<uint32_t>(last - first), top);
  }
  meter_.give_back(n * 4);
}

void Rows::add_columns(uint32_t x, const IdSet& ys) {
  ys.for_each([&](uint32_t y) {
    make_room(columns_, y, IdSet::Mode::kList, meter_);
    columns_[y].append(x, key_count(), meter_);
  });
}

void Rows::need_columns() {
  if (has_columns_) return;
  has_columns_ = true;
  for (uint32_t x = 0; x < key_count(); x++) add_columns(x, rows_[x]);
}

void Rows::clear(std::vector<IdSet>& sets, std::vector<uint32_t>& keys) {
  for (const uint32_t x : keys) sets[x].clear(meter_, IdSet::Mode::kList);
  keys.clear();
}

void Rows::begin_rounds() {
  clear(fresh_, fresh_keys_);
  clear(next_, next_keys_);
  recording_ = true;
  for (uint32_t x = 0; x < key_count(); x++) {
    if (rows_[x].empty()) continue;
    make_room(fresh_, x, IdSet::Mode::kList, meter_);
    fresh_keys_.push_back(x);
    rows_[x].for_each([&](uint32_t y) { fresh_[x].append(y, top_, meter_); });
  }
}

bool Rows::advance() {
  clear(fresh_, fresh_keys_);
  std::swap(fresh_, next_);
  std::swap(fresh_keys_, next_keys_);
  std::sort(fresh_keys_.begin(), fresh_keys_.end());
  if (has_columns_)
    for (const uint32_t x : fresh_keys_) add_columns(x, fresh_[x]);
  return !fresh_keys_.empty();
}

void Rows::end_rounds() {
  clear(fresh_, fresh_keys_);
  clear(next_, next_keys_);
  recording_ = false;
}

uint64_t Rows::fresh_size() const {
  uint64_t size = 0;
  for (const uint32_t x : fresh_keys_) size += fresh_[x].size();
  return size;
}

}  // namespace ingot::logic
