// What cellular automata are trained on: boards to begin with, and what is to become of them. States are f32 of zeros
// and ones, channels first.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/data/transforms.h"
#include "ingot/gates/grid.h"

namespace ingot::gates {

/// All 512 boards of 3×3 cells [512, 1, 3, 3] (board k has bit 8 - i of k at cell i) and their next states by the rule
/// of the Game of Life; the border wraps.
struct LifeBoards {
  Tensor x, y;
};
INGOT_API LifeBoards life_boards();

/// Squares of 2×2 cells, the one at the top left false: [1, height, width].
INGOT_API Tensor checkerboard(int64_t height, int64_t width);

/// The pictures of the paper: a lizard [1, 20, 20] and a G of three colours [3, 16, 16].
INGOT_API Tensor lizard();
INGOT_API Tensor letter_g();

/// A picture to grow, u8 as io::load_png gives it: grey [h, w] becomes [1, h, w], colours [3, h, w] three channels,
/// each true from a half on. An Error if it has transparency, or sides below 3 or above 256.
INGOT_API Tensor picture_target(const Tensor& picture);

/// What boards begin with.
enum class Seed : uint8_t {
  kZeros,   // all false
  kCentre,  // the cell in the middle true in every channel
  kRandom,  // every bit drawn
};
/// The one of that name: zeros, centre or random. An Error if it is none.
INGOT_API Seed seed_of(const std::string& name);
/// A grid [1, channels, height, width] that begins so; random bits are true with probability `density`.
INGOT_API Grid seed_grid(int64_t channels, int64_t height, int64_t width, Seed seed, RandomKey key = {},
                         double density = 0.5);
/// What a picture grows from: the same as a tensor [channels, height, width].
INGOT_API Tensor seed_board(int64_t channels, int64_t height, int64_t width, Seed seed);

/// Replaces samples by random bits, other ones each time.
INGOT_API data::TransformPtr random_bits();
/// Boards of random bits [count, channels, height, width].
INGOT_API Tensor random_boards(int64_t count, int64_t channels, int64_t height, int64_t width, RandomKey key);

}  // namespace ingot::gates
