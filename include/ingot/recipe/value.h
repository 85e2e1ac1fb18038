// Values that know where they stand, so that an error can point there. One tree for all that is read and written as
// text: TOML of descriptions, JSON of models, metrics and events.
//
//   std::puts(to_json(record({{"epoch", 3}, {"loss", 0.25}})).c_str());
#pragma once
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ingot/base/error.h"
#include "ingot/base/export.h"
#include "ingot/base/text.h"

namespace ingot::recipe {

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

struct INGOT_API Value {
  enum class Type { kInteger, kNumber, kBoolean, kText, kList, kTable };
  Type type = Type::kTable;
  int64_t integer = 0;
  double number = 0;  // of integers, too
  bool boolean = false;
  std::string text;
  std::vector<Value> list;
  std::vector<Entry> table;  // in the order of the source
  Place place;

  /// A table without entries; and what each C++ value stands for.
  Value();
  Value(bool b);
  template <std::integral T>
  Value(T n) : Value(static_cast<long long>(n)) {}
  Value(long long n);
  Value(double x);
  Value(std::string_view t);
  Value(const std::string& t) : Value(std::string_view(t)) {}
  Value(const char* t) : Value(std::string_view(t)) {}
  template <class T>
  Value(const std::vector<T>& elements) : Value() {
    type = Type::kList;
    for (const auto& each : elements) add(Value(each));
  }
  Value(const Value& other);
  Value(Value&& other) noexcept;
  Value& operator=(const Value& other);
  Value& operator=(Value&& other) noexcept;
  ~Value();

  /// The value of a key of this table; nullptr if there is none.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Sets a key of this table; adds an element to this list.
  Value& set(std::string_view key, Value value);
  Value& add(Value element);
};

struct Entry {
  std::string key;
  Place place;
  Value value;
};

/// A table of these keys, in this order.
struct Field {
  std::string_view key;
  Value value;
};
INGOT_API Value record(std::initializer_list<Field> fields);
/// A list without elements.
INGOT_API Value empty_list();

/// A text, or a table without entries, that stands there.
INGOT_API Value text_value(std::string text, const Place& place);
INGOT_API Value table_value(const Place& place);

/// An Error that says where in a description the fault is.
class PlacedError : public Error {
 public:
  using Error::Error;
};
/// Throws a PlacedError that names the place, shows its line and points at the column.
[[noreturn]] INGOT_API void fail_at(const Place& place, const std::string& what, ErrorKind kind = ErrorKind::kArgument);

/// Reads a document; `name` is what errors call it.
INGOT_API Value parse_toml(const std::string& name, const std::string& text);
/// One value as TOML writes it; an Error at `place` if it is none.
INGOT_API Value parse_value(const std::string& text, const Place& place);
/// A document's values: key = value lines, then [tables]; lists of tables take a line per element.
INGOT_API std::string to_toml(const Value& root);
INGOT_API std::string to_toml_value(const Value& value);

/// Sets one value from "path.to.key=value", as --set does. What is no TOML value is taken as text.
INGOT_API void set_value(Value& root, const std::string& assignment);

/// JSON on one line, or indented by so many spaces. What is no number, or no UTF-8, becomes null, or "�".
INGOT_API std::string to_json(const Value& value, int indent = -1);
/// An Error of kind kFile if the text is no JSON. null is a number that is none.
INGOT_API Value parse_json(const std::string& text);
/// The objects of a text of JSON lines; lines that are none are left out.
INGOT_API std::vector<Value> parse_json_lines(const std::string& text);

}  // namespace ingot::recipe
