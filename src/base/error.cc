#include "ingot/base/error.h"

namespace ingot {

const char* name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kArgument: return "argument";
    case ErrorKind::kShape: return "shape";
    case ErrorKind::kType: return "type";
    case ErrorKind::kFile: return "file";
    case ErrorKind::kMemory: return "memory";
    case ErrorKind::kNumeric: return "numeric";
    case ErrorKind::kCancelled: return "cancelled";
    case ErrorKind::kInternal: return "internal";
  }
  return "internal";
}

std::string Error::place() const {
  const std::string text = what();
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? std::string() : text.substr(0, colon);
}

}  // namespace ingot
