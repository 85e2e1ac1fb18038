// Gates on many bits at once: a list of instructions, each of which reads and writes a few words per operand.
#pragma once
#include <cstdint>

namespace ingot::gates {

// An instruction is a kind and the operands' numbers: kind, out, a, b; for trees c, d; for twins the second out.
using BitCode = uint16_t;

/// Instructions of one gate. Those of one operand have it twice.
enum BitKind : BitCode {
  kBitZero,
  kBitOne,
  kBitCopy,
  kBitNot,
  kBitAnd,
  kBitAndNot,  // a ∧ ¬b
  kBitOr,
  kBitXor,
  kBitNand,
  kBitNotOr,  // ¬a ∨ b
  kBitNor,
  kBitXnor,
  kBitTrees,  // from here on: several gates
};
constexpr int kBitCodes = 4, kBitTreeCodes = 6, kBitTwinCodes = 5;

/// What a tree has at its three places; its root is not kBitLeaf.
enum BitPart : BitCode { kBitLeaf, kBitPartAnd, kBitPartAndNot, kBitPartOr, kBitPartXor };
constexpr int kBitParts = 5;

/// The tree root(left(a, b), right(c, d)), where a leaf is its first operand alone. Leaves on both sides, and unless
/// the root is kBitPartAndNot a right part behind the left one, have no kind: swap them.
constexpr BitCode bit_tree(BitPart root, BitPart left, BitPart right) {
  return static_cast<BitCode>(kBitTrees + ((root - 1) * kBitParts + left) * kBitParts + right);
}
constexpr bool has_bit_tree(BitPart root, BitPart left, BitPart right) {
  return left != right ? root == kBitPartAndNot || left > right : left != kBitLeaf;
}
constexpr int kBitTwins = kBitTrees + (kBitParts - 1) * kBitParts * kBitParts;

/// Two gates of the same operands: out = first(a, b) and a second out = second(a, b). There is a kind if first <
/// second, and for kBitPartAndNot twice: the second then is b ∧ ¬a.
constexpr BitCode bit_twins(BitPart first, BitPart second) {
  return static_cast<BitCode>(kBitTwins + (first - 1) * (kBitParts - 1) + second - 1);
}
constexpr bool has_bit_twins(BitPart first, BitPart second) {
  return first != kBitLeaf && (first < second || (first == second && first == kBitPartAndNot));
}
constexpr int kBitKinds = kBitTwins + (kBitParts - 1) * (kBitParts - 1);

/// A multiple of this many words is computed per operand.
constexpr int64_t kBitGrain = 8;

struct BitRun {
  const BitCode *code, *end;
  uint64_t** operands;  // where each operand's words are; changed by the run
  int64_t moving;       // the first so many operands go on from block to block, the others are scratch
  int64_t words;        // in all, and in a block: multiples of kBitGrain
  int64_t block;
};

/// Runs the code on block after block. An instruction's result may take the place of an operand.
void run_bits(const BitRun& run);

/// For rows of a grid's bits, `row_words` words each: left[x] = row[x - 1] and right[x] = row[x + 1]. What lies beyond
/// is false, or with `wrap` the other end of the row. Bits of `row` behind `width` do not matter. A word before the
/// first row and one behind the last are read, and do not matter either.
void shift_rows(const uint64_t* rows, uint64_t* left, uint64_t* right, int64_t count, int64_t row_words, int64_t width,
                bool wrap);

}  // namespace ingot::gates
