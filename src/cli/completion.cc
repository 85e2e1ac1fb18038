#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/description.h"
#include "ingot/error.h"

namespace ingot::cli {
namespace {

struct Command {
  std::string name, about;
  std::vector<std::pair<std::string, std::string>> options;  // "--epochs", what it is for
  std::string words;                                         // what may stand alone: recipes, commands of its own

  void add_word(const std::string& word) { words += (words.empty() ? "" : " ") + word; }
};

std::vector<const CLI::App*> parts_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Options that several commands of a command have are offered once.
void add_options(Command& c, const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) {
      const auto same = [&](const auto& known) { return known.first == "--" + name; };
      if (!option->get_group().empty() && std::none_of(c.options.begin(), c.options.end(), same))
        c.options.push_back({"--" + name, option->get_description()});
    }
}

std::vector<Command> commands_of(const CLI::App& app) {
  std::vector<Command> all;
  for (const CLI::App* sub : parts_of(app)) {
    Command c{sub->get_name(), sub->get_description(), {}, ""};
    add_options(c, *sub);
    for (const CLI::App* part : parts_of(*sub)) {
      c.add_word(part->get_name());
      add_options(c, *part);
    }
    if (c.name == "train" || c.name == "profile" || c.name == "recipes")
      for (const std::string& recipe : recipe_names()) c.add_word(recipe);
    if (c.name == "completion") c.words = "bash zsh fish";
    if (c.name == "data") c.add_word("mnist");
    all.push_back(std::move(c));
  }
  return all;
}

std::string joined_options(const Command& c) {
  std::string out;
  for (const auto& [name, about] : c.options) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string bash(const std::vector<Command>& commands) {
  std::string names, cases;
  for (const Command& c : commands) {
    names += (names.empty() ? "" : " ") + c.name;
    cases += fmt::format("    {}) options='{}' words='{}' ;;\n", c.name, joined_options(c), c.words);
  }
  return fmt::format(R"(# bash completion of ingot:  source <(ingot completion bash)
_ingot() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} options='' words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- "$word")
    return
  fi
  case ${{COMP_WORDS[1]}} in
{}  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word"; compgen -f -- "$word")
  fi
}}
complete -o filenames -F _ingot ingot
)",
                     names, cases);
}

std::string zsh(const std::vector<Command>& commands) {
  std::string list, cases;
  for (const Command& c : commands) {
    list += fmt::format("    {}\n", quoted(c.name + ":" + c.about));
    cases += fmt::format("    {}) compadd -- {}; [[ $PREFIX == -* ]] && compadd -- {}; _files ;;\n", c.name, c.words,
                         joined_options(c));
  }
  return fmt::format(R"(#compdef ingot
# zsh completion of ingot:  source <(ingot completion zsh)
_ingot() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case $words[2] in
{}  esac
}}
compdef _ingot ingot
)",
                     list, cases);
}

std::string fish(const std::vector<Command>& commands) {
  std::string out = "# fish completion of ingot:  ingot completion fish | source\n";
  for (const Command& c : commands) {
    out += fmt::format("complete -c ingot -n __fish_use_subcommand -f -a {} -d {}\n", c.name, quoted(c.about));
    const std::string here = fmt::format("complete -c ingot -n '__fish_seen_subcommand_from {}'", c.name);
    if (!c.words.empty()) out += fmt::format("{} -a {}\n", here, quoted(c.words));
    for (const auto& [name, about] : c.options)
      out += fmt::format("{} -l {} -d {}\n", here, name.substr(2), quoted(about));
  }
  return out;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
  const std::vector<Command> commands = commands_of(app);
  if (shell == "bash") return bash(commands);
  if (shell == "zsh") return zsh(commands);
  if (shell == "fish") return fish(commands);
  throw Error(fmt::format("completion: no shell \"{}\" is known — there are bash, zsh, fish", shell));
}

}  // namespace ingot::cli
