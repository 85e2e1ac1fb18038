// A chain of element-wise instructions as the CPU runs it; folds and products have one inside.
#pragma once
#include "graph/cpu/kernel.h"
#include "graph/tile_program.h"

namespace ingot::graph {

/// The tile program of a record's chain.
TileProgram tile_program(const Record& record);

/// "m0 = add m1, r0; …".
std::string code_text(const TileProgram& program);
/// "64x128: ": rows and columns of the iteration space.
std::string size_text(const TileProgram& program);

/// The part of operand `k` of a chain that lies in a rectangle of its iteration space.
Footprint operand_part(const TileProgram& program, size_t k, const Rect& rect);

}  // namespace ingot::graph
