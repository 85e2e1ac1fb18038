// Commands of a program: their options, and what they do. The `ingot` program is made of these; a system adds its own.
//
//   auto o = std::make_shared<Options>();
//   return Command{.name = "greet", .about = "Says hello", .options = {{"NAME", &o->name, "who"}},
//                  .run = [o] { return greet(*o); }};
#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "ingot/base/export.h"

namespace ingot::recipe {

/// Where the value of an option goes. A bool is a flag; a list takes one value each time the option is given (of an
/// argument: all that follow).
using OptionTarget = std::variant<bool*, int*, int64_t*, double*, std::string*, std::vector<std::string>*,
                                  std::function<void(const std::string&)>, std::function<void()>>;

struct Option {
  std::string name;  // "--size", "-o,--out"; without dashes an argument: "FILE"
  OptionTarget target;
  std::string about;
  std::string type = {};  // what stands behind it in --help: "WIDTHxHEIGHT"
  bool required = false;
  bool shows_default = false;  // in --help
  double least = -std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::infinity();
  bool comma_separated = false;
};

struct Command {
  std::string name, about;
  std::vector<Option> options = {};
  std::function<int()> run = {};  // what it does; the program's exit code
  std::function<std::string()> footer = {};
  std::vector<Command> commands = {};  // or commands of its own, of which one must be given
  std::string words = {};              // what a shell can complete besides: names, with spaces between
};

/// --threads N, which takes effect at once.
INGOT_API Option threads_option(const std::string& about = "worker threads (default: INGOT_THREADS, or all cores)");
/// --set KEY=VALUE, as often as one likes.
INGOT_API Option set_option(std::vector<std::string>& sets, const std::string& about);
/// A footer that does not change.
INGOT_API std::function<std::string()> fixed_text(std::string text);

}  // namespace ingot::recipe
