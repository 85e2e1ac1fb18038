// All of Ingot.
#pragma once
#include "ingot/base/error.h"        // IWYU pragma: export
#include "ingot/base/machine.h"      // IWYU pragma: export
#include "ingot/base/memory.h"       // IWYU pragma: export
#include "ingot/base/random.h"       // IWYU pragma: export
#include "ingot/base/simd.h"         // IWYU pragma: export
#include "ingot/base/tensor.h"       // IWYU pragma: export
#include "ingot/base/threads.h"      // IWYU pragma: export
#include "ingot/graph/grad.h"        // IWYU pragma: export
#include "ingot/graph/loop.h"        // IWYU pragma: export
#include "ingot/graph/plan.h"        // IWYU pragma: export
#include "ingot/graph/plan_cache.h"  // IWYU pragma: export
#include "ingot/nn.h"                // IWYU pragma: export
#include "ingot/ops/functions.h"     // IWYU pragma: export
#include "ingot/ops/map.h"           // IWYU pragma: export
#include "ingot/ops/op.h"            // IWYU pragma: export
#include "ingot/ops/ops.h"           // IWYU pragma: export
#include "ingot/ops/options.h"       // IWYU pragma: export
