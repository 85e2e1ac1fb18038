// Files that live inside a program: recipes and their data.
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

#include "ingot/base/export.h"

namespace ingot::recipe {

struct EmbeddedFile {
  std::string_view name;  // "digits.toml", "digits.csv.gz"
  std::string_view text;  // its bytes
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text)); }
};

/// Those of this library, by name. Systems have their own.
INGOT_API std::span<const EmbeddedFile> embedded_files();

}  // namespace ingot::recipe
