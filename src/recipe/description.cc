#include "ingot/recipe/description.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "ingot/recipe/terminal.h"
#include "recipe/top_keys.h"

namespace ingot::recipe {
namespace {

namespace fs = std::filesystem;

// Paths in a file are relative to it, those of --set to where the program was called.
void resolve_paths(Value& table, std::span<const Key> keys) {
  for (const Key& key : keys) {
    Value* v = key.kind == Kind::kPath ? table.find(key.name) : nullptr;
    if (v == nullptr || v->text.empty() || v->text.starts_with("recipe:") || fs::path(v->text).is_absolute()) continue;
    const bool from_file = v->place.line > 0;
    const fs::path folder = from_file ? fs::path(v->place.source->name).parent_path() : fs::path();
    v->text = fs::absolute(folder / v->text).lexically_normal().string();
  }
}

void check_names(const Value& root, std::span<const Section> sections) {
  std::vector<std::string> names;
  for (const Key& key : top_keys()) names.emplace_back(key.name);
  for (const Section& s : sections) names.emplace_back(s.name);
  for (const Entry& e : root.table)
    if (std::find(names.begin(), names.end(), e.key) == names.end())
      fail_at(e.place, fmt::format("there is no section or key {} — {}", in_quotes(e.key), did_you_mean(e.key, names)));
}

// Of how a model was trained, a program needs no more than it knows: the keys of systems that it does not have go.
void drop_unknown(Value& table, const Section& section) {
  if (section.change == Change::kFixed || !section.choices.empty()) return;  // what the model is, must be understood
  std::erase_if(table.table, [&](const Entry& e) {
    return std::none_of(section.keys.begin(), section.keys.end(), [&](const Key& key) { return e.key == key.name; });
  });
}

Value complete_section(Value& root, const Section& section, const Catalogue& catalogue, bool trained) {
  Value* given = root.find(section.name);
  Value table;
  table.place = {root.place.source, 0, 0};
  if (given != nullptr) table = std::move(*given);
  if (table.type != Value::Type::kTable)
    fail_at(table.place, fmt::format("\"{}\" must be a section: [{}]", section.name, section.name));
  if (trained) drop_unknown(table, section);
  const auto lists = [&](std::string_view list) -> const Choices& { return catalogue.types(list); };
  complete(table, fmt::format("[{}]", section.name), section.keys, lists, section.choices, section.type);
  if (!section.choices.empty()) resolve_paths(table, chosen(table, section.choices).keys);
  return table;
}

// What a run writes down of its description is UTF-8. A file is; paths and --set can be anything.
void check_texts(const Value& v) {
  if (!is_utf8(v.text))
    fail_at(v.place, fmt::format("{} is no UTF-8 — rename it, or write it in UTF-8", in_quotes(valid_utf8(v.text))));
  for (const Value& each : v.list) check_texts(each);
  for (const Entry& e : v.table) check_texts(e.value);
}

Description parse(const std::string& name, const std::string& text, std::span<const std::string> sets,
                  CataloguePtr catalogue, bool trained) {
  Description d;
  d.catalogue = catalogue != nullptr ? std::move(catalogue) : std::make_shared<Catalogue>();
  Value root = parse_toml(name, text);
  for (const std::string& each : sets) set_value(root, each);
  const std::span<const Section> sections = d.catalogue->sections_of(root);
  check_names(root, sections);

  d.root.place = root.place;
  for (const Key& key : top_keys()) {
    const Value* v = root.find(key.name);
    if (v == nullptr) continue;
    if (v->type != Value::Type::kText) fail_at(v->place, fmt::format("\"{}\" must be text", key.name));
    d.root.table.push_back({key.name, v->place, *v});
  }
  for (const Section& s : sections) {
    Value table = complete_section(root, s, *d.catalogue, trained);
    d.root.table.push_back({s.name, table.place, std::move(table)});
  }
  d.name = d.said("name");
  if (d.root.find("name") == nullptr) {
    d.name = fs::path(name).stem().string();
    d.root.table.insert(d.root.table.begin(), {"name", d.root.place, text_value(d.name, d.root.place)});
  }
  const Place& of_name = Settings(d.root).value("name").place;
  if (d.name.empty() || d.name.find('/') != std::string::npos || d.name == "." || d.name == "..")
    fail_at(of_name, "a name is a word, without slashes: it names the run's folder");
  check_texts(d.root);
  if (printable(d.name) != d.name) fail_at(of_name, "a name has no control characters: it names the run's folder");
  return d;
}

// Every single value by its path, "train.epochs".
void collect_values(const Value& v, const std::string& path, std::map<std::string, const Value*>& all) {
  if (v.type != Value::Type::kTable) {
    all[path] = &v;
    return;
  }
  for (const Entry& e : v.table) collect_values(e.value, path.empty() ? e.key : path + "." + e.key, all);
}

// Where a run stands would mean something else if such a key had another value.
Change change_of(const std::string& path, std::span<const Section> sections) {
  const size_t dot = path.find('.');
  if (dot == std::string::npos) return Change::kFree;
  const std::string_view name = std::string_view(path).substr(0, dot), key = std::string_view(path).substr(dot + 1);
  if (path == "optimizer.type") return Change::kFixed;
  for (const Section& s : sections) {
    if (name != s.name) continue;
    if (s.change != Change::kFree) return s.change;
    for (const Key& k : s.keys)
      if (key == k.name) return k.change;
  }
  return Change::kFree;
}

}  // namespace

std::string Description::said(std::string_view key) const {
  const Value* v = root.find(key);
  return v != nullptr ? v->text : "";
}

void Description::check_changes(const Description& before) const {
  std::map<std::string, const Value*> old_values, new_values;
  collect_values(before.root, "", old_values);
  collect_values(root, "", new_values);
  for (const auto& [path, value] : new_values) {
    const auto old = old_values.find(path);
    const bool there = old != old_values.end();
    if (there && to_toml_value(*old->second) == to_toml_value(*value)) continue;
    const Change change = change_of(path, catalogue->sections_of(root));
    if (change == Change::kFree) continue;
    if (change == Change::kUpwards && value->number >= (there ? old->second->number : 0)) continue;
    fail_at(value->place, fmt::format("a run goes on as it began, and \"{}\" cannot change — leave it out, or begin a "
                                      "new run without --resume",
                                      path));
  }
}

Description parse_description(const std::string& name, const std::string& text, std::span<const std::string> sets,
                              CataloguePtr catalogue) {
  return parse(name, text, sets, std::move(catalogue), false);
}

Description parse_trained(const std::string& name, const std::string& text, std::span<const std::string> sets,
                          CataloguePtr catalogue) {
  return parse(name, text, sets, std::move(catalogue), true);
}

std::string description_text(std::string& name, const Catalogue& catalogue) {
  // A recipe's name is a recipe's, whatever lies around here: a file of that name is ./NAME.
  if (const EmbeddedFile* file = catalogue.file(name + ".toml"); file != nullptr) {
    name = file->name;
    return std::string(file->text);
  }
  std::error_code unknown;
  if (!fs::exists(name, unknown))
    throw Error(ErrorKind::kFile, fmt::format("there is no recipe and no file \"{}\" — {}", name,
                                              did_you_mean(name, catalogue.recipe_names())));
  return io::read_file(name);
}

Description load_description(const std::string& recipe_or_file, std::span<const std::string> sets,
                             CataloguePtr catalogue) {
  if (catalogue == nullptr) catalogue = std::make_shared<Catalogue>();
  std::string name = recipe_or_file;
  const std::string text = description_text(name, *catalogue);
  return parse_description(name, text, sets, catalogue);
}

}  // namespace ingot::recipe
