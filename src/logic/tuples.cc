#include "logic/tuples.h"

#include <algorithm>

#include "ingot/base/error.h"

namespace ingot::logic {

void Tuples::meter_now() {
  uint64_t bytes = narrow_words_.capacity() * 4 + wide_words_.capacity() * 8 + slots_.capacity() * 4 +
                   (fresh_.capacity() + next_.capacity()) * 4;
  for (const Index& x : indices_) bytes += (x.heads.capacity() + x.next.capacity()) * 4;
  if (bytes > metered_) meter_.take(bytes - metered_);
  if (bytes < metered_) meter_.give_back(metered_ - bytes);
  metered_ = bytes;
}

void Tuples::widen() {
  meter_.check(narrow_words_.size() * 8);
  wide_words_.assign(narrow_words_.begin(), narrow_words_.end());
  narrow_words_ = {};
  wide_ = true;
}

void Tuples::reserve(size_t tuples) {
  const size_t words = tuples * static_cast<size_t>(arity_);
  meter_.check(words * (wide_ ? 8 : 4));
  if (wide_)
    wide_words_.reserve(words);
  else
    narrow_words_.reserve(words);
  meter_now();
}

void Tuples::clear() {
  count_ = hashed_ = 0;
  narrow_words_ = {};
  wide_words_ = {};
  slots_ = {};
  wide_ = false;
  indices_.clear();
  fresh_.clear();
  next_.clear();
  meter_now();
}

uint32_t Tuples::append(const Value* tuple) {
  if (!wide_ && std::any_of(tuple, tuple + arity_, [](Value v) { return v > UINT32_MAX; })) widen();
  if (count_ == UINT32_MAX - 1) throw Error(ErrorKind::kMemory, "logic: more than 4,294,967,294 facts in one relation");
  const auto n = static_cast<size_t>(arity_);
  if ((wide_ ? wide_words_.capacity() - wide_words_.size() : narrow_words_.capacity() - narrow_words_.size()) < n)
    reserve(std::max<size_t>(4, size_t{count_} * 2));
  if (wide_)
    wide_words_.insert(wide_words_.end(), tuple, tuple + arity_);
  else
    for (int c = 0; c < arity_; c++) narrow_words_.push_back(static_cast<uint32_t>(tuple[c]));
  for (Index& x : indices_) link(x, count_);
  return count_++;
}

void Tuples::rehash(size_t slots) {
  meter_.check(slots * 4);
  slots_.assign(slots, 0);
  hashed_ = 0;
  meter_now();
}

// Puts the tuples that are not yet in it into the hash table.
void Tuples::build_set() const {
  auto& self = const_cast<Tuples&>(*this);  // a table of what is there anyway
  if (slots_.size() < size_t{count_} * 3 / 2 + 8) self.rehash(size_t{count_} * 2 + 16);
  std::vector<Value> key(static_cast<size_t>(arity_) + 1);
  for (; hashed_ < count_; self.hashed_++) {
    for (int c = 0; c < key_columns(); c++) key[static_cast<size_t>(c)] = at(hashed_, c);
    size_t s = bucket(key_hash(key.data(), static_cast<size_t>(key_columns())), slots_.size());
    while (slots_[s] != 0) s = s + 1 == slots_.size() ? 0 : s + 1;
    self.slots_[s] = hashed_ + 1;
  }
}

uint32_t Tuples::find(const Value* key) const {
  if (hashed_ < count_ || slots_.empty()) build_set();
  const auto n = static_cast<size_t>(key_columns());
  size_t s = bucket(key_hash(key, n), slots_.size());
  for (; slots_[s] != 0; s = s + 1 == slots_.size() ? 0 : s + 1) {
    bool same = true;
    for (size_t c = 0; c < n; c++) same = same && at(slots_[s] - 1, static_cast<int>(c)) == key[c];
    if (same) return slots_[s] - 1;
  }
  return UINT32_MAX;
}

bool Tuples::contains(const Value* tuple) const {
  const uint32_t found = find(tuple);
  return found != UINT32_MAX && (best_ == Best::kAll || at(found, arity_ - 1) == tuple[arity_ - 1]);
}

bool Tuples::better(Value a, Value b) const {
  const bool least = best_ == Best::kMin;
  switch (last_) {
    case Type::kFloat: return least ? as_float(a) < as_float(b) : as_float(a) > as_float(b);
    case Type::kNumber: return least ? as_number(a) < as_number(b) : as_number(a) > as_number(b);
    default: return least ? a < b : a > b;
  }
}

bool Tuples::insert(const Value* tuple) {
  const uint32_t found = find(tuple);
  if (found != UINT32_MAX) {
    if (best_ == Best::kAll || !better(tuple[arity_ - 1], at(found, arity_ - 1))) return false;
    const size_t i = (size_t{found} + 1) * static_cast<size_t>(arity_) - 1;
    if (!wide_ && tuple[arity_ - 1] > UINT32_MAX) widen();
    if (wide_)
      wide_words_[i] = tuple[arity_ - 1];
    else
      narrow_words_[i] = static_cast<uint32_t>(tuple[arity_ - 1]);
    if (recording_ && !noted_[found]) {
      noted_[found] = true;
      next_.push_back(found);
    }
    return true;
  }
  const uint32_t added = append(tuple);
  if (slots_.size() < size_t{count_} * 3 / 2 + 8) {
    build_set();
  } else {
    size_t s = bucket(key_hash(tuple, static_cast<size_t>(key_columns())), slots_.size());
    while (slots_[s] != 0) s = s + 1 == slots_.size() ? 0 : s + 1;
    slots_[s] = added + 1;
    hashed_++;
  }
  if (recording_ && best_ != Best::kAll) {
    noted_.push_back(true);
    next_.push_back(added);
  }
  return true;
}

void Tuples::link(Index& x, uint32_t tuple) {
  if (x.next.size() >= x.heads.size()) return rebuild(x);
  Value key[32];
  size_t n = 0;
  for (const int c : x.columns) key[n++] = at(tuple, c);
  uint32_t& head = x.heads[bucket(key_hash(key, n), x.heads.size())];
  x.keys += head == 0 ? 1 : 0;
  x.next.push_back(head);
  head = tuple + 1;
}

// Where a chain of the index refers to the tuple.
uint32_t& Tuples::reference(Index& x, uint32_t tuple) {
  Value key[32];
  size_t n = 0;
  for (const int c : x.columns) key[n++] = at(tuple, c);
  uint32_t* place = &x.heads[bucket(key_hash(key, n), x.heads.size())];
  while (*place != tuple + 1) place = &x.next[*place - 1];
  return *place;
}

size_t Tuples::slot_of(uint32_t tuple) const {
  Value key[32];
  for (int c = 0; c < key_columns(); c++) key[c] = at(tuple, c);
  size_t s = bucket(key_hash(key, static_cast<size_t>(key_columns())), slots_.size());
  while (slots_[s] != tuple + 1) s = s + 1 == slots_.size() ? 0 : s + 1;
  return s;
}

// Open addressing has no holes: what comes behind moves up, if it may.
void Tuples::drop_slot(size_t hole) {
  const size_t size = slots_.size();
  for (size_t s = hole + 1 == size ? 0 : hole + 1; slots_[s] != 0; s = s + 1 == size ? 0 : s + 1) {
    Value key[32];
    for (int c = 0; c < key_columns(); c++) key[c] = at(slots_[s] - 1, c);
    const size_t home = bucket(key_hash(key, static_cast<size_t>(key_columns())), size);
    const size_t far = s >= home ? s - home : s + size - home, gap = s >= hole ? s - hole : s + size - hole;
    if (far < gap) continue;
    slots_[hole] = slots_[s];
    hole = s;
  }
  slots_[hole] = 0;
}

bool Tuples::erase(const Value* tuple) {
  const uint32_t found = find(tuple);
  if (found == UINT32_MAX || (best_ != Best::kAll && at(found, arity_ - 1) != tuple[arity_ - 1])) return false;
  const uint32_t last = count_ - 1;
  for (Index& x : indices_) {
    reference(x, found) = x.next[found];
    if (found == last) continue;
    reference(x, last) = found + 1;
    x.next[found] = x.next[last];
  }
  for (Index& x : indices_) x.next.pop_back();
  drop_slot(slot_of(found));
  if (found != last) slots_[slot_of(last)] = found + 1;
  const auto n = static_cast<size_t>(arity_);
  if (wide_) {
    std::copy_n(wide_words_.begin() + static_cast<ptrdiff_t>(last * n), n,
                wide_words_.begin() + static_cast<ptrdiff_t>(found * n));
    wide_words_.resize(last * n);
  } else {
    std::copy_n(narrow_words_.begin() + static_cast<ptrdiff_t>(last * n), n,
                narrow_words_.begin() + static_cast<ptrdiff_t>(found * n));
    narrow_words_.resize(last * n);
  }
  count_ = hashed_ = last;
  return true;
}

// A table twice as large as needed now, with all tuples that are there.
void Tuples::rebuild(Index& x) {
  const auto words = wide_ ? wide_words_.size() : narrow_words_.size();
  const auto tuples = static_cast<uint32_t>(arity_ == 0 ? 0 : words / static_cast<size_t>(arity_));
  meter_.check((size_t{tuples} * 4 + 32) * 4);
  x.heads.assign(size_t{tuples} * 2 + 16, 0);
  x.next.clear();
  x.keys = 0;
  x.next.reserve(x.heads.size());
  for (uint32_t t = 0; t < tuples; t++) link(x, t);
  meter_now();
}

int Tuples::need_index(uint32_t mask) {
  for (size_t i = 0; i < indices_.size(); i++)
    if (indices_[i].mask == mask) return static_cast<int>(i);
  Index x{.mask = mask};
  for (int c = 0; c < arity_; c++)
    if ((mask >> c & 1) != 0) x.columns.push_back(c);
  rebuild(x);
  indices_.push_back(std::move(x));
  meter_now();
  return static_cast<int>(indices_.size()) - 1;
}

double Tuples::distinct(int index) const {
  return std::max<double>(1, static_cast<double>(indices_[static_cast<size_t>(index)].keys));
}

void Tuples::begin_rounds() {
  recording_ = true;
  fresh_begin_ = 0;
  fresh_end_ = count_;
  fresh_.clear();
  next_.clear();
  if (best_ == Best::kAll) return;
  noted_.assign(count_, false);
  for (uint32_t t = 0; t < count_; t++) fresh_.push_back(t);
}

bool Tuples::advance() {
  fresh_begin_ = fresh_end_;
  fresh_end_ = count_;
  if (best_ == Best::kAll) return fresh_begin_ < fresh_end_;
  std::swap(fresh_, next_);
  next_.clear();
  std::sort(fresh_.begin(), fresh_.end());
  for (const uint32_t t : fresh_) noted_[t] = false;
  return !fresh_.empty();
}

void Tuples::end_rounds() {
  recording_ = false;
  fresh_begin_ = fresh_end_ = 0;
  fresh_ = {};
  next_ = {};
}

}  // namespace ingot::logic
