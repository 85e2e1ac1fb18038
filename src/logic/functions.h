// Functions of terms: arithmetic, bits, texts. One table for parser, types and evaluation.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "logic/value.h"

namespace ingot::logic {

enum class Code : uint8_t {
  kAdd,
  kSubtract,
  kMultiply,
  kDivide,
  kModulo,
  kPower,
  kNegate,
  kMin,
  kMax,
  kAnd,
  kOr,
  kXor,
  kNot,
  kShiftLeft,
  kShiftRight,
  kShiftRightUnsigned,
  kLogicalAnd,
  kLogicalOr,
  kLogicalXor,
  kLogicalNot,
  kCat,
  kLength,
  kSubstring,
  kOrdinal,
  kToNumber,
  kToUnsigned,
  kToFloat,
  kToText,
  kConvert,
  kRange,
  kContains,
  kMatch,
};

/// What a function takes and gives: types by letter, n number, u unsigned, f float, s symbol, '#' any number and '=' the same
/// type as the first '#' (a result '#' or '=' has it, too). The last letter repeats if `variadic`.
struct Function {
  std::string_view name;
  Code code;
  std::string_view takes;
  char gives;
  bool variadic = false;
};

const Function* find_function(std::string_view name);
const Function* function_of(Code code);

/// Why a value cannot be had, for the one who knows the place in the program.
struct NoValue {
  std::string why;
};

/// The value of a call whose arguments have this type (that of the first). Throws NoValue.
Value call(Code code, Type type, Type result, std::span<const Value> arguments, Symbols& symbols);

/// -1, 0 or 1, by the type's order: numbers by size, texts by their letters.
int compare(Type type, Value a, Value b, const Symbols& symbols);

/// As it is written in files: 12, 0.5, a text without quotes.
std::string value_text(Type type, Value value, const Symbols& symbols);
/// As it is written in programs: texts in quotes.
std::string value_in_program(Type type, Value value, const Symbols& symbols);
/// Reads what value_text writes; false if it is no such value.
bool parse_value(Type type, std::string_view text, Value& value, Symbols& symbols);

const char* type_name(Type type);

}  // namespace ingot::logic
