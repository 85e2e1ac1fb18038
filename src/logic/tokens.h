// Text as words: names, numbers, quoted texts, signs.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ingot/logic/program.h"
#include "logic/source.h"

namespace ingot::logic {

struct Token {
  enum class Kind : unsigned char { kName, kInteger, kReal, kText, kSign, kEnd };
  Kind kind;
  int at;
  std::string_view text;  // of a quoted text: with quotes and escapes

  bool is(std::string_view sign) const { return (kind == Kind::kSign || kind == Kind::kName) && text == sign; }
};

/// All words of the text that begins at `begin`, the last one kEnd.
std::vector<Token> tokens_of(const Sources& sources, int begin, Dialect dialect);

/// What stands between the quotes.
std::string unquoted(std::string_view text);

}  // namespace ingot::logic
