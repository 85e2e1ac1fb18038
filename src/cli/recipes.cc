// `ingot recipes`: what is ready to train.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/recipe/description.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

using namespace recipe;

struct RecipesOptions {
  std::string show;  // the description of one
  bool keys = false, json = false;
};

int list_recipes(const RecipesOptions& o, const Systems& systems) {
  const auto catalogue = std::make_shared<Catalogue>(systems);
  if (o.keys) return fmt::print("{}", catalogue->document()), 0;
  if (!o.show.empty()) {
    const EmbeddedFile* file = catalogue->file(o.show + ".toml");
    if (file == nullptr)
      throw Error(fmt::format("recipes: there is no recipe \"{}\" — {}", o.show,
                              did_you_mean(o.show, catalogue->recipe_names())));
    return fmt::print("{}", file->text), 0;
  }
  Value list = empty_list();
  for (const std::string& name : catalogue->recipe_names()) {
    const Description d = load_description(name, {}, catalogue);
    list.add(record(
        {{"name", name}, {"about", d.said("about")}, {"reaches", d.said("reaches")}, {"takes", d.said("takes")}}));
    if (!o.json)
      fmt::print("{}{}\n{:<20}{}; {}\n", bold(fmt::format("{:<20}", name)), d.said("about"), "", d.said("reaches"),
                 d.said("takes"));
  }
  if (o.json) return fmt::print("{}\n", to_json(list, 2)), 0;
  fmt::print(
      "\n  ingot train digits                      trains one\n"
      "  ingot recipes --show digits >mine.toml  a description to change and train: ingot train mine.toml\n");
  return 0;
}

}  // namespace

std::string recipes_help(const Systems& systems) {
  const auto catalogue = std::make_shared<Catalogue>(systems);
  std::string text = "Recipes:\n";
  for (const std::string& name : catalogue->recipe_names())
    text += fmt::format("  {:<18} {}\n", name, load_description(name, {}, catalogue).said("about"));
  return text;
}

Command recipes_command(const Systems& systems) {
  auto o = std::make_shared<RecipesOptions>();
  Command c{.name = "recipes",
            .about = "What is ready to train: what it reaches and how long it takes",
            .options = {{"--show", &o->show, "print the description of one, to start your own from", "NAME"},
                        {"--keys", &o->keys, "everything that a description can say, as Markdown"},
                        {"--json", &o->json, "print JSON"}},
            .run = [o, systems] { return list_recipes(*o, systems); },
            .footer = fixed_text("For instance:\n  ingot recipes\n  ingot recipes --show digits >mine.toml && ingot "
                                 "train mine.toml")};
  for (const std::string& name : Catalogue(systems).recipe_names()) c.words += (c.words.empty() ? "" : " ") + name;
  return c;
}

}  // namespace ingot::cli
