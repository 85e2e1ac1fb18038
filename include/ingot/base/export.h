// What the shared libraries export is marked INGOT_API, in public headers only; everything else is compiled hidden. A class is
// marked when one of its functions is defined in a library, or when programs meet its type at run time (thrown, cast, deleted).
#pragma once

#if defined(__GNUC__)
#define INGOT_API __attribute__((visibility("default")))
#define INGOT_PRIVATE __attribute__((visibility("hidden")))  // a part of a marked class that is not for its users
#else
#define INGOT_API
#define INGOT_PRIVATE
#endif
