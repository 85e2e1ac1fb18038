// What facts are made of: 64-bit words, which are numbers, floats by their bits, or numbers of interned texts.
#pragma once
#include <bit>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "ingot/logic/program.h"
#include "logic/meter.h"

namespace ingot::logic {

using Value = uint64_t;

inline Value of_number(int64_t n) { return static_cast<Value>(n); }
inline int64_t as_number(Value v) { return static_cast<int64_t>(v); }
inline Value of_float(double x) { return std::bit_cast<Value>(x == 0 ? 0.0 : x); }  // one zero
inline double as_float(Value v) { return std::bit_cast<double>(v); }

/// Texts and their numbers, in the order in which they came.
class Symbols {
 public:
  Symbols() = default;
  Symbols(const Symbols& other) {
    for (const std::string& text : other.texts_) intern(text);
  }
  Symbols& operator=(const Symbols&) = delete;
  void swap(Symbols& other) noexcept {
    texts_.swap(other.texts_);
    numbers_.swap(other.numbers_);
    std::swap(meter_, other.meter_);
  }

  Value intern(std::string_view text) {
    const auto found = numbers_.find(text);
    if (found != numbers_.end()) return found->second;
    if (meter_ != nullptr) meter_->take(text.size() + kOverhead);
    texts_.emplace_back(text);
    numbers_.emplace(texts_.back(), texts_.size() - 1);
    return texts_.size() - 1;
  }
  const std::string& text(Value number) const { return texts_[number]; }
  /// The number of a text that was interned; false if it never was.
  bool find(std::string_view text, Value& number) const {
    const auto found = numbers_.find(text);
    if (found == numbers_.end()) return false;
    number = found->second;
    return true;
  }
  /// Texts in the order in which they came.
  const std::deque<std::string>& texts() const { return texts_; }
  /// From now on texts count as memory of facts.
  void set_meter(Meter& meter) { meter_ = &meter; }
  Meter* meter() const { return meter_; }

 private:
  static constexpr uint64_t kOverhead = 96;  // the string, its place in the table, the allocator's part
  std::deque<std::string> texts_;            // its strings stay where they are
  std::unordered_map<std::string_view, Value> numbers_;
  Meter* meter_ = nullptr;
};

}  // namespace ingot::logic
