// TOML as a tree of values that know where they stand, so that an error can point there.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/error.h"

namespace ingot::cli {

/// A text that values came from: a file, a recipe, or a --set on the command line.
struct Source {
  std::string name;
  std::string text;
};

/// A place in a source; line 0 is the source as a whole.
struct Place {
  std::shared_ptr<const Source> source = {};
  int64_t line = 0, column = 0;
};

struct Entry;

struct Value {
  enum class Type { kInteger, kNumber, kBoolean, kText, kList, kTable };
  Type type = Type::kTable;
  int64_t integer = 0;
  double number = 0;  // of integers, too
  bool boolean = false;
  std::string text;
  std::vector<Value> list;
  std::vector<Entry> table;  // in the order of the source
  Place place;

  /// The value of a key of this table; nullptr if there is none.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
};

struct Entry {
  std::string key;
  Place place;
  Value value;
};

/// A text, or a table without entries, that stands there.
Value text_value(std::string text, const Place& place);
Value table_value(const Place& place);

/// An Error that says where in a description the fault is.
class PlacedError : public Error {
 public:
  using Error::Error;
};
/// Throws a PlacedError that names the place, shows its line and points at the column.
[[noreturn]] void fail_at(const Place& place, const std::string& what);

/// Reads a document; `name` is what errors call it.
Value parse_toml(const std::string& name, const std::string& text);
/// One value as TOML writes it; an Error at `place` if it is none.
Value parse_value(const std::string& text, const Place& place);
/// A document's values: key = value lines, then [tables]; lists of tables take a line per element.
std::string to_toml(const Value& root);
std::string to_toml_value(const Value& value);

/// Sets one value from "path.to.key=value", as --set does. What is no TOML value is taken as text.
void set_value(Value& root, const std::string& assignment);

/// "did you mean …?" if one of the names is close to `name`, else the list of them.
std::string suggestion(std::string_view name, const std::vector<std::string>& names);

}  // namespace ingot::cli
