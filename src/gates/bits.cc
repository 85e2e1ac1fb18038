#include "gates/bits.h"

#include <algorithm>
#include <array>
#include <utility>

#include "ingot/base/dispatch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "gates/bits.cc"
#include <hwy/foreach_target.h>
// clang-format off
#include <hwy/highway.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace ingot::gates {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<uint64_t>;
using V = hn::Vec<D>;

template <BitPart kPart>
HWY_INLINE V part(V a, V b) {
  if constexpr (kPart == kBitPartAnd) return hn::And(a, b);
  if constexpr (kPart == kBitPartAndNot) return hn::AndNot(b, a);
  if constexpr (kPart == kBitPartOr) return hn::Or(a, b);
  if constexpr (kPart == kBitPartXor) return hn::Xor(a, b);
  return a;
}

template <int kKind>
HWY_INLINE V single(V a, V b) {
  const D d;
  if constexpr (kKind == kBitZero) return hn::Zero(d);
  if constexpr (kKind == kBitOne) return hn::Not(hn::Zero(d));
  if constexpr (kKind == kBitCopy) return a;
  if constexpr (kKind == kBitNot) return hn::Not(a);
  if constexpr (kKind == kBitAnd) return hn::And(a, b);
  if constexpr (kKind == kBitAndNot) return hn::AndNot(b, a);
  if constexpr (kKind == kBitOr) return hn::Or(a, b);
  if constexpr (kKind == kBitXor) return hn::Xor(a, b);
  if constexpr (kKind == kBitNand) return hn::Not(hn::And(a, b));
  if constexpr (kKind == kBitNotOr) return hn::Not(hn::AndNot(b, a));
  if constexpr (kKind == kBitNor) return hn::Not(hn::Or(a, b));
  return hn::Not(hn::Xor(a, b));
}

constexpr int64_t kLanes = HWY_LANES(uint64_t) < kBitGrain ? HWY_LANES(uint64_t) : kBitGrain;
constexpr int64_t kVectors = kBitGrain / kLanes;

// Instructions of one kind, as many as follow each other.
template <int kKind>
const BitCode* run_single(const BitCode* at, const BitCode* end, uint64_t* const* operands, int64_t words) {
  const D d;
  do {
    uint64_t* out = operands[at[1]];
    const uint64_t *a = operands[at[2]], *b = operands[at[3]];
    for (int64_t w = 0; w < words; w += kBitGrain) {
      V result[kVectors];
      for (int64_t v = 0; v < kVectors; v++)
        result[v] = single<kKind>(hn::LoadU(d, a + w + v * kLanes), hn::LoadU(d, b + w + v * kLanes));
      for (int64_t v = 0; v < kVectors; v++) hn::StoreU(result[v], d, out + w + v * kLanes);
    }
    at += kBitCodes;
  } while (at != end && *at == kKind);
  return at;
}

template <BitPart kPart>
HWY_INLINE V load_part(const uint64_t* x, const uint64_t* y) {
  const D d;
  if constexpr (kPart == kBitLeaf) return hn::LoadU(d, x);
  return part<kPart>(hn::LoadU(d, x), hn::LoadU(d, y));
}

template <BitPart kRoot, BitPart kLeft, BitPart kRight>
const BitCode* run_tree(const BitCode* at, const BitCode*, uint64_t* const* operands, int64_t words) {
  const D d;
  uint64_t* out = operands[at[1]];
  const uint64_t *a = operands[at[2]], *b = operands[at[3]], *c = operands[at[4]], *e = operands[at[5]];
  for (int64_t w = 0; w < words; w += kBitGrain) {
    V result[kVectors];
    for (int64_t v = 0; v < kVectors; v++) {
      const int64_t i = w + v * kLanes;
      result[v] = part<kRoot>(load_part<kLeft>(a + i, b + i), load_part<kRight>(c + i, e + i));
    }
    for (int64_t v = 0; v < kVectors; v++) hn::StoreU(result[v], d, out + w + v * kLanes);
  }
  return at + kBitTreeCodes;
}

template <BitPart kFirst, BitPart kSecond>
const BitCode* run_twins(const BitCode* at, const BitCode*, uint64_t* const* operands, int64_t words) {
  const D d;
  uint64_t *out = operands[at[1]], *second = operands[at[4]];
  const uint64_t *a = operands[at[2]], *b = operands[at[3]];
  for (int64_t w = 0; w < words; w += kLanes) {
    const V x = hn::LoadU(d, a + w), y = hn::LoadU(d, b + w);
    hn::StoreU(part<kFirst>(x, y), d, out + w);
    hn::StoreU(kFirst == kSecond ? part<kSecond>(y, x) : part<kSecond>(x, y), d, second + w);
  }
  return at + kBitTwinCodes;
}

using Instruction = const BitCode* (*)(const BitCode*, const BitCode*, uint64_t* const*, int64_t);

template <int kKind>
constexpr Instruction instruction() {
  if constexpr (kKind < kBitTrees) {
    return run_single<kKind>;
  } else if constexpr (kKind >= kBitTwins) {
    constexpr auto kFirst = static_cast<BitPart>((kKind - kBitTwins) / (kBitParts - 1) + 1);
    constexpr auto kSecond = static_cast<BitPart>((kKind - kBitTwins) % (kBitParts - 1) + 1);
    if constexpr (has_bit_twins(kFirst, kSecond)) return run_twins<kFirst, kSecond>;
    return nullptr;
  } else {
    constexpr int kTree = kKind - kBitTrees;
    constexpr auto kRoot = static_cast<BitPart>(kTree / (kBitParts * kBitParts) + 1);
    constexpr auto kLeft = static_cast<BitPart>(kTree / kBitParts % kBitParts);
    constexpr auto kRight = static_cast<BitPart>(kTree % kBitParts);
    if constexpr (has_bit_tree(kRoot, kLeft, kRight)) return run_tree<kRoot, kLeft, kRight>;
    return nullptr;
  }
}

template <int... kKinds>
constexpr std::array<Instruction, kBitKinds> instructions(std::integer_sequence<int, kKinds...>) {
  return {instruction<kKinds>()...};
}

void run(const BitRun& r) {
  static constexpr auto kInstructions = instructions(std::make_integer_sequence<int, kBitKinds>());
  for (int64_t done = 0; done < r.words; done += r.block) {
    const int64_t words = std::min(r.block, r.words - done);
    for (const BitCode* at = r.code; at != r.end;) at = kInstructions[*at](at, r.end, r.operands, words);
    for (int64_t i = 0; i < r.moving; i++) r.operands[i] += words;
  }
}

void shift(const uint64_t* rows, uint64_t* left, uint64_t* right, int64_t count, int64_t row_words, int64_t width,
           bool wrap) {
  const D d;
  constexpr auto kStep = static_cast<int64_t>(hn::MaxLanes(d));
  // As if all rows were one, then the ends of each.
  const int64_t words = count * row_words;
  int64_t w = 0;
  for (; w + kStep <= words; w += kStep) {
    const V x = hn::LoadU(d, rows + w), before = hn::LoadU(d, rows + w - 1), after = hn::LoadU(d, rows + w + 1);
    hn::StoreU(hn::Or(hn::ShiftLeft<1>(x), hn::ShiftRight<63>(before)), d, left + w);
    hn::StoreU(hn::Or(hn::ShiftRight<1>(x), hn::ShiftLeft<63>(after)), d, right + w);
  }
  for (; w < words; w++) {
    left[w] = rows[w] << 1 | rows[w - 1] >> 63;
    right[w] = rows[w] >> 1 | rows[w + 1] << 63;
  }
  const int64_t last = row_words - 1, top = width - 1 - 64 * last;  // the last bit of a row's last word
  const uint64_t above_top = ~uint64_t{0} << top;
  for (int64_t r = 0; r < words; r += row_words) {
    const uint64_t first_bit = wrap ? rows[r] & 1 : 0, last_bit = wrap ? rows[r + last] >> top & 1 : 0;
    left[r] = rows[r] << 1 | last_bit;
    right[r + last] = (rows[r + last] >> 1 & ~above_top) | first_bit << top;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace ingot::gates
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace ingot::gates {

void run_bits(const BitRun& run) { INGOT_DISPATCH(run)(run); }

void shift_rows(const uint64_t* rows, uint64_t* left, uint64_t* right, int64_t count, int64_t row_words, int64_t width,
                bool wrap) {
  INGOT_DISPATCH(shift)(rows, left, right, count, row_words, width, wrap);
}

}  // namespace ingot::gates
#endif  // HWY_ONCE
