#include "fuzz.h"

INGOT_FUZZ(ingot::io::parse_idx(b, kFuzzLimits))
