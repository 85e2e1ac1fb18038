#include "exchange/c/names.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "exchange/c/forms.h"
#include "exchange/c/helpers.h"
#include "ingot/base/text.h"

namespace ingot::exchange {
namespace {

std::set<std::string, std::less<>> words_of(const char* text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// Words of C and of C++ (headers are read there, too), macros of the headers in use, and what the file calls its own.
const std::set<std::string, std::less<>>& words() {
  static const std::set<std::string, std::less<>> all = words_of(
      "auto break case char const continue default do double else enum extern float for goto if inline int "
      "long register restrict return short signed sizeof static struct switch typedef union unsigned void "
      "volatile while alignas alignof and and_eq asm bitand bitor bool catch char16_t char32_t char8_t class "
      "co_await co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete "
      "dynamic_cast explicit export false friend module mutable namespace new noexcept not not_eq nullptr "
      "operator or or_eq private protected public reinterpret_cast requires static_assert static_cast template "
      "this thread_local throw true try typeid typename typeof typeof_unqual using virtual wchar_t xor xor_eq "
      "fortran linux unix i386 NULL EOF INFINITY NAN LANES LANES_D LOAD LOAD_D STORE STORE_D UNROLL root "
      "REGISTERS REGISTERS_D MAY_ALIAS f32 f64 i32 i64 u8 u16 vec vecd arena results memory status temporaries "
      "math_errhandling main philox lanes_sum lanes_sum_d errno assert complex I offsetof size_t ptrdiff_t "
      "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t ");
  return all;
}

// Letters and digits of C, whatever the locale says.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_capital(char c) { return c >= 'A' && c <= 'Z'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || is_capital(c); }

// Macros of stdint.h and math.h.
bool is_macro(const std::string& name) {
  static constexpr const char* kFirst[] = {"INT", "UINT", "PTRDIFF_", "SIZE_", "SIG_", "WCHAR_", "WINT_",
                                           "FP_", "M_",   "HUGE",     "MATH_", "DBL_", "FLT_"};
  return std::none_of(name.begin(), name.end(), [](char c) { return is_letter(c) && !is_capital(c); }) &&
         std::any_of(std::begin(kFirst), std::end(kFirst), [&](const char* first) { return name.starts_with(first); });
}

// chain_3, net_w_3, own_exp: so the file's own functions and constants are called.
bool is_own_name(const std::string& name) {
  if (name.starts_with("own_")) return true;
  const size_t cut = name.find_last_of('_');
  if (cut == std::string::npos || cut + 1 == name.size()) return false;
  if (!std::all_of(name.begin() + static_cast<int64_t>(cut) + 1, name.end(), is_digit)) return false;
  std::string stem = name.substr(0, cut);
  for (const char* of : {"check_", "conv_"})
    if (stem.starts_with(of)) stem.erase(0, std::string(of).size());
  return stem == "chain" || stem == "fold" || stem == "product" || stem == "loop" || stem == "w" ||
         stem.ends_with("_w") || find_op(stem) != nullptr;
}

bool is_helper(const std::string& name) {
  const auto all = all_helpers();
  return std::any_of(all.begin(), all.end(), [&](const Helper& h) { return name == h.name; });
}

// Valid UTF-8 in one line, read from left to right by everyone: marks that turn the direction become spaces.
std::string plain(std::string_view text) {
  std::string safe = valid_utf8(text);
  for (char& c : safe)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  static constexpr const char* kTurns[] = {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                                           "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u2028", "\u2029"};
  for (const std::string_view turn : kTurns)
    for (size_t at = 0; (at = safe.find(turn, at)) != std::string::npos;) safe.replace(at, turn.size(), " ");
  return safe;
}

}  // namespace

std::string c_name(std::string_view text, std::string_view fallback) {
  std::string name;
  for (const char c : text) name += is_letter(c) || is_digit(c) ? c : '_';
  name.erase(0, std::min(name.find_first_not_of('_'), name.size()));
  if (name.empty()) name = fallback;
  if (is_digit(name[0])) name = std::string(fallback) + "_" + name;
  if (name.size() > 60) name.resize(60);  // C99 looks at 63 characters
  if (words().contains(name) || is_macro(name) || is_own_name(name) || is_helper(name)) name += "_";
  return name;
}

std::string c_name(std::string_view text, std::string_view fallback, std::set<std::string>& taken) {
  const std::string first = c_name(text, fallback);
  std::string name = first;
  for (int i = 2; !taken.insert(name).second; i++) name = first + "_" + std::to_string(i) + "_";
  return name;
}

std::string c_file_name(std::string_view text, std::string_view fallback) {
  static const std::set<std::string, std::less<>> kHeaders = words_of(
      "ctype fenv inttypes iso646 limits locale math memory setjmp signal stdarg stdbool stddef stdint stdio "
      "stdlib string tgmath time threads unistd wchar wctype");
  const std::string name = c_name(text, fallback);
  std::string small = name;  // file systems may not tell Math.h from math.h
  for (char& c : small)
    if (is_capital(c)) c = static_cast<char>(c - 'A' + 'a');
  return kHeaders.contains(small) ? name + "_" : name;
}

std::string upper(std::string text) {
  for (char& c : text)
    if (is_letter(c) && !is_capital(c)) c = static_cast<char>(c - 'a' + 'A');
  return text;
}

std::string c_comment(std::string_view text) {
  std::string safe;
  for (const char c : plain(text)) {
    if ((c == '/' && (safe.ends_with("*"))) || (c == '*' && safe.ends_with("/"))) safe += ' ';
    if (c == '?' && safe.ends_with("?")) safe += ' ';  // no trigraph
    safe += c;
  }
  if (safe.ends_with("\\")) safe += ' ';
  return safe;
}

std::string c_string(std::string_view text) {
  std::string safe;
  for (const char c : plain(text)) {
    if (c == '"' || c == '\\')
      safe += std::string("\\") + c;
    else if (c == '?' && safe.ends_with("?"))
      safe += "\\?";
    else
      safe += c;
  }
  return safe;
}

}  // namespace ingot::exchange
