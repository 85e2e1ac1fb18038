// A relation of any columns: tuples in the order in which they came, found by hashing. Words are 4 bytes wide until one
// needs 8.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "logic/meter.h"
#include "logic/syntax.h"

namespace ingot::logic {

class Tuples {
 public:
  Tuples(int arity, Best best, Type last, Meter& meter) : arity_(arity), best_(best), last_(last), meter_(meter) {}
  ~Tuples() { meter_.give_back(metered_); }
  Tuples(const Tuples&) = delete;
  Tuples& operator=(const Tuples&) = delete;

  uint32_t size() const { return count_; }
  int arity() const { return arity_; }
  Value at(uint32_t tuple, int column) const {
    const size_t i = size_t{tuple} * static_cast<size_t>(arity_) + static_cast<size_t>(column);
    return wide_ ? wide_words_[i] : narrow_words_[i];
  }
  /// True if the relation is another one now: a new tuple, or a better last column.
  bool insert(const Value* tuple);
  /// Takes a tuple out; the last one gets its number. False if it was not there.
  bool erase(const Value* tuple);
  bool contains(const Value* tuple) const;
  /// The tuple with this key: all columns, or all but the last if only the best of it is kept. UINT32_MAX: none.
  uint32_t find(const Value* key) const;
  /// Takes tuples that are all different, without looking.
  void append_new(const Value* tuple) { append(tuple); }
  void reserve(size_t tuples);
  void clear();

  /// Prepares lookups by the columns of the mask; its number.
  int need_index(uint32_t mask);
  /// Calls f(tuple) for all whose columns of the index are these; f may insert.
  template <class F>
  void lookup(int index, const Value* key, F&& f) const {
    const Index& x = indices_[static_cast<size_t>(index)];
    if (x.heads.empty()) return;
    for (uint32_t t = x.heads[bucket(key_hash(key, x.columns.size()), x.heads.size())]; t != 0;) {
      const uint32_t tuple = t - 1;
      bool same = true;
      for (size_t i = 0; i < indices_[static_cast<size_t>(index)].columns.size(); i++)
        same = same && at(tuple, indices_[static_cast<size_t>(index)].columns[i]) == key[i];
      if (same && !f(tuple)) return;
      t = indices_[static_cast<size_t>(index)].next[tuple];
    }
  }
  /// How many different keys an index has, about.
  double distinct(int index) const;

  // Semi-naive evaluation: the tuples that were new (or better) in the last round.
  void begin_rounds();
  bool advance();
  void end_rounds();
  uint32_t fresh_size() const {
    return best_ == Best::kAll ? fresh_end_ - fresh_begin_ : static_cast<uint32_t>(fresh_.size());
  }
  uint32_t fresh(uint32_t i) const { return best_ == Best::kAll ? fresh_begin_ + i : fresh_[i]; }
  Best best() const { return best_; }

 private:
  struct Index {
    uint32_t mask;
    std::vector<int> columns = {};
    std::vector<uint32_t> heads = {}, next = {};  // tuple + 1; 0 ends
    uint64_t keys = 0;                            // tuples that came to an empty bucket
  };
  static uint64_t mixed(uint64_t h) { return (h ^ h >> 32) * 0x9e3779b97f4a7c15u; }
  static uint64_t key_hash(const Value* key, size_t n) {
    uint64_t h = 0x243f6a8885a308d3u;
    for (size_t i = 0; i < n; i++) h = mixed(h ^ key[i]) + (h >> 29);
    return h;
  }
  static size_t bucket(uint64_t hash, size_t buckets) {
    return static_cast<size_t>((static_cast<unsigned __int128>(hash) * buckets) >> 64);
  }
  int key_columns() const { return best_ == Best::kAll ? arity_ : arity_ - 1; }
  uint32_t append(const Value* tuple);
  void widen();
  void rehash(size_t slots);
  void build_set() const;
  void link(Index& index, uint32_t tuple);
  uint32_t& reference(Index& index, uint32_t tuple);
  void drop_slot(size_t slot);
  size_t slot_of(uint32_t tuple) const;
  void rebuild(Index& index);
  bool better(Value a, Value b) const;
  void meter_now();

  int arity_;
  Best best_;
  Type last_;
  Meter& meter_;
  uint32_t count_ = 0;
  bool wide_ = false;
  std::vector<uint32_t> narrow_words_;
  std::vector<uint64_t> wide_words_;
  std::vector<uint32_t> slots_;  // tuple + 1, open addressing; behind the tuples until somebody asks
  uint32_t hashed_ = 0;          // how many tuples are in the slots
  std::vector<Index> indices_;
  uint32_t fresh_begin_ = 0, fresh_end_ = 0;
  std::vector<uint32_t> fresh_, next_;  // of best: tuples that got better
  std::vector<bool> noted_;
  bool recording_ = false;
  uint64_t metered_ = 0;
};

}  // namespace ingot::logic
