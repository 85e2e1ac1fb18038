// What a training step takes for granted of the modules that its function calls.
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "nn/parts.h"

namespace ingot::nn {

using Slabs = std::vector<const ParameterSlab*>;

/// Modes that a step was made for, to find out that somebody changed them since.
class StepModes {
 public:
  /// Watches a module, called `what`, of a step that trains these slabs. Parameters of its own that nobody trains although
  /// it is not frozen.
  std::vector<NamedTensor> add(Module& m, const std::string& what, const Slabs& slabs);
  /// The module's forward depends on its mode.
  void asked(const Module& m, const std::string& what) { of(m, what).asked = true; }
  /// An Error if a mode has changed that the step depends on. Looks closer only if any module's has.
  void check() {
    if (mode_changes() != seen_) look();
  }

 private:
  struct Watched {
    std::string what;
    std::shared_ptr<const Modes> modes;
    Modes then;
    bool asked = false, learns = false, has_parameters = false;
  };
  Watched& of(const Module& m, const std::string& what);
  void look();
  std::vector<Watched> watched_;
  std::unordered_map<const Modes*, size_t> number_of_;
  uint64_t seen_ = mode_changes();
};

/// Sees the modules that are called on this thread while it lives.
class CalledModules final : public CallWatch {
 public:
  /// `slabs`: what the step trains.
  explicit CalledModules(Slabs slabs) : slabs_(std::move(slabs)), before_(set_call_watch(this)) {}
  ~CalledModules() override { set_call_watch(before_); }
  CalledModules(const CalledModules&) = delete;
  CalledModules& operator=(const CalledModules&) = delete;

  void enter(Module& m) override;
  void leave(Module&) override { inside_.pop_back(); }
  void result(Module&, const Tensor&) override {}
  void mode_asked(const Module& m) override { modes_->asked(m, describe(m)); }

  /// An Error for parameters that a loss follows and nobody trains: their layer is missing in some parts().
  void check_all_learn(const graph::Graph& graph, std::span<const graph::ValueId> losses) const;
  std::shared_ptr<StepModes> modes() const { return modes_; }

 private:
  struct Untrained {
    std::string what;
    std::vector<NamedTensor> parameters;
  };
  std::string describe(const Module& m) const;

  Slabs slabs_;
  CallWatch* before_;
  std::vector<const Module*> inside_;  // being called, the innermost last
  std::vector<Untrained> untrained_;
  std::shared_ptr<StepModes> modes_ = std::make_shared<StepModes>();
};

}  // namespace ingot::nn
