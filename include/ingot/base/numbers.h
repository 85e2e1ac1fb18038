// Small helpers for numbers: rounding up, products that may not fit, numbers to text and back without loss.
#pragma once
#include <charconv>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace ingot {

/// a / b rounded up, for a ≥ 0 and b > 0.
template <std::integral A, std::integral B>
constexpr std::common_type_t<A, B> ceil_div(A a, B b) {
  return (a + b - 1) / b;
}

/// The smallest multiple of b that is not below a, for a ≥ 0 and b > 0.
template <std::integral A, std::integral B>
constexpr std::common_type_t<A, B> round_up(A a, B b) {
  return ceil_div(a, b) * b;
}

/// product = a · b; false (and no product) if that does not fit into the type.
template <std::integral T>
[[nodiscard]] constexpr bool checked_multiply(T a, std::type_identity_t<T> b, T& product) {
  T result = 0;
  if (__builtin_mul_overflow(a, b, &result)) return false;
  product = result;
  return true;
}

/// Reads a whole text as a number, the same in every locale; false if it is none, has something before or behind it, or
/// does not fit into the type.
template <class T>
[[nodiscard]] bool parse_number(std::string_view text, T& value) {
  T result{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), result);
  if (error != std::errc() || end != text.data() + text.size()) return false;
  value = result;
  return true;
}

/// The shortest text that reads back as the very same number: "0.1", "1e-07", "inf".
template <std::floating_point T>
std::string exact_text(T value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

}  // namespace ingot
