// TOML in and out: the one file that knows the TOML library.
#include "ingot/recipe/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include "ingot/base/error.h"

namespace ingot::recipe {
namespace {

Place place_of(const toml::source_region& region, const std::shared_ptr<const Source>& source) {
  return {source, region.begin.line, region.begin.column};
}

Value convert(const toml::node& node, const std::shared_ptr<const Source>& source) {
  Value v;
  v.place = place_of(node.source(), source);
  if (const auto* i = node.as_integer()) {
    v.type = Value::Type::kInteger, v.integer = i->get(), v.number = static_cast<double>(i->get());
  } else if (const auto* f = node.as_floating_point()) {
    v.type = Value::Type::kNumber, v.number = f->get();
  } else if (const auto* b = node.as_boolean()) {
    v.type = Value::Type::kBoolean, v.boolean = b->get();
  } else if (const auto* s = node.as_string()) {
    v.type = Value::Type::kText, v.text = s->get();
  } else if (const auto* a = node.as_array()) {
    v.type = Value::Type::kList;
    for (const toml::node& each : *a) v.list.push_back(convert(each, source));
  } else if (const auto* t = node.as_table()) {
    for (const auto& [key, each] : *t)
      v.table.push_back({std::string(key.str()), place_of(key.source(), source), convert(each, source)});
    std::stable_sort(v.table.begin(), v.table.end(), [](const Entry& x, const Entry& y) {
      return std::pair(x.place.line, x.place.column) < std::pair(y.place.line, y.place.column);
    });
  } else {
    fail_at(v.place, "dates and times have no meaning here");
  }
  return v;
}

constexpr int64_t kDeepest = 64;  // tables within tables: what is read, and let go of, recursively must end
constexpr const char* kTooDeep = "nested too deeply: more than 64 brackets and dots";

// How deep the tables and lists of a document go, before anything walks down there: the TOML library limits brackets, but
// a key has a table for each of its dots. Dots of numbers count, too, which is less than can be told apart.
class NestingCheck {
 public:
  explicit NestingCheck(const std::shared_ptr<const Source>& source) : source_(source), text_(source->text) {}

  void operator()() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '#')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (c == '"' || c == '\'')
        pass_string(c);
      else
        at_++, count(c);
    }
  }

 private:
  void count(char c) {
    if (c == '[' || c == '{') {
      open_.push_back(0), depth_++;
    } else if (c == ']' || c == '}') {
      depth_ -= open_.back() + (open_.size() > 1 ? 1 : 0);
      if (open_.size() > 1)
        open_.pop_back();
      else
        open_.back() = 0;
    } else if (c == ',' || c == '\n') {  // what follows is no part of this key, or its value
      depth_ -= std::exchange(open_.back(), 0);
    } else if (c == '.') {
      open_.back()++, depth_++;
    }
    if (depth_ > kDeepest) fail();
  }

  void pass_string(char quote) {
    const std::string three(3, quote);
    const bool lines = text_.compare(at_, 3, three) == 0;
    at_ += lines ? 3 : 1;
    for (; at_ < text_.size(); at_++) {
      if (quote == '"' && text_[at_] == '\\')
        at_++;
      else if (!lines && (text_[at_] == quote || text_[at_] == '\n'))
        break;
      else if (lines && text_.compare(at_, 3, three) == 0)
        break;
    }
    at_ = std::min(at_ + (lines ? 3 : 1), text_.size());
  }

  [[noreturn]] void fail() const {
    const std::string_view before = std::string_view(text_).substr(0, at_);
    const size_t line = before.rfind('\n');
    const std::string_view begun = line == std::string_view::npos ? before : before.substr(line + 1);
    fail_at({source_, std::count(before.begin(), before.end(), '\n') + 1, text_width(begun)}, kTooDeep);
  }

  const std::shared_ptr<const Source>& source_;
  const std::string& text_;
  size_t at_ = 0;
  std::vector<int64_t> open_{0};  // dots within each open bracket, and outside of all
  int64_t depth_ = 0;             // brackets and dots in all
};

Value parse(const std::shared_ptr<const Source>& source) {
  NestingCheck check(source);
  check();
  try {
    return convert(toml::parse(source->text, source->name), source);
  } catch (const toml::parse_error& e) {
    fail_at(place_of(e.source(), source), std::string(e.description()));
  }
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

std::string key_text(const std::string& key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
  return bare ? key : quoted(key);
}

bool is_table_list(const Value& v) {
  return v.type == Value::Type::kList && !v.list.empty() &&
         std::all_of(v.list.begin(), v.list.end(), [](const Value& e) { return e.type == Value::Type::kTable; });
}

// Elements of a list of tables on lines of their own; a table that holds such a list (a residual block) indents it.
std::string table_list(const Value& v, int indent);
std::string inline_value(const Value& v, int indent) {
  switch (v.type) {
    case Value::Type::kInteger: return std::to_string(v.integer);
    case Value::Type::kNumber: {
      if (std::isnan(v.number)) return "nan";
      if (std::isinf(v.number)) return v.number > 0 ? "inf" : "-inf";
      const std::string text = fmt::format("{}", v.number);
      return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
    }
    case Value::Type::kBoolean: return v.boolean ? "true" : "false";
    case Value::Type::kText: return quoted(v.text);
    case Value::Type::kList: {
      if (is_table_list(v)) return table_list(v, indent);
      std::string out = "[";
      for (const Value& each : v.list) out += (out.size() > 1 ? ", " : "") + inline_value(each, indent);
      return out + "]";
    }
    case Value::Type::kTable: {
      std::string out = "{";
      for (const Entry& e : v.table)
        out += (out.size() > 1 ? ", " : " ") + key_text(e.key) + " = " + inline_value(e.value, indent);
      return out + (v.table.empty() ? "}" : " }");
    }
  }
  return "";
}
std::string table_list(const Value& v, int indent) {
  std::string out = "[\n";
  for (const Value& each : v.list) out += std::string(indent + 2, ' ') + inline_value(each, indent + 2) + ",\n";
  return out + std::string(indent, ' ') + "]";
}

}  // namespace

Value parse_toml(const std::string& name, const std::string& text) {
  return parse(std::make_shared<Source>(Source{name, text}));
}

Value parse_value(const std::string& text, const Place& place) {
  Value root;
  try {
    root = parse_toml("value", "v = " + text);
  } catch (const Error&) {
    fail_at(place, "\"" + text + "\" is no TOML value");
  }
  if (root.table.size() != 1) fail_at(place, "\"" + text + "\" is more than one TOML value");
  const auto put = [&](const auto& self, Value& v) -> void {
    v.place = place;
    for (Value& each : v.list) self(self, each);
    for (Entry& e : v.table) e.place = place, self(self, e.value);
  };
  put(put, root.table[0].value);
  return std::move(root.table[0].value);
}

std::string to_toml_value(const Value& value) { return inline_value(value, 0); }

std::string to_toml(const Value& root) {
  std::string out;
  for (const Entry& e : root.table)
    if (e.value.type != Value::Type::kTable) out += key_text(e.key) + " = " + inline_value(e.value, 0) + "\n";
  for (const Entry& e : root.table) {
    if (e.value.type != Value::Type::kTable) continue;
    out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", key_text(e.key));
    for (const Entry& inner : e.value.table) out += key_text(inner.key) + " = " + inline_value(inner.value, 0) + "\n";
  }
  return out;
}

void set_value(Value& root, const std::string& assignment) {
  const Place place{std::make_shared<Source>(Source{"--set " + shortened(assignment, 200), ""}), 0, 0};
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) fail_at(place, "write --set path.to.key=value");
  const std::string path = assignment.substr(0, equals), text = assignment.substr(equals + 1);
  if (std::count(path.begin(), path.end(), '.') > kDeepest) fail_at(place, kTooDeep);
  Value value;
  try {
    value = parse_value(text, place);
  } catch (const Error&) {
    value = text_value(text, place);
  }

  Value* at = &root;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const std::string key = path.substr(begin, end - begin);
    begin = end + 1;
    if (key.empty()) fail_at(place, "an empty name in \"" + path + "\"");
    if (at->type == Value::Type::kList) {
      size_t index = 0;
      const auto [stop, problem] = std::from_chars(key.data(), key.data() + key.size(), index);
      if (problem != std::errc() || stop != key.data() + key.size() || index >= at->list.size())
        fail_at(place, at->list.empty() ? fmt::format("\"{}\" is no element of an empty list", key)
                                        : fmt::format("\"{}\" is no element of a list of {}: give 0 to {}", key,
                                                      at->list.size(), at->list.size() - 1));
      at = &at->list[index];
    } else if (at->type == Value::Type::kTable) {
      if (at->find(key) == nullptr) at->table.push_back({key, place, table_value(place)});
      at = at->find(key);
    } else {
      fail_at(place, "what stands before \"" + key + "\" is a single value, not a table");
    }
  }
  *at = std::move(value);
}

}  // namespace ingot::recipe
