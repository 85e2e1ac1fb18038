// A program from its text to the checked tree; nothing is computed. The first byte chooses the dialect.
#include "fuzz.h"
#include "ingot/logic/program.h"

INGOT_FUZZ({
  if (b.empty()) return;
  const auto dialect =
      (std::to_integer<int>(b[0]) & 1) != 0 ? ingot::logic::Dialect::kSouffle : ingot::logic::Dialect::kRules;
  ingot::logic::Program::parse(std::string(reinterpret_cast<const char*>(b.data()) + 1, b.size() - 1), dialect);
})
