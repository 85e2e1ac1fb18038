#include "tests/graph/random_graph_checks.h"

#include <algorithm>
#include <cmath>

#include "graph/schedule.h"
#include "ingot/base/error.h"
#include "ingot/graph/grad.h"
#include "ingot/ops/ops.h"

namespace ingot::harness {
namespace {

// Random graphs are small: without this no plan would wake the team.
struct ShareEverything {
  ShareEverything() { graph::share_every_step = true; }
  ~ShareEverything() {
    graph::share_every_step = false;
    set_threads(before);
  }
  int before = threads();
};

// Results of one run: what is returned, then what is left in the states.
std::vector<Tensor> snapshot(const RandomGraph& graph, std::span<const Tensor> results) {
  std::vector<Tensor> all;
  for (const Tensor& t : results) all.push_back(clone(t));
  for (const Tensor& t : graph.states()) all.push_back(clone(t));
  return all;
}

testing::AssertionResult near(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " results, not " << b.size();
  for (size_t i = 0; i < a.size(); i++) {
    const double units = a[i].dtype() == kF32 ? 1e-3 / 0x1p-23 : 1e-10 / 0x1p-52;
    if (auto r = close(a[i], b[i], {0, units}, 1); !r) return r << " in result " << i;
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  for (size_t i = 0; i < a.size(); i++)
    if (auto r = same_bits(a[i], b[i]); !r) return r << " in result " << i;
  return testing::AssertionSuccess();
}

std::string list_of(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += " " + n;
  return text.empty() ? " nothing" : text;
}

std::vector<std::vector<std::string>> choices_of_passes(Random& random) {
  std::vector<std::vector<std::string>> choices(1);
  std::vector<std::string> all;
  for (const char* name : pass_names()) {
    choices.push_back({name});
    all.emplace_back(name);
  }
  for (int k = 0; k < 3; k++) {
    choices.emplace_back();
    for (const char* name : pass_names())
      if (random.chance(0.5)) choices.back().emplace_back(name);
  }
  choices.push_back(all);
  return choices;
}

RandomGraphOptions options_of(uint64_t seed) {
  RandomGraphOptions options;
  options.dtype = seed % 4 == 0 ? kF32 : kF64;
  options.ops = 4 + static_cast<int>(seed * 7 % 24);
  options.stores = seed % 3 != 0;
  return options;
}

Plan plan_of(const RandomGraph& graph, const std::vector<std::string>& without, int threads) {
  set_threads(threads);
  PlanOptions options;
  options.without = without;
  options.threads = threads;
  return compile([&](std::span<const Tensor> in) { return graph(in); }, graph.specs(), options);
}

}  // namespace

void check_planned(uint64_t seed) {
  const ShareEverything small;
  const RandomGraph graph(seed, options_of(seed));
  Random random(seed + 1000000);
  const std::vector<Tensor> eager = snapshot(graph, graph(graph.inputs()));
  std::vector<Placed> strided;
  std::vector<const Tensor*> strided_inputs;
  for (const Tensor& t : graph.inputs())
    strided.emplace_back(t, random.chance(0.5) ? Layout::kTransposed : Layout::kReversed);
  strided_inputs.reserve(strided.size());
  for (const Placed& p : strided) strided_inputs.push_back(&p.tensor());
  const std::vector<std::vector<std::string>> choices = choices_of_passes(random);
  for (size_t choice = 0; choice < choices.size(); choice++) {
    const std::vector<std::string>& without = choices[choice];
    // All thread counts for all passes, no passes and a mixture; the other choices take turns.
    std::vector<int> counts = {1 + static_cast<int>((seed + choice) % 3)};
    if (choice == 0 || choice + 2 >= choices.size()) counts = {1, 2, 3};
    std::vector<Tensor> first;
    for (const int threads : counts) {
      graph.reset_states();
      Plan plan = plan_of(graph, without, threads);
      const auto where = [&] {
        return "seed " + std::to_string(seed) + ", threads " + std::to_string(threads) + ", without" +
               list_of(without) + "\n" + graph.text() + plan.describe(true);
      };
      const std::vector<Tensor> planned = snapshot(graph, plan.run(graph.input_pointers()));
      ASSERT_TRUE(near(planned, eager)) << where();
      if (first.empty()) first = planned;
      ASSERT_TRUE(same(planned, first)) << "another number of threads, other bits: " << where();
      graph.reset_states();
      ASSERT_TRUE(same(snapshot(graph, plan.run(strided_inputs)), first)) << "second run, strided: " << where();
    }
  }
}

void check_gradients(uint64_t seed) {
  const ShareEverything small;
  RandomGraphOptions options;
  options.smooth = true;
  options.ops = 3 + static_cast<int>(seed % 10);
  options.most = 400;
  const RandomGraph graph(seed, options);
  Random random(seed + 2000000);
  // What to differentiate by, in memory of its own so that it can be moved.
  std::vector<Tensor> by = graph.inputs();
  by.insert(by.end(), graph.parameters().begin(), graph.parameters().end());
  std::vector<std::vector<Tensor>> found;
  for (int way = 0; way < 3; way++) {
    const int threads = way == 1 ? 3 : 1;
    set_threads(threads);
    PlanOptions plan_options;
    plan_options.threads = threads;
    if (way == 2)
      for (const char* name : pass_names()) plan_options.without.emplace_back(name);
    Plan plan = compile(
        [&](std::span<const Tensor> in) {
          std::vector<Tensor> wrt(in.begin(), in.end());
          wrt.insert(wrt.end(), graph.parameters().begin(), graph.parameters().end());
          return gradients(graph.loss(in), wrt, Unused::kZeros);
        },
        graph.specs(), plan_options);
    found.emplace_back();
    for (const Tensor& g : plan.run(graph.input_pointers())) found.back().push_back(clone(g));
  }
  const auto where = [&] { return "seed " + std::to_string(seed) + "\n" + graph.text(); };
  ASSERT_TRUE(same(found[1], found[0])) << "3 threads, other bits: " << where();
  ASSERT_TRUE(near(found[2], found[0])) << "no passes: " << where();
  for (size_t i = 0; i < by.size(); i++) {
    ASSERT_EQ(found[0][i].shape(), by[i].shape()) << where();
    const Tensor direction = random.tensor(by[i].shape(), kF64, -1, 1), before = copy(by[i]);
    const double slope = sum(found[0][i] * direction).item<double>();
    const auto at = [&](double step) {
      add_scaled_into(by[i], before, direction, step);
      const double value = graph.loss(graph.inputs()).item<double>();
      copy_into(by[i], before);
      return value;
    };
    double numeric = 0;
    bool agree = false;
    for (double step : {1e-4, 1e-3, 1e-5, 1e-6, 1e-7}) {  // the small ones for graphs that jump close by
      numeric = (8 * (at(step) - at(-step)) - (at(2 * step) - at(-2 * step))) / (12 * step);
      agree = agree || std::fabs(numeric - slope) <= 1e-7 * std::max(1.0, std::fabs(slope));
    }
    ASSERT_TRUE(agree) << "the slope by tensor " << i << " is " << numeric << ", its gradient says " << slope << "; "
                       << where();
  }
}

void add_waste(uint64_t seed, ArenaWaste& waste) {
  const auto add = [&](const Plan& plan) {
    const PlanBytes b = plan.bytes();
    ASSERT_GE(b.arena, b.live_peak) << "seed " << seed;
    if (b.live_peak == 0) return;
    const double ratio = static_cast<double>(b.arena) / static_cast<double>(b.live_peak);
    waste.worst = std::max(waste.worst, ratio);
    waste.arena += static_cast<double>(b.arena);
    waste.peak += static_cast<double>(b.live_peak);
    waste.above += ratio > 1.10;
    waste.plans++;
  };
  const RandomGraph graph(seed, options_of(seed));
  for (const std::vector<std::string>& without : {std::vector<std::string>{}, {"chains", "in_place"}})
    add(plan_of(graph, without, 2));
  RandomGraphOptions options;
  options.smooth = true;
  options.ops = 20;
  const RandomGraph trained(seed, options);
  add(compile([&](std::span<const Tensor> in) { return gradients(trained.loss(in), in, Unused::kZeros); },
              trained.specs()));
}

}  // namespace ingot::harness
