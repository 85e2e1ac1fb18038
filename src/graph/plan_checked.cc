// Runs with a question after every step: is every number that it wrote finite?
#include <cmath>

#include "graph/plan_impl.h"
#include "ingot/error.h"

namespace ingot {
namespace {

template <class T>
bool all_finite(const Tensor& t) {
  if (t.is_contiguous()) {
    const T* p = static_cast<const T*>(t.raw());
    T sum = 0;  // NaN and ∞ stick to 0 · x
    for (int64_t i = 0; i < t.numel(); i++) sum += p[i] * T{0};
    return sum == 0;
  }
  Dims index = Dims::filled(t.rank(), 0);
  for (int64_t i = 0; i < t.numel(); i++) {
    if (!std::isfinite(t.at<T>(index))) return false;
    for (int a = t.rank() - 1; a >= 0 && ++index[a] == t.shape()[a]; a--) index[a] = 0;
  }
  return true;
}

bool all_finite(const Tensor& t) {
  if (t.dtype() == kF32) return all_finite<float>(t);
  if (t.dtype() == kF64) return all_finite<double>(t);
  return true;
}

}  // namespace

void Plan::Impl::run_checked() {
  for (graph::Step* step : list) {
    if (step->wide && threads > 1)
      run_team([](void* s, const Team& team) { static_cast<graph::Step*>(s)->run(team); }, step, threads);
    else
      step->run(Team());
    if (step->asks && static_cast<graph::CheckStep*>(step)->failure != nullptr) return;
    step->each_tensor([&](Tensor& t, bool writes) {
      if (!writes || all_finite(t)) return;
      std::string inputs;
      step->each_tensor([&](Tensor& in, bool out) {
        if (!out && !all_finite(in)) inputs = "; an operand was not finite already";
      });
      throw Error(options.name + ": step " + std::to_string(step->position) + " \"" + step->name +
                  "\" wrote NaN or infinity into " + to_string(t.shape()) + inputs +
                  " — look at its operands: a division by 0, the log of 0, a learning rate too high");
    });
  }
}

}  // namespace ingot
