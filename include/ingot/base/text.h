// Text for people and for other programs: lists, counts, sizes, quotes, escapes, columns that line up.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"

namespace ingot {

// Lists and names -----------------------------------------------------------------------------------------------------

/// "a, b, c", or with another word between them.
INGOT_API std::string join(std::span<const std::string> parts, std::string_view between = ", ");
inline std::string join(const std::vector<std::string>& parts, std::string_view between = ", ") {
  return join(std::span<const std::string>(parts), between);
}
/// "a, b and c".
INGOT_API std::string listed(std::span<const std::string> parts);
/// Without blanks and tabs at both ends.
INGOT_API std::string_view trimmed(std::string_view text);
/// In double quotes, shortened to 80 bytes and without bytes that would upset a terminal: for messages.
INGOT_API std::string in_quotes(std::string_view text);
/// How many letters must be put in, taken out or exchanged to make one of the other.
INGOT_API int edit_distance(std::string_view a, std::string_view b);
/// "did you mean "x"?" if one of the names is close to `name`, else "there are a, b, c".
INGOT_API std::string did_you_mean(std::string_view name, std::span<const std::string> names);

// Numbers for people --------------------------------------------------------------------------------------------------

/// "1 step", "2,400 steps".
INGOT_API std::string counted(int64_t n, std::string_view what);
/// 1234567 as "1,234,567".
INGOT_API std::string grouped(int64_t n);
/// "64 B", "1.5 KiB", "12.3 MiB".
INGOT_API std::string format_bytes(uint64_t bytes);
/// A count in thousands, millions, …: "950", "1.2 k", "3.4 M".
INGOT_API std::string format_count(double n);
/// "97.5 %"; "-" for NaN.
INGOT_API std::string percent(double share, int decimals = 1);

// UTF-8 and escapes ---------------------------------------------------------------------------------------------------

/// The same text as valid UTF-8: bytes that are none become U+FFFD.
INGOT_API std::string valid_utf8(std::string_view text);
INGOT_API bool is_utf8(std::string_view text);
/// Between the quotes of a JSON string.
INGOT_API std::string json_escaped(std::string_view text);
/// Inside XML or SVG text and attributes.
INGOT_API std::string xml_escaped(std::string_view text);

// Columns -------------------------------------------------------------------------------------------------------------

/// Characters, not bytes.
INGOT_API int text_width(std::string_view utf8);
/// The first `most` characters, the last of them "…" if some are left out.
INGOT_API std::string shortened(std::string_view utf8, int most);
/// Filled up with spaces to `width` characters, at the end or (right) at the start.
INGOT_API std::string padded(std::string_view utf8, int width, bool right = false);
/// printf into a string.
[[gnu::format(printf, 1, 2)]] INGOT_API std::string formatted(const char* format, ...);

}  // namespace ingot
