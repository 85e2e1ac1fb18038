// Tensors to and from files.
#pragma once
#include "ingot/io/io.h"  // IWYU pragma: export
