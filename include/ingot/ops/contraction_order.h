// In which order to contract many tensors, two at a time. The order decides the cost: by orders of magnitude in time,
// and in memory. Any algebra whose product distributes over its sum may use it.
#pragma once
#include <bit>
#include <cstdint>
#include <limits>

#include "ingot/base/export.h"
#include "ingot/ops/signature.h"

namespace ingot {

/// A set of indices, by number.
struct IndexSet {
  static constexpr int kMost = 256, kWords = kMost / 64;
  uint64_t words[kWords] = {};
  bool has(int i) const { return words[i / 64] >> i % 64 & 1; }
  void add(int i) { words[i / 64] |= uint64_t{1} << i % 64; }
  void remove(int i) { words[i / 64] &= ~(uint64_t{1} << i % 64); }
  bool empty() const { return (words[0] | words[1] | words[2] | words[3]) == 0; }
  int count() const {
    int bits = 0;
    for (const uint64_t word : words) bits += std::popcount(word);
    return bits;
  }
  /// Calls f with every number in it, in order.
  template <class F>
  void each(F f) const {
    for (int w = 0; w < kWords; w++)
      for (uint64_t bits = words[w]; bits != 0; bits &= bits - 1) f(64 * w + std::countr_zero(bits));
  }
  friend IndexSet operator|(const IndexSet& a, const IndexSet& b) {
    IndexSet c;
    for (int w = 0; w < kWords; w++) c.words[w] = a.words[w] | b.words[w];
    return c;
  }
  friend IndexSet operator&(const IndexSet& a, const IndexSet& b) {
    IndexSet c;
    for (int w = 0; w < kWords; w++) c.words[w] = a.words[w] & b.words[w];
    return c;
  }
  friend IndexSet operator-(const IndexSet& a, const IndexSet& b) {
    IndexSet c;
    for (int w = 0; w < kWords; w++) c.words[w] = a.words[w] & ~b.words[w];
    return c;
  }
  bool operator==(const IndexSet&) const = default;
};

/// Tensors that share indices. What the result does not name is summed.
struct ContractionNetwork {
  static constexpr int kMost = kMaxInputs;
  int count = 0;  // of tensors, 1 … kMost
  IndexSet tensors[kMost];
  IndexSet result;
  double sizes[IndexSet::kMost];  // of the indices that occur
};

/// Steps that leave one tensor: step s contracts `left[s]` with `right[s]` and puts the result in the place of `left[s]`.
struct ContractionSteps {
  uint8_t count = 0;
  uint8_t left[ContractionNetwork::kMost], right[ContractionNetwork::kMost];
};

struct ContractionOrder {
  ContractionSteps steps;
  IndexSet sliced;      // fixed to one value after another, all steps for each of them
  double flops = 0;     // multiplications and additions, of all slices together
  double elements = 0;  // of intermediate results that are there at the same time, the last result aside
  bool found = true;    // false: no order keeps within the options
};

struct OrderOptions {
  double most_elements = std::numeric_limits<double>::infinity();  // honoured by slicing
  int most_axes = IndexSet::kMost;                                 // of an intermediate result
  int tries = 32;                                                  // of the random search
  bool slice_result = true;                                        // may slices be of indices of the result?
  uint64_t seed = 0;                                               // the same seed, the same order
};

/// Up to so many tensors the order is the best there is; beyond, the best that a seeded random search found.
inline constexpr int kExactOrder = 14;

/// The order with the fewest operations. Up to eight tensors it allocates nothing.
INGOT_API ContractionOrder contraction_order(const ContractionNetwork& network, const OrderOptions& options = {});

}  // namespace ingot
