// What learns by playing, whatever its rule: a step at a time, watched, judged, saved and gone on with.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/base/export.h"
#include "ingot/nn/trainer.h"
#include "ingot/rl/net.h"
#include "ingot/rl/player.h"

namespace ingot::rl {

/// How it stands.
struct AgentStatus {
  int64_t steps = 0, updates = 0;
  double epsilon = 0;
  double td_loss = 0, q_value = 0;  // of the last update: the loss, the mean value of the actions taken
  EpisodeMeans recent = {};         // episodes while learning
  double depth = 0;                 // of a curriculum
  bool pretraining = false;         // it has not begun to play
};

class Agent {
 public:
  virtual ~Agent() = default;
  /// Every environment takes a step, and the network learns what is due. Allocates nothing.
  virtual void step() = 0;
  virtual AgentStatus status() const = 0;
  /// Greedy episodes in environments of their own.
  virtual EpisodeMeans evaluate(int64_t episodes, uint64_t seed) = 0;
  virtual QNet& network() = 0;
  /// Everything that the next steps depend on; what is saved looks at memory that the next step changes.
  virtual nn::TrainingState state() = 0;
  virtual void load_state(const nn::TrainingState& state) = 0;
};

}  // namespace ingot::rl
