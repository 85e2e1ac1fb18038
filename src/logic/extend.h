// A computed program with more statements behind it: what they do not change is not computed again.
#pragma once
#include <memory>
#include <string>

#include "logic/evaluate.h"

namespace ingot::logic {

class Extension {
 public:
  /// Checks the longer program; what `before` knows stays its own if that fails.
  Extension(Evaluation& before, const std::string& statements);
  /// Gives back what was taken, unless it is kept.
  ~Extension();
  Extension(const Extension&) = delete;
  Extension& operator=(const Extension&) = delete;

  Evaluation& evaluation() { return *now_; }
  std::unique_ptr<Evaluation> keep() { return std::move(now_); }

 private:
  Evaluation& before_;
  std::unique_ptr<Evaluation> now_;
};

}  // namespace ingot::logic
