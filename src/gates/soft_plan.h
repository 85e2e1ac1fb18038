// How a network of soft gates is walked: how its lanes are cut into tiles, and where every gate finds its operands and
// leaves its result. Plain code, once per call; soft.cc has the loops.
#pragma once
#include <algorithm>

#include "gates/soft.h"

namespace ingot::gates::soft {

inline constexpr int64_t kMostLanes = 64;       // of a tile, of any target
inline constexpr int64_t kTileBytes = 2 << 20;  // of all signals of a tile: beyond, tiles are narrower
inline constexpr int64_t kMostGroups = 16;      // of tiles whose gradients are summed apart: no more workers than this
inline constexpr size_t kAlign = 64;

/// How the lanes are cut: by shapes only, never by the number of workers.
struct Tiling {
  int64_t lanes, tile, tiles, groups;
  Tiling(const GateProgram& p, int64_t all_lanes, bool backward, size_t element_size) : lanes(all_lanes) {
    const auto bytes = static_cast<int64_t>(element_size);
    tile = kMostLanes * 4 / bytes;
    if (backward) tile /= (p.inputs + p.gates) * tile / 2 * bytes > kTileBytes ? 4 : 2;
    tiles = (lanes + tile - 1) / tile;
    groups = std::min(tiles, kMostGroups);
  }
  int64_t first_tile(int64_t group) const { return group * tiles / groups; }
  int64_t padded() const { return tiles * tile; }
  int64_t count(int64_t t) const { return std::min(tile, lanes - t * tile); }  // lanes of a tile that are real
};

/// Gates with their places in a tile's memory, in elements: where they find their operands and leave their result. The
/// place p of the coefficients is -1 - p where a gate adds to what is at `result`.
struct GateStep {
  int32_t a, b, coefficients, result;
};
/// A gate on the way back: its operands and coefficients; in the gradient area its result's row, and those of its
/// operands: where to add to (a row of zeros where nothing has been added yet) and where to leave the sum.
struct GateBack {
  int32_t a, b, coefficients, result;
  int32_t from_a, to_a, from_b, to_b;
};

/// Hands out pieces of the scratch.
class Pieces {
 public:
  explicit Pieces(void* scratch) : at_(static_cast<std::byte*>(scratch)) {}
  template <class T>
  T* take(int64_t count) {
    T* piece = reinterpret_cast<T*>(at_ + used_);
    used_ += (static_cast<size_t>(count) * sizeof(T) + kAlign - 1) / kAlign * kAlign;
    return piece;
  }
  void take_bytes(int64_t count, size_t size) {
    used_ += (static_cast<size_t>(count) * size + kAlign - 1) / kAlign * kAlign;
  }
  size_t used() const { return used_; }

 private:
  std::byte* at_;
  size_t used_ = 0;
};

/// Every signal keeps a row of its own, for the way back; sums grow in one.
void plan_forward(const GateProgram& p, int32_t tile, GateStep* steps, int32_t* row_of);

/// Rows are used again behind the last gate that reads them, so that what is in use stays about two layers high. Outputs
/// have the rows behind the inputs. Returns the number of gates that any output depends on; the others are left out.
int64_t plan_forward_only(const GateProgram& p, int32_t tile, GateStep* steps, int32_t* row_of, int32_t* freed);

/// Which rows of the gradient area each gate reads and writes on the way back, with as few in use. Inputs have the first
/// rows, outputs the next, then there is one of zeros. Returns the number of gates that any output depends on, in the
/// order in which they are walked.
int64_t plan_backward(const GateProgram& p, int32_t tile, const GateStep* steps, GateBack* back, int32_t* row_of,
                      int32_t* freed);

}  // namespace ingot::gates::soft
