// `ingot recipes`: what is ready to train.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/description.h"
#include "cli/embedded.h"
#include "cli/terminal.h"
#include "ingot/error.h"

namespace ingot::cli {
namespace {

std::string said(const Description& d, const char* key) {
  const Value* v = d.root.find(key);
  return v != nullptr ? v->text : "";
}

}  // namespace

std::string recipes_help() {
  std::string text = "Recipes:\n";
  for (const std::string& name : recipe_names())
    text += fmt::format("  {:<18} {}\n", name, said(load_description(name), "about"));
  return text;
}

int recipes(const std::string& show, bool keys, bool json) {
  if (keys) return fmt::print("{}", keys_document()), 0;
  if (!show.empty()) {
    const EmbeddedFile* file = find_embedded(show + ".toml");
    if (file == nullptr)
      throw Error(fmt::format("recipes: there is no recipe \"{}\" — {}", show, suggestion(show, recipe_names())));
    fmt::print("{}", file->text());
    return 0;
  }
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& name : recipe_names()) {
    const Description d = load_description(name);
    list.push_back(
        {{"name", name}, {"about", said(d, "about")}, {"reaches", said(d, "reaches")}, {"takes", said(d, "takes")}});
    if (!json)
      fmt::print("{}{}\n{:<20}{}; {}\n", bold(fmt::format("{:<20}", name)), said(d, "about"), "", said(d, "reaches"),
                 said(d, "takes"));
  }
  if (json) return fmt::print("{}\n", list.dump(2)), 0;
  fmt::print(
      "\n  ingot train digits                      trains one\n"
      "  ingot recipes --show digits >mine.toml  a description to change and train: ingot train mine.toml\n");
  return 0;
}

}  // namespace ingot::cli
