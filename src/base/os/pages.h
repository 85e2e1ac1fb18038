// Memory straight from the system.
#pragma once
#include <cstddef>

namespace ingot::os {

inline constexpr size_t kHugePage = size_t{2} << 20;

/// `bytes` of zeros that start on a huge page, on huge pages where the system offers them; null if it refuses.
void* map_pages(size_t bytes);
/// Gives back what `map_pages(bytes)` returned.
void unmap_pages(void* start, size_t bytes) noexcept;

}  // namespace ingot::os
