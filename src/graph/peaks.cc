#include "graph/peaks.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "ingot/machine.h"

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

double peak_gbps(size_t bytes, int threads) {
  static const MachineInfo info = machine_info();
  constexpr size_t kKiB = 1024, kMiB = 1024 * kKiB;
  const auto known = [](uint64_t size, size_t otherwise) { return size > 0 ? static_cast<size_t>(size) : otherwise; };
  const size_t caches[] = {known(info.l1d_bytes, 32 * kKiB), known(info.l2_bytes, 512 * kKiB),
                           known(info.l3_bytes, 8 * kMiB)};
  const size_t probes[] = {caches[0] / 2, caches[1] / 2, std::min(caches[2] / 4, 16 * kMiB),
                           std::clamp(2 * caches[2], 128 * kMiB, 512 * kMiB)};
  int level = 0;
  while (level < 3 && bytes > caches[level]) level++;
  return remembered(level, threads, [&] { return measure_read_gbps(probes[level], threads); });
}

}  // namespace ingot::graph
