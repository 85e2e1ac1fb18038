// The system calls that writing a file depends on, behind pointers so that tests can make each of them fail.
#pragma once
#include <sys/types.h>

#include <cstddef>

namespace ingot::os {

struct SystemCalls {
  ssize_t (*write)(int file, const void* bytes, size_t count);
  int (*sync)(int file);
  int (*rename)(const char* from, const char* to);
};
extern SystemCalls system_calls;

}  // namespace ingot::os
