// A relation of one or two columns of small numbers: a set of second numbers for each first one. (One column: one set.)
// During rounds, what is found waits beside the rows until advance(): rules read what was there when the round began, and
// workers that write to different rows do not meet.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "logic/id_set.h"

namespace ingot::logic {

/// What the members of a row must be in as well, or (not) in.
struct Sieve {
  const IdSet* set;
  bool negated;
};

class Rows {
 public:
  /// What one worker found in a round: in which rows, and how much.
  struct Found {
    std::vector<uint32_t> keys = {};
    uint64_t size = 0;
  };

  Rows(int arity, Meter& meter) : arity_(arity), meter_(meter) {}
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  int arity() const { return arity_; }
  uint64_t size() const { return size_ + found_.size; }                       // with what waits
  uint32_t key_count() const { return static_cast<uint32_t>(rows_.size()); }  // rows, empty ones too
  uint32_t top() const { return top_; }                                       // the largest second number
  uint32_t used_rows() const { return used_; }
  const IdSet& row(uint64_t x) const { return x < rows_.size() ? rows_[x] : kNone; }
  const IdSet& column(uint64_t y) const { return y < columns_.size() ? columns_[y] : kNone; }  // after need_columns()
  bool contains(uint64_t x, uint64_t y) const { return y <= top_ && row(x).contains(static_cast<uint32_t>(y)); }

  bool insert(uint32_t x, uint32_t y) { return insert(x, y, found_); }
  bool insert(uint32_t x, uint32_t y, Found& found);
  /// One fact more, or less, outside of rounds; columns know at once. False if nothing changes.
  bool put(uint32_t x, uint32_t y);
  bool erase(uint32_t x, uint32_t y);
  /// Inserts a whole set, less what the sieves hold back.
  void unite(uint32_t x, const IdSet& source, std::span<const Sieve> sieves) { unite(x, source, sieves, found_); }
  void unite(uint32_t x, const IdSet& source, std::span<const Sieve> sieves, Found& found);
  /// Before workers insert, each into rows of its own: room for all that they may find.
  void prepare(uint32_t keys, uint32_t top);
  /// After them, in the order of their ranks.
  void take(const Found& found);
  /// Replaces everything by pairs (x, y); in one column, x is 0. They are sorted here.
  void assign(std::vector<uint32_t>& pairs);
  /// A row to fill in whole, as long as nothing is recorded.
  void set_row(uint32_t x, const uint32_t* ids, uint32_t count, uint32_t top);
  void set_row(uint32_t x, const uint64_t* words, uint32_t word_count, uint32_t count, uint32_t top);

  /// The same the other way round: who has y in its row? Kept up to date by advance() from now on.
  void need_columns();
  bool has_columns() const { return has_columns_; }

  // Semi-naive evaluation: what was new in the last round, while what is new in this one is written down.
  void begin_rounds();  // all that is there is new
  bool advance();       // false: nothing was new
  void absorb();        // what was found becomes part of the rows
  void end_rounds();
  const IdSet& fresh(uint64_t x) const { return x < fresh_.size() ? fresh_[x] : kNone; }
  std::span<const uint32_t> fresh_keys() const { return fresh_keys_; }
  uint64_t fresh_size() const;

 private:
  static const IdSet kNone;
  void reach(uint32_t x);
  void unite_ids(IdSet& into, const IdSet* old, const IdSet& source);
  void unite_words(IdSet& into, const IdSet* old, const IdSet& source, std::span<const Sieve> sieves);
  void clear(std::vector<IdSet>& sets, std::vector<uint32_t>& keys);

  int arity_;
  Meter& meter_;
  uint64_t size_ = 0;
  uint32_t top_ = 0, used_ = 0;
  std::vector<IdSet> rows_, columns_, fresh_, next_;
  std::vector<uint32_t> fresh_keys_;
  Found found_;  // in next_
  bool has_columns_ = false, recording_ = false;
};

}  // namespace ingot::logic
