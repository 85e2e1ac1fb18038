// What the files of modules share.
#pragma once
#include "ingot/nn/module.h"

namespace ingot::nn {

/// Do two handles look at the same elements in the same way? So a shared parameter is known.
bool same_elements(const Tensor& a, const Tensor& b);

/// Is the tensor in a slab that lives, so that somebody trains it?
bool is_in_slab(const Tensor& t);

/// How often modes of modules changed so far, on all threads.
uint64_t mode_changes();

/// While it lives, a model and all inside are in evaluation mode; then each module in the one it was in.
class Evaluating {
 public:
  explicit Evaluating(Module& model);
  ~Evaluating();
  Evaluating(const Evaluating&) = delete;
  Evaluating& operator=(const Evaluating&) = delete;

 private:
  std::vector<Module*> were_training_;
};

/// Sees every module that is called on this thread.
struct CallWatch {
  virtual ~CallWatch() = default;
  virtual void enter(Module& m) = 0;
  virtual void leave(Module& m) = 0;
  virtual void result(Module& m, const Tensor& y) = 0;
  virtual void mode_asked(const Module& /*m*/) {}
};
/// Puts another in place (or none); returns the one before.
CallWatch* set_call_watch(CallWatch* watch);

}  // namespace ingot::nn
