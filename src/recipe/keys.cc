#include "ingot/recipe/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ingot/base/error.h"

namespace ingot::recipe {
namespace {

const char* kind_name(Kind kind) {
  switch (kind) {
    case Kind::kInteger: return "integer";
    case Kind::kIntegerOrAuto: return "integer or \"auto\"";
    case Kind::kNumber: return "number";
    case Kind::kBoolean: return "true or false";
    case Kind::kText: return "text";
    case Kind::kPath: return "path";
    case Kind::kIntegers: return "integer or list of integers";
    case Kind::kNumbers: return "list of numbers";
    case Kind::kTexts: return "text or list of texts";
    case Kind::kColumn: return "text or integer";
    case Kind::kColumns: return "list of texts and integers";
    case Kind::kTables: return "list of tables";
  }
  return "";
}

bool every(const Value& v, bool (*fits)(const Value&)) {
  return v.type == Value::Type::kList && std::all_of(v.list.begin(), v.list.end(), fits);
}
bool is_integer(const Value& v) { return v.type == Value::Type::kInteger; }
bool is_number(const Value& v) { return v.type == Value::Type::kNumber || is_integer(v); }
bool is_text(const Value& v) { return v.type == Value::Type::kText; }
bool is_auto(const Value& v) { return is_text(v) && v.text == "auto"; }

bool fits(const Value& v, Kind kind) {
  switch (kind) {
    case Kind::kInteger: return is_integer(v);
    case Kind::kIntegerOrAuto: return is_integer(v) || is_auto(v);
    case Kind::kNumber: return is_number(v);
    case Kind::kBoolean: return v.type == Value::Type::kBoolean;
    case Kind::kText:
    case Kind::kPath: return is_text(v);
    case Kind::kIntegers: return is_integer(v) || every(v, is_integer);
    case Kind::kNumbers: return every(v, is_number);
    case Kind::kTexts: return is_text(v) || every(v, is_text);
    case Kind::kColumn: return is_text(v) || is_integer(v);
    case Kind::kColumns: return every(v, [](const Value& e) { return is_text(e) || is_integer(e); });
    case Kind::kTables: return every(v, [](const Value& e) { return e.type == Value::Type::kTable; });
  }
  return false;
}

std::string range(const Key& key) {
  if (std::isinf(key.least)) return fmt::format("at most {}", key.most);
  if (std::isinf(key.most)) return fmt::format("at least {}", key.least);
  return fmt::format("{} to {}", key.least, key.most);
}

void check_value(const Value& v, const Key& key) {
  if (!fits(v, key.kind)) fail_at(v.place, fmt::format("\"{}\" must be {}", key.name, kind_name(key.kind)));
  const auto check_number = [&](const Value& each) {
    if (is_number(each) && !(each.number >= key.least && each.number <= key.most))
      fail_at(each.place, fmt::format("\"{}\" must be {}", key.name, range(key)));
  };
  check_number(v);
  std::for_each(v.list.begin(), v.list.end(), check_number);
}

std::vector<std::string> types_of(const Choices& choices) {
  std::vector<std::string> names;
  for (const Choice* c : choices) names.emplace_back(c->type);
  return names;
}

}  // namespace

const Choice& chosen(const Value& table, const Choices& choices) {
  const Value* type = table.find("type");
  if (type == nullptr || !is_text(*type)) fail_at(type != nullptr ? type->place : table.place, "needs a type as text");
  for (const Choice* c : choices)
    if (type->text == c->type) return *c;
  fail_at(type->place,
          fmt::format("unknown type {} — {}", in_quotes(type->text), did_you_mean(type->text, types_of(choices))));
}

void complete(Value& table, const std::string& what, std::span<const Key> keys, const TypeLists& lists,
              const Choices& choices, const char* initial_type) {
  std::vector<const Key*> all;
  std::vector<Entry> result;
  std::string label = what;
  if (!choices.empty()) {
    if (table.find("type") == nullptr) {
      if (initial_type == nullptr) {
        std::string names;
        for (const std::string& name : types_of(choices)) names += (names.empty() ? "" : ", ") + name;
        fail_at(table.place, fmt::format("{} needs a type: {}", what, names));
      }
      table.table.insert(table.table.begin(), {"type", table.place, text_value(initial_type, table.place)});
    }
    const Choice& choice = chosen(table, choices);
    for (const Key& key : choice.keys) all.push_back(&key);
    label += fmt::format(" of type {}", choice.type);
    const Value& type = *table.find("type");
    result.push_back({"type", type.place, type});
  }
  for (const Key& key : keys)  // a type's own key takes the place of one that all have
    if (std::none_of(all.begin(), all.end(), [&](const Key* k) { return std::string_view(k->name) == key.name; }))
      all.push_back(&key);

  std::vector<std::string> names;
  names.reserve(all.size());
  for (const Key* key : all) names.emplace_back(key->name);
  for (const Entry& e : table.table)
    if (std::find(names.begin(), names.end(), e.key) == names.end() && !(e.key == "type" && !choices.empty()))
      fail_at(e.place, fmt::format("{} has no key {}{}", label, in_quotes(e.key),
                                   names.empty() ? "" : " — " + did_you_mean(e.key, names)));

  for (const Key* key : all) {
    Value* given = table.find(key->name);
    if (given == nullptr) {
      if (key->initial == nullptr) continue;
      if (*key->initial == '\0') fail_at(table.place, fmt::format("{} needs \"{}\": {}", label, key->name, key->doc));
      result.push_back({key->name, table.place, parse_value(key->initial, table.place)});
      continue;
    }
    check_value(*given, *key);
    if (key->kind == Kind::kTables)
      for (Value& each : given->list)
        complete(each, std::string("an entry of ") + key->name, {}, lists, lists(key->of));
    const auto entry =
        std::find_if(table.table.begin(), table.table.end(), [&](const Entry& e) { return e.key == key->name; });
    result.push_back({key->name, entry->place, std::move(*given)});
  }
  table.table = std::move(result);
}

const Value& Settings::value(std::string_view name) const {
  const Value* v = table_->find(name);
  if (v == nullptr) fail_at(table_->place, "needs \"" + std::string(name) + "\"");
  return *v;
}

void Settings::fail(const Error& e) const {
  if (const auto* placed = dynamic_cast<const PlacedError*>(&e)) throw PlacedError(*placed);
  fail(e.what(), e.kind());
}

std::vector<int64_t> Settings::integers(std::string_view name) const {
  const Value& v = value(name);
  if (is_integer(v)) return {v.integer};
  std::vector<int64_t> out;
  for (const Value& each : v.list) out.push_back(each.integer);
  return out;
}

std::vector<double> Settings::numbers(std::string_view name) const {
  std::vector<double> out;
  for (const Value& each : value(name).list) out.push_back(each.number);
  return out;
}

std::vector<std::string> Settings::texts(std::string_view name) const {
  const Value& v = value(name);
  if (is_text(v)) return {v.text};
  std::vector<std::string> out;
  for (const Value& each : v.list) out.push_back(each.text);
  return out;
}

std::string keys_markdown(std::span<const Key> keys) {
  std::string out = "| key | value | default | what it is |\n|---|---|---|---|\n";
  for (const Key& key : keys) {
    const bool ranged = !std::isinf(key.least) || !std::isinf(key.most);
    const std::string initial = key.initial == nullptr ? "–"
                                : *key.initial == '\0' ? "must be given"
                                                       : fmt::format("`{}`", key.initial);
    out += fmt::format("| `{}` | {}{} | {} | {} |\n", key.name, kind_name(key.kind), ranged ? ", " + range(key) : "",
                       initial, key.doc);
  }
  return out;
}

}  // namespace ingot::recipe
