// The one exception type of Ingot.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

#include "ingot/base/export.h"

namespace ingot {

/// What kind of thing went wrong: what a caller, a binding or an exit code goes by.
enum class ErrorKind : uint8_t {
  kArgument,   // a value, a name or an option that does not fit
  kShape,      // shapes that do not go together
  kType,       // a dtype that does not fit
  kFile,       // a file that is missing, broken or cannot be written
  kMemory,     // more bytes than there are, or than the limit allows
  kNumeric,    // NaN or infinity where a number was due; a loss that diverges
  kCancelled,  // somebody asked to stop
  kInternal,   // a fault of Ingot's
};

/// "argument", "shape", …
INGOT_API const char* name(ErrorKind kind);

/// What every public function throws on bad input. The text reads `place: what went wrong (shapes) — hint`.
class INGOT_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& text) : Error(ErrorKind::kArgument, text) {}
  Error(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  ErrorKind kind() const { return kind_; }
  /// Who says it: the op, the file, the plan — the text up to its first colon.
  std::string place() const;

 private:
  ErrorKind kind_;
};

}  // namespace ingot
