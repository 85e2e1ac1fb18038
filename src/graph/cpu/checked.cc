// A walk with a question after every record: is every number that it wrote finite?
#include <algorithm>
#include <cmath>

#include "graph/cpu/context.h"
#include "ingot/base/error.h"

namespace ingot::graph {
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

void Context::walk_checked() {
  for (size_t i = 0; i < launches_.size(); i++) {
    Launch& l = launches_[i];
    if (l.wide && threads_ > 1)
      run_team(
          [](void* launch, const Team& team) {
            const Launch& each = *static_cast<Launch*>(launch);
            each.kernel->run(each.frame, team);
          },
          &l, threads_);
    else
      l.kernel->run(l.frame, Team());
    if (failed()) return;
    check_numbers(executable_->program.records[i]);
  }
}

void Context::check_numbers(const Record& record) const {
  for (const Operand& o : record.operands) {
    if (!o.written || o.space == Space::kBlock || all_finite(tensor(o))) continue;
    // Of what was overwritten in place nobody knows any more what it was.
    const auto overwritten = [&](const Operand& in) {
      return std::any_of(record.operands.begin(), record.operands.end(),
                         [&](const Operand& to) { return to.written && extent_of(to).meets(extent_of(in)); });
    };
    std::string already;
    for (const Operand& in : record.operands)
      if (in.given() && !in.written && !overwritten(in) && !all_finite(tensor(in)))
        already = "; an operand was not finite already";
    throw Error(ErrorKind::kNumeric,
                executable_->program.name + ": step " + std::to_string(record.position) + " \"" + record.label +
                    "\" wrote NaN or infinity into " + to_string(o.shape) + already +
                    " — look at its operands: a division by 0, the log of 0, a learning rate too high");
  }
}

}  // namespace ingot::graph
