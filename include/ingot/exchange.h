// Models and plans in the forms of others: ONNX files, C.
#pragma once
#include "ingot/exchange/c_source.h"  // IWYU pragma: export
#include "ingot/exchange/onnx.h"      // IWYU pragma: export
