#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <memory>

#include "ingot/base/error.h"
#include "ingot/recipe/line_editor.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/commands.h"
#include "logic/door/interrupts.h"
#include "logic/door/session.h"

namespace ingot::logic::door {
namespace {

// Lines of a person at a terminal.
void edited(Session& session) {
  recipe::LineEditor editor(recipe::History::file_of("logic_history"),
                            [&](const std::string& before) { return session.completions(before); });
  fmt::print("Facts, rules and queries; :help says more, :quit or Ctrl-D ends.\n");
  while (!session.finished()) {
    std::fflush(stdout);
    const auto line = editor.read(session.unfinished() ? "... " : "?- ");
    if (line.state == recipe::EditedLine::State::kEnd) break;
    if (line.state == recipe::EditedLine::State::kInterrupted) {
      session.forget();
      continue;
    }
    interrupted = false;
    fmt::print("{}", recipe::printable_lines(session.line(line.text)));
  }
}

// Lines of anything else, which goes on by the exit code.
int plain(Session& session) {
  std::string line;
  while (!session.finished() && std::getline(std::cin, line)) {
    interrupted = false;
    fmt::print("{}", recipe::printable_lines(session.line(line)));
    std::fflush(stdout);
  }
  fmt::print("{}", recipe::printable_lines(session.end()));
  return session.failed() && isatty(STDIN_FILENO) == 0 ? 2 : 0;
}

int repl(const std::string& file, const std::string& facts) {
  Session session({.facts = facts, .output = "-", .cancel = &interrupted});
  if (!file.empty()) session.open(file);
  const Interrupts interrupts;
  if (!recipe::LineEditor::possible()) return plain(session);
  edited(session);
  return 0;
}

}  // namespace

recipe::Command repl_command() {
  struct Options {
    std::string file, facts = ".";
  };
  auto o = std::make_shared<Options>();
  recipe::Command c{.name = "repl", .about = "Write facts and rules, and ask"};
  c.options = {{.name = "FILE", .target = &o->file, .about = "a program to begin with"},
               {.name = "-F,--facts",
                .target = &o->facts,
                .about = "where .input finds its files",
                .type = "DIR",
                .shows_default = true}};
  c.run = [o] { return repl(o->file, o->facts); };
  c.footer = recipe::fixed_text(Session::help());
  return c;
}

}  // namespace ingot::logic::door
