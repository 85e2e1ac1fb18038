#include "fuzz.h"

INGOT_FUZZ(ingot::io::parse_npz(b, kFuzzLimits))
