#include "cli/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

namespace ingot::cli {
namespace {
std::string coloured(const char* code, std::string_view text) {
  return has_colours() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}
}  // namespace

bool is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool has_colours() {
  static const bool colours = [] {
    const char *no = std::getenv("NO_COLOR"), *term = std::getenv("TERM");
    return is_terminal() && (no == nullptr || *no == '\0') && (term == nullptr || std::string_view(term) != "dumb");
  }();
  return colours;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string bold(std::string_view text) { return coloured("1", text); }
std::string green(std::string_view text) { return coloured("32", text); }
std::string dim(std::string_view text) { return coloured("2", text); }

std::string clock_text(double seconds) {
  if (seconds < 9.95) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

}  // namespace ingot::cli
