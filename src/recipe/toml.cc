// TOML in and out: the one file that knows the TOML library.
#include "ingot/recipe/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
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

Value parse(const std::shared_ptr<const Source>& source) {
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
  const Place place{std::make_shared<Source>(Source{"--set " + assignment, ""}), 0, 0};
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || equals == 0) fail_at(place, "write --set path.to.key=value");
  const std::string path = assignment.substr(0, equals), text = assignment.substr(equals + 1);
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
        fail_at(place, fmt::format("\"{}\" is no element of a list of {}: give 0 to {}", key, at->list.size(),
                                   at->list.size() - 1));
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
