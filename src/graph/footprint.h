// What one worker touches while it does its share of a record: what barriers are decided by.
#pragma once
#include <map>
#include <tuple>

#include "ingot/graph/program.h"

namespace ingot::graph {

/// Memory of a space: `rows` pieces of `width` bytes, `pitch` bytes apart.
struct Footprint {
  Space space = Space::kNone;
  int index = 0;
  int64_t start = 0, pitch = 0, rows = 1, width = 0;
  bool write = false;
};

/// The bytes between an operand's first and last element, as one piece.
Footprint whole(const Operand& operand);

/// True if some byte is in both (errs towards true for different pitches).
bool meet(const Footprint& a, const Footprint& b);

/// Many footprints, found by where they are.
class FootprintIndex {
 public:
  void add(const Footprint& footprint);
  /// Does one of them meet `footprint`, and is one of the two a write?
  bool conflicts(const Footprint& footprint) const;

 private:
  // By space, index and length (as a power of two), then by start: whoever is long does not make us look at all that is
  // short.
  std::map<std::tuple<Space, int, int>, std::multimap<int64_t, Footprint>> by_length_;
};

}  // namespace ingot::graph
