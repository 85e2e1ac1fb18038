#include "graph/ranks.h"

namespace ingot::graph {
namespace {

constexpr uint64_t kApart = uint64_t{1} << 32;  // new items
constexpr uint64_t kRoom = uint64_t{1} << 16;   // items that had to be spread

}  // namespace

void Ranks::add() {
  const int item = static_cast<int>(items_.size());
  items_.push_back({last_ < 0 ? kApart : of(last_) + kApart, last_, -1});
  if (last_ >= 0) at(last_).next = item;
  last_ = item;
}

void Ranks::move_before(int item, int other) {
  if (item == other || at(other).previous == item) return;
  Item& moved = at(item);
  if (moved.previous >= 0) at(moved.previous).next = moved.next;
  (moved.next >= 0 ? at(moved.next).previous : last_) = moved.previous;
  const auto low = [&] { return at(other).previous < 0 ? 0 : of(at(other).previous); };
  if (of(other) - low() < 2) make_room(other);
  moved = {low() + (of(other) - low()) / 2, at(other).previous, other};
  if (moved.previous >= 0) at(moved.previous).next = item;
  at(other).previous = item;
}

// Spreads the neighbours of an item evenly: as many as it takes to be far apart, twice as many each time, so that an
// item is spread seldom however many are put into one place.
void Ranks::make_room(int item) {
  int first = item, end = at(item).next;
  uint64_t count = 1;
  const auto low = [&] { return at(first).previous < 0 ? 0 : of(at(first).previous); };
  const auto high = [&] { return end < 0 ? low() + (count + 1) * kApart : of(end); };
  while (high() - low() < (count + 1) * kRoom)
    for (uint64_t more = count; more > 0; more--) {
      if (at(first).previous >= 0) first = at(first).previous, count++;
      if (end >= 0) end = at(end).next, count++;
    }
  const uint64_t step = (high() - low()) / (count + 1);
  uint64_t rank = low();
  for (int i = first; i != end; i = at(i).next) at(i).rank = rank += step;
}

}  // namespace ingot::graph
