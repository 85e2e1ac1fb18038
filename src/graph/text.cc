#include "graph/text.h"

#include <cstdarg>
#include <cstdint>
#include <cstdio>

namespace ingot::graph {
namespace {

// Bytes of the well-formed UTF-8 sequence that `text` begins with, or 0.
size_t sequence(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xC2 && lead < 0xE0 ? 2 : lead >= 0xE0 && lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (lead < 0xC2 || length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; i++)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Too long for what it says, a surrogate, or beyond U+10FFFF.
  if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F)) return 0;
  if ((lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F)) return 0;
  return length;
}

bool starts_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

}  // namespace

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = sequence(text);
    out += n == 0 ? std::string_view("\uFFFD") : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

std::string json_escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<uint8_t>(c) < 0x20)
      out += formatted("\\u%04x", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += static_cast<uint8_t>(c) < 0x20 ? ' ' : c;  // XML has no control characters
    }
  }
  return out;
}

int text_width(std::string_view utf8) {
  int n = 0;
  for (const char c : utf8) n += starts_character(c);
  return n;
}

std::string shortened(std::string_view utf8, int most) {
  if (text_width(utf8) <= most) return std::string(utf8);
  size_t i = 0;
  for (int n = 0; i < utf8.size(); i++)
    if (starts_character(utf8[i]) && n++ == most - 1) break;
  return std::string(utf8.substr(0, i)) + "…";
}

std::string padded(std::string_view utf8, int width, bool right) {
  const int missing = width - text_width(utf8);
  const std::string fill(missing > 0 ? static_cast<size_t>(missing) : 0, ' ');
  return right ? fill + std::string(utf8) : std::string(utf8) + fill;
}

std::string formatted(const char* format, ...) {
  std::va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int n = std::vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(n > 0 ? static_cast<size_t>(n) : 0, '\0');
  std::vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

}  // namespace ingot::graph
