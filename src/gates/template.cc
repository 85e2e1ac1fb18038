#include "gates/template.h"

#include <algorithm>

#include "ingot/base/text.h"

namespace ingot::gates {

std::string filled_in(std::string_view text, const Values& values, std::string_view name) {
  constexpr std::string_view kName = "NAME";
  std::string out;
  while (!text.empty()) {
    const size_t hole = std::min(text.find('$'), text.find(kName));
    out += text.substr(0, hole);
    if (hole == std::string_view::npos) break;
    text.remove_prefix(hole);
    if (text.starts_with(kName)) {
      out += name;
      text.remove_prefix(kName.size());
      continue;
    }
    const size_t end = text.find('$', 1);
    const auto found = end == std::string_view::npos ? values.end() : values.find(text.substr(1, end - 1));
    if (found == values.end()) {  // a dollar of the language itself: $display
      out += '$';
      text.remove_prefix(1);
      continue;
    }
    out += filled_in(found->second, {}, name);
    text.remove_prefix(end + 1);
  }
  return out;
}

std::string hexadecimal(uint64_t number) { return formatted("%016llx", static_cast<unsigned long long>(number)); }

}  // namespace ingot::gates
