// JSON in and out: the one file that knows the JSON library.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "ingot/recipe/value.h"

namespace ingot::recipe {
namespace {

using Json = nlohmann::ordered_json;

Json converted(const Value& v) {
  switch (v.type) {
    case Value::Type::kInteger: return v.integer;
    case Value::Type::kNumber: return v.number;
    case Value::Type::kBoolean: return v.boolean;
    case Value::Type::kText: return v.text;
    case Value::Type::kList: {
      Json list = Json::array();
      for (const Value& each : v.list) list.push_back(converted(each));
      return list;
    }
    case Value::Type::kTable: {
      Json table = Json::object();
      for (const Entry& e : v.table) table[e.key] = converted(e.value);
      return table;
    }
  }
  return {};
}

constexpr int kDeepest = 64;  // nesting that a file may have: what is read recursively must end

Value converted(const Json& json, int depth = 0) {
  if (depth > kDeepest) throw Error(ErrorKind::kFile, "json: nested too deeply");
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_integer()) return json.get<long long>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.get_ref<const std::string&>();
  if (json.is_array()) {
    Value list = empty_list();
    for (const Json& each : json) list.add(converted(each, depth + 1));
    return list;
  }
  if (!json.is_object()) return std::numeric_limits<double>::quiet_NaN();
  Value table;
  for (const auto& [key, each] : json.items()) table.table.push_back({key, {}, converted(each, depth + 1)});
  return table;
}

// What the library says, without its own numbers: "parse error at line 1, column 2: …".
std::string sentence_of(const std::string& what) {
  const size_t end = what.find("] ");
  return shortened(valid_utf8(what.starts_with('[') && end != std::string::npos ? what.substr(end + 2) : what), 300);
}

}  // namespace

// JSON ends up in terminals: DEL and U+0080 to U+009F, which control them, are written by number as the others are.
std::string to_json(const Value& value, int indent) {
  const std::string plain = converted(value).dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string out;
  for (size_t i = 0; i < plain.size(); i++) {
    const auto c = static_cast<unsigned char>(plain[i]);
    const auto next = static_cast<unsigned char>(i + 1 < plain.size() ? plain[i + 1] : 0);
    if (c == 0x7f)
      out += "\\u007f";
    else if (c == 0xc2 && next < 0xa0)
      out += formatted("\\u%04x", static_cast<unsigned>(next)), i++;
    else
      out += plain[i];
  }
  return out;
}

Value parse_json(const std::string& text) {
  try {
    return converted(Json::parse(text));
  } catch (const Json::exception& e) {
    throw Error(ErrorKind::kFile, "json: " + sentence_of(e.what()));
  }
}

std::vector<Value> parse_json_lines(const std::string& text) {
  std::vector<Value> out;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    if (const Json json = Json::parse(text.substr(begin, end - begin), nullptr, false); json.is_object())
      out.push_back(converted(json));
  return out;
}

}  // namespace ingot::recipe
