// Sanitizers look at what code touches; running the same code again tells them nothing, and takes ten times as long.
#pragma once

namespace ingot {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace ingot
