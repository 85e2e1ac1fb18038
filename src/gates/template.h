// Text with holes: exported programs are mostly the same for every circuit.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace ingot::gates {

using Values = std::map<std::string, std::string, std::less<>>;

/// The text with every $key$ replaced by its value (in which no key is looked for), and every NAME by `name`.
std::string filled_in(std::string_view text, const Values& values, std::string_view name);

/// Sixteen digits.
std::string hexadecimal(uint64_t number);

}  // namespace ingot::gates
