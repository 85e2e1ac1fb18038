// Gates on many bits at once: a list of instructions, each of which reads and writes a few words per operand.
#pragma once
#include <cstdint>

#include "base/public.h"

namespace ingot::kernels {

// An instruction is a kind and the operands' numbers: kind, out, a, b, and for trees c, d.
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
constexpr int kBitCodes = 4, kBitTreeCodes = 6;

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
constexpr int kBitKinds = kBitTrees + (kBitParts - 1) * kBitParts * kBitParts;

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
INGOT_PUBLIC void run_bits(const BitRun& run);

/// For rows of a grid's bits, `row_words` words each: left[x] = row[x - 1] and right[x] = row[x + 1]. What lies beyond
/// is false, or with `wrap` the other end of the row. Bits of `row` behind `width` do not matter. A word before the first
/// row and one behind the last are read, and do not matter either.
INGOT_PUBLIC void shift_rows(const uint64_t* rows, uint64_t* left, uint64_t* right, int64_t count, int64_t row_words,
                             int64_t width, bool wrap);

}  // namespace ingot::kernels
