#include "exchange/c/names.h"

#include <algorithm>
#include <cctype>

#include "exchange/c/forms.h"
#include "ingot/base/text.h"

namespace ingot::exchange {
namespace {

// Words of C and of C++ (headers are read there, too), macros of the headers in use, and what the file calls its own.
const std::set<std::string, std::less<>>& words() {
  static const std::set<std::string, std::less<>> all = {"auto",
                                                         "break",
                                                         "case",
                                                         "char",
                                                         "const",
                                                         "continue",
                                                         "default",
                                                         "do",
                                                         "double",
                                                         "else",
                                                         "enum",
                                                         "extern",
                                                         "float",
                                                         "for",
                                                         "goto",
                                                         "if",
                                                         "inline",
                                                         "int",
                                                         "long",
                                                         "register",
                                                         "restrict",
                                                         "return",
                                                         "short",
                                                         "signed",
                                                         "sizeof",
                                                         "static",
                                                         "struct",
                                                         "switch",
                                                         "typedef",
                                                         "union",
                                                         "unsigned",
                                                         "void",
                                                         "volatile",
                                                         "while",
                                                         "alignas",
                                                         "alignof",
                                                         "and",
                                                         "and_eq",
                                                         "asm",
                                                         "bitand",
                                                         "bitor",
                                                         "bool",
                                                         "catch",
                                                         "char16_t",
                                                         "char32_t",
                                                         "char8_t",
                                                         "class",
                                                         "co_await",
                                                         "co_return",
                                                         "co_yield",
                                                         "compl",
                                                         "concept",
                                                         "const_cast",
                                                         "consteval",
                                                         "constexpr",
                                                         "constinit",
                                                         "decltype",
                                                         "delete",
                                                         "dynamic_cast",
                                                         "explicit",
                                                         "export",
                                                         "false",
                                                         "friend",
                                                         "module",
                                                         "mutable",
                                                         "namespace",
                                                         "new",
                                                         "noexcept",
                                                         "not",
                                                         "not_eq",
                                                         "nullptr",
                                                         "operator",
                                                         "or",
                                                         "or_eq",
                                                         "private",
                                                         "protected",
                                                         "public",
                                                         "reinterpret_cast",
                                                         "requires",
                                                         "static_assert",
                                                         "static_cast",
                                                         "template",
                                                         "this",
                                                         "thread_local",
                                                         "throw",
                                                         "true",
                                                         "try",
                                                         "typeid",
                                                         "typename",
                                                         "typeof",
                                                         "typeof_unqual",
                                                         "using",
                                                         "virtual",
                                                         "wchar_t",
                                                         "xor",
                                                         "xor_eq",
                                                         "fortran",
                                                         "linux",
                                                         "unix",
                                                         "i386",
                                                         "NULL",
                                                         "EOF",
                                                         "INFINITY",
                                                         "NAN",
                                                         "LANES",
                                                         "LANES_D",
                                                         "LOAD",
                                                         "LOAD_D",
                                                         "STORE",
                                                         "STORE_D",
                                                         "UNROLL",
                                                         "root",
                                                         "REGISTERS",
                                                         "REGISTERS_D",
                                                         "MAY_ALIAS",
                                                         "f32",
                                                         "f64",
                                                         "i32",
                                                         "i64",
                                                         "u8",
                                                         "u16",
                                                         "vec",
                                                         "vecd",
                                                         "arena",
                                                         "results",
                                                         "memory",
                                                         "main",
                                                         "philox",
                                                         "lanes_sum",
                                                         "lanes_sum_d",
                                                         "errno",
                                                         "assert",
                                                         "complex",
                                                         "I",
                                                         "offsetof",
                                                         "size_t",
                                                         "ptrdiff_t",
                                                         "int8_t",
                                                         "int16_t",
                                                         "int32_t",
                                                         "int64_t",
                                                         "uint8_t",
                                                         "uint16_t",
                                                         "uint32_t",
                                                         "uint64_t"};
  return all;
}

// chain_3: so the file's own functions are called.
bool is_function_name(const std::string& name) {
  const size_t cut = name.find_last_of('_');
  if (cut == std::string::npos || cut + 1 == name.size()) return false;
  if (!std::all_of(name.begin() + static_cast<int64_t>(cut) + 1, name.end(),
                   [](unsigned char c) { return std::isdigit(c) != 0; }))
    return false;
  std::string stem = name.substr(0, cut);
  for (const char* of : {"check_", "conv_"})
    if (stem.starts_with(of)) stem.erase(0, std::string(of).size());
  return stem == "chain" || stem == "fold" || stem == "product" || stem == "loop" || stem == "w" ||
         find_op(stem) != nullptr;
}

}  // namespace

std::string c_name(std::string_view text, std::string_view fallback) {
  std::string name;
  for (const char c : text) name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  name.erase(0, std::min(name.find_first_not_of('_'), name.size()));
  if (name.empty()) name = fallback;
  if (std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = std::string(fallback) + "_" + name;
  if (name.size() > 60) name.resize(60);  // C99 looks at 63 characters
  if (words().contains(name) || is_function_name(name)) name += "_";
  return name;
}

std::string c_name(std::string_view text, std::string_view fallback, std::set<std::string>& taken) {
  const std::string first = c_name(text, fallback);
  std::string name = first;
  for (int i = 2; !taken.insert(name).second; i++) name = first + "_" + std::to_string(i) + "_";
  return name;
}

std::string upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string c_comment(std::string_view text) {
  std::string safe;
  for (const char c : valid_utf8(text)) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) {
      safe += ' ';
      continue;
    }
    if ((c == '/' && (safe.ends_with("*"))) || (c == '*' && safe.ends_with("/"))) safe += ' ';
    if (c == '?' && safe.ends_with("?")) safe += ' ';  // no trigraph
    safe += c;
  }
  if (safe.ends_with("\\")) safe += ' ';
  return safe;
}

std::string c_string(std::string_view text) {
  std::string safe;
  for (const char c : valid_utf8(text)) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127)
      safe += ' ';
    else if (c == '"' || c == '\\')
      safe += std::string("\\") + c;
    else if (c == '?' && safe.ends_with("?"))
      safe += "\\?";
    else
      safe += c;
  }
  return safe;
}

}  // namespace ingot::exchange
