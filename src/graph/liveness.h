// What is alive when: steps that make and read values, in one order or another. Knows nothing of tensors or kernels.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace ingot::graph {

/// Lists of numbers, one after the other.
class Lists {
 public:
  int size() const { return static_cast<int>(begin_.size()) - 1; }
  std::span<const int> operator[](int i) const {
    const size_t at = static_cast<size_t>(i);
    return {items_.data() + begin_[at], items_.data() + begin_[at + 1]};
  }
  /// Adds to the list that is being written; `close` ends it.
  void add(int item) { items_.push_back(item); }
  void close() { begin_.push_back(static_cast<int>(items_.size())); }
  /// By item: the lists, ascending, that have it.
  Lists transposed(int items) const;

 private:
  std::vector<int> begin_{0}, items_;
};

/// Steps, numbered in an order in which they can run, and the values in the arena that they make and read.
struct Steps {
  Lists before;                 // by step: those that must have run
  Lists touched;                // by step: values that it makes or reads, each once
  Lists shares;                 // by step: result, operand, result, operand … that may stand in one place
  std::vector<size_t> scratch;  // by step: bytes that are alive while it runs
  std::vector<size_t> bytes;    // by value

  int count() const { return touched.size(); }
};

struct Liveness {
  std::vector<int> first, last;  // by value: positions in the order, both included; -1 if no step touches it
  std::vector<int> owner;        // by value: whose memory it is in; itself, or an operand's that died when it was made
  std::vector<size_t> alive;     // by position: bytes
  size_t peak = 0;
};

/// A value is alive from the step that makes it to the last that reads it. A result takes over the memory of an operand
/// that dies in its step, where `Steps::shares` allows it.
Liveness find_liveness(const Steps& steps, std::span<const int> order);

}  // namespace ingot::graph
