// The directory of a safetensors file, for all that read one.
#pragma once
#include "ingot/io/io.h"
#include "ingot/io/source.h"

namespace ingot::io {

/// Reads and checks the header; the source then stands at the first element.
SafeTensorsInfo read_directory(Source& source);

}  // namespace ingot::io
