// What the tests of profiles measure.
#pragma once
#include <array>
#include <functional>
#include <string_view>

#include "ingot/graph/grad.h"
#include "ingot/ingot.h"

namespace ingot {

// A training step by hand: two layers, cross-entropy, plain gradient descent on memory of the user's.
struct Net {
  Tensor w1 = uniform({64, 96}, 1, -0.1, 0.1), b1 = uniform({64}, 2, -0.1, 0.1);
  Tensor w2 = uniform({10, 64}, 3, -0.1, 0.1), b2 = uniform({10}, 4, -0.1, 0.1);
  Plan compile(int threads, const std::string& name = "net") {
    const auto step = [this](const Tensor& x, const Tensor& label) {
      const auto loss = [&] {
        const Scope scope("fwd \"quoted\" <&>\n\xff");
        return mean(softmax_cross_entropy(linear(relu(linear(x, w1, b1)), w2, b2), label));
      };
      auto [value, g] = value_and_grad(loss, {w1, b1, w2, b2});
      const Scope scope("update");
      for (size_t i = 0; i < 4; i++) {
        const Tensor& w = *std::array{&w1, &b1, &w2, &b2}[i];
        subtract_into(w, w, g[i] * 0.1);
      }
      return value;
    };
    return ingot::compile(step, {{{128, 96}, kF32, "x"}, {{128}, kI64, "label"}},
                          {.name = name, .threads = threads, .names = {{"w1", w1}, {"b1", b1}, {"w2", w2}}});
  }
};

// A checker of JSON's grammar.
class Json {
 public:
  static bool valid(std::string_view text) {
    Json j{text};
    return j.value() && (j.space(), j.at_ == text.size());
  }

 private:
  explicit Json(std::string_view text) : text_(text) {}
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool take(char c) { return peek() == c ? (at_++, true) : false; }
  void space() {
    while (peek() == ' ' || peek() == '\n') at_++;
  }
  bool string() {
    if (!take('"')) return false;
    while (at_ < text_.size() && peek() != '"') {
      if (static_cast<unsigned char>(peek()) < 0x20) return false;
      if (take('\\') && std::string_view("\"\\/bfnrtu").find(peek()) == std::string_view::npos) return false;
      at_++;
    }
    return take('"');
  }
  bool number() {
    const size_t start = at_;
    take('-');
    while (isdigit(peek()) != 0) at_++;
    if (take('.') && isdigit(peek()) == 0) return false;
    while (isdigit(peek()) != 0) at_++;
    return at_ > start;
  }
  bool list(char open, char close, const std::function<bool()>& item) {
    if (!take(open)) return false;
    space();
    if (take(close)) return true;
    do {
      space();
      if (!item()) return false;
      space();
    } while (take(','));
    return take(close);
  }
  bool value() {
    space();
    if (peek() == '"') return string();
    if (peek() == '[') return list('[', ']', [&] { return value(); });
    if (peek() == '{') return list('{', '}', [&] { return string() && (space(), take(':')) && value(); });
    return number();
  }
  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace ingot
