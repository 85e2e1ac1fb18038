#include "ingot/gates/boards.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/ops/ops.h"

namespace ingot::gates {
namespace {

// Rows as numbers, the most significant bit on the left.
constexpr uint32_t kLizard[20] = {0x00000, 0x0e000, 0x0e000, 0x1f200, 0x1f700, 0x1f600, 0x0fe10,
                                  0x07e38, 0x0bff0, 0x1ffc0, 0x1ffc0, 0x00fc0, 0x007e0, 0x00fe0,
                                  0x01ee0, 0x00ce0, 0x0006c, 0x00074, 0x0003c, 0x00000};
constexpr uint32_t kLetter[3][16] = {
    {0x0000, 0x07e0, 0x1ff8, 0x3ff0, 0x3800, 0x7000, 0x7000, 0x7000, 0x7000, 0x7000, 0x6000, 0, 0, 0, 0, 0},
    {0, 0, 0, 0, 0, 0x6000, 0x7000, 0x7000, 0x7000, 0x7000, 0x7000, 0x3800, 0x1c20, 0x0ff0, 0x03c0, 0},
    {0, 0, 0, 0, 0, 0, 0, 0x00fe, 0x00fe, 0x001e, 0x000e, 0x001c, 0x001c, 0, 0, 0}};

void draw(const uint32_t* rows, int64_t side, float* to) {
  for (int64_t y = 0; y < side; y++)
    for (int64_t x = 0; x < side; x++) *to++ = static_cast<float>(rows[y] >> (side - 1 - x) & 1);
}

// The seed's numbers of a sample begin at a multiple of what the generator makes at a time.
constexpr int64_t kStretch = 128;

class RandomBits : public data::Transform {
 public:
  void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const override {
    if (samples.empty()) return;
    const int64_t size = in.numel() / static_cast<int64_t>(samples.size());
    const int64_t stretch = (size + kStretch - 1) / kStretch * kStretch;
    constexpr int64_t kPiece = 1024;  // too short for the pool, which a loader's thread stays off
    float* to = out.data<float>();
    for (const int64_t sample : samples)
      for (int64_t first = 0; first < size; first += kPiece) {
        const int64_t count = std::min(kPiece, size - first);
        fill_bernoulli(to, count, sample * stretch + first, 0.5, key);
        to += count;
      }
  }
};

}  // namespace

LifeBoards life_boards() {
  LifeBoards out{Tensor::empty({512, 1, 3, 3}), Tensor::empty({512, 1, 3, 3})};
  for (int64_t board = 0; board < 512; board++)
    for (int64_t cell = 0; cell < 9; cell++) {
      // On a torus of 3×3 every cell has all others as neighbours.
      const int64_t alive = board >> (8 - cell) & 1, around = __builtin_popcountll(board) - alive;
      out.x.data<float>()[9 * board + cell] = static_cast<float>(alive);
      out.y.data<float>()[9 * board + cell] = around == 3 || (around == 2 && alive == 1) ? 1.0F : 0.0F;
    }
  return out;
}

Tensor checkerboard(int64_t height, int64_t width) {
  Tensor out = Tensor::empty({1, height, width});
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++) out.data<float>()[y * width + x] = static_cast<float>((y / 2 + x / 2) & 1);
  return out;
}

Tensor lizard() {
  Tensor out = Tensor::empty({1, 20, 20});
  draw(kLizard, 20, out.data<float>());
  return out;
}

Tensor letter_g() {
  Tensor out = Tensor::empty({3, 16, 16});
  for (int64_t colour = 0; colour < 3; colour++) draw(kLetter[colour], 16, out.data<float>() + colour * 256);
  return out;
}

Tensor picture_target(const Tensor& picture) {
  constexpr int64_t kShortest = 3, kLongest = 256;
  const bool grey = picture.rank() == 2;
  if (picture.dtype() != kU8 || (!grey && picture.rank() != 3) || picture.numel() == 0)
    throw Error("picture_target: a picture is u8 [h, w] or [3, h, w], not " + std::string(name(picture.dtype())) + " " +
                to_string(picture.shape()));
  if (!grey && picture.size(0) != 3)
    throw Error("picture_target: the picture has transparency — save it without an alpha channel, grey or in colours");
  const int64_t channels = grey ? 1 : 3, h = picture.size(-2), w = picture.size(-1);
  if (std::min(h, w) < kShortest || std::max(h, w) > kLongest)
    throw Error("picture_target: the picture has " + std::to_string(w) + " × " + std::to_string(h) +
                " pixels, and every pixel is a cell — make it " + std::to_string(kShortest) + " to " +
                std::to_string(kLongest) + " pixels wide and high");
  Tensor out = Tensor::empty({channels, h, w});
  const std::vector<uint8_t> pixels = picture.to_vector<uint8_t>();
  for (size_t i = 0; i < pixels.size(); i++) out.data<float>()[i] = pixels[i] >= 128 ? 1.0F : 0.0F;
  return out;
}

Seed seed_of(const std::string& name) {
  if (name == "zeros") return Seed::kZeros;
  if (name == "centre") return Seed::kCentre;
  if (name == "random") return Seed::kRandom;
  throw Error("there is no start \"" + name + "\" — take random, centre or zeros");
}

Grid seed_grid(int64_t channels, int64_t height, int64_t width, Seed seed, RandomKey key, double density) {
  Grid grid(1, channels, height, width);
  if (seed == Seed::kRandom) grid.fill_random(key, density);
  if (seed == Seed::kCentre)
    for (int64_t c = 0; c < channels; c++) grid.set(0, c, height / 2, width / 2, true);
  return grid;
}

Tensor seed_board(int64_t channels, int64_t height, int64_t width, Seed seed) {
  return squeeze(seed_grid(channels, height, width, seed).to_tensor(), {0});
}

data::TransformPtr random_bits() { return std::make_shared<RandomBits>(); }

Tensor random_boards(int64_t count, int64_t channels, int64_t height, int64_t width, RandomKey key) {
  Tensor out = Tensor::empty({count, channels, height, width});
  fill_bernoulli(out.data<float>(), out.numel(), 0, 0.5, key);
  return out;
}

}  // namespace ingot::gates
