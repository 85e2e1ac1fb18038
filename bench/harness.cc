#include "harness.h"

#include <dlfcn.h>
#include <malloc.h>
#include <unistd.h>

#include <ATen/Parallel.h>
#include <climits>
#include <cstdlib>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "ingot/base/text.h"
#include "ingot/base/threads.h"

namespace ingot::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// OpenMP's workers spin for some 10 ms after their work and would take a core from whoever comes next.
constexpr double kBurst = 0.040, kSettle = 0.025;
constexpr double kBurstAlone = 0.012, kSettleAlone = 0.003;  // with one thread nobody spins

// How many calls make a sample of about 20 µs: long against the clock, short against other people's time slices.
int64_t calls_per_sample(const std::function<void()>& run) {
  for (int i = 0; i < 3; i++) run();
  const auto start = Clock::now();
  int64_t calls = 0;
  while (seconds_since(start) < 1e-4) run(), calls++;
  return std::max<int64_t>(1, calls / 5);
}

double burst(const std::function<void()>& run, int64_t calls, bool alone) {
  const auto start = Clock::now();
  while (seconds_since(start) < (alone ? kSettleAlone : kSettle)) run();
  double best = 1e30;
  do {
    const auto sample = Clock::now();
    for (int64_t i = 0; i < calls; i++) run();
    best = std::min(best, seconds_since(sample) / static_cast<double>(calls));
  } while (seconds_since(start) < (alone ? kBurstAlone : kBurst));
  return best;
}

[[noreturn]] void misused(const std::string& what) {
  std::fprintf(stderr, "bench: %s — options are --threads N, --json FILE, --filter TEXT, --seconds S\n", what.c_str());
  std::exit(2);
}

}  // namespace

Suite::Suite(const char* name, int argc, char** argv) : name_(name) {
  for (int i = 1; i < argc; i++) {
    const std::string option = argv[i];
    if (i + 1 == argc) misused("\"" + option + "\" needs a value");
    const std::string value = argv[++i];
    char* end = nullptr;
    const double number = std::strtod(value.c_str(), &end);
    const bool numeric = end != value.c_str() && *end == '\0' && number > 0;
    if (option == "--threads" && numeric)
      options_.threads = {static_cast<int>(number)};
    else if (option == "--seconds" && numeric)
      options_.seconds = number;
    else if (option == "--json")
      options_.json = value;
    else if (option == "--filter")
      options_.filter = value;
    else
      misused("\"" + option + " " + value + "\" is not understood");
  }
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  if (options_.threads.empty()) options_.threads = cores > 1 ? std::vector<int>{1, cores} : std::vector<int>{1};
  std::printf("%-44s %7s %11s  %-9s %11s %7s\n", "case", "threads", "ingot us", "peer", "peer us", "ratio");
}

void Suite::set_threads(int n) {
  current_threads_ = n;
  ingot::set_threads(n);
  at::set_num_threads(n);
  for (const auto& setter : setters_) setter(n);
}

void Suite::compare(const std::string& label, const std::function<void()>& ingot, const std::vector<Contender>& peers,
                    const Amount& amount) {
  if (!wants(label)) return;
  std::vector<Contender> all{{"ingot", ingot}};
  all.insert(all.end(), peers.begin(), peers.end());
  std::vector<int64_t> calls;
  for (const Contender& c : all) calls.push_back(calls_per_sample(c.run));
  const int rounds = std::max(5, static_cast<int>(options_.seconds / (current_threads_ == 1 ? kBurstAlone : kBurst)));
  std::vector<std::vector<double>> times(all.size());
  for (int round = 0; round < rounds; round++)
    for (size_t i = 0; i < all.size(); i++) times[i].push_back(burst(all[i].run, calls[i], current_threads_ == 1));
  std::vector<double> micros;
  for (auto& t : times) {
    std::nth_element(t.begin(), t.begin() + static_cast<long>(t.size() / 2), t.end());
    micros.push_back(1e6 * t[t.size() / 2]);
  }
  if (peers.empty()) record(label, micros[0], amount);
  const nlohmann::json start{{"suite", name_}, {"case", label}, {"threads", current_threads_}, {"ingot_us", micros[0]}};
  for (size_t i = 1; i < all.size(); i++) {
    const Contender& peer = all[i];
    const auto beaten = [&](size_t j) {
      return all[j].name == peer.name && (micros[j] < micros[i] || (micros[j] == micros[i] && j < i));
    };
    bool best = true;
    for (size_t j = 1; j < all.size(); j++) best = best && !beaten(j);
    if (!best) continue;
    const double ratio = micros[i] / micros[0];
    char note[32] = "";
    if (peer.yardstick) std::snprintf(note, sizeof note, "%.2f times its time", 1 / ratio);
    std::printf("%-44s %7d %11.3f  %-9s %11.3f %7.2f  %s%s\n", label.c_str(), current_threads_, micros[0],
                peer.name.c_str(), micros[i], ratio, peer.setting.c_str(), note);
    nlohmann::json row = start;
    row.update({{"peer", peer.name}, {"peer_us", micros[i]}, {"ratio", ratio}});
    if (!peer.setting.empty()) row["setting"] = peer.setting;
    rows_.push_back(row);
    if (peer.yardstick) continue;
    auto [at, fresh] = worst_.try_emplace({current_threads_, label}, ratio);
    if (!fresh) at->second = std::min(at->second, ratio);
  }
  std::fflush(stdout);
}

void Suite::record(const std::string& label, double micros, const Amount& amount,
                   const std::map<std::string, double>& peers) {
  nlohmann::json row{{"suite", name_}, {"case", label}, {"threads", current_threads_}, {"ingot_us", micros}};
  char note[64] = "";
  if (amount.count > 0) {
    const double per_second = amount.count / micros * 1e6;
    row.update({{"per_second", per_second}, {"unit", amount.unit}});
    std::snprintf(note, sizeof note, "  %s %s/s", format_count(per_second).c_str(), amount.unit.c_str());
  }
  if (peers.empty()) {
    std::printf("%-44s %7d %11.3f%s\n", label.c_str(), current_threads_, micros, note);
    rows_.push_back(row);
  }
  for (const auto& [peer, peer_micros] : peers) {
    const double ratio = peer_micros / micros;
    std::printf("%-44s %7d %11.3f  %-9s %11.3f %7.2f%s\n", label.c_str(), current_threads_, micros, peer.c_str(),
                peer_micros, ratio, note);
    row.update({{"peer", peer}, {"peer_us", peer_micros}, {"ratio", ratio}});
    rows_.push_back(row);
    auto [at, fresh] = worst_.try_emplace({current_threads_, label}, ratio);
    if (!fresh) at->second = std::min(at->second, ratio);
  }
  std::fflush(stdout);
}

Suite::~Suite() {
  // Per thread count: the geometric mean against the best peer of each case, and the worst case.
  for (const int n : options_.threads) {
    double logs = 0, worst = 1e30;
    std::string label;
    int count = 0;
    for (const auto& [at, ratio] : worst_)
      if (at.first == n) {
        logs += std::log(ratio), count++;
        if (ratio < worst) worst = ratio, label = at.second;
      }
    if (count == 0) continue;
    std::printf("%d thread%s: against the best peer, geometric mean %.2f, worst %.2f (%s)\n", n, n == 1 ? "" : "s",
                std::exp(logs / count), worst, label.c_str());
  }
  if (options_.json.empty()) return;
  std::ofstream out(options_.json);
  for (const auto& row : rows_) out << row.dump() << "\n";
  if (!out.flush()) std::fprintf(stderr, "bench: cannot write %s\n", options_.json.c_str());
}

// libtorch's tuned allocator: with tcmalloc that never gives memory back, it took 3 to 11 % less time in every case
// than with glibc's malloc told the same (mallopt, huge pages), which took up to half of the stock malloc's time;
// jemalloc came between them. Preloading needs a new start. Ingot's plans do not allocate when they run; compile-1000
// does.
void use_tuned_allocator(char** argv) {
  const char* library = "libtcmalloc_minimal.so.4";
  if (dlsym(RTLD_DEFAULT, "tc_malloc") != nullptr) return;
  if (std::getenv("INGOT_BENCH_STARTED") == nullptr && dlopen(library, RTLD_NOW | RTLD_LOCAL) != nullptr) {
    setenv("LD_PRELOAD", library, 1);
    setenv("TCMALLOC_RELEASE_RATE", "0", 1);
    setenv("INGOT_BENCH_STARTED", "1", 1);
    execv("/proc/self/exe", argv);
  }
  std::fprintf(stderr, "bench: %s is not there; libtorch gets a tuned glibc malloc, a few per cent slower\n", library);
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace ingot::bench
