// A puzzle learned from near to far: episodes begin a few random moves from solved, and more whenever most are solved.
// Depth is a mean and grows by fractions: whole steps make a network forget.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "ingot/rl/dqn.h"
#include "ingot/rl/pretrain.h"
#include "ingot/rl/puzzle.h"

namespace ingot::rl {

struct CurriculumOptions {
  double start = 1, end = 4;  // mean depth of the episodes' beginnings
  double step = 0.1;          // by which it grows
  double when = 0.9;          // share of a hundred episodes that must be solved for that
  int32_t judged_limit = 0;   // steps after which an episode is cut off when it is judged; 0: as when it learns
};

class Curriculum {
 public:
  explicit Curriculum(const CurriculumOptions& options) : options_(options), depth_(options.start) {}
  double depth() const { return depth_; }
  /// Takes note of an episode; true if the depth is another one now.
  bool episode(bool solved) {
    episodes_++, solved_ += solved ? 1 : 0;
    if (episodes_ < kEpisodes) return false;
    const bool enough = static_cast<double>(solved_) >= options_.when * kEpisodes && depth_ < options_.end;
    if (enough) depth_ = std::min(depth_ + options_.step, options_.end);
    episodes_ = solved_ = 0;
    return enough;
  }
  void save(nn::TrainingState& state, const std::string& name) const {
    save_number(state, name + ".depth", depth_);
    save_number(state, name + ".episodes", episodes_), save_number(state, name + ".solved", solved_);
  }
  void load(const nn::TrainingState& state, const std::string& name) {
    const double depth = saved_real(state, name + ".depth");
    if (!(depth >= options_.start && depth <= std::max(options_.start, options_.end)))
      refuse_saved("\"" + name + ".depth\" is not between where the curriculum starts and ends");
    depth_ = depth;
    episodes_ = saved_count(state, name + ".episodes"), solved_ = saved_count(state, name + ".solved");
  }

 private:
  static constexpr int64_t kEpisodes = 100;
  CurriculumOptions options_;
  double depth_;
  int64_t episodes_ = 0, solved_ = 0;
};

/// DQN on a puzzle with a curriculum. It is judged at the depth where the curriculum ends.
template <Puzzle P>
class PuzzleDqn final : public Agent {
 public:
  PuzzleDqn(PuzzleEnv<P> env, const DqnOptions& options, const CurriculumOptions& curriculum,
            const PretrainOptions& pretrain = {})
      : curriculum_(curriculum),
        pretrain_(pretrain),
        seed_(options.seed),
        last_(env),
        dqn_(beginning(env, curriculum), options),
        labels_(env, pretrain, options.discount, options.shaping) {
    last_.depth = static_cast<float>(curriculum.end), last_.mixed = 0;
    if (curriculum.judged_limit > 0) last_.limit = curriculum.judged_limit;
    if (pretrain.updates > 0) by_labels_.emplace(dqn_.learner(), options);
  }
  /// Learns from labels, as often as is asked for; then plays.
  void step() override {
    if (pretraining()) return learn_labels();
    dqn_.step();
    bool changed = false;
    for (const auto& t : dqn_.transitions())
      if (t.terminated || t.truncated) changed |= curriculum_.episode(t.terminated);
    if (changed) deepen();
  }
  AgentStatus status() const override {
    AgentStatus s = dqn_.status();
    s.depth = curriculum_.depth(), s.pretraining = pretraining();
    if (by_labels_) s.updates += by_labels_->updates();
    if (s.pretraining) s.td_loss = label_loss_;
    return s;
  }
  EpisodeMeans evaluate(int64_t episodes, uint64_t seed) override {
    return evaluate_greedily(last_, dqn_.network(), episodes, seed);
  }
  QNet& network() override { return dqn_.network(); }
  nn::TrainingState state() override {
    nn::TrainingState state = dqn_.state();
    curriculum_.save(state, "curriculum");
    if (by_labels_) by_labels_->save(state, "pretraining"), save_number(state, "label_loss", label_loss_);
    return state;
  }
  void load_state(const nn::TrainingState& state) override {
    dqn_.load_state(state);
    curriculum_.load(state, "curriculum");
    if (by_labels_) by_labels_->load(state, "pretraining"), label_loss_ = saved_real(state, "label_loss");
    deepen();
  }

 private:
  bool pretraining() const { return by_labels_ && by_labels_->updates() < pretrain_.updates; }
  void learn_labels() {
    const int64_t first = by_labels_->updates() * by_labels_->state().size(0);
    labels_.fill(first, {seed_, kLabelStream}, by_labels_->state(), by_labels_->labels());
    label_loss_ = by_labels_->run();
    if (!pretraining()) dqn_.learner().copy_to_target();
  }
  void deepen() {
    for (PuzzleEnv<P>& env : dqn_.environments().envs()) env.depth = static_cast<float>(curriculum_.depth());
  }
  static PuzzleEnv<P> beginning(PuzzleEnv<P> env, const CurriculumOptions& curriculum) {
    env.depth = static_cast<float>(curriculum.start);
    return env;
  }
  static constexpr uint64_t kLabelStream = 0x6C6162656C;  // "label"
  Curriculum curriculum_;
  PretrainOptions pretrain_;
  uint64_t seed_;
  PuzzleEnv<P> last_;
  Dqn<PuzzleEnv<P>> dqn_;
  PuzzleLabels<P> labels_;
  std::optional<LabelUpdate> by_labels_;
  double label_loss_ = 0;
};

}  // namespace ingot::rl
