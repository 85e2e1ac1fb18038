// The keys that a description may have: one table each for a section or a type of layer, from which it is checked,
// completed, read and documented.
#pragma once
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/recipe/value.h"

namespace ingot::recipe {

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

/// What a run that goes on may do to a key: its value may change, may not, or may only grow.
enum class Change : uint8_t { kFree, kFixed, kUpwards };

struct Key {
  const char* name;
  Kind kind;
  const char* initial;  // as TOML writes it; "" if the key must be given, nullptr if it may be absent
  const char* doc;
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  const char* of = nullptr;  // of tables: which types they may have, "layers" or "transforms"
  Change change = Change::kFree;
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
  const char* type = nullptr;     // the initial one; nullptr: must be given
  Change change = Change::kFree;  // of all its keys, unless they say otherwise
};

/// The types that tables of a list may have, by the list's name.
using TypeLists = std::function<const Choices&(std::string_view list)>;

/// Checks a table's keys, types and ranges, and fills in what has an initial value, all in the order of the lists.
/// `what` is how errors call it: "[train]".
INGOT_API void complete(Value& table, const std::string& what, std::span<const Key> keys, const TypeLists& lists,
                        const Choices& choices = {}, const char* initial_type = nullptr);

/// The choice that a table's `type` names.
INGOT_API const Choice& chosen(const Value& table, const Choices& choices);

/// A completed table, to read from. A name that is not there is a mistake of ours, or an optional key: ask has().
class INGOT_API Settings {
 public:
  explicit Settings(const Value& table) : table_(&table) {}
  bool has(std::string_view name) const { return table_->find(name) != nullptr; }
  const Value& value(std::string_view name) const;
  int64_t integer(std::string_view name) const { return value(name).integer; }
  /// Of an optional key: its value, or another.
  int64_t integer_or(std::string_view name, int64_t otherwise) const { return has(name) ? integer(name) : otherwise; }
  double number(std::string_view name) const { return value(name).number; }
  bool flag(std::string_view name) const { return value(name).boolean; }
  const std::string& text(std::string_view name) const { return value(name).text; }
  std::vector<int64_t> integers(std::string_view name) const;
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  const std::string& type() const { return text("type"); }
  const Value& table() const { return *table_; }
  /// An Error that points at the value, or at the table.
  [[noreturn]] void fail(std::string_view name, const std::string& what, ErrorKind kind = ErrorKind::kArgument) const {
    fail_at(value(name).place, what, kind);
  }
  [[noreturn]] void fail(const std::string& what, ErrorKind kind = ErrorKind::kArgument) const {
    fail_at(table_->place, what, kind);
  }
  /// The same as `e`, which points at the table if it points at nothing yet.
  [[noreturn]] void fail(const Error& e) const;

 private:
  const Value* table_;
};

/// The choices of a table whose rows have a Choice and what is made of it, added to others.
template <class Rows>
void add_choices(Choices& all, const Rows& rows) {
  for (const auto& row : rows) all.push_back(&row.choice);
}

/// The keys as a Markdown table.
INGOT_API std::string keys_markdown(std::span<const Key> keys);

}  // namespace ingot::recipe
