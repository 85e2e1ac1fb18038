#include "ingot/base/machine.h"

#include <algorithm>
#include <vector>

#include "base/machine_loops.h"
#include "base/os/machine.h"
#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/simd.h"
#include "ingot/base/threads.h"

namespace ingot {
namespace {

constexpr int64_t kMeasureNs = 40'000'000;

// Sets the thread count and gives the old one back.
class WithThreads {
 public:
  explicit WithThreads(int n) { set_threads(n); }
  ~WithThreads() { set_threads(before_); }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  const int before_ = threads();
};

class Floats {
 public:
  explicit Floats(int64_t n) : n_(n), data_(static_cast<float*>(allocate_bytes(bytes()))) {}
  ~Floats() { free_bytes(data_, bytes()); }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  float* data() { return data_; }

 private:
  size_t bytes() const { return static_cast<size_t>(n_) * sizeof(float); }
  int64_t n_;
  float* data_;
};

int64_t floats_in(const char* caller, size_t bytes) {
  const size_t block = kLoopFloats * sizeof(float);
  if (bytes < block || bytes > size_t{1} << 46)
    throw Error(std::string(caller) + ": a buffer of " + format_bytes(bytes) + " — use " + format_bytes(block) +
                " to " + format_bytes(uint64_t{1} << 46));
  return static_cast<int64_t>(bytes / block) * kLoopFloats;
}

// The shortest time of `body(team)` on a whole team, from the moment all are there to the moment all are done.
template <class Body>
double best_ns(const Body& body) {
  int64_t best = INT64_MAX;
  const int64_t stop = now_ns() + kMeasureNs;
  for (int run = 0; run < 3 || now_ns() < stop; ++run) {
    parallel(true, [&](const Team& team) {
      team.barrier();
      const int64_t start = now_ns();
      body(team);
      team.barrier();
      if (team.rank() == 0) best = std::min(best, now_ns() - start);
    });
  }
  return static_cast<double>(std::max<int64_t>(best, 1));
}

}  // namespace

MachineInfo machine_info() {
  MachineInfo info;
  info.cpu = os::cpu_name();
  info.simd = name(simd());
  info.cores = usable_cores();
  info.l1d_bytes = os::cache_bytes(1);
  info.l2_bytes = os::cache_bytes(2);
  info.l3_bytes = os::cache_bytes(3);
  info.ram_bytes = os::ram_bytes();
  info.free_bytes = os::free_ram_bytes();
  info.huge_pages = os::huge_page_setting();
  return info;
}

double measure_fma_gflops(int threads) {
  const WithThreads with(threads);
  double operations = 0;
  const double ns = best_ns([&](const Team& team) {
    float sink = 0;
    const double mine = fma_loop(200'000, &sink);
    if (team.rank() == 0) operations = mine * team.size();
  });
  return operations / ns;
}

double measure_read_gbps(size_t bytes, int threads) {
  const int64_t n = floats_in("measure_read_gbps", bytes);
  const WithThreads with(threads);
  Floats buffer(n * threads);
  parallel(true, [&](const Team& team) {  // each worker touches its own part first, so its pages are near it
    const auto [first, last] = team.share(n * threads, n);
    std::fill(buffer.data() + first, buffer.data() + last, 1.0f);
  });
  const int64_t passes = std::max<int64_t>(1, (int64_t{1} << 20) / n);
  const double ns = best_ns([&](const Team& team) {
    float sink = 0;
    const auto [first, last] = team.share(n * threads, n);
    for (int64_t i = first; i < last; i += n) read_loop(buffer.data() + i, n, passes, &sink);
  });
  return static_cast<double>(n) * threads * static_cast<double>(passes) * sizeof(float) / ns;
}

double measure_triad_gbps(size_t bytes, int threads) {
  const int64_t n = floats_in("measure_triad_gbps", bytes);
  const WithThreads with(threads);
  Floats a(n), b(n), c(n);
  parallel(true, [&](const Team& team) {
    const auto [first, last] = team.share(n, kLoopFloats);
    for (float* data : {a.data(), b.data(), c.data()}) std::fill(data + first, data + last, 1.0f);
  });
  const int64_t passes = std::max<int64_t>(1, (int64_t{1} << 18) / n);
  const double ns = best_ns([&](const Team& team) {
    const auto [first, last] = team.share(n, kLoopFloats);
    for (int64_t pass = 0; pass < passes; ++pass)
      triad_loop(a.data() + first, b.data() + first, c.data() + first, last - first);
  });
  return 3.0 * static_cast<double>(n) * static_cast<double>(passes) * sizeof(float) / ns;
}

double measure_barrier_ns(int threads) {
  constexpr int kBatch = 100;
  const WithThreads with(threads);
  std::vector<double> times;
  const int64_t stop = now_ns() + kMeasureNs;
  for (int run = 0; run < 5 || (run < 1000 && now_ns() < stop); ++run) {
    parallel(true, [&](const Team& team) {
      team.barrier();
      const int64_t start = now_ns();
      for (int i = 0; i < kBatch; ++i) team.barrier();
      if (team.rank() == 0) times.push_back(static_cast<double>(now_ns() - start) / kBatch);
    });
  }
  std::nth_element(times.begin(), times.begin() + static_cast<int64_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace ingot
