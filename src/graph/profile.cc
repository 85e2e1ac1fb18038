// Plan::profile: a walk of its own that notes when each worker begins and ends each step. The walk of Plan::run knows
// nothing of it.
#include <algorithm>
#include <cmath>

#include "graph/peaks.h"
#include "graph/plan_impl.h"
#include "graph/unrecorded.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot {
namespace {

using graph::Launch;
using graph::Operand;
using graph::Record;
using graph::Space;

constexpr double kMostOfTheTime = 0.8;  // what the steps marked critical make up

struct Slot {  // a step on a worker: there, past the barrier, done
  int64_t arrive = 0, begin = 0, end = 0;
};

template <class T>
double median(std::vector<T> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return static_cast<double>(*middle);
}

// One measured run: the slots of worker w are row w.
class Measurement {
 public:
  explicit Measurement(graph::Context& context)
      : context_(context), steps_(context.launches().size()), slots_(steps_ * static_cast<size_t>(context.threads())) {}

  void run() {
    start_ = now_ns();
    if (context_.threads() > 1)
      run_team([](void* self, const Team& team) { static_cast<Measurement*>(self)->walk(team); }, this,
               context_.threads());
    else
      walk(Team());
    stop_ = now_ns();
  }

  int64_t start() const { return start_; }
  int64_t total() const { return stop_ - start_; }
  int workers() const { return workers_; }
  const Slot& slot(int worker, size_t step) const { return slots_[static_cast<size_t>(worker) * steps_ + step]; }

 private:
  // As the plan's own walk, with a look at the clock after every barrier and every step.
  void walk(const Team& team) {
    if (team.rank() == 0) workers_ = team.size();
    Slot* slot = slots_.data() + static_cast<size_t>(team.rank()) * steps_;
    int64_t now = now_ns();
    for (const Launch& l : context_.launches()) {
      slot->arrive = slot->begin = now;
      if (team.size() > 1 && (l.barrier || team.size() != context_.threads())) {
        team.barrier();
        slot->begin = now = now_ns();
      }
      if (team.size() > 1 && l.wide) {
        l.kernel->run(l.frame, team);
        now = now_ns();
      } else if (team.rank() == 0) {
        l.kernel->run(l.frame, Team());
        now = now_ns();
      }
      (slot++)->end = now;
      if (l.check) {
        team.barrier();
        if (context_.failed()) return;
      }
    }
  }

  graph::Context& context_;
  size_t steps_;
  std::vector<Slot> slots_;
  int64_t start_ = 0, stop_ = 0;
  int workers_ = 1;
};

// Figures of every step in every run.
class Statistics {
 public:
  Statistics(const graph::Context& context, int runs) : context_(context), times_(context.launches().size()) {
    for (PerStep& s : times_)
      for (auto* list : {&s.busy, &s.wait, &s.chain}) list->reserve(static_cast<size_t>(runs));
  }

  void add(const Measurement& m) {
    double idle = 0, chained = 0;
    size_t from = 0;
    for (size_t i = 0; i < times_.size(); i++) {
      int64_t busy = 0, waited = 0;
      for (int w = 0; w < m.workers(); w++) {
        const Slot& s = m.slot(w, i);
        busy = std::max(busy, s.end - s.begin);
        waited += s.begin - s.arrive;
      }
      idle += static_cast<double>(waited);
      times_[i].busy.push_back(static_cast<float>(busy));
      times_[i].wait.push_back(static_cast<float>(waited) / static_cast<float>(m.workers()));
      const bool everywhere = m.workers() != context_.threads();  // a smaller team meets before every step
      const std::span<const Launch> all = context_.launches();
      if (i + 1 < times_.size() && !all[i + 1].barrier && !all[i].check && !everywhere) continue;
      // All meet here: the time since they last met is that of whoever came last.
      int last = 0;
      for (int w = 1; w < m.workers(); w++)
        if (m.slot(w, i).end > m.slot(last, i).end) last = w;
      for (; from <= i; from++) {
        const auto ns = static_cast<double>(m.slot(last, from).end - m.slot(last, from).begin);
        times_[from].chain.push_back(static_cast<float>(ns));
        chained += ns;
      }
    }
    const auto total = static_cast<double>(m.total());
    for (int w = 0; w < m.workers() && !times_.empty(); w++)  // before they start and after they are done
      idle += total - static_cast<double>(m.slot(w, times_.size() - 1).end - m.slot(w, 0).arrive);
    totals_.push_back(total);
    rests_.push_back(std::max(0.0, total - chained));
    idles_.push_back(m.workers() > 1 ? idle / (total * m.workers()) : 0);
  }

  void fill(Profile& profile) const {
    profile.us = median(totals_) / 1000;
    profile.wait_share = median(idles_);
    double sum = median(rests_);
    for (size_t i = 0; i < times_.size(); i++) {
      profile.steps[i].us = median(times_[i].busy) / 1000;
      profile.steps[i].wait_us = median(times_[i].wait) / 1000;
      sum += profile.steps[i].share = median(times_[i].chain);
    }
    for (StepProfile& s : profile.steps) s.share /= std::max(sum, 1.0);
    profile.rest_share = median(rests_) / std::max(sum, 1.0);
  }

 private:
  struct PerStep {
    std::vector<float> busy, wait, chain;
  };
  const graph::Context& context_;
  std::vector<PerStep> times_;
  std::vector<double> totals_, rests_, idles_;
};

// Memory of the user's that the plan writes, kept and put back.
class Keeper {
 public:
  explicit Keeper(const graph::Context& context) {
    for (const Record& r : context.executable().program.records)
      for (const Operand& o : r.operands) {
        if (!o.written || o.space != Space::kBound) continue;
        const Tensor t = context.tensor(o);
        const auto same = [&](const Tensor& u) {
          return u.raw() == t.raw() && u.shape() == t.shape() && u.strides() == t.strides() && u.dtype() == t.dtype();
        };
        if (std::any_of(places_.begin(), places_.end(), same)) continue;
        places_.push_back(t);
        values_.push_back(clone(t));
      }
  }
  ~Keeper() {
    for (size_t i = 0; i < places_.size(); i++) copy_into(places_[i], values_[i]);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  std::vector<Tensor> places_, values_;
};

// The bytes that a record must read and write at least once; a broadcast operand counts once.
double bytes_of(const Record& record) {
  std::vector<const Operand*> seen;
  double bytes = 0;
  for (const Operand& o : record.operands) {
    if (!o.given() || o.space == Space::kBlock) continue;
    const auto same = [&](const Operand* s) {
      return s->space == o.space && s->index == o.index && s->offset == o.offset && s->written == o.written;
    };
    if (std::any_of(seen.begin(), seen.end(), same)) continue;
    seen.push_back(&o);
    double elements = 1;
    for (int a = 0; a < o.shape.size(); a++)
      if (o.strides[a] != 0 || o.shape[a] == 0) elements *= static_cast<double>(o.shape[a]);
    bytes += elements * static_cast<double>(o.element());
  }
  return bytes;
}

double least_us(const StepProfile& s, bool doubles) {
  const double gflops = graph::peak_gflops(s.workers) / (doubles ? 2 : 1);
  return std::max(s.flops / gflops, graph::least_ns(s.bytes / s.workers, s.workers)) / 1000;
}

// The fewest steps that make up most of the time.
void mark_critical(Profile& profile) {
  std::vector<StepProfile*> order;
  for (StepProfile& s : profile.steps) order.push_back(&s);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->share > b->share; });
  double sum = 0;
  for (StepProfile* s : order) {
    if (sum >= kMostOfTheTime * (1 - profile.rest_share) || s->share <= 0) break;
    s->critical = true;
    sum += s->share;
  }
}

void keep_trace(size_t steps, const Measurement& m, Profile& profile) {
  for (int w = 0; w < m.workers(); w++)
    for (size_t i = 0; i < steps; i++) {
      const Slot& s = m.slot(w, i);
      const int step = static_cast<int>(i);
      if (s.begin > s.arrive) profile.trace.push_back({step, w, s.arrive - m.start(), s.begin - m.start(), true});
      if (s.end > s.begin) profile.trace.push_back({step, w, s.begin - m.start(), s.end - m.start(), false});
    }
}

}  // namespace

Profile Plan::profile(int runs, std::span<const Tensor* const> inputs) {
  const graph::Executable& plan = *impl().executable;
  graph::Context& context = *impl().context;
  const std::string& name = plan.program.name;
  if (runs < 1 || runs > 1'000'000)
    throw Error(name + ": profile of " + std::to_string(runs) + " runs — give 1 to 1000000");
  const graph::Busy busy(context);
  std::vector<Tensor> zero;
  std::vector<const Tensor*> defaults;
  if (inputs.empty()) {
    for (const graph::Program::Input& s : plan.program.inputs) zero.push_back(zeros(s.shape, s.dtype));
    for (const Tensor& t : zero) defaults.push_back(&t);
    inputs = defaults;
  }
  const graph::Unrecorded unrecorded;
  context.bind(inputs);

  Profile profile;
  profile.plan = name;
  profile.runs = runs;
  profile.threads = context.threads();
  Measurement measurement(context);
  Statistics statistics(context, runs);
  std::vector<double> plain;
  plain.reserve(static_cast<size_t>(runs));
  // `how` runs the plan once; its time.
  const auto timed = [&](auto how) {
    context.before();
    const int64_t start = now_ns();
    how();
    const int64_t stop = now_ns();
    context.after();
    return static_cast<double>(stop - start);
  };
  {
    const Keeper keeper(context);
    timed([&] { measurement.run(); });  // caches and branches warm up
    for (int i = 0; i < runs; i++) {
      plain.push_back(timed([&] { context.walk(); }));
      timed([&] { measurement.run(); });
      statistics.add(measurement);
    }
  }
  profile.plain_us = median(plain) / 1000;
  keep_trace(plan.kernels.size(), measurement, profile);
  for (const auto& kernel : plan.kernels) {
    const Record& r = kernel->record();
    StepProfile& p = profile.steps.emplace_back();
    p.name = r.label;
    p.kind = r.kind_name();
    p.detail = kernel->detail();
    p.workers = r.wide ? measurement.workers() : 1;
    p.barrier = r.barrier && measurement.workers() > 1;
    p.flops = r.flops;
    p.bytes = r.kind == Record::Kind::kCheck ? 0 : bytes_of(r);
  }
  statistics.fill(profile);
  for (size_t i = 0; i < profile.steps.size(); i++) {
    StepProfile& p = profile.steps[i];
    bool doubles = false;
    for (const Operand& o : plan.program.records[i].operands) doubles |= o.written && o.dtype == kF64;
    if (p.us > 0 && p.bytes > 0) p.roofline = least_us(p, doubles) / p.us;
  }
  mark_critical(profile);
  return profile;
}

}  // namespace ingot
