// The keys that a description may have: one table each for a section or a type of layer, from which it is checked,
// completed, read and documented.
#pragma once
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/toml.h"

namespace ingot::cli {

enum class Kind {
  kInteger,
  kNumber,
  kBoolean,
  kText,
  kPath,      // of a file; in a file, relative to its folder
  kIntegers,  // a list, or one integer
  kNumbers,
  kTexts,    // a list, or one text
  kColumn,   // a text or an integer
  kColumns,  // a list of such
  kTables,   // a list of tables with a type each
};

struct Choice;
using Choices = std::vector<const Choice*>;

struct Key {
  const char* name;
  Kind kind;
  const char* initial;  // as TOML writes it; "" if the key must be given, nullptr if it may be absent
  const char* doc;
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  Choices (*of)() = nullptr;  // the types that tables of a list may have
};

/// One of several types: of a layer, an optimiser, a source of data. `keys` are its own.
struct Choice {
  const char* type;
  const char* doc;
  std::vector<Key> keys = {};
};

/// A [section]: keys of its own and, if there are choices, a `type` with more.
struct Section {
  const char* name;
  const char* doc;
  std::vector<Key> keys;
  Choices choices = {};
  const char* type = nullptr;  // the initial one; nullptr: must be given
};

/// Checks a table's keys, types and ranges, and fills in what has an initial value, all in the order of the lists.
/// `what` is how errors call it: "[train]".
void complete(Value& table, const std::string& what, std::span<const Key> keys, const Choices& choices = {},
              const char* initial_type = nullptr);

/// The choice that a table's `type` names.
const Choice& chosen(const Value& table, const Choices& choices);

/// A completed table, to read from. A name that is not there is a mistake of ours, or an optional key: ask has().
class Settings {
 public:
  explicit Settings(const Value& table) : table_(&table) {}
  bool has(std::string_view name) const { return table_->find(name) != nullptr; }
  const Value& value(std::string_view name) const;
  int64_t integer(std::string_view name) const { return value(name).integer; }
  double number(std::string_view name) const { return value(name).number; }
  bool flag(std::string_view name) const { return value(name).boolean; }
  const std::string& text(std::string_view name) const { return value(name).text; }
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const std::string& type() const { return text("type"); }
  const Value& table() const { return *table_; }
  /// An Error that points at the value, or at the table.
  [[noreturn]] void fail(std::string_view name, const std::string& what) const { fail_at(value(name).place, what); }
  [[noreturn]] void fail(const std::string& what) const { fail_at(table_->place, what); }

 private:
  const Value* table_;
};

/// The choices of a table whose rows have a Choice and what is made of it.
template <class Rows>
Choices choices_of(const Rows& rows) {
  Choices all;
  for (const auto& row : rows) all.push_back(&row.choice);
  return all;
}
/// The row that a completed table's type names.
template <class Rows>
const auto& row_of(const Rows& rows, const Value& table) {
  const Choice* choice = &chosen(table, choices_of(rows));
  for (const auto& row : rows)
    if (&row.choice == choice) return row;
  return *std::begin(rows);  // not reached: chosen() found it
}

/// The keys as a Markdown table.
std::string keys_markdown(std::span<const Key> keys);

}  // namespace ingot::cli
