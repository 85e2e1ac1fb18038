// Files that live inside the program: the recipes and their data.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ingot::cli {

struct EmbeddedFile {
  std::string_view name;  // "digits.toml", "digits.csv.gz"
  std::span<const std::byte> bytes;
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

/// All of them, by name.
std::span<const EmbeddedFile> embedded_files();
/// The file of this name; nullptr if there is none.
const EmbeddedFile* find_embedded(std::string_view name);

}  // namespace ingot::cli
