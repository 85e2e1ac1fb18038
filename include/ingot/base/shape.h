// Sizes and strides: a short list of integers that lives inside its owner, so that no shape is ever on the heap.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"

namespace ingot {

inline constexpr int kMaxRank = 8;

/// Up to eight integers: a shape, strides, axes, a kernel size.
class INGOT_API Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span<const int64_t>(values.begin(), values.size())) {}
  Dims(std::span<const int64_t> values) : size_(check_rank(values.size())) {
    for (int i = 0; i < size_; i++) values_[i] = values[i];
  }
  Dims(const std::vector<int64_t>& values) : Dims(std::span<const int64_t>(values)) {}
  /// `count` copies of `value`.
  static Dims filled(int count, int64_t value) {
    Dims d;
    for (int i = 0; i < count; i++) d.push_back(value);
    return d;
  }
  Dims(const Dims& other) : size_(other.size_) {
    for (int i = 0; i < size_; i++) values_[i] = other.values_[i];
  }
  Dims& operator=(const Dims& other) {
    size_ = other.size_;
    for (int i = 0; i < size_; i++) values_[i] = other.values_[i];
    return *this;
  }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int64_t operator[](int i) const { return values_[i]; }
  int64_t& operator[](int i) { return values_[i]; }
  int64_t back() const { return values_[size_ - 1]; }
  const int64_t* begin() const { return values_; }
  const int64_t* end() const { return values_ + size_; }
  int64_t* begin() { return values_; }
  int64_t* end() { return values_ + size_; }
  void push_back(int64_t v) {
    check_rank(size_ + 1u);
    values_[size_++] = v;
  }
  void insert(int at, int64_t v) {
    push_back(v);
    for (int i = size_ - 1; i > at; i--) values_[i] = values_[i - 1];
    values_[at] = v;
  }
  void erase(int at) {
    for (int i = at; i + 1 < size_; i++) values_[i] = values_[i + 1];
    size_--;
  }
  friend bool operator==(const Dims& a, const Dims& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; i++)
      if (a.values_[i] != b.values_[i]) return false;
    return true;
  }

 private:
  static int check_rank(size_t n) {
    if (n > kMaxRank) too_many(n);
    return static_cast<int>(n);
  }
  [[noreturn]] static void too_many(size_t n);
  int64_t values_[kMaxRank];
  int size_ = 0;
};

/// Number of elements: the product of the sizes, 1 for a scalar. An Error if it does not fit in 63 bits.
INGOT_API int64_t element_count(const Dims& shape);
/// Row-major strides, in elements.
INGOT_API Dims contiguous_strides(const Dims& shape);
/// "[2, 3]".
INGOT_API std::string to_string(const Dims& shape);
/// The shape that NumPy's broadcasting gives two shapes; an Error that starts with `op` if they do not fit.
INGOT_API Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b);
/// `axis` in 0 … rank-1, counting from the end if negative; an Error that starts with `op` if out of range.
INGOT_API int normalize_axis(const char* op, int64_t axis, int rank);
/// All axes in 0 … rank-1, ascending; none given means all. Duplicates and out-of-range axes are Errors.
INGOT_API Dims normalize_axes(const char* op, const Dims& axes, int rank);

}  // namespace ingot
