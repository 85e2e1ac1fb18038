// Items in a line: which of two comes first is known at once, and an item can be moved in front of another.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ingot::graph {

class Ranks {
 public:
  /// Puts a new item last; items are numbered 0, 1, 2, …
  void add();
  bool before(int a, int b) const { return of(a) < of(b); }
  /// Ascending along the line; a number means something until the next change only.
  uint64_t of(int item) const { return items_[static_cast<size_t>(item)].rank; }
  void move_before(int item, int other);

 private:
  struct Item {
    uint64_t rank;
    int previous, next;  // -1: none
  };
  Item& at(int item) { return items_[static_cast<size_t>(item)]; }
  void make_room(int item);

  std::vector<Item> items_;
  int last_ = -1;
};

}  // namespace ingot::graph
