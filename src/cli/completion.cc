// `ingot completion`: scripts for shells, made from the program's own commands and options.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"

namespace ingot::cli {
namespace {

constexpr const char *kAbout = "A script that lets a shell complete commands and options", *kShells = "bash zsh fish";

// A command as a shell sees it.
struct Completed {
  std::string name, about;
  std::vector<std::pair<std::string, std::string>> options;  // "--epochs", what it is for
  std::string words;                                         // what may stand alone: recipes, commands of its own

  void add_word(const std::string& word) { words += (words.empty() ? "" : " ") + word; }
  // Options that several commands of a command have are offered once.
  void add_options(const Command& c) {
    options_of(c, [&](const std::string& option, const std::string& what) {
      const auto same = [&](const auto& known) { return known.first == option; };
      if (std::none_of(options.begin(), options.end(), same)) options.push_back({option, what});
    });
  }

 private:
  template <class Each>
  static void options_of(const Command& c, Each each) {
    each("--help", "Print this help message and exit");
    for (const recipe::Option& o : c.options)
      if (const size_t at = o.name.find("--"); at != std::string::npos) each(o.name.substr(at), o.about);
  }
};

std::vector<Completed> completed(const std::vector<Command>& commands) {
  std::vector<Completed> all;
  for (const Command& command : commands) {
    Completed c{command.name, command.about, {}, ""};
    c.add_options(command);
    for (const Command& part : command.commands) {
      c.add_word(part.name);
      c.add_options(part);
    }
    if (!command.words.empty()) c.add_word(command.words);
    all.push_back(std::move(c));
  }
  return all;
}

std::string joined_options(const Completed& c) {
  std::string out;
  for (const auto& [name, about] : c.options) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string quoted(std::string text) {
  for (size_t at = 0; (at = text.find('\'', at)) != std::string::npos; at += 4) text.replace(at, 1, "'\\''");
  return "'" + text + "'";
}

std::string bash(const std::vector<Completed>& commands) {
  std::string names, cases;
  for (const Completed& c : commands) {
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

std::string zsh(const std::vector<Completed>& commands) {
  std::string list, cases;
  for (const Completed& c : commands) {
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

std::string fish(const std::vector<Completed>& commands) {
  std::string out = "# fish completion of ingot:  ingot completion fish | source\n";
  for (const Completed& c : commands) {
    out += fmt::format("complete -c ingot -n __fish_use_subcommand -f -a {} -d {}\n", c.name, quoted(c.about));
    const std::string here = fmt::format("complete -c ingot -n '__fish_seen_subcommand_from {}'", c.name);
    if (!c.words.empty()) out += fmt::format("{} -a {}\n", here, quoted(c.words));
    for (const auto& [name, about] : c.options)
      out += fmt::format("{} -l {} -d {}\n", here, name.substr(2), quoted(about));
  }
  return out;
}

int print_script(std::vector<Command> commands, const std::string& shell) {
  Command own;
  own.name = "completion", own.about = kAbout, own.words = kShells;
  commands.push_back(own);
  const std::vector<Completed> all = completed(commands);
  if (shell != "bash" && shell != "zsh" && shell != "fish")
    throw Error(fmt::format("completion: no shell \"{}\" is known — there are bash, zsh, fish", shell));
  fmt::print("{}", shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all));
  return 0;
}

}  // namespace

Command completion_command(const std::vector<Command>& commands) {
  auto shell = std::make_shared<std::string>();
  return {.name = "completion",
          .about = kAbout,
          .options = {{.name = "SHELL", .target = shell.get(), .about = "bash, zsh or fish", .required = true}},
          .run = [shell, commands] { return print_script(commands, *shell); },
          .footer = recipe::fixed_text("For instance:\n  source <(ingot completion bash)\n"
                                       "  ingot completion fish >~/.config/fish/completions/ingot.fish"),
          .words = kShells};
}

}  // namespace ingot::cli
