// loop: a part of a plan that runs until it changes nothing, hardly anything, or so many times.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/ops/options.h"

namespace ingot {

/// One round: new values from those of the last round. What else it finds, it sees as it was before the loop.
using LoopBody = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

struct LoopOptions {
  enum class Stop : uint8_t {
    kEqual,  // when a round changes no bit
    kClose,  // when it changes no number by more than epsilon (those that are no floats: not at all)
    kCount,  // after `most` rounds
  };
  enum class Gradient : uint8_t {
    kAdjoint,  // of a fixpoint: another loop, whatever the start and the number of rounds were (implicit function)
    kRounds,   // through all rounds: `most` of them are recorded one after another, and the plan keeps what they make
    kNone,
  };
  Stop stop = Stop::kEqual;
  Gradient gradient = Gradient::kAdjoint;
  bool must_stop = true;  // an Error if the rule has not stopped it after `most` rounds; else it ends there
  double epsilon = 1e-6;
  int64_t most = 1000;
  std::string name = "loop";
};

struct LoopResult {
  std::vector<Tensor> values;
  Tensor rounds;  // i64: how many there were
};

/// `start`, then body(start), and so on, by the stop rule. Inside a capture it becomes one step of the plan: the body is
/// planned like a plan of its own, in memory that is known before the first run. Values keep their types and shapes. The
/// body must not write memory of yours, nor draw by a seed that changes. More than two values are carried side by side
/// in one block for each of at most two types. Outside a capture the loop runs at once.
INGOT_API LoopResult loop(const LoopBody& body, Tensors start, const LoopOptions& options = {});
/// The same for one value.
INGOT_API Tensor loop(const std::function<Tensor(const Tensor&)>& body, const Tensor& start,
                      const LoopOptions& options = {});

}  // namespace ingot
