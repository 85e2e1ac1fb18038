#include "gates/sat.h"

#include <cadical.hpp>
#include <utility>

namespace ingot::gates {

struct Sat::Impl : CaDiCaL::Terminator {
  bool terminate() override { return !go_on(); }
  std::function<bool()> go_on;
  CaDiCaL::Solver solver;
};

Sat::Sat(std::function<bool()> go_on) : impl_(std::make_unique<Impl>()) {
  impl_->solver.set("quiet", 1);
  impl_->go_on = std::move(go_on);
  if (impl_->go_on) impl_->solver.connect_terminator(impl_.get());
}
Sat::~Sat() {
  if (impl_->go_on) impl_->solver.disconnect_terminator();
}

void Sat::clause(std::initializer_list<int> literals) {
  for (const int l : literals) impl_->solver.add(l);
  impl_->solver.add(0);
}

Sat::Answer Sat::solve(std::initializer_list<int> assumptions, int conflicts) {
  for (const int l : assumptions) impl_->solver.assume(l);
  if (conflicts >= 0) impl_->solver.limit("conflicts", conflicts);
  switch (impl_->solver.solve()) {
    case 10: return Answer::kSatisfiable;
    case 20: return Answer::kUnsatisfiable;
    default: return Answer::kGaveUp;
  }
}

bool Sat::value(int variable) const { return impl_->solver.val(variable) > 0; }

}  // namespace ingot::gates
