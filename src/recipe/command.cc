#include "ingot/recipe/command.h"

#include <charconv>

#include "ingot/base/error.h"
#include "ingot/base/threads.h"

namespace ingot::recipe {

Option threads_option(const std::string& about) {
  const auto set = [](const std::string& text) {
    int n = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (problem != std::errc() || end != text.data() + text.size())
      throw Error("--threads " + text + " — give a whole number");
    set_threads(n);
  };
  return {.name = "--threads", .target = std::function<void(const std::string&)>(set), .about = about, .type = "N"};
}

Option set_option(std::vector<std::string>& sets, const std::string& about) {
  return {.name = "--set", .target = &sets, .about = about, .type = "KEY=VALUE"};
}

std::function<std::string()> fixed_text(std::string text) {
  return [text = std::move(text)] { return text; };
}

}  // namespace ingot::recipe
