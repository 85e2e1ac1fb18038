// The one cost model: roughly what one core does in a nanosecond, and from where on work is worth sharing. Eager calls
// find their operands in memory (cold), the records of a plan mostly in the cache (warm).
#pragma once

namespace ingot::cost {

inline constexpr double kColdBytes = 20, kWarmBytes = 40;
inline constexpr double kColdFlops = 40, kWarmFlops = 60;
inline constexpr double kColdAdditions = 4, kWarmAdditions = 8;  // of an element-wise op, whose weight counts in them

// Nanoseconds.
inline constexpr double kCallWorthSharing = 10'000;   // an eager call may have to wake the team
inline constexpr double kRecordWorthSharing = 1'500;  // in a plan the team is awake
inline constexpr double kPlanWorthWaking = 15'000;    // sum of the records that are worth sharing

}  // namespace ingot::cost
