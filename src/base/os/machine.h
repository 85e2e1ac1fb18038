// What the system says about the machine; what it does not say is 0 or "unknown".
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace ingot::os {

std::string cpu_name();
/// Of the data cache of level 1, 2 or 3.
uint64_t cache_bytes(int level);
/// "always", "madvise" or "never".
std::string huge_page_setting();
/// How many cores the control group's CPU quota pays for, rounded up; INT_MAX without a quota.
int quota_cores();

uint64_t ram_bytes();
/// RAM and swap: what the system could ever back with pages.
uint64_t ram_and_swap_bytes();
/// What programs can still take without swapping; RAM as a whole where the system does not say.
uint64_t free_ram_bytes();

}  // namespace ingot::os
