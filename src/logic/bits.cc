#include "logic/bits.h"

#include <algorithm>
#include <bit>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "logic/bits.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::logic {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A row's tile: as many words as a cache line has, in so many vectors.
constexpr int64_t kTileWords = 8;
using D = hn::CappedTag<uint64_t, kTileWords>;
using V = hn::Vec<D>;
constexpr int kLanes = HWY_LANES(uint64_t) < kTileWords ? HWY_LANES(uint64_t) : kTileWords;
constexpr int kVectors = kTileWords / kLanes;

struct Tile {
  V v[kVectors];
  HWY_INLINE void load(const uint64_t* from) {
    for (int i = 0; i < kVectors; i++) v[i] = hn::LoadU(D(), from + i * kLanes);
  }
  HWY_INLINE void join(const uint64_t* from) {
    for (int i = 0; i < kVectors; i++) v[i] = hn::Or(v[i], hn::LoadU(D(), from + i * kLanes));
  }
  HWY_INLINE void store(uint64_t* to) const {
    for (int i = 0; i < kVectors; i++) hn::StoreU(v[i], D(), to + i * kLanes);
  }
};

// All unions of four rows at a time, of 64 rows of b: a word of a then takes sixteen of them instead of up to 64 rows
// ("four Russians"). 16 KiB: it stays in the nearest cache while all rows of a go by.
constexpr int kGroups = 16, kSubsets = 16;
struct Unions {
  alignas(64) uint64_t words[kGroups][kSubsets][kTileWords];
  void make(BitRows b, int64_t first_row, int64_t rows, int64_t first_word, int64_t count) {
    for (int g = 0; g < kGroups; g++) {
      std::fill(words[g][0], words[g][0] + kTileWords, 0);
      for (int s = 1; s < kSubsets; s++) {
        Tile t;
        t.load(words[g][s & (s - 1)]);
        const int64_t row = 4 * g + std::countr_zero(static_cast<unsigned>(s));
        alignas(64) uint64_t own[kTileWords] = {};
        if (row < rows) std::copy_n(b.row(first_row + row) + first_word, count, own);
        t.join(own);
        t.store(words[g][s]);
      }
    }
  }
};

// Words with fewer bits than this take the rows of b themselves, which costs less than a union per group.
constexpr int kFew = 8;

// The tile at `first_word` of the rows [begin, end) of c. kWhole: it has kTileWords words, not fewer.
template <bool kWhole>
HWY_NOINLINE void join_tile(BitRows a, BitRows b, BitRows c, int64_t begin, int64_t end, int64_t inner,
                            int64_t first_word, int64_t count, Unions& unions) {
  for (int64_t word = 0; word < bit_words(inner); word++) {
    const int64_t rows = std::min<int64_t>(64, inner - 64 * word);
    const uint64_t counted = rows == 64 ? ~uint64_t{0} : (uint64_t{1} << rows) - 1;
    bool made = false;  // only once a row needs them
    for (int64_t i = begin; i < end; i++) {
      uint64_t bits = a.row(i)[word] & counted;
      if (bits == 0) continue;
      alignas(64) uint64_t piece[kTileWords];
      uint64_t* const to = c.row(i) + first_word;
      Tile sum;
      if (kWhole) {
        sum.load(to);
      } else {
        std::fill(std::copy_n(to, count, piece), piece + kTileWords, 0);
        sum.load(piece);
      }
      if (kWhole && std::popcount(bits) < kFew) {
        for (; bits != 0; bits &= bits - 1) sum.join(b.row(64 * word + std::countr_zero(bits)) + first_word);
      } else {
        if (!made) unions.make(b, 64 * word, rows, first_word, count);
        made = true;
        for (int g = 0; g < kGroups; g++) sum.join(unions.words[g][bits >> 4 * g & 15]);
      }
      if (kWhole) {
        sum.store(to);
      } else {
        sum.store(piece);
        std::copy_n(piece, count, to);
      }
    }
  }
}

void matmul(BitRows a, BitRows b, BitRows c, int64_t begin, int64_t end, int64_t inner, int64_t columns) {
  Unions unions;
  const int64_t words = bit_words(columns);
  int64_t w = 0;
  for (; w + kTileWords <= words; w += kTileWords) join_tile<true>(a, b, c, begin, end, inner, w, kTileWords, unions);
  if (w < words) join_tile<false>(a, b, c, begin, end, inner, w, words - w, unions);
}

}  // namespace HWY_NAMESPACE
}  // namespace ingot::logic
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::logic {

void bit_matmul(BitRows a, BitRows b, BitRows c, int64_t rows, int64_t inner, int64_t columns, const Team& team) {
  const auto [begin, end] = team.share(rows);
  INGOT_DISPATCH(matmul)(a, b, c, begin, end, inner, columns);
}

}  // namespace ingot::logic
#endif  // HWY_ONCE
