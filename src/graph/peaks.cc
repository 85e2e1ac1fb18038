#include "graph/peaks.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ingot/base/machine.h"

namespace ingot::graph {
namespace {

// Each figure takes a fraction of a second, so only those that are asked for are measured.
template <class Measure>
double remembered(int what, int threads, Measure measure) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, double> known;
  const std::lock_guard lock(mutex);
  const auto [at, fresh] = known.try_emplace({what, threads}, 0.0);
  if (fresh) at->second = measure();
  return at->second;
}

}  // namespace

double peak_gflops(int threads) {
  return remembered(-1, threads, [&] { return measure_fma_gflops(threads); });
}

double least_ns(double bytes, int threads) {
  static const MachineInfo info = machine_info();
  constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
  const auto known = [](uint64_t size, size_t otherwise) { return size > 0 ? static_cast<size_t>(size) : otherwise; };
  const size_t caches[] = {known(info.l1d_bytes, 32 * kKiB), known(info.l2_bytes, 512 * kKiB),
                           known(info.l3_bytes, 8 * kMiB)};
  const size_t probes[] = {caches[0] / 2, caches[1] / 2, std::min(caches[2] / 4, 16 * kMiB),
                           std::clamp(2 * caches[2], 128 * kMiB, 512 * kMiB)};
  const auto ns = [&](double part, int level) {
    return part * threads / remembered(level, threads, [&] { return measure_read_gbps(probes[level], threads); });
  };
  int level = 0;
  while (level < 3 && bytes > static_cast<double>(caches[level])) level++;
  if (level == 0) return ns(bytes, 0);
  const auto inner = static_cast<double>(caches[level - 1]);
  return ns(inner, level - 1) + ns(bytes - inner, level);
}

}  // namespace ingot::graph
