// The facts of one relation, in the form that suits them: rows of sets for one or two columns of small numbers (and texts,
// whose numbers are small), else tuples.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "logic/rows.h"
#include "logic/tuples.h"

namespace ingot::logic {

class Relation {
 public:
  Relation(const Declaration& declaration, Meter& meter, bool rows = true);
  ~Relation() { meter_.give_back(staged_bytes_ + waiting_bytes_); }
  Relation(const Relation&) = delete;
  Relation& operator=(const Relation&) = delete;
  /// Tuples, whatever the columns are: for few facts with large numbers. All facts are kept.
  static std::unique_ptr<Relation> of_tuples(const Declaration& declaration, Meter& meter);

  const std::string& name() const { return name_; }
  int arity() const { return static_cast<int>(types_.size()); }
  const std::vector<Type>& types() const { return types_; }
  Best best() const { return best_; }
  Meter& meter() const { return meter_; }
  uint64_t size() const { return rows_ ? rows_->size() : tuples_->size(); }
  Rows* rows() const { return rows_.get(); }
  Tuples* tuples() const { return tuples_.get(); }

  /// Facts from outside, which become the relation by settle(); they may come twice.
  void stage(const Value* tuple);
  /// Many of small numbers, one after the other.
  void stage(std::vector<uint32_t> facts);
  void settle();

  bool contains(const Value* tuple) const;
  /// A fact that a rule made. What does not fit into rows waits for change_form().
  void insert(const Value* tuple) {
    if (!rows_) {
      tuples_->insert(tuple);
      return;
    }
    const Value x = arity() == 2 ? tuple[0] : 0, y = tuple[arity() - 1];
    if (fits(x, y))
      rows_->insert(static_cast<uint32_t>(x), static_cast<uint32_t>(y));
    else
      wait(tuple);
  }
  /// One fact more, or less, when rules are done. False if nothing changes; `fits` must hold.
  bool put(const Value* tuple);
  bool erase(const Value* tuple);
  bool fits(const Value* tuple) const { return !rows_ || fits(arity() == 2 ? tuple[0] : 0, tuple[arity() - 1]); }
  bool fits(Value x, Value y) const { return x < row_limit_ && y < second_limit_; }
  /// First numbers from which on rows would be a waste; 65,536 at least.
  void set_row_limit(uint64_t limit);
  /// Some facts did not fit: all become tuples. False if there are none such.
  bool change_form();

  /// Calls f(const Value*) for each fact, in the order of the form.
  template <class F>
  void for_each(F&& f) const {
    Value tuple[32];
    if (!rows_) {
      for (uint32_t t = 0; t < tuples_->size(); t++) {
        for (int c = 0; c < arity(); c++) tuple[c] = tuples_->at(t, c);
        f(static_cast<const Value*>(tuple));
      }
      return;
    }
    for (uint32_t x = 0; x < rows_->key_count(); x++)
      rows_->row(x).for_each([&](uint32_t y) {
        tuple[0] = x;
        tuple[arity() - 1] = y;
        f(static_cast<const Value*>(tuple));
      });
  }

  void begin_rounds() { rows_ ? rows_->begin_rounds() : tuples_->begin_rounds(); }
  bool advance() { return rows_ ? rows_->advance() : tuples_->advance(); }
  void end_rounds() { rows_ ? rows_->end_rounds() : tuples_->end_rounds(); }
  uint64_t fresh_size() const { return rows_ ? rows_->fresh_size() : tuples_->fresh_size(); }
  /// Empty, as at the beginning.
  void clear();

 private:
  static constexpr uint64_t kLeastLimit = 65536, kLeastSecond = uint64_t{1} << 20;
  void settle_rows();
  void count_staged();
  void wait(const Value* tuple);
  void forget_waiting();

  std::string name_;
  std::vector<Type> types_;
  Best best_;
  bool may_be_rows_;
  Meter& meter_;
  std::unique_ptr<Rows> rows_;
  std::unique_ptr<Tuples> tuples_;
  uint64_t row_limit_ = kLeastLimit, second_limit_ = kLeastSecond;  // of second numbers: columns and bits go by them
  std::vector<uint32_t> narrow_;                                    // staged
  std::vector<Value> wide_;
  std::vector<Value> waiting_;
  uint64_t waiting_bytes_ = 0;
  uint64_t staged_bytes_ = 0;
};

}  // namespace ingot::logic
