#include "base/os/machine.h"

#include <unistd.h>
#if defined(__linux__)
#include <sys/sysinfo.h>
#endif

#include <algorithm>
#include <climits>
#include <fstream>

namespace ingot::os {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

// The kernel's own table; sysconf reports nonsense for L3 on some virtual machines.
uint64_t cache_bytes(int level) {
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::string type;
    int found_level = 0;
    uint64_t size = 0;
    char unit = 0;
    std::ifstream(folder + "level") >> found_level;
    std::ifstream(folder + "type") >> type;
    std::ifstream(folder + "size") >> size >> unit;
    if (found_level == level && type != "Instruction")
      return size * (unit == 'M' ? 1 << 20 : unit == 'K' ? 1 << 10 : 1);
  }
  return 0;
}

// The file reads like "always [madvise] never"; brackets mark the setting.
std::string huge_page_setting() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; file >> word;)
    if (word.size() > 2 && word.front() == '[') return word.substr(1, word.size() - 2);
  return "unknown";
}

// Every ancestor's quota counts.
int quota_cores() {
  int cores = INT_MAX;
  std::ifstream self("/proc/self/cgroup");
  for (std::string line; std::getline(self, line);) {
    if (!line.starts_with("0::/")) continue;
    std::string path = line.substr(3);
    for (;;) {
      std::ifstream limit("/sys/fs/cgroup" + path + "/cpu.max");
      int64_t quota = 0, period = 0;  // an unlimited group says "max" for the quota, which does not parse
      if (limit >> quota >> period && quota > 0 && period > 0)
        cores = static_cast<int>(std::min<int64_t>(cores, (quota + period - 1) / period));
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return cores;
}

uint64_t ram_bytes() {
  return static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t ram_and_swap_bytes() {
#if defined(__linux__)
  struct sysinfo info = {};
  if (sysinfo(&info) == 0) return (uint64_t{info.totalram} + info.totalswap) * info.mem_unit;
#endif
  return ram_bytes();
}

uint64_t free_ram_bytes() {
  std::ifstream info("/proc/meminfo");
  for (std::string name, line; info >> name; std::getline(info, line)) {
    uint64_t kib = 0;
    if (name == "MemAvailable:" && info >> kib) return kib << 10;
  }
  return ram_bytes();
}

}  // namespace ingot::os
