#include "fuzz.h"

INGOT_FUZZ(ingot::io::parse_safetensors(b))
