#include "ingot/rl/notation.h"

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::rl {
namespace {

std::string with_plain_quotes(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    const bool quote = rest.starts_with("’") || rest.starts_with("′") || rest.starts_with("‘");
    out += quote ? '\'' : text[i];
    i += quote ? std::string_view("’").size() : 1;
  }
  return out;
}

int find(std::span<const std::string_view> names, std::string_view word) {
  for (size_t i = 0; i < names.size(); i++)
    if (names[i] == word) return static_cast<int>(i);
  return -1;
}

}  // namespace

std::vector<int> parse_moves(std::span<const std::string_view> names, std::string_view text) {
  std::vector<int> moves;
  const std::string plain = with_plain_quotes(text);
  constexpr std::string_view kBlanks = " \t\r\n";
  for (size_t at = plain.find_first_not_of(kBlanks); at != std::string::npos;) {
    const size_t end = std::min(plain.find_first_of(kBlanks, at), plain.size());
    const std::string_view word = std::string_view(plain).substr(at, end - at);
    std::string_view base = word;
    if (base.ends_with("2'")) base.remove_suffix(1);  // back twice is twice
    int move = find(names, base);
    if (move < 0 && base.ends_with('2')) {
      move = find(names, base.substr(0, base.size() - 1));
      if (move >= 0) moves.push_back(move);
    }
    if (move < 0) {
      std::vector<std::string> known(names.begin(), names.end());
      throw Error("moves: " + in_quotes(word) + " is none — there are " + join(known, " "));
    }
    moves.push_back(move);
    at = plain.find_first_not_of(kBlanks, end);
  }
  return moves;
}

}  // namespace ingot::rl
