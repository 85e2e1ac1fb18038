#include "fuzz.h"

INGOT_FUZZ(ingot::io::parse_npy(b))
