// Circuits that learn: gate layers, automata, hard circuits, their exams, files and runners.
#pragma once
#include "ingot/gates/boards.h"      // IWYU pragma: export
#include "ingot/gates/circuit.h"     // IWYU pragma: export
#include "ingot/gates/circuit_io.h"  // IWYU pragma: export
#include "ingot/gates/exam.h"        // IWYU pragma: export
#include "ingot/gates/grid.h"        // IWYU pragma: export
#include "ingot/gates/layers.h"      // IWYU pragma: export
#include "ingot/gates/ops.h"         // IWYU pragma: export
#include "ingot/gates/simplify.h"    // IWYU pragma: export
