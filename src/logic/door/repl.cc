#include <fmt/format.h>

#include <csignal>
#include <iostream>
#include <memory>

#include "ingot/base/error.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/commands.h"
#include "logic/door/session.h"

namespace ingot::logic::door {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

// While it lives, Ctrl-C stops what is computed, not the program.
class Interrupts {
 public:
  Interrupts() : before_(std::signal(SIGINT, [](int) { interrupted = true; })) {}
  ~Interrupts() { std::signal(SIGINT, before_); }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

 private:
  void (*before_)(int);
};

int repl(const std::string& file, const std::string& facts) {
  Session session({.facts = facts, .output = "-", .cancel = &interrupted});
  if (!file.empty()) session.open(file);
  const Interrupts interrupts;
  const bool people = recipe::is_terminal();
  if (people) fmt::print("Facts, rules and queries; :help says more, :quit or Ctrl-D ends.\n");
  std::string line;
  while (!session.finished()) {
    if (people) {
      fmt::print("{}", session.unfinished() ? "... " : "?- ");
      std::fflush(stdout);
    }
    if (!std::getline(std::cin, line)) break;
    interrupted = false;
    fmt::print("{}", recipe::printable_lines(session.line(line)));
    std::fflush(stdout);
  }
  if (people) fmt::print("\n");
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
