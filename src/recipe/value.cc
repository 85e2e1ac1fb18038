#include "ingot/recipe/value.h"

#include <algorithm>

namespace ingot::recipe {

Value::Value() = default;
Value::Value(const Value& other) = default;
Value::Value(Value&& other) noexcept = default;
Value& Value::operator=(const Value& other) = default;
Value& Value::operator=(Value&& other) noexcept = default;
Value::~Value() = default;

Value::Value(bool b) : type(Type::kBoolean), boolean(b) {}
Value::Value(long long n) : type(Type::kInteger), integer(n), number(static_cast<double>(n)) {}
Value::Value(double x) : type(Type::kNumber), number(x) {}
Value::Value(std::string_view t) : type(Type::kText), text(t) {}

const Value* Value::find(std::string_view key) const {
  for (const Entry& e : table)
    if (e.key == key) return &e.value;
  return nullptr;
}
Value* Value::find(std::string_view key) { return const_cast<Value*>(std::as_const(*this).find(key)); }

Value& Value::set(std::string_view key, Value value) {
  if (Value* there = find(key))
    *there = std::move(value);
  else
    table.push_back({std::string(key), place, std::move(value)});
  return *this;
}

Value& Value::add(Value element) {
  list.push_back(std::move(element));
  return *this;
}

Value record(std::initializer_list<Field> fields) {
  Value out;
  for (const Field& f : fields) out.table.push_back({std::string(f.key), {}, f.value});
  return out;
}

Value empty_list() { return Value(std::vector<Value>()); }

Value text_value(std::string text, const Place& place) {
  Value v{std::string_view(text)};
  v.place = place;
  return v;
}

Value table_value(const Place& place) {
  Value v;
  v.place = place;
  return v;
}

namespace {

std::string line_of(const std::string& text, int64_t line) {
  size_t begin = 0;
  for (int64_t i = 1; i < line && begin != std::string::npos; i++) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) begin++;
  }
  if (begin == std::string::npos || begin > text.size()) return "";
  std::string found = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  std::replace(found.begin(), found.end(), '\t', ' ');
  return found;
}

// A line and where to point in it, in characters. Of a long one, what stands around that.
struct Excerpt {
  std::string line;
  int64_t column;
};
Excerpt excerpt(const std::string& line, int64_t column) {
  constexpr int64_t kBefore = 60, kMost = 110;
  if (text_width(line) <= kMost) return {line, column};
  const int64_t skipped = std::max<int64_t>(0, column - kBefore);
  size_t at = 0;
  for (int64_t n = 0; at < line.size(); at++) {
    const bool starts = (static_cast<unsigned char>(line[at]) & 0xc0) != 0x80;
    if (starts && n++ == skipped) break;
  }
  return {(skipped > 0 ? "…" : "") + shortened(std::string_view(line).substr(at), kMost),
          column - skipped + (skipped > 0 ? 1 : 0)};
}

}  // namespace

void fail_at(const Place& place, const std::string& what, ErrorKind kind) {
  if (!place.source) throw PlacedError(kind, what);
  const std::string& name = place.source->name;
  if (place.line == 0) throw PlacedError(kind, name + ": " + what);
  const std::string line = std::to_string(place.line), column = std::to_string(place.column);
  const std::string margin(line.size(), ' ');
  const Excerpt shown = excerpt(line_of(place.source->text, place.line), place.column);
  const std::string before(static_cast<size_t>(std::max<int64_t>(shown.column - 1, 0)), ' ');
  throw PlacedError(kind, name + ":" + line + ":" + column + ": " + what + "\n  " + line + " | " + shown.line + "\n  " +
                              margin + " | " + before + "^");
}

}  // namespace ingot::recipe
