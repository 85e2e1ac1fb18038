// What the nodes of a network compute, over all assignments or over random ones.
#pragma once
#include <cstdint>
#include <vector>

#include "gates/network.h"

namespace ingot::gates {

/// The values of every node of a network over many assignments of its inputs: over all of them if there are few inputs.
class Tables {
 public:
  /// All assignments of the inputs that are read if those are at most kAllInputs, else random ones.
  explicit Tables(const Network& network);
  static constexpr size_t kAllInputs = 12;

  bool complete() const { return complete_; }
  size_t words() const { return words_; }
  const uint64_t* of(uint32_t node) const { return values_.data() + node * words_; }
  /// Does this input have values? If all assignments are tried, those that no gate reads do not take part.
  bool knows(uint32_t input) const { return !complete_ || read_[input]; }
  /// Computes the gates of a network over the same inputs.
  void simulate(const Network& network);
  /// Sets the bits of `care` where some output changes with the node.
  void observability(const Network& network, uint32_t node, uint64_t* care) const;
  /// Another assignment, if not complete: a counterexample that the random ones missed.
  void add(const std::vector<bool>& inputs);

 private:
  uint32_t inputs_;
  size_t words_ = 0, added_ = 0;
  bool complete_ = false;
  std::vector<bool> read_;        // by a gate: of node 0 and the inputs
  std::vector<uint64_t> values_;  // [node, words]
};

/// Are the outputs of two networks over the same inputs equal? By SAT; false as well if that would take too long.
bool same_outputs(const Network& a, const Network& b, std::vector<bool>& counterexample);

/// Merges nodes that are equal or complementary over all assignments; what random tables suggest is proved by SAT.
Network merge_equal(const Network& network);

}  // namespace ingot::gates
