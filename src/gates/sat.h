// The SAT solver, behind four calls.
#pragma once
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>

namespace ingot::gates {

class Sat {
 public:
  enum class Answer : uint8_t { kUnsatisfiable, kSatisfiable, kGaveUp };
  /// `go_on` is asked now and then within solve(), which gives up when it says no.
  explicit Sat(std::function<bool()> go_on = {});
  ~Sat();
  /// A new variable; its negation is the negative number.
  int variable() { return ++variables_; }
  void clause(std::initializer_list<int> literals);
  /// Is there an assignment with these literals true? Gives up after so many conflicts (negative: never).
  Answer solve(std::initializer_list<int> assumptions, int conflicts = -1);
  /// The variable in the assignment found.
  bool value(int variable) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int variables_ = 0;
};

}  // namespace ingot::gates
