// `ingot doctor`: what the machine offers, measured, and the targets of the kernels as a pass/fail table.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "ingot/ingot.h"
#include "ingot/recipe/terminal.h"
#include "ingot/recipe/value.h"

namespace ingot::cli {
namespace {

using namespace recipe;

constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;

/// Milliseconds of the best run of `body` within a fraction of a second.
template <class Body>
double best_ms(Body body) {
  using Clock = std::chrono::steady_clock;
  body();
  double best = 1e30;
  const auto end = Clock::now() + std::chrono::milliseconds(300);
  do {
    const auto start = Clock::now();
    body();
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  } while (Clock::now() < end);
  return best;
}

struct Target {
  std::string name, limit;
  double measured, share;  // in the limit's unit; share of what the machine can do at most
  std::string unit, of;
  bool pass;
};

struct Level {
  const char* name;
  size_t bytes;
};

std::vector<Level> memory_levels(const MachineInfo& info) {
  return {{"L1", info.l1d_bytes ? info.l1d_bytes / 2 : 16 * kKiB},
          {"L2", info.l2_bytes ? info.l2_bytes / 2 : 256 * kKiB},
          {"L3", info.l3_bytes ? info.l3_bytes / 4 : 4 * kMiB},
          {"DRAM", std::max<size_t>(info.l3_bytes * 4, 128 * kMiB)}};
}

// An element-wise or reducing op on 1 M floats, against the time its bytes take at the bandwidth of the cache they lie
// in.
template <class Body>
Target bandwidth_target(const std::string& name, double limit_ms, double bytes, double gbps, Body body) {
  const double ms = best_ms(body);
  return {name, fmt::format("< {} ms", limit_ms), ms, bytes / (ms * 1e6) / gbps, "ms", "L3 read", ms < limit_ms};
}

// 1000³ in 10 ms needs 200 GFLOP/s; where the machine's peak is below that, 88 % of the peak is what the best BLAS
// reaches.
Target matmul_target(double peak) {
  const Tensor a = uniform({1000, 1000}, 1), b = uniform({1000, 1000}, 2), c = Tensor::empty({1000, 1000});
  const double ms = best_ms([&] { matmul_into(c, a, b); });
  const double share = 2000 / ms / peak;
  const bool reachable = peak * 0.95 > 200;
  return {"matmul 1000 x 1000 x 1000",       reachable ? "< 10 ms" : "> 88 % of peak", ms, share, "ms", "FMA peak",
          reachable ? ms < 10 : share > 0.88};
}

// The same in double: half the lanes, half the speed.
Target matmul_f64_target(double peak) {
  const Tensor a = to(uniform({1000, 1000}, 1), kF64), b = to(uniform({1000, 1000}, 2), kF64);
  const Tensor c = Tensor::empty({1000, 1000}, kF64);
  const double ms = best_ms([&] { matmul_into(c, a, b); }), share = 2000 / ms / (peak / 2);
  return {"matmul 1000³, f64", "> 85 % of peak", ms, share, "ms", "FMA peak f64", share > 0.85};
}

using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
using SetThreads = void (*)(int);

// Milliseconds that the best BLAS installed here needs for 1000³; 0 if there is none. Looked for at run time: no part of
// Ingot needs one.
double best_blas_ms(int threads) {
  struct Library {
    const char *file, *set_threads;
  };
  double best = 0;
  for (const Library& library : {Library{"libopenblas.so.0", "openblas_set_num_threads"},
                                 Library{"libblis.so.4", "bli_thread_set_num_threads"}}) {
    void* const handle = dlopen(library.file, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) continue;
    const auto sgemm = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
    if (sgemm == nullptr) continue;
    if (const auto set = reinterpret_cast<SetThreads>(dlsym(handle, library.set_threads))) set(threads);
    const int n = 1000, rows = 101, plain = 111;  // CblasRowMajor, CblasNoTrans
    const Tensor a = uniform({n, n}, 1), b = uniform({n, n}, 2), c = Tensor::empty({n, n});
    const double ms = best_ms(
        [&] { sgemm(rows, plain, plain, n, n, n, 1, a.data<float>(), n, b.data<float>(), n, 0, c.data<float>(), n); });
    best = best == 0 ? ms : std::min(best, ms);
  }
  return best;
}

Target blas_target(double ours_ms, double blas_ms) {
  const double share = blas_ms / ours_ms;
  return {"matmul 1000³ beside BLAS", ">= 95 %", blas_ms, share, "ms", "the best BLAS", share >= 0.95};
}

// A chain of 1,000 ops, and its gradient (requirement G1).
Target compile_target() {
  const double ms = best_ms([] {
    compile(
        [](const Tensor& x) {
          Tensor y = x;
          for (int i = 0; i < 500; i++) y = tanh(y + x);
          return gradients(sum(y), {x})[0];
        },
        {{64}});
  });
  return {"compile 1,000 ops + gradient", "< 100 ms", ms, 100 / ms, "ms", "the limit", ms < 100};
}

std::vector<Target> measure_targets(double peak, double l3_gbps) {
  const int64_t n = 1'000'000;
  const Tensor x = uniform({n}, 1, -3, 3), y = uniform({n}, 2, -3, 3), out = Tensor::empty({n}),
               one = Tensor::empty({});
  const double mb = 4.0 * static_cast<double>(n);
  std::vector<Target> targets;
  targets.push_back(matmul_target(peak));
  if (const double ms = best_blas_ms(ingot::threads()); ms > 0) targets.push_back(blas_target(targets[0].measured, ms));
  targets.push_back(matmul_f64_target(peak));
  targets.push_back(compile_target());
  targets.push_back(bandwidth_target("add, 1 M elements", 1, 3 * mb, l3_gbps, [&] { add_into(out, x, y); }));
  targets.push_back(bandwidth_target("exp, 1 M elements", 1, 2 * mb, l3_gbps, [&] { exp_into(out, x); }));
  targets.push_back(bandwidth_target("tanh, 1 M elements", 1, 2 * mb, l3_gbps, [&] { tanh_into(out, x); }));
  targets.push_back(bandwidth_target("sigmoid, 1 M elements", 1, 2 * mb, l3_gbps, [&] { sigmoid_into(out, x); }));
  targets.push_back(bandwidth_target("sum, 1 M elements", 2, mb, l3_gbps, [&] { sum_into(one, x); }));
  targets.push_back(bandwidth_target("max, 1 M elements", 2, mb, l3_gbps, [&] { max_into(one, x); }));
  return targets;
}

void print_rule() { fmt::print("{:─<78}\n", ""); }

int doctor(bool json) {
  const MachineInfo info = machine_info();
  const int threads = ingot::threads();
  const std::vector<Level> levels = memory_levels(info);
  const bool colour = !json && recipe::has_colours();

  const double peak_one = measure_fma_gflops(1), peak = measure_fma_gflops(threads);
  std::vector<std::pair<double, double>> reads;
  reads.reserve(levels.size());
  for (const Level& level : levels)
    reads.push_back({measure_read_gbps(level.bytes, 1), measure_read_gbps(level.bytes, threads)});
  const double triad_one = measure_triad_gbps(64 * kMiB, 1), triad = measure_triad_gbps(64 * kMiB, threads);
  const double barrier = threads > 1 ? measure_barrier_ns(threads) : 0;
  const std::vector<Target> targets = measure_targets(peak, reads[2].second);
  const bool all = std::all_of(targets.begin(), targets.end(), [](const Target& t) { return t.pass; });

  if (json) {
    Value read_gbps, rows = empty_list();
    for (size_t i = 0; i < levels.size(); i++) read_gbps.set(levels[i].name, reads[i].second);
    for (const Target& t : targets)
      rows.add(record({{"name", t.name},
                       {"limit", t.limit},
                       {"measured", t.measured},
                       {"unit", t.unit},
                       {"share", t.share},
                       {"share_of", t.of},
                       {"pass", t.pass}}));
    const Value machine = record({{"cpu", info.cpu},
                                  {"simd", info.simd},
                                  {"cores", info.cores},
                                  {"threads", threads},
                                  {"l1d_bytes", info.l1d_bytes},
                                  {"l2_bytes", info.l2_bytes},
                                  {"l3_bytes", info.l3_bytes},
                                  {"ram_bytes", info.ram_bytes},
                                  {"huge_pages", info.huge_pages},
                                  {"fma_gflops", peak},
                                  {"triad_gbps", triad},
                                  {"barrier_ns", barrier},
                                  {"read_gbps", read_gbps}});
    fmt::print("{}\n", to_json(record({{"machine", machine}, {"targets", rows}}), 2));
    return all ? 0 : kNo;
  }

  fmt::print("This machine\n");
  print_rule();
  fmt::print("  processor      {}\n  instructions   {}\n  cores          {} usable, {} threads in use\n", info.cpu,
             info.simd, info.cores, threads);
  fmt::print("  caches         L1 {}, L2 {}, L3 {}\n", format_bytes(info.l1d_bytes), format_bytes(info.l2_bytes),
             format_bytes(info.l3_bytes));
  fmt::print("  memory         {}, huge pages: {}\n\n", format_bytes(info.ram_bytes), info.huge_pages);
  fmt::print("  {:<28}{:>14}{:>16}\n", "measured", "1 thread",
             fmt::format("{} thread{}", threads, threads == 1 ? "" : "s"));
  fmt::print("  {:<28}{:>14.0f}{:>16.0f}\n", "FMA peak f32, GFLOP/s", peak_one, peak);
  for (size_t i = 0; i < levels.size(); i++)
    fmt::print("  {:<28}{:>14.0f}{:>16.0f}\n",
               fmt::format("read {} ({}), GB/s", levels[i].name, format_bytes(levels[i].bytes)), reads[i].first,
               reads[i].second);
  fmt::print("  {:<28}{:>14.0f}{:>16.0f}\n", "triad DRAM, GB/s", triad_one, triad);
  fmt::print("  {:<28}{:>14}{:>16}\n\n", "barrier, ns", "-", threads > 1 ? fmt::format("{:.0f}", barrier) : "-");

  fmt::print("Targets, {} thread{}\n", threads, threads == 1 ? "" : "s");
  print_rule();
  for (const Target& t : targets)
    fmt::print("  {}{}{}  {:<28}{:>16}{:>10.3f} {:<3}{:>5.0f} % of {}\n",
               colour ? (t.pass ? "\033[32m" : "\033[31m") : "", t.pass ? "pass" : "FAIL", colour ? "\033[0m" : "",
               t.name, t.limit, t.measured, t.unit, 100 * t.share, t.of);
  print_rule();
  fmt::print(
      "{}\n",
      all ? "All targets are met."
          : "Some targets are missed. Other programs on the machine? Run `ingot doctor` again when it is quiet.");
  return all ? 0 : kNo;  // scripts can ask
}

}  // namespace

Command doctor_command() {
  auto json = std::make_shared<bool>(false);
  return {.name = "doctor",
          .about = "What this machine offers, and whether Ingot reaches its targets on it",
          .options = {{"--json", json.get(), "print JSON"},
                      threads_option("measure with this many threads (default: INGOT_THREADS, or all cores)")},
          .run = [json] { return doctor(*json); },
          .footer = recipe::fixed_text("For instance:\n  ingot doctor\n  ingot doctor --threads 1 --json")};
}

}  // namespace ingot::cli
