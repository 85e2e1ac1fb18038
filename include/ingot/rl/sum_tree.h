// Numbers with their sum, of which one is found by its share of it: what prioritised replay draws from.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::rl {

/// n numbers of 0 or more; setting one and finding one take log n steps. Every sum is that of its two parts, however
/// often they were set: it does not drift.
class INGOT_API SumTree {
 public:
  explicit SumTree(int64_t n);
  int64_t size() const { return size_; }
  double total() const { return nodes_[1]; }
  double operator[](int64_t i) const { return nodes_[static_cast<size_t>(leaves_ + i)]; }
  std::span<const double> numbers() const { return {nodes_.data() + leaves_, static_cast<size_t>(size_)}; }
  void set(int64_t i, double value) { set({&i, 1}, {&value, 1}); }
  /// Many at once, one after another where they are the same: faster than one by one, for no walk waits for another.
  void set(std::span<const int64_t> which, std::span<const double> values);
  /// The first i whose numbers up to and with it add up to more than `mass`, from 0 up to total(); never one of 0 if
  /// there is another.
  int64_t find(double mass) const {
    int64_t found = 0;
    return find({&mass, 1}, {&found, 1}), found;
  }
  /// Many at once; the masses are used up.
  void find(std::span<double> masses, std::span<int64_t> found) const;

 private:
  int64_t size_, leaves_ = 1;
  std::vector<double> nodes_;  // node k is the sum of 2k and 2k + 1; the numbers begin at leaves_
};

}  // namespace ingot::rl
