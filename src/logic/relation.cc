#include "logic/relation.h"

#include <algorithm>
#include <utility>

namespace ingot::logic {

Relation::Relation(const Declaration& d, Meter& meter, bool rows)
    : name_(d.name), best_(d.best), may_be_rows_(rows), meter_(meter) {
  for (const Column& c : d.columns) types_.push_back(c.type);
  clear();
}

void Relation::clear() {
  const bool floats = std::find(types_.begin(), types_.end(), Type::kFloat) != types_.end();
  rows_.reset();
  tuples_.reset();
  forget_waiting();
  if (may_be_rows_ && (arity() == 1 || arity() == 2) && best_ == Best::kAll && !floats)
    rows_ = std::make_unique<Rows>(arity(), meter_);
  else
    tuples_ = std::make_unique<Tuples>(arity(), best_, types_.empty() ? Type::kNumber : types_.back(), meter_);
}

std::unique_ptr<Relation> Relation::of_tuples(const Declaration& d, Meter& meter) {
  auto r = std::make_unique<Relation>(d, meter, false);
  r->best_ = Best::kAll;
  r->tuples_ =
      std::make_unique<Tuples>(r->arity(), Best::kAll, r->types_.empty() ? Type::kNumber : r->types_.back(), meter);
  return r;
}

bool Relation::put(const Value* tuple) {
  if (!rows_) return tuples_->insert(tuple);
  return rows_->put(arity() == 2 ? static_cast<uint32_t>(tuple[0]) : 0, static_cast<uint32_t>(tuple[arity() - 1]));
}

bool Relation::erase(const Value* tuple) {
  if (!rows_) return tuples_->erase(tuple);
  return contains(tuple) &&
         rows_->erase(arity() == 2 ? static_cast<uint32_t>(tuple[0]) : 0, static_cast<uint32_t>(tuple[arity() - 1]));
}

void Relation::set_row_limit(uint64_t limit) {
  row_limit_ = std::max({limit, kLeastLimit, row_limit_});
  second_limit_ = std::max(row_limit_, kLeastSecond);
}

void Relation::stage(const Value* tuple) {
  const auto n = static_cast<size_t>(arity());
  if (n == 0) {
    tuples_->insert(tuple);
    return;
  }
  bool small = wide_.empty();
  for (size_t c = 0; c < n; c++) small = small && tuple[c] <= UINT32_MAX;
  if (small) {
    narrow_.insert(narrow_.end(), tuple, tuple + n);
  } else {
    if (wide_.empty()) {
      wide_.assign(narrow_.begin(), narrow_.end());
      narrow_ = {};
    }
    wide_.insert(wide_.end(), tuple, tuple + n);
  }
  count_staged();
}

void Relation::stage(std::vector<uint32_t> facts) {
  if (!wide_.empty())
    wide_.insert(wide_.end(), facts.begin(), facts.end());
  else if (narrow_.empty())
    narrow_ = std::move(facts);
  else
    narrow_.insert(narrow_.end(), facts.begin(), facts.end());
  count_staged();
}

void Relation::count_staged() {
  const size_t bytes = narrow_.capacity() * 4 + wide_.capacity() * 8;
  if (bytes == staged_bytes_) return;
  meter_.take(bytes);
  meter_.give_back(staged_bytes_);
  staged_bytes_ = bytes;
}

// Rows, if the first numbers are small enough for that many facts.
void Relation::settle_rows() {
  const auto n = static_cast<size_t>(arity());
  const size_t facts = narrow_.size() / n;
  uint32_t largest = 0, second = 0;
  for (size_t i = 0; i < facts; i++) {
    if (n == 2) largest = std::max(largest, narrow_[2 * i]);
    second = std::max(second, narrow_[n * i + n - 1]);
  }
  set_row_limit(std::min<uint64_t>(facts * 4, uint64_t{1} << 31));
  const bool fit = wide_.empty() && fits(largest, second);
  if (!fit) {
    rows_.reset();
    tuples_ = std::make_unique<Tuples>(arity(), best_, types_.back(), meter_);
    return;
  }
  if (n == 1) {
    std::vector<uint32_t> pairs(2 * facts);
    for (size_t i = 0; i < facts; i++) pairs[2 * i + 1] = narrow_[i];
    narrow_ = std::move(pairs);
  }
  rows_->assign(narrow_);
  narrow_ = {};
}

void Relation::settle() {
  if (rows_) settle_rows();
  const auto n = static_cast<size_t>(arity());
  if (!narrow_.empty() || !wide_.empty()) {
    tuples_->reserve((narrow_.size() + wide_.size()) / n);
    for (size_t i = 0; i < wide_.size(); i += n) tuples_->insert(wide_.data() + i);
    Value tuple[32];
    for (size_t i = 0; i < narrow_.size(); i += n) {
      std::copy_n(narrow_.data() + i, n, tuple);
      tuples_->insert(tuple);
    }
  }
  narrow_ = {};
  wide_ = {};
  meter_.give_back(staged_bytes_);
  staged_bytes_ = 0;
}

bool Relation::contains(const Value* tuple) const {
  if (!rows_) return tuples_->contains(tuple);
  return rows_->contains(arity() == 2 ? tuple[0] : 0, tuple[arity() - 1]);
}

void Relation::wait(const Value* tuple) {
  if (waiting_.capacity() - waiting_.size() < types_.size()) {
    const uint64_t more = std::max<uint64_t>(64, waiting_.capacity()) * sizeof(Value);
    meter_.take(more);
    waiting_bytes_ += more;
    waiting_.reserve(waiting_bytes_ / sizeof(Value));
  }
  waiting_.insert(waiting_.end(), tuple, tuple + arity());
}

void Relation::forget_waiting() {
  waiting_ = {};
  meter_.give_back(std::exchange(waiting_bytes_, 0));
}

bool Relation::change_form() {
  if (waiting_.empty()) return false;
  rows_->absorb();
  auto tuples = std::make_unique<Tuples>(arity(), best_, types_.back(), meter_);
  for_each([&](const Value* tuple) { tuples->append_new(tuple); });
  for (size_t i = 0; i < waiting_.size(); i += types_.size()) tuples->insert(waiting_.data() + i);
  rows_.reset();
  tuples_ = std::move(tuples);
  forget_waiting();
  return true;
}

}  // namespace ingot::logic
