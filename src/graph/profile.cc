// Plan::profile: a walk of its own that notes when each worker begins and ends each step. The walk of Plan::run knows
// nothing of it.
#include <algorithm>
#include <cmath>

#include "base/clock.h"
#include "graph/peaks.h"
#include "graph/plan_impl.h"
#include "ingot/error.h"
#include "ingot/ops.h"

namespace ingot {
namespace {

using graph::Step;

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
  explicit Measurement(Plan::Impl& plan)
      : plan_(plan), steps_(plan.list.size()), slots_(steps_ * static_cast<size_t>(plan.threads)) {}

  void run() {
    start_ = now_ns();
    if (plan_.threads > 1)
      run_team([](void* self, const Team& team) { static_cast<Measurement*>(self)->walk(team); }, this, plan_.threads);
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
    for (Step* step : plan_.list) {
      slot->arrive = slot->begin = now;
      if (team.size() > 1 && (step->barrier || team.size() != plan_.threads)) {
        team.barrier();
        slot->begin = now = now_ns();
      }
      if (team.size() > 1 && step->wide) {
        step->run(team);
        now = now_ns();
      } else if (team.rank() == 0) {
        step->run(Team());
        now = now_ns();
      }
      (slot++)->end = now;
      if (step->asks) {
        team.barrier();
        if (static_cast<graph::CheckStep*>(step)->failure != nullptr) return;
      }
    }
  }

  Plan::Impl& plan_;
  size_t steps_;
  std::vector<Slot> slots_;
  int64_t start_ = 0, stop_ = 0;
  int workers_ = 1;
};

// Figures of every step in every run.
class Statistics {
 public:
  Statistics(const Plan::Impl& plan, int runs) : plan_(plan), times_(plan.list.size()) {
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
      const bool everywhere = m.workers() != plan_.threads;  // a smaller team meets before every step
      if (i + 1 < times_.size() && !plan_.list[i + 1]->barrier && !plan_.list[i]->asks && !everywhere) continue;
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
  const Plan::Impl& plan_;
  std::vector<PerStep> times_;
  std::vector<double> totals_, rests_, idles_;
};

// Memory of the user's that the plan writes, kept and put back.
class Keeper {
 public:
  explicit Keeper(Plan::Impl& plan) {
    const graph::Program& p = plan.program;
    for (Step* step : plan.list)
      step->each_tensor([&](Tensor& t, bool written) {
        if (!written || t.shares_storage(p.arena) || t.shares_storage(p.results) || t.shares_storage(p.scratch)) return;
        const auto same = [&](const Tensor& u) {
          return u.raw() == t.raw() && u.shape() == t.shape() && u.strides() == t.strides() && u.dtype() == t.dtype();
        };
        if (std::any_of(places_.begin(), places_.end(), same)) return;
        places_.push_back(t);
        values_.push_back(clone(t));
      });
  }
  ~Keeper() {
    for (size_t i = 0; i < places_.size(); i++) copy_into(places_[i], values_[i]);
  }
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  std::vector<Tensor> places_, values_;
};

// The bytes that a step must read and write at least once; a broadcast operand counts once.
double bytes_of(Step& step) {
  std::vector<std::pair<const void*, bool>> seen;
  double bytes = 0;
  step.each_tensor([&](Tensor& t, bool written) {
    const std::pair<const void*, bool> key{t.raw(), written};
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) return;
    seen.push_back(key);
    double elements = 1;
    for (int a = 0; a < t.rank(); a++)
      if (t.strides()[a] != 0 || t.shape()[a] == 0) elements *= static_cast<double>(t.shape()[a]);
    bytes += elements * static_cast<double>(size_of(t.dtype()));
  });
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

void keep_trace(const Plan::Impl& plan, const Measurement& m, Profile& profile) {
  for (int w = 0; w < m.workers(); w++)
    for (size_t i = 0; i < plan.list.size(); i++) {
      const Slot& s = m.slot(w, i);
      const int step = static_cast<int>(i);
      if (s.begin > s.arrive) profile.trace.push_back({step, w, s.arrive - m.start(), s.begin - m.start(), true});
      if (s.end > s.begin) profile.trace.push_back({step, w, s.begin - m.start(), s.end - m.start(), false});
    }
}

}  // namespace

Profile Plan::profile(int runs, std::span<const Tensor* const> inputs) {
  Impl& plan = impl();
  if (runs < 1 || runs > 1'000'000)
    throw Error(plan.options.name + ": profile of " + std::to_string(runs) + " runs — give 1 to 1000000");
  const Busy busy(plan);
  std::vector<Tensor> zero;
  std::vector<const Tensor*> defaults;
  if (inputs.empty()) {
    for (const InputSpec& s : plan.specs) zero.push_back(zeros(s.shape, s.dtype));
    for (const Tensor& t : zero) defaults.push_back(&t);
    inputs = defaults;
  }
  const Unrecorded unrecorded;
  plan.bind(inputs);

  Profile profile;
  profile.plan = plan.options.name;
  profile.runs = runs;
  profile.threads = plan.threads;
  Measurement measurement(plan);
  Statistics statistics(plan, runs);
  std::vector<double> plain;
  plain.reserve(static_cast<size_t>(runs));
  // `how` runs the plan once; its time.
  const auto timed = [&](auto how) {
    for (Step* step : plan.prepared) step->before_run();
    for (graph::CheckStep* check : plan.checks) check->failure = nullptr;
    const int64_t start = now_ns();
    how();
    const int64_t stop = now_ns();
    for (graph::CheckStep* check : plan.checks)
      if (check->failure != nullptr) std::rethrow_exception(check->failure);
    return static_cast<double>(stop - start);
  };
  {
    const Keeper keeper(plan);
    timed([&] { measurement.run(); });  // caches and branches warm up
    for (int i = 0; i < runs; i++) {
      plain.push_back(timed([&] { plan.run(); }));
      timed([&] { measurement.run(); });
      statistics.add(measurement);
    }
  }
  profile.plain_us = median(plain) / 1000;
  keep_trace(plan, measurement, profile);
  for (Step* s : plan.list) {
    StepProfile& p = profile.steps.emplace_back();
    p.name = s->name;
    p.kind = s->kind;
    p.detail = s->detail();
    p.workers = s->wide ? measurement.workers() : 1;
    p.barrier = s->barrier && measurement.workers() > 1;
    p.flops = s->flops;
    p.bytes = s->asks ? 0 : bytes_of(*s);
  }
  statistics.fill(profile);
  for (size_t i = 0; i < profile.steps.size(); i++) {
    StepProfile& p = profile.steps[i];
    bool doubles = false;
    plan.list[i]->each_tensor([&](Tensor& t, bool written) { doubles |= written && t.dtype() == kF64; });
    if (p.us > 0 && p.bytes > 0) p.roofline = least_us(p, doubles) / p.us;
  }
  mark_critical(profile);
  return profile;
}

}  // namespace ingot
