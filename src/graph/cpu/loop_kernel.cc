// Rounds of a loop's body. Every member walks the body's records, as it walks those of the plan; then all look at what the
// round changed, each at its share, and come to the same decision.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graph/cpu/kernel.h"
#include "graph/loop.h"
#include "graph/schedule.h"
#include "graph/verify.h"
#include "graph/verify_program.h"
#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

using Stop = LoopOptions::Stop;

// How far two blocks are apart: the largest difference, NaN if there is one; then `from` takes the place of `to`.
template <class T>
double take_over(T* to, const T* from, int64_t count) {
  T most = 0;
  bool nan = false;
  for (int64_t i = 0; i < count; i++) {
    const T d = from[i] == to[i] ? T{0} : std::abs(from[i] - to[i]);
    nan |= d != d;
    most = d > most ? d : most;
  }
  std::memcpy(to, from, static_cast<size_t>(count) * sizeof(T));
  return nan ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(most);
}

class LoopKernel final : public Kernel {
 public:
  explicit LoopKernel(const Record& r) : Kernel(r), loop_(*r.loop), kernels_(make_kernels(loop_.body, &loop_.memory)) {}

  void run(const Frame& f, const Team& team) const override {
    const LoopFrame& in = *f.loop;
    const auto carried = static_cast<size_t>(carried_by(record_));
    const Tensor* results = f.tensors + record_.inputs;
    const bool leads = team.rank() == 0;
    if (leads) {
      for (size_t i = 0; i < carried; i++) copy_into(results[i], f.tensors[i]);
      for (size_t i = carried; i < in.staged.size(); i++)
        if (in.staged[i].defined()) copy_into(in.staged[i], f.tensors[i]);
    }
    team.barrier();
    int64_t round = 0;
    double change = 0;
    while (round < loop_.most) {
      round++;
      if (!walk_records(in.launches, team, loop_.body.threads, *f.failure)) return;
      team.barrier();
      mark_of(in, team.rank()) = 0;
      for (size_t i = 0; i < carried; i++) compare(results[i], in.made[i], team, mark_of(in, team.rank()));
      team.barrier();
      change = 0;
      for (int k = 0; k < team.size(); k++) {
        const double mark = mark_of(in, k);
        change = std::isnan(mark) || std::isnan(change) ? std::nan("") : std::max(change, mark);
      }
      if (loop_.stop != Stop::kCount && change <= (loop_.stop == Stop::kClose ? loop_.epsilon : 0)) break;
    }
    if (!leads) return;
    *static_cast<int64_t*>(results[carried].raw()) = round;
    const bool stopped = loop_.stop == Stop::kCount || change <= (loop_.stop == Stop::kClose ? loop_.epsilon : 0);
    if (!stopped && loop_.must_stop) *f.failure = std::make_exception_ptr(not_stopped(change));
  }

  void share_out(int threads) override {
    schedule(loop_.body, kernels_, threads);
    if (verify_plans) verify_barriers(loop_.body, kernels_, loop_.body.name);
  }
  bool worth_sharing() const override { return loop_.body.threads > 1; }
  void footprints(int, int size, std::vector<Footprint>& out) const override {
    for (const Operand& o : record_.operands)
      if (o.given()) out.push_back(whole(o));
    add_shared_scratch(size, out);
  }
  size_t own_scratch() const override {
    size_t most = 0;
    for (const auto& k : kernels_) most = std::max(most, k->own_scratch());
    return most;
  }
  size_t shared_scratch(int team_size) const override { return layout_of(record_, team_size).bytes; }
  size_t kept_bytes() const override {
    size_t sum = 0;
    for (const auto& k : kernels_) sum += k->kept_bytes();
    return sum;
  }
  std::span<const std::unique_ptr<Kernel>> body() const override { return kernels_; }

  std::string detail() const override {
    std::string text = loop_.stop == Stop::kCount   ? std::to_string(loop_.most) + " rounds"
                       : loop_.stop == Stop::kEqual ? "until equal"
                                                    : "until closer than " + number_text(loop_.epsilon);
    if (loop_.stop != Stop::kCount) text += ", at most " + std::to_string(loop_.most) + " rounds";
    text += " of {";
    for (size_t i = 0; i < kernels_.size(); i++) {
      const Record& r = loop_.body.records[i];
      text += std::string(i == 0 ? "" : "; ") + r.kind_name() + " " + r.label + " : " + kernels_[i]->detail();
    }
    return text + "}";
  }

 private:
  static double& mark_of(const LoopFrame& in, int member) {
    return *reinterpret_cast<double*>(in.marks + static_cast<size_t>(member) * LoopLayout::kMark);
  }

  // A member's share of what a round changed; the new elements take the place of the old ones.
  void compare(const Tensor& old, const Tensor& made, const Team& team, double& mark) const {
    const int64_t n = old.numel(), first = n * team.rank() / team.size(), last = n * (team.rank() + 1) / team.size();
    const size_t element = size_of(old.dtype());
    auto* to = static_cast<std::byte*>(old.raw()) + static_cast<size_t>(first) * element;
    const auto* from = static_cast<const std::byte*>(made.raw()) + static_cast<size_t>(first) * element;
    const size_t bytes = static_cast<size_t>(last - first) * element;
    double far = 0;
    if (loop_.stop == Stop::kClose && old.dtype() == kF32) {
      far = take_over(reinterpret_cast<float*>(to), reinterpret_cast<const float*>(from), last - first);
    } else if (loop_.stop == Stop::kClose && old.dtype() == kF64) {
      far = take_over(reinterpret_cast<double*>(to), reinterpret_cast<const double*>(from), last - first);
    } else {
      if (loop_.stop != Stop::kCount && bytes > 0 && std::memcmp(to, from, bytes) != 0)
        far = std::numeric_limits<double>::infinity();
      if (bytes > 0) std::memcpy(to, from, bytes);
    }
    mark = std::isnan(far) || std::isnan(mark) ? std::nan("") : std::max(mark, far);
  }

  Error not_stopped(double change) const {
    const std::string how = std::isnan(change)   ? " (a value is not a number)"
                            : std::isinf(change) ? ""
                                                 : " (by " + number_text(change) + ")";
    return {ErrorKind::kNumeric, loop_.body.name + ": after " + std::to_string(loop_.most) +
                                     " rounds a round still changes something" + how +
                                     " — allow more rounds (`most`), or see whether there is a fixpoint at all"};
  }

  Loop& loop_;
  std::vector<std::unique_ptr<Kernel>> kernels_;
};

}  // namespace

std::unique_ptr<Kernel> make_loop_kernel(const Record& record) { return std::make_unique<LoopKernel>(record); }

}  // namespace ingot::graph
