// The command line: the one file that knows the library which reads it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <new>
#include <system_error>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

using recipe::Option;

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

void add_range(CLI::Option* option, const Option& o) {
  if (std::holds_alternative<double*>(o.target))  // no range keeps out what compares with nothing
    option->check([](const std::string& text) {
      double value = 0;
      return CLI::detail::lexical_cast(text, value) && std::isnan(value) ? text + " is no number" : std::string();
    });
  if (std::isinf(o.least) && std::isinf(o.most)) return;
  if (std::holds_alternative<double*>(o.target))
    option->check(CLI::Range(o.least, o.most));
  else
    option->check(CLI::Range(static_cast<int64_t>(o.least), static_cast<int64_t>(o.most)));
}

void add_option(CLI::App* app, const Option& o) {
  const bool argument = !o.name.starts_with('-');
  CLI::Option* option = std::visit(
      Overloaded{[&](bool* flag) { return app->add_flag(o.name, *flag, o.about); },
                 [&](const std::function<void()>& call) { return app->add_flag_callback(o.name, call, o.about); },
                 [&](const std::function<void(const std::string&)>& call) {
                   return app->add_option_function<std::string>(o.name, call, o.about);
                 },
                 [&](std::vector<std::string>* list) {
                   CLI::Option* added = app->add_option(o.name, *list, o.about);
                   if (o.comma_separated) return added->delimiter(',');
                   return argument ? added : added->expected(1)->take_all();
                 },
                 [&](auto* value) -> CLI::Option* { return app->add_option(o.name, *value, o.about); }},
      o.target);
  if (!o.type.empty()) option->type_name(o.type);
  if (o.required) option->required();
  if (o.shows_default) option->capture_default_str();
  add_range(option, o);
}

// What a command does when it is called goes into `run`.
void add_command(CLI::App& app, const Command& command, std::function<int()>& run) {
  CLI::App* sub = app.add_subcommand(command.name, command.about);
  for (const Option& o : command.options) add_option(sub, o);
  for (const Command& part : command.commands) add_command(*sub, part, run);
  if (command.run) sub->callback([&run, &command] { run = command.run; });
  sub->footer(std::string());  // else it has that of the whole program before its own
  if (command.footer) sub->footer(command.footer);
}

// The command that was named, as far as it is one.
const CLI::App* named(const CLI::App& app) {
  const std::vector<CLI::App*> parts = app.get_subcommands();
  return parts.empty() ? &app : named(*parts[0]);
}
std::string words_of(const CLI::App* app) {
  return app->get_parent() == nullptr ? "ingot" : words_of(app->get_parent()) + " " + app->get_name();
}

// A sentence without what controls terminals; of names that fill a screen, the beginning.
std::string readable(const std::string& text) {
  constexpr int kLongestWord = 300, kMost = 5000;
  std::string out;
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = std::min(text.find_first_of(" \n", begin), text.size() - 1) + 1;
    out += shortened(recipe::printable_lines(text.substr(begin, end - begin)), kLongestWord);
  }
  return shortened(out, kMost);
}

int failed(const std::exception& problem, const std::string& text) {
  std::fflush(stdout);
  std::fprintf(stderr, "ingot: %s\n", readable(text).c_str());
  return exit_code(problem);
}

// What another library says of a file, as we say it.
std::string sentence_of(const std::exception& e) {
  const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&e);
  return of_file == nullptr ? e.what() : of_file->path1().string() + ": " + of_file->code().message();
}

struct Code {
  ErrorKind kind;
  int code;
  const char* what;
};
constexpr Code kCodes[] = {{ErrorKind::kInternal, 1, "a fault of Ingot's own"},
                           {ErrorKind::kArgument, 2, "an option, a key or a value that does not fit"},
                           {ErrorKind::kFile, 4, "a file that is missing, broken or cannot be written"},
                           {ErrorKind::kShape, 5, "shapes that do not go together"},
                           {ErrorKind::kType, 6, "a type that does not fit"},
                           {ErrorKind::kMemory, 7, "more memory than there is"},
                           {ErrorKind::kNumeric, 8, "a loss that is no number any more"},
                           {ErrorKind::kCancelled, kCancelled, "stopped by Ctrl-C; `--resume` goes on"}};

int code_of(ErrorKind kind) {
  for (const Code& c : kCodes)
    if (c.kind == kind) return c.code;
  return 1;
}

// What was printed may still be on its way: a full disk is known when it arrives.
int written(int code) {
  const bool arrived = std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.flush().good();
  if (arrived) return code;
  std::fputs("ingot: the output could not be written — is the disk full, or standard output closed?\n", stderr);
  return code == 0 ? code_of(ErrorKind::kFile) : code;
}

}  // namespace

int exit_code(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr) return code_of(ErrorKind::kMemory);
  if (dynamic_cast<const std::filesystem::filesystem_error*>(&problem) != nullptr) return code_of(ErrorKind::kFile);
  const auto* error = dynamic_cast<const Error*>(&problem);
  return error != nullptr ? code_of(error->kind()) : 1;
}

std::string exit_codes_help() {
  std::string text =
      "Exit codes: 0 done, 3 the answer is no (an exam was not passed, things are not equal); else why not:\n";
  for (const Code& c : kCodes) text += "  " + std::to_string(c.code) + "\t" + c.what + "\n";
  text += "  9\tno answer in the time that was given\n";
  return text;
}

int run_program(const std::vector<Command>& commands, int argc, char** argv) {
  CLI::App app{"Ingot: training steps compiled into one planned program."};
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.footer(
      "For instance:\n"
      "  ingot train digits               trains a network in seconds and writes a report\n"
      "  ingot recipes                    what else is ready to train\n"
      "  ingot eval runs/digits\n"
      "  ingot predict runs/digits data/seven.png\n"
      "  ingot profile mnist              where the time of a training step goes\n"
      "  ingot doctor                     what this machine can do\n"
      "\n`ingot COMMAND --help` has examples for each command.\n\n" +
      exit_codes_help());
  std::function<int()> run;
  for (const Command& command : commands) add_command(app, command, run);
  try {
    app.parse(argc, argv);
    if (!run) return std::fputs(named(app)->help().c_str(), stdout), written(0);  // what one can do
    return written(run());
  } catch (const CLI::Success& e) {  // --help, --version
    return written(app.exit(e));
  } catch (const CLI::ParseError& e) {
    return failed(Error(""), fmt::format("{} — `{} --help` says what there is", e.what(), words_of(named(app))));
  } catch (const std::bad_alloc& e) {
    return failed(e, "this takes more memory than there is — use something smaller, or a larger machine");
  } catch (const std::exception& e) {
    const bool could_not_print = std::ferror(stdout) != 0 && dynamic_cast<const std::system_error*>(&e) != nullptr;
    return could_not_print ? written(0) : failed(e, sentence_of(e));
  }
}

}  // namespace ingot::cli
