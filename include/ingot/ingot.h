// All of Ingot.
#pragma once
#include "ingot/error.h"      // IWYU pragma: export
#include "ingot/functions.h"  // IWYU pragma: export
#include "ingot/grad.h"       // IWYU pragma: export
#include "ingot/machine.h"    // IWYU pragma: export
#include "ingot/map.h"        // IWYU pragma: export
#include "ingot/memory.h"     // IWYU pragma: export
#include "ingot/nn.h"         // IWYU pragma: export
#include "ingot/op.h"         // IWYU pragma: export
#include "ingot/ops.h"        // IWYU pragma: export
#include "ingot/optim.h"      // IWYU pragma: export
#include "ingot/options.h"    // IWYU pragma: export
#include "ingot/plan.h"       // IWYU pragma: export
#include "ingot/random.h"     // IWYU pragma: export
#include "ingot/simd.h"       // IWYU pragma: export
#include "ingot/tensor.h"     // IWYU pragma: export
#include "ingot/threads.h"    // IWYU pragma: export
