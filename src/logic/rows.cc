#include "logic/rows.h"

#include <algorithm>
#include <memory>

#include "logic/shards.h"

namespace ingot::logic {
namespace {

constexpr size_t kManyPairs = 100'000;  // that are worth more than one worker

}  // namespace

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

bool Rows::insert(uint32_t x, uint32_t y, Found& found) {
  if (y > top_) top_ = y;
  if (!recording_) {
    if (x >= rows_.size()) reach(x);
    IdSet& row = rows_[x];
    if (!row.insert(y, top_, meter_)) return false;
    size_++;
    used_ += row.size() == 1 ? 1 : 0;
    return true;
  }
  if (row(x).contains(y)) return false;
  make_room(next_, x, IdSet::Mode::kSorted, meter_);
  if (!next_[x].insert(y, top_, meter_)) return false;
  if (next_[x].size() == 1) found.keys.push_back(x);
  found.size++;
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

namespace {

// Words of a source that none of the sieves hold back.
uint64_t sieved(uint64_t word, uint32_t w, std::span<const Sieve> sieves) {
  for (const Sieve& s : sieves) {
    const uint64_t other = w < s.set->word_count() ? s.set->words()[w] : 0;
    word &= s.negated ? ~other : other;
  }
  return word;
}

uint32_t top_of(const IdSet& bits) {
  for (uint32_t w = bits.word_count(); w-- > 0;)
    if (bits.words()[w] != 0) return w * 64 + 63 - static_cast<uint32_t>(std::countl_zero(bits.words()[w]));
  return 0;
}

}  // namespace

// Most of what a late round brings is old: nothing is made for it.
void Rows::unite_words(IdSet& into, const IdSet* old, const IdSet& source, std::span<const Sieve> sieves) {
  const uint64_t* from = source.words();
  const uint32_t size = source.word_count(), old_size = old != nullptr && old->is_bits() ? old->word_count() : 0;
  const auto added = [&](uint32_t w) {
    const uint64_t word = w < old_size ? from[w] & ~old->words()[w] : from[w];
    return sieves.empty() ? word : sieved(word, w, sieves);
  };
  if (!into.is_bits()) {
    uint32_t count = 0;
    for (uint32_t w = 0; w < size; w++) count += static_cast<uint32_t>(std::popcount(added(w)));
    if (into.size() + count <= IdSet::most_ids(top_)) {
      for (uint32_t w = 0; w < size && count > 0; w++)
        for (uint64_t bits = added(w); bits != 0; bits &= bits - 1) {
          const uint32_t y = w * 64 + static_cast<uint32_t>(std::countr_zero(bits));
          if (old == nullptr || !old->contains(y)) into.insert(y, top_, meter_);
        }
      return;
    }
  }
  uint64_t* to = into.make_bits(std::max(top_, size * 64 - 1), meter_);
  uint32_t count = into.size();
  for (uint32_t w = 0; w < size; w++) {
    const uint64_t add = added(w) & ~to[w];
    to[w] |= add;
    count += static_cast<uint32_t>(std::popcount(add));
  }
  if (old != nullptr && !old->is_bits())
    old->for_each([&](uint32_t y) {
      const uint64_t bit = uint64_t{1} << (y % 64);
      if (y / 64 >= into.word_count() || (to[y / 64] & bit) == 0) return;
      to[y / 64] &= ~bit;
      count--;
    });
  into.set_count(count);
}

// Ids into bits, which is what most of a large recursion does.
void Rows::unite_ids(IdSet& into, const IdSet* old, const IdSet& source) {
  const uint32_t *id = source.ids(), *end = id + source.size(), *largest = std::max_element(id, end);
  if (*largest > top_) top_ = *largest;
  uint64_t* words = into.make_bits(*largest, meter_);
  uint32_t count = into.size();
  for (; id != end; id++) {
    uint64_t& word = words[*id / 64];
    const uint64_t bit = uint64_t{1} << (*id % 64);
    if ((word & bit) != 0 || (old != nullptr && old->contains(*id))) continue;
    word |= bit;
    count++;
  }
  into.set_count(count);
}

void Rows::unite(uint32_t x, const IdSet& source, std::span<const Sieve> sieves, Found& found) {
  if (source.empty()) return;
  make_room(recording_ ? next_ : rows_, x, IdSet::Mode::kSorted, meter_);
  if (&source == &row(x)) return;
  const IdSet* old = recording_ ? &row(x) : nullptr;
  IdSet& into = recording_ ? next_[x] : rows_[x];
  const uint32_t before = into.size();
  // Words against words, if all are bits and there are enough of them to make bits of.
  bool words = source.is_bits() && (into.is_bits() || source.size() > IdSet::most_ids(top_));
  for (const Sieve& s : sieves) words = words && (s.set->is_bits() || s.set->empty());
  if (words) {
    if (const uint32_t top = top_of(source); top > top_) top_ = top;
    unite_words(into, old, source, sieves);
  } else if (into.is_bits() && !source.is_bits() && sieves.empty()) {
    unite_ids(into, old, source);
  } else {
    source.for_each([&](uint32_t y) {
      if (old != nullptr && old->contains(y)) return;
      for (const Sieve& s : sieves)
        if (s.set->contains(y) == s.negated) return;
      if (y > top_) top_ = y;
      into.insert(y, top_, meter_);
    });
  }
  const uint32_t added = into.size() - before;
  if (recording_) {
    found.size += added;
    if (before == 0 && added > 0) found.keys.push_back(x);
  } else {
    size_ += added;
    used_ += before == 0 && added > 0 ? 1 : 0;
  }
}

void Rows::prepare(uint32_t keys, uint32_t top) {
  if (keys == 0) return;
  make_room(next_, keys - 1, IdSet::Mode::kSorted, meter_);
  top_ = std::max(top_, top);
}

void Rows::take(const Found& found) {
  found_.keys.insert(found_.keys.end(), found.keys.begin(), found.keys.end());
  found_.size += found.size;
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

namespace {

// What a part of a list of pairs is like.
struct Looked {
  uint32_t largest = 0, top = 0;
  bool sorted = true;
};

Looked look_at(const std::vector<uint32_t>& pairs, size_t first, size_t last) {
  Looked l;
  for (size_t i = first; i < last; i++) {
    l.largest = std::max(l.largest, pairs[2 * i]);
    l.top = std::max(l.top, pairs[2 * i + 1]);
    l.sorted = l.sorted && (i == 0 || pairs[2 * i - 2] < pairs[2 * i] ||
                            (pairs[2 * i - 2] == pairs[2 * i] && pairs[2 * i - 1] < pairs[2 * i + 1]));
  }
  return l;
}

}  // namespace

void Rows::assign(std::vector<uint32_t>& pairs) {
  const size_t n = pairs.size() / 2;
  if (n == 0) return;
  const bool many = n >= kManyPairs;
  const auto share = [n](const Team& team) {
    const auto [first, last] = team.share(static_cast<int64_t>(n));
    return std::pair(static_cast<size_t>(first), static_cast<size_t>(last));
  };
  std::vector<Looked> parts(many ? static_cast<size_t>(threads()) : 1);
  in_shards(many, [&](const Team& team) {
    const auto [first, last] = share(team);
    parts[static_cast<size_t>(team.rank())] = look_at(pairs, first, last);
  });
  uint32_t largest = 0, top = 0;
  bool sorted = true;
  for (const Looked& l : parts)
    largest = std::max(largest, l.largest), top = std::max(top, l.top), sorted = sorted && l.sorted;
  meter_.take(n * 4);
  std::vector<size_t> begin(size_t{largest} + 2, 0);
  const std::unique_ptr<uint32_t[]> ys(new uint32_t[n]);  // which workers touch first
  if (sorted) {
    in_shards(many, [&](const Team& team) {
      const auto [first, last] = share(team);
      for (size_t i = first; i < last; i++) {
        ys[i] = pairs[2 * i + 1];
        for (size_t x = i == 0 ? 0 : pairs[2 * i - 2] + size_t{1}; x <= pairs[2 * i]; x++) begin[x] = i;
      }
    });
    begin[largest + size_t{1}] = n;
  } else {
    for (size_t i = 0; i < n; i++) begin[pairs[2 * i] + size_t{1}]++;
    for (size_t x = 0; x <= largest; x++) begin[x + 1] += begin[x];
    std::vector<size_t> at(begin.begin(), begin.end() - 1);
    for (size_t i = 0; i < n; i++) ys[at[pairs[2 * i]]++] = pairs[2 * i + 1];
  }
  pairs = {};
  reach(largest);
  top_ = std::max(top_, top);
  in_shards(many, [&](const Team& team) {
    for (uint32_t x = 0; x <= largest; x++) {
      uint32_t *first = ys.get() + begin[x], *last = ys.get() + begin[x + size_t{1}];
      if (first == last || (team.size() > 1 && shard_of(x, team.size()) != team.rank())) continue;
      if (!sorted) {
        std::sort(first, last);
        last = std::unique(first, last);
      }
      rows_[x].assign_sorted(first, static_cast<uint32_t>(last - first), top, meter_);
    }
  });
  size_ = used_ = 0;
  for (const IdSet& row : rows_) {
    size_ += row.size();
    used_ += row.empty() ? 0 : 1;
  }
  meter_.give_back(n * 4);
}

void Rows::need_columns() {
  if (has_columns_) return;
  has_columns_ = true;
  for (uint32_t x = 0; x < key_count(); x++)
    rows_[x].for_each([&](uint32_t y) {
      make_room(columns_, y, IdSet::Mode::kList, meter_);
      columns_[y].append(x, key_count(), meter_);
    });
}

void Rows::clear(std::vector<IdSet>& sets, std::vector<uint32_t>& keys) {
  for (const uint32_t x : keys) sets[x].clear(meter_, IdSet::Mode::kSorted);
  keys.clear();
}

void Rows::begin_rounds() {
  absorb();
  clear(next_, found_.keys);
  clear(fresh_, fresh_keys_);
  recording_ = true;
  for (uint32_t x = 0; x < key_count(); x++) {
    if (rows_[x].empty()) continue;
    make_room(fresh_, x, IdSet::Mode::kSorted, meter_);
    fresh_keys_.push_back(x);
    fresh_[x].copy(rows_[x], meter_);
  }
}

// Each worker has rows, and then columns, of its own.
void Rows::absorb() {
  std::vector<uint32_t>& keys = found_.keys;
  if (keys.empty()) return;
  std::sort(keys.begin(), keys.end());
  reach(keys.back());
  for (const uint32_t x : keys) used_ += rows_[x].empty() ? 1 : 0;
  const bool wide = found_.size >= shared_from;
  in_shards(wide, [&](const Team& team) {
    const auto [first, last] = team.share(std::ssize(keys), kShardKeys);
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last); i++)
      rows_[keys[i]].unite_new(next_[keys[i]], top_, meter_);
  });
  size_ += std::exchange(found_.size, 0);
  if (!has_columns_) return;
  make_room(columns_, top_, IdSet::Mode::kList, meter_);
  in_shards(wide, [&](const Team& team) {
    for (const uint32_t x : keys)
      next_[x].for_each([&](uint32_t y) {
        if (team.size() == 1 || shard_of(y, team.size()) == team.rank()) columns_[y].append(x, key_count(), meter_);
      });
  });
}

bool Rows::advance() {
  clear(fresh_, fresh_keys_);
  absorb();
  std::swap(fresh_, next_);
  std::swap(fresh_keys_, found_.keys);
  return !fresh_keys_.empty();
}

void Rows::end_rounds() {
  absorb();
  clear(fresh_, fresh_keys_);
  clear(next_, found_.keys);
  recording_ = false;
}

uint64_t Rows::fresh_size() const {
  uint64_t size = 0;
  for (const uint32_t x : fresh_keys_) size += fresh_[x].size();
  return size;
}

}  // namespace ingot::logic
