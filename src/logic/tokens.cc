#include "logic/tokens.h"

#include <algorithm>

#include "ingot/base/text.h"

namespace ingot::logic {
namespace {

constexpr std::string_view kSigns[] = {"<->", "->", ":-", "<-", "<=", ">=", "!=", "::", "<:", "(", ")",
                                       "{",   "}",  "[",  "]",  ",",  ".",  ":",  ";",  "=",  "<", ">",
                                       "+",   "-",  "*",  "/",  "%",  "^",  "!",  "?",  "|",  "$", "@"};

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_letter(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(const Sources& sources, int begin, Dialect dialect)
      : sources_(sources), text_(sources.text(begin)), begin_(begin), dialect_(dialect) {}

  std::vector<Token> all() {
    std::vector<Token> found;
    for (;;) {
      skip_blanks();
      if (i_ == text_.size()) break;
      found.push_back(next());
    }
    found.push_back({Token::Kind::kEnd, begin_ + static_cast<int>(text_.size()), ""});
    return found;
  }

 private:
  [[noreturn]] void fail(size_t at, const std::string& what, const std::string& hint = "") const {
    sources_.fail(begin_ + static_cast<int>(at), what, hint);
  }
  bool at(std::string_view sign) const { return text_.substr(i_).starts_with(sign); }

  void skip_blanks() {
    while (i_ < text_.size()) {
      const char c = text_[i_];
      if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        i_++;
      } else if (at("//") || (c == '#' && dialect_ == Dialect::kRules) || at("#line") || at("#!")) {
        i_ = std::min(text_.find('\n', i_), text_.size());
      } else if (at("/*")) {
        const size_t end = text_.find("*/", i_ + 2);
        if (end == std::string_view::npos) fail(i_, "this comment does not end", "close it with */");
        i_ = end + 2;
      } else {
        return;
      }
    }
  }

  Token next() {
    const size_t begin = i_;
    const char c = text_[i_];
    const bool souffle = dialect_ == Dialect::kSouffle;
    const auto in_name = [&](char d) { return is_letter(d) || is_digit(d) || (souffle && d == '?'); };
    if (is_letter(c) || (souffle && c == '?')) {
      while (i_ < text_.size() && in_name(text_[i_])) i_++;
      return made(Token::Kind::kName, begin);
    }
    if (is_digit(c)) return number();
    if (c == '"') {
      for (i_++; i_ < text_.size() && text_[i_] != '"' && text_[i_] != '\n'; i_++)
        if (text_[i_] == '\\') i_++;
      if (i_ >= text_.size() || text_[i_] != '"') fail(begin, "this text does not end", "close it with \"");
      i_++;
      return made(Token::Kind::kText, begin);
    }
    if (c == '#') fail(begin, "a line of the C preprocessor", "Ingot has none; run `cpp -P` on the file first");
    for (const std::string_view sign : kSigns)
      if (at(sign)) {
        i_ += sign.size();
        return made(Token::Kind::kSign, begin);
      }
    fail(begin, "a character that means nothing here");
  }

  Token number() {
    const size_t begin = i_;
    if (at("0x") || at("0b")) {
      i_ += 2;
      while (i_ < text_.size() && (is_digit(text_[i_]) || (is_letter(text_[i_]) && text_[i_] != '_'))) i_++;
      return made(Token::Kind::kInteger, begin);
    }
    auto digits = [&] {
      while (i_ < text_.size() && is_digit(text_[i_])) i_++;
    };
    digits();
    bool real = false;
    if (i_ + 1 < text_.size() && text_[i_] == '.' && is_digit(text_[i_ + 1])) {
      real = true;
      i_++;
      digits();
    }
    if (i_ < text_.size() && (text_[i_] == 'e' || text_[i_] == 'E')) {
      size_t exponent = i_ + 1;
      if (exponent < text_.size() && (text_[exponent] == '-' || text_[exponent] == '+')) exponent++;
      if (exponent < text_.size() && is_digit(text_[exponent])) {
        real = true;
        i_ = exponent;
        digits();
      }
    }
    const Token token = made(real ? Token::Kind::kReal : Token::Kind::kInteger, begin);
    if (!real && i_ < text_.size() && text_[i_] == 'u') i_++;  // Soufflé's mark of unsigned numbers
    if (i_ < text_.size() && is_letter(text_[i_])) fail(begin, "a number that goes on as a name");
    return token;
  }

  Token made(Token::Kind kind, size_t begin) const {
    return {kind, begin_ + static_cast<int>(begin), text_.substr(begin, i_ - begin)};
  }

  const Sources& sources_;
  std::string_view text_;
  int begin_;
  Dialect dialect_;
  size_t i_ = 0;
};

}  // namespace

std::vector<Token> tokens_of(const Sources& sources, int begin, Dialect dialect) {
  return Lexer(sources, begin, dialect).all();
}

std::string unquoted(std::string_view text) {
  std::string result;
  for (size_t i = 1; i + 1 < text.size(); i++) {
    if (text[i] != '\\') {
      result += text[i];
      continue;
    }
    const char c = text[++i];
    result += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c;
  }
  return result;
}

}  // namespace ingot::logic
