// Text for people and for other programs: escaping, and columns that line up.
#pragma once
#include <string>
#include <string_view>

namespace ingot::graph {

/// The same text as valid UTF-8: bytes that are none become U+FFFD.
std::string valid_utf8(std::string_view text);
/// Between the quotes of a JSON string.
std::string json_escaped(std::string_view text);
/// Inside XML or SVG text and attributes.
std::string xml_escaped(std::string_view text);
/// Characters, not bytes.
int text_width(std::string_view utf8);
/// The first `most` characters, the last of them "…" if some are left out.
std::string shortened(std::string_view utf8, int most);
/// Filled up with spaces to `width` characters, at the end or (right) at the start.
std::string padded(std::string_view utf8, int width, bool right = false);
/// printf into a string.
[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...);

}  // namespace ingot::graph
