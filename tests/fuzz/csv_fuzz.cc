#include "fuzz.h"

// The first byte chooses the options.
INGOT_FUZZ({
  if (b.empty()) return;
  const int choice = std::to_integer<int>(b[0]);
  using Header = ingot::io::CsvOptions::Header;
  ingot::io::parse_csv(b.subspan(1), {.separator = (choice & 1) != 0 ? ';' : '\0',
                                      .header = (choice & 2) != 0 ? Header::kYes : Header::kGuess,
                                      .dtype = (choice & 4) != 0 ? ingot::kI32 : ingot::kF32,
                                      .missing_is_nan = (choice & 12) == 8,
                                      .limits = kFuzzLimits});
})
