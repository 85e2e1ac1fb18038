// Signature: what an op takes and gives, read from its text once, when the op is compiled. Calls, tests, documentation
// and bindings share it.
#pragma once
#include <cstdint>
#include <string_view>

namespace ingot {

inline constexpr int kMaxInputs = 64, kMaxOutputs = 3, kMaxAttrs = 8;

/// The kinds of constants a call can have.
enum class AttrType : uint8_t { kInt, kReal, kFlag, kInts, kDType, kText, kPointer };

/// name(inputs…, attributes…) [-> outputs…], as in "sum(x, axes:ints={}, keepdim:bool=false)".
///   x          a tensor            x?         an optional tensor         xs...      any number of tensors, first
///   n:int  p:real  b:bool  s:ints  d:dtype  t:text  f:pointer  o:ConvOptions  o:PoolOptions, each with =default or not
/// An op whose text does not read like this does not compile.
class Signature {
 public:
  struct Input {
    std::string_view name;
    bool optional, variadic;
  };
  struct Attribute {
    std::string_view name;
    AttrType type;
    std::string_view fallback;  // the default as C++ spells it; empty if there is none
    std::string_view group;     // the argument it is a field of, such as "options"; empty if it stands alone
  };

  constexpr Signature() = default;
  constexpr Signature(const char* text) : text_(text) { parse(); }

  constexpr const char* text() const { return text_; }
  /// The C++ function's name; the op's own in most cases.
  constexpr std::string_view function() const { return spelled(function_); }
  constexpr int input_count() const { return input_count_; }
  constexpr Input input(int i) const { return {spelled(inputs_[i].name), inputs_[i].optional, inputs_[i].variadic}; }
  constexpr int attr_count() const { return attr_count_; }
  constexpr Attribute attr(int i) const {
    const AttrEntry& a = attrs_[i];
    return {spelled(a.name), a.type, spelled(a.fallback), spelled(a.group)};
  }
  constexpr int output_count() const { return output_count_; }
  /// "dst" if the signature names none.
  constexpr std::string_view output(int i) const { return outputs_[i].size == 0 ? "dst" : spelled(outputs_[i]); }

  constexpr int least_inputs() const {
    int count = 0;
    for (int i = 0; i < input_count_; i++)
      if (!inputs_[i].optional && !inputs_[i].variadic) count = i + 1 - variadic();
    return count;
  }
  constexpr int most_inputs() const { return variadic() ? kMaxInputs : input_count_; }
  constexpr bool variadic() const { return input_count_ > 0 && inputs_[0].variadic; }
  /// May input i of a call be undefined?
  constexpr bool optional(int i) const { return !variadic() && i < input_count_ && inputs_[i].optional; }

 private:
  static constexpr int kMostNamed = 8;  // inputs with a name
  // A piece of the text, or of the fields of an options struct.
  struct Word {
    uint16_t at = 0;
    uint8_t size = 0, source = 0;
  };
  struct InputEntry {
    Word name;
    bool optional = false, variadic = false;
  };
  struct AttrEntry {
    Word name, fallback, group;
    AttrType type = AttrType::kInt;
  };
  // Arguments that come in groups: their fields as attributes (options.h has the structs).
  struct Group {
    std::string_view type, fields;
  };
  static constexpr Group kGroups[] = {
      {"ConvOptions", "stride:ints={}, padding:ints={}, dilation:ints={}, groups:int=1"},
      {"PoolOptions",
       "kernel:ints={}, stride:ints={}, padding:ints={}, dilation:ints={}, ceil_mode:bool=false, "
       "count_include_pad:bool=true"}};

  constexpr std::string_view source(int which) const {
    return which == 0 ? std::string_view(text_) : kGroups[which - 1].fields;
  }
  constexpr std::string_view spelled(const Word& w) const {
    return w.size == 0 ? std::string_view() : source(w.source).substr(w.at, w.size);
  }
  // The text from `begin` to `end` of a source, without spaces around it.
  constexpr Word word(int which, size_t begin, size_t end) const {
    const std::string_view s = source(which);
    while (begin < end && s[begin] == ' ') begin++;
    while (end > begin && s[end - 1] == ' ') end--;
    if (begin > UINT16_MAX || end - begin > UINT8_MAX) throw "signature: too long";
    return {static_cast<uint16_t>(begin), static_cast<uint8_t>(end - begin), static_cast<uint8_t>(which)};
  }
  // Where the argument that begins at `at` ends: a comma outside of braces, or `end`.
  constexpr size_t argument_end(int which, size_t at, size_t end) const {
    const std::string_view s = source(which);
    for (int depth = 0; at < end; at++) {
      depth += s[at] == '{' || s[at] == '(' ? 1 : s[at] == '}' || s[at] == ')' ? -1 : 0;
      if (s[at] == ',' && depth == 0) break;
    }
    return at;
  }

  constexpr void parse() {
    const std::string_view s(text_);
    const size_t open = s.find('('), arrow = s.find("->"), close = s.substr(0, arrow).rfind(')');
    if (open == s.npos || open == 0 || close == s.npos || close < open) throw "signature: expected name(arguments)";
    function_ = word(0, 0, open);
    for (size_t at = open + 1; at < close;) {
      const size_t end = argument_end(0, at, close);
      add_argument(0, at, end, {});
      at = end + 1;
    }
    output_count_ = arrow == s.npos ? 1 : 0;
    for (size_t at = arrow == s.npos ? s.size() : arrow + 2; at < s.size();) {
      const size_t end = argument_end(0, at, s.size());
      if (output_count_ == kMaxOutputs) throw "signature: too many outputs";
      outputs_[output_count_++] = word(0, at, end);
      at = end + 1;
    }
  }

  constexpr void add_argument(int which, size_t begin, size_t end, Word group) {
    const std::string_view s = source(which);
    const size_t colon = s.substr(0, end).find(':', begin);
    if (colon != s.npos) return add_attr(which, begin, colon, end, group);
    if (attr_count_ > 0) throw "signature: inputs come before attributes";
    if (input_count_ == kMostNamed) throw "signature: too many inputs";
    InputEntry& input = inputs_[input_count_++];
    input.name = word(which, begin, end);
    const std::string_view name = spelled(input.name);
    input.optional = name.ends_with("?");
    input.variadic = name.ends_with("...");
    input.name.size = static_cast<uint8_t>(input.name.size - (input.optional ? 1 : input.variadic ? 3 : 0));
    if (input.name.size == 0) throw "signature: an input without a name";
    if (input.variadic && input_count_ > 1) throw "signature: a list of tensors comes first";
  }

  constexpr void add_attr(int which, size_t begin, size_t colon, size_t end, Word group) {
    const std::string_view s = source(which);
    size_t equals = s.substr(0, end).find('=', colon);
    if (equals == s.npos) equals = end;
    const std::string_view type = spelled(word(which, colon + 1, equals));
    for (int g = 0; g < 2; g++) {
      if (type != kGroups[g].type) continue;
      const size_t fields = kGroups[g].fields.size();
      for (size_t at = 0; at < fields;) {
        const size_t stop = argument_end(g + 1, at, fields);
        add_argument(g + 1, at, stop, word(which, begin, colon));
        at = stop + 1;
      }
      return;
    }
    if (attr_count_ == kMaxAttrs) throw "signature: too many attributes";
    attrs_[attr_count_++] = {word(which, begin, colon), word(which, equals + (equals < end), end), group,
                             type_of(type)};
  }

  static constexpr AttrType type_of(std::string_view type) {
    constexpr std::string_view kNames[] = {"int", "real", "bool", "ints", "dtype", "text", "pointer"};
    for (int i = 0; i < 7; i++)
      if (type == kNames[i]) return static_cast<AttrType>(i);
    throw "signature: an attribute of an unknown kind";
  }

  const char* text_ = "";
  Word function_;
  int8_t input_count_ = 0, attr_count_ = 0, output_count_ = 1;
  InputEntry inputs_[kMostNamed];
  AttrEntry attrs_[kMaxAttrs];
  Word outputs_[kMaxOutputs];
};

}  // namespace ingot
