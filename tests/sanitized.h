// Sanitizers look at what code touches; running the same code again tells them nothing, and takes ten times as long.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define INGOT_SANITIZED 1
#elif defined(__has_feature)  // clang's way to say it
#define INGOT_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define INGOT_SANITIZED 0
#endif

namespace ingot {

inline constexpr bool kSanitized = INGOT_SANITIZED;

}  // namespace ingot
