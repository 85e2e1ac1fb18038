// Boolean matrices packed into words: bit j of a row is bit j % 64 of its word j / 64.
#pragma once
#include <cstdint>

#include "ingot/base/threads.h"

namespace ingot::logic {

/// Words of a row of so many bits.
constexpr int64_t bit_words(int64_t bits) { return (bits + 63) / 64; }

/// Rows of bits somewhere in memory, `stride` words apart.
struct BitRows {
  uint64_t* words;
  int64_t stride;
  uint64_t* row(int64_t i) const { return words + i * stride; }
};

/// c |= a·b in the boolean algebra, a [rows, inner], b [inner, columns], c [rows, columns]: row i of c takes over row k
/// of b wherever a has bit k in row i. Bits of a behind `inner` do not count, those of b behind `columns` (in its last
/// word) must be false. c overlaps neither. Members of the team share the rows; nothing is allocated.
void bit_matmul(BitRows a, BitRows b, BitRows c, int64_t rows, int64_t inner, int64_t columns, const Team& team = {});

}  // namespace ingot::logic
