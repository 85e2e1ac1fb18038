#include "ingot/recipe/terminal.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "ingot/base/text.h"

namespace ingot::recipe {
namespace {
std::string coloured(const char* code, std::string_view text) {
  return has_colours() ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

// A terminal that takes no escape codes.
bool is_dumb() {
  const char* term = std::getenv("TERM");
  return term != nullptr && std::string_view(term) == "dumb";
}

// The bytes of the character that a text begins with; 0 if they are none, or one that controls terminals.
size_t character_bytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const size_t bytes = byte(0) >= 0xf5 ? 0 : byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : byte(0) >= 0xc2 ? 2 : 0;
  if (bytes > text.size()) return 0;
  for (size_t i = 1; i < bytes; i++)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  return byte(0) == 0xc2 && byte(1) < 0xa0 ? 0 : bytes;  // U+0080 to U+009F control terminals as well
}

std::string cleaned(std::string_view text, size_t most, bool lines) {
  std::string out;
  for (size_t characters = 0; !text.empty() && characters < most; characters++) {
    const size_t bytes = lines && (text[0] == '\n' || text[0] == '\t') ? 1 : character_bytes(text);
    out += bytes == 0 ? "?" : text.substr(0, bytes);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}
}  // namespace

std::string printable(std::string_view text, size_t most) { return cleaned(text, most, false); }
std::string printable_lines(std::string_view text) { return cleaned(text, SIZE_MAX, true); }

bool is_terminal() { return isatty(STDOUT_FILENO) != 0; }

bool can_redraw() { return is_terminal() && !is_dumb(); }
bool errors_to_terminal() { return isatty(STDERR_FILENO) != 0 && !is_dumb(); }

bool has_colours() {
  static const bool colours = [] {
    const char* no = std::getenv("NO_COLOR");
    return can_redraw() && (no == nullptr || *no == '\0');
  }();
  return colours;
}

int terminal_width() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

std::string redrawn(std::string_view text) { return "\r" + padded(text, terminal_width() - 1); }

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

}  // namespace ingot::recipe
