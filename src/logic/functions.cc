#include "logic/functions.h"

#include <cmath>
#include <vector>

#include "ingot/base/numbers.h"
#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

constexpr Function kFunctions[] = {
    {"+", Code::kAdd, "#=", '='},
    {"-", Code::kSubtract, "#=", '='},
    {"*", Code::kMultiply, "#=", '='},
    {"/", Code::kDivide, "#=", '='},
    {"%", Code::kModulo, "#=", '='},
    {"^", Code::kPower, "#=", '='},
    {"negate", Code::kNegate, "#", '='},
    {"min", Code::kMin, "#=", '=', true},
    {"max", Code::kMax, "#=", '=', true},
    {"band", Code::kAnd, "#=", '='},
    {"bor", Code::kOr, "#=", '='},
    {"bxor", Code::kXor, "#=", '='},
    {"bnot", Code::kNot, "#", '='},
    {"bshl", Code::kShiftLeft, "#=", '='},
    {"bshr", Code::kShiftRight, "#=", '='},
    {"bshru", Code::kShiftRightUnsigned, "#=", '='},
    {"land", Code::kLogicalAnd, "#=", '='},
    {"lor", Code::kLogicalOr, "#=", '='},
    {"lxor", Code::kLogicalXor, "#=", '='},
    {"lnot", Code::kLogicalNot, "#", '='},
    {"cat", Code::kCat, "ss", 's', true},
    {"strlen", Code::kLength, "s", 'n'},
    {"substr", Code::kSubstring, "snn", 's'},
    {"ord", Code::kOrdinal, "s", 'n'},
    {"to_number", Code::kToNumber, "s", 'n'},
    {"to_unsigned", Code::kToUnsigned, "s", 'u'},
    {"to_float", Code::kToFloat, "s", 'f'},
    {"to_string", Code::kToText, "#", 's'},
    {"itof", Code::kConvert, "n", 'f'},
    {"utof", Code::kConvert, "u", 'f'},
    {"ftoi", Code::kConvert, "f", 'n'},
    {"ftou", Code::kConvert, "f", 'u'},
    {"itou", Code::kConvert, "n", 'u'},
    {"utoi", Code::kConvert, "u", 'n'},
    {"range", Code::kRange, "#==", '=', true},
    {"contains", Code::kContains, "ss", 'n'},
    {"match", Code::kMatch, "ss", 'n'},
};

template <class T>
T power(T base, T exponent) {
  if constexpr (std::is_signed_v<T>)
    if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 != 0 ? -1 : 1) : 0;
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (auto e = static_cast<uint64_t>(exponent); e != 0; e >>= 1, factor *= factor)
    if ((e & 1) != 0) result *= factor;
  return static_cast<T>(result);
}

template <class T>
T whole_number(Code code, T a, T b) {
  const auto x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);  // wraps around, as Soufflé's numbers do
  switch (code) {
    case Code::kAdd: return static_cast<T>(x + y);
    case Code::kSubtract: return static_cast<T>(x - y);
    case Code::kMultiply: return static_cast<T>(x * y);
    case Code::kDivide:
    case Code::kModulo:
      if (b == 0) throw NoValue{code == Code::kDivide ? "a division by zero" : "a remainder of a division by zero"};
      if constexpr (std::is_signed_v<T>)
        if (b == -1) return code == Code::kDivide ? static_cast<T>(0 - x) : 0;
      return code == Code::kDivide ? a / b : a % b;
    case Code::kPower: return power(a, b);
    case Code::kNegate: return static_cast<T>(0 - x);
    case Code::kMin: return a < b ? a : b;
    case Code::kMax: return a < b ? b : a;
    case Code::kAnd: return static_cast<T>(x & y);
    case Code::kOr: return static_cast<T>(x | y);
    case Code::kXor: return static_cast<T>(x ^ y);
    case Code::kNot: return static_cast<T>(~x);
    case Code::kShiftLeft: return static_cast<T>(x << (y & 63));
    case Code::kShiftRight: return a >> (y & 63);
    case Code::kShiftRightUnsigned: return static_cast<T>(x >> (y & 63));
    case Code::kLogicalAnd: return x != 0 && y != 0;
    case Code::kLogicalOr: return x != 0 || y != 0;
    case Code::kLogicalXor: return (x != 0) != (y != 0);
    case Code::kLogicalNot: return x == 0;
    default: return 0;
  }
}

double real_number(Code code, double a, double b) {
  switch (code) {
    case Code::kAdd: return a + b;
    case Code::kSubtract: return a - b;
    case Code::kMultiply: return a * b;
    case Code::kDivide: return a / b;
    case Code::kPower: return std::pow(a, b);
    case Code::kNegate: return -a;
    case Code::kMin: return a < b ? a : b;
    case Code::kMax: return a < b ? b : a;
    default: throw NoValue{"this operation on a float, which is for whole numbers"};
  }
}

Value convert(Type from, Type to, Value v) {
  if (from == Type::kFloat) {
    const double x = as_float(v);
    const double low = to == Type::kUnsigned ? 0 : -0x1p63, high = to == Type::kUnsigned ? 0x1p64 : 0x1p63;
    if (!(std::trunc(x) >= low && x < high)) throw NoValue{"the float " + exact_text(x) + " as a whole number"};
    return to == Type::kUnsigned ? static_cast<Value>(x) : of_number(static_cast<int64_t>(x));
  }
  if (to != Type::kFloat) return v;
  return of_float(from == Type::kUnsigned ? static_cast<double>(v) : static_cast<double>(as_number(v)));
}

Value parsed(Type type, Value text, Symbols& symbols) {
  Value value = 0;
  if (!parse_value(type, symbols.text(text), value, symbols))
    throw NoValue{in_quotes(symbols.text(text)) + " as a " + type_name(type)};
  return value;
}

Value substring(std::span<const Value> a, Symbols& symbols) {
  const std::string& text = symbols.text(a[0]);
  const int64_t begin = as_number(a[1]), length = as_number(a[2]);
  if (begin < 0 || length < 0 || begin > static_cast<int64_t>(text.size())) return symbols.intern("");
  return symbols.intern(std::string(text, static_cast<size_t>(begin), static_cast<size_t>(length)));
}

// Does the pattern match all of the text? `.`, `[a-z]`, `x*`, `x+`, `x?`, groups and alternatives would need a real engine;
// these run in time that depends on both lengths only.
class Glob {
 public:
  Glob(std::string_view pattern, std::string_view text) : p_(pattern), t_(text) {}
  bool matches() const {
    std::vector<bool> now(t_.size() + 1, false);
    now[0] = true;
    for (size_t i = 0; i < p_.size();) {
      const size_t end = item_end(i);
      const char times = end < p_.size() ? p_[end] : ' ';
      const bool many = times == '*' || times == '+';
      std::vector<bool> next(t_.size() + 1, false);
      for (size_t at = 0; at <= t_.size(); at++) {
        if (now[at] && (times == '*' || times == '?')) next[at] = true;
        if (at < t_.size() && (now[at] || (many && next[at])) && fits(i, end, t_[at])) next[at + 1] = true;
      }
      now = std::move(next);
      i = end + (many || times == '?' ? 1 : 0);
    }
    return now[t_.size()];
  }

 private:
  size_t item_end(size_t i) const {
    if (p_[i] == '\\' && i + 1 < p_.size()) return i + 2;
    if (p_[i] == '(' || p_[i] == ')' || p_[i] == '|' || p_[i] == '{')
      throw NoValue{"the pattern " + in_quotes(p_) + ", which has groups or alternatives: not supported"};
    if (p_[i] != '[') return i + 1;
    const size_t close = p_.find(']', i + 2);
    if (close == std::string_view::npos) throw NoValue{"the pattern " + in_quotes(p_) + ", which has a [ without ]"};
    return close + 1;
  }
  bool fits(size_t i, size_t end, char c) const {
    if (p_[i] == '.') return true;
    if (p_[i] == '\\' && end == i + 2) return p_[i + 1] == c;
    if (p_[i] != '[') return p_[i] == c;
    const bool inverted = p_[i + 1] == '^';
    bool in = false;
    for (size_t k = i + 1 + (inverted ? 1 : 0); k + 1 < end; k++) {
      if (k + 3 < end && p_[k + 1] == '-') {
        in |= p_[k] <= c && c <= p_[k + 2];
        k += 2;
      } else {
        in |= p_[k] == c;
      }
    }
    return in != inverted;
  }
  std::string_view p_, t_;
};

}  // namespace

const Function* find_function(std::string_view name) {
  for (const Function& f : kFunctions)
    if (f.name == name && f.code != Code::kNegate) return &f;
  return nullptr;
}

const Function* function_of(Code code) {
  for (const Function& f : kFunctions)
    if (f.code == code) return &f;
  return nullptr;
}

Value call(Code code, Type type, Type result, std::span<const Value> a, Symbols& symbols) {
  switch (code) {
    case Code::kCat: {
      std::string text;
      for (const Value v : a) text += symbols.text(v);
      return symbols.intern(text);
    }
    case Code::kLength: return symbols.text(a[0]).size();
    case Code::kSubstring: return substring(a, symbols);
    case Code::kOrdinal: return a[0];
    case Code::kToNumber: return parsed(Type::kNumber, a[0], symbols);
    case Code::kToUnsigned: return parsed(Type::kUnsigned, a[0], symbols);
    case Code::kToFloat: return parsed(Type::kFloat, a[0], symbols);
    case Code::kToText: return symbols.intern(value_text(type, a[0], symbols));
    case Code::kConvert: return convert(type, result, a[0]);
    case Code::kContains: return symbols.text(a[1]).find(symbols.text(a[0])) != std::string::npos;
    case Code::kMatch: return Glob(symbols.text(a[0]), symbols.text(a[1])).matches();
    default: break;
  }
  Value folded = a[0];
  for (size_t i = a.size() == 1 ? 0 : 1; i < a.size(); i++) {
    if (type == Type::kFloat)
      folded = of_float(real_number(code, as_float(folded), as_float(a[i])));
    else if (type == Type::kUnsigned)
      folded = whole_number<uint64_t>(code, folded, a[i]);
    else
      folded = of_number(whole_number<int64_t>(code, as_number(folded), as_number(a[i])));
  }
  return folded;
}

int compare(Type type, Value a, Value b, const Symbols& symbols) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  switch (type) {
    case Type::kNumber: return order(as_number(a), as_number(b));
    case Type::kUnsigned: return order(a, b);
    case Type::kFloat: return order(as_float(a), as_float(b));
    case Type::kSymbol: return a == b ? 0 : order(symbols.text(a).compare(symbols.text(b)), 0);
  }
  return 0;
}

std::string value_text(Type type, Value value, const Symbols& symbols) {
  switch (type) {
    case Type::kNumber: return std::to_string(as_number(value));
    case Type::kUnsigned: return std::to_string(value);
    case Type::kFloat: return exact_text(as_float(value));
    case Type::kSymbol: return symbols.text(value);
  }
  return "";
}

std::string value_in_program(Type type, Value value, const Symbols& symbols) {
  if (type != Type::kSymbol) return value_text(type, value, symbols);
  return '"' + json_escaped(symbols.text(value)) + '"';
}

bool parse_value(Type type, std::string_view text, Value& value, Symbols& symbols) {
  if (type == Type::kSymbol) {
    value = symbols.intern(text);
    return true;
  }
  text = trimmed(text);
  if (type == Type::kFloat) {
    double x = 0;
    if (!parse_number(text, x)) return false;
    value = of_float(x);
    return true;
  }
  const bool hex = text.starts_with("0x"), binary = text.starts_with("0b");
  if (hex || binary) {
    const char* begin = text.data() + 2;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value, hex ? 16 : 2);
    return error == std::errc() && end == text.data() + text.size();
  }
  if (type == Type::kUnsigned) return parse_number(text, value);
  int64_t number = 0;
  if (!parse_number(text, number)) return false;
  value = of_number(number);
  return true;
}

const char* type_name(Type type) {
  constexpr const char* kNames[] = {"number", "unsigned", "float", "symbol"};
  return kNames[static_cast<int>(type)];
}

}  // namespace ingot::logic
