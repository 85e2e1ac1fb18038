// Models and plans in the forms of others. A library of its own: link ingot::exchange.
#pragma once
#include "ingot/exchange/onnx.h"
