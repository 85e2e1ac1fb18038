// A description of a training job: a TOML file or a recipe, with what the command line changes, checked and complete.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/recipe/keys.h"
#include "ingot/recipe/system.h"

namespace ingot::recipe {

using CataloguePtr = std::shared_ptr<const Catalogue>;

struct INGOT_API Description {
  std::string name;  // of the recipe, or the file without its ending
  Value root;
  CataloguePtr catalogue;

  const Value& section(std::string_view which) const { return Settings(root).value(which); }
  Settings settings(std::string_view which) const { return Settings(section(which)); }
  /// All that was said and all that was not, as a file that gives the same job.
  std::string toml() const { return to_toml(root); }
  /// A sentence at its top ("about", "reaches", "takes"); empty if it has none.
  std::string said(std::string_view key) const;
  /// An Error that points at the first value which a run that goes on may not change, and which is other than in
  /// `before`.
  void check_changes(const Description& before) const;
};

/// Reads a recipe ("digits") or a file ("mine.toml") and applies assignments as --set gives them.
INGOT_API Description load_description(const std::string& recipe_or_file, std::span<const std::string> sets = {},
                                       CataloguePtr catalogue = {});
/// The same from a text that errors call `name`.
INGOT_API Description parse_description(const std::string& name, const std::string& text,
                                        std::span<const std::string> sets = {}, CataloguePtr catalogue = {});
/// The TOML of a recipe or a file, whose name becomes what errors call it: digits.toml.
INGOT_API std::string description_text(std::string& name, const Catalogue& catalogue);
/// What a model's file says: how it was trained may have keys that this program does not know.
INGOT_API Description parse_trained(const std::string& name, const std::string& text, std::span<const std::string> sets,
                                    CataloguePtr catalogue);

}  // namespace ingot::recipe
