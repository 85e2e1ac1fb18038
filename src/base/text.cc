#include "ingot/base/text.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

namespace ingot {
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

std::string join(std::span<const std::string> parts, std::string_view between) {
  std::string text;
  for (size_t i = 0; i < parts.size(); i++) {
    if (i > 0) text += between;
    text += parts[i];
  }
  return text;
}

std::string listed(std::span<const std::string> parts) {
  if (parts.size() < 2) return join(parts);
  return join(parts.first(parts.size() - 1)) + " and " + parts.back();
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

std::string in_quotes(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) result += static_cast<uint8_t>(c) < 32 || c == 127 ? '?' : c;
  return result + (text.size() > kLongest ? "…\"" : "\"");
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); j++) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); i++) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); j++) {
      const int above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string did_you_mean(std::string_view name, std::span<const std::string> names) {
  const std::string* best = nullptr;
  int least = std::max(2, static_cast<int>(name.size() / 3)) + 1;
  for (const std::string& each : names) {
    const auto longer = std::max(name.size(), each.size()) - std::min(name.size(), each.size());
    if (longer >= static_cast<size_t>(least)) continue;  // and a name of a megabyte costs nothing
    if (const int distance = edit_distance(name, each); distance < least) least = distance, best = &each;
  }
  return best != nullptr ? "did you mean " + in_quotes(*best) + "?" : "there are " + join(names);
}

std::string counted(int64_t n, std::string_view what) {
  std::string text = grouped(n) + " ";
  text += what;
  return n == 1 ? text : text + "s";
}

std::string grouped(int64_t n) {
  std::string text = std::to_string(n);
  const size_t first = n < 0 ? 1 : 0;  // no comma behind the sign
  for (size_t at = text.size(); at > first + 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string format_bytes(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  int unit = -1;
  do {
    value /= 1024;
    ++unit;
  } while (value >= 1023.95 && unit < 5);  // 1023.95 would print as 1024.0
  return formatted("%.1f %s", value, units[unit]);
}

std::string format_count(double n) {
  const char* const units[] = {" k", " M", " G", " T"};
  if (!(n >= 999.5)) return formatted("%.0f", n);
  int unit = -1;
  do {
    n /= 1000;
    ++unit;
  } while (n >= 999.95 && unit < 3);
  return formatted("%.1f%s", n, units[unit]);
}

std::string percent(double share, int decimals) {
  return std::isnan(share) ? "-" : formatted("%.*f %%", decimals, 100 * share);
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t n = sequence(text);
    out += n == 0 ? std::string_view("\uFFFD") : text.substr(0, n);
    text.remove_prefix(n == 0 ? 1 : n);
  }
  return out;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t n = sequence(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
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

}  // namespace ingot
