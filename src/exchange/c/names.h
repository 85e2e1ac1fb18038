// Names that C takes.
#pragma once
#include <set>
#include <string>
#include <string_view>

namespace ingot::exchange {

/// `text` as a name that is no word of C's, C++'s or of the file's own; `fallback` if nothing of it is left.
std::string c_name(std::string_view text, std::string_view fallback);
/// The same, told apart from those in `taken`, which it joins.
std::string c_name(std::string_view text, std::string_view fallback, std::set<std::string>& taken);
/// A name for a file and for what it declares: no header of the standard's, which it would hide.
std::string c_file_name(std::string_view text, std::string_view fallback);
std::string upper(std::string text);
/// Text between /* and */: without an end of the comment, or of the line, in it.
std::string c_comment(std::string_view text);
/// Between the quotes of a string.
std::string c_string(std::string_view text);

}  // namespace ingot::exchange
