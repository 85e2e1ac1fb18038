// What a person sees while something runs: colours where they help, numbers as people write them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "ingot/base/export.h"

namespace ingot::recipe {

/// Is standard output a terminal that shows colours? (NO_COLOR and TERM=dumb say no.)
INGOT_API bool has_colours();
INGOT_API bool is_terminal();
/// Are standard output, and standard error, terminals on which a line can be drawn again? (TERM=dumb says no.)
INGOT_API bool can_redraw();
INGOT_API bool errors_to_terminal();
/// A text in place of the line that stands there, without escape codes: shorter ones are filled up.
INGOT_API std::string redrawn(std::string_view text);
/// Columns of the terminal; 80 if there is none.
INGOT_API int terminal_width();

INGOT_API std::string bold(std::string_view text);
INGOT_API std::string green(std::string_view text);
INGOT_API std::string dim(std::string_view text);

/// Text out of a file as a terminal may see it: what is a control character or no UTF-8 becomes "?", and it ends after
/// so many characters, never within one. Texts of several lines keep line breaks and tabs.
INGOT_API std::string printable(std::string_view text, size_t most = SIZE_MAX);
INGOT_API std::string printable_lines(std::string_view text);

/// Seconds as "0.8 s", "12 s", "3:05", "1:02:03".
INGOT_API std::string clock_text(double seconds);

}  // namespace ingot::recipe
