// A description from its text to the checked tables, and what it says of itself back again; nothing is loaded or trained.
#include "fuzz.h"
#include "ingot/recipe/description.h"

namespace {

void read(std::span<const std::byte> bytes) {
  static const auto catalogue = std::make_shared<const ingot::recipe::Catalogue>();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const ingot::recipe::Description d = ingot::recipe::parse_description("fuzz.toml", text, {}, catalogue);
  if (ingot::recipe::parse_description("again.toml", d.toml(), {}, catalogue).toml() != d.toml()) std::abort();
}

}  // namespace

INGOT_FUZZ(read(b))
