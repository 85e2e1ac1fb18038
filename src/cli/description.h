// A description of a training job: a TOML file or a recipe, with what the command line changes, checked and complete.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "cli/keys.h"

namespace ingot::cli {

struct Description {
  std::string name;  // of the recipe, or the file without its ending
  Value root;

  const Value& section(std::string_view which) const { return Settings(root).value(which); }
  Settings settings(std::string_view which) const { return Settings(section(which)); }
  /// All that was said and all that was not, as a file that gives the same job.
  std::string toml() const { return to_toml(root); }
};

/// Reads a recipe ("digits") or a file ("mine.toml") and applies assignments as --set gives them.
Description load_description(const std::string& recipe_or_file, std::span<const std::string> sets = {});
/// The same from a text that errors call `name`.
Description parse_description(const std::string& name, const std::string& text, std::span<const std::string> sets = {});

/// Names of the recipes, in order.
std::vector<std::string> recipe_names();

/// All sections and their keys.
std::span<const Section> sections();
/// They as a document: docs/toml.md.
std::string keys_document();

}  // namespace ingot::cli
