// Kernels are hidden in the shared library; what a system with a library of its own calls is marked.
#pragma once

#if defined(__GNUC__)
#define INGOT_PUBLIC __attribute__((visibility("default")))
#else
#define INGOT_PUBLIC
#endif
