#include "gates/sat.h"

#include <cadical.hpp>

namespace ingot::gates {

struct Sat::Impl {
  CaDiCaL::Solver solver;
};

Sat::Sat() : impl_(std::make_unique<Impl>()) { impl_->solver.set("quiet", 1); }
Sat::~Sat() = default;

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
