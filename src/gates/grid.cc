#include "ingot/gates/grid.h"

#include <algorithm>
#include <bit>

#include "gates/random_bits.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/ops/functions.h"

namespace ingot::gates {
namespace {

std::string text_of(int64_t batch, int64_t channels, int64_t height, int64_t width) {
  return "[" + std::to_string(batch) + ", " + std::to_string(channels) + ", " + std::to_string(height) + ", " +
         std::to_string(width) + "]";
}

}  // namespace

void random_bits(uint64_t* words, int64_t n, int64_t first_index, double p, RandomKey key) {
  constexpr int64_t kChunk = 1024;
  uint8_t drawn[kChunk];
  for (int64_t start = 0; start < n; start += kChunk) {
    const int64_t count = std::min(kChunk, n - start);
    fill_bernoulli(drawn, count, first_index + start, p, key);
    for (int64_t i = 0; i < count; i += 64) {
      uint64_t word = 0;
      for (int64_t k = std::min<int64_t>(64, count - i); k-- > 0;) word = word << 1 | drawn[i + k];
      words[(start + i) / 64] = word;
    }
  }
}

Grid::Grid(int64_t batch, int64_t channels, int64_t height, int64_t width)
    : batch_(batch),
      channels_(channels),
      height_(height),
      width_(width),
      row_words_(width / 64 + (width % 64 != 0 ? 1 : 0)) {
  constexpr int64_t kMost = int64_t{1} << 34;  // words
  int64_t words = 1;
  for (const int64_t n : {batch, channels, height, row_words_}) {
    if (n < 1 || n > kMost / words || width < 1)
      throw Error("Grid: a grid " + text_of(batch, channels, height, width) +
                  " — [batch, channels, height, width] are at least 1, and together at most 2^40 bits, where rows "
                  "count in whole words of 64");
    words *= n;
  }
  const auto bytes = static_cast<size_t>(words) * 8;
  free_bytes(allocate_bytes(bytes), bytes);  // untouched: what the machine does not have is refused with a sentence
  words_.resize(static_cast<size_t>(words));
}

Grid Grid::from_tensor(const Tensor& tensor) {
  if (tensor.rank() != 4 || tensor.dtype() != kF32)
    throw Error("Grid::from_tensor: a tensor of rank " + std::to_string(tensor.rank()) + " and type " +
                name(tensor.dtype()) + " — give an f32 tensor [batch, channels, height, width]");
  Grid grid(tensor.size(0), tensor.size(1), tensor.size(2), tensor.size(3));
  const Tensor packed = contiguous(tensor);
  const float* value = packed.data<float>();
  for (size_t row = 0; row < grid.words_.size(); row += static_cast<size_t>(grid.row_words_))
    for (int64_t x = 0; x < grid.width_; x++, value++)
      grid.words_[row + static_cast<size_t>(x / 64)] |= static_cast<uint64_t>(*value >= 0.5F) << x % 64;
  return grid;
}

Tensor Grid::to_tensor() const {
  Tensor tensor = Tensor::empty({batch_, channels_, height_, width_});
  float* value = tensor.data<float>();
  for (size_t row = 0; row < words_.size(); row += static_cast<size_t>(row_words_))
    for (int64_t x = 0; x < width_; x++, value++)
      *value = static_cast<float>(words_[row + static_cast<size_t>(x / 64)] >> x % 64 & 1);
  return tensor;
}

const uint64_t* Grid::row(int64_t sample, int64_t channel, int64_t y) const {
  if (sample < 0 || sample >= batch_ || channel < 0 || channel >= channels_ || y < 0 || y >= height_)
    throw Error("Grid: sample " + std::to_string(sample) + ", channel " + std::to_string(channel) + ", row " +
                std::to_string(y) + " of a grid " + text_of(batch_, channels_, height_, width_) +
                " — count from 0, below the size");
  return words_.data() + ((sample * channels_ + channel) * height_ + y) * row_words_;
}
uint64_t* Grid::row(int64_t sample, int64_t channel, int64_t y) {
  return const_cast<uint64_t*>(std::as_const(*this).row(sample, channel, y));
}

bool Grid::get(int64_t sample, int64_t channel, int64_t y, int64_t x) const {
  const uint64_t* words = row(sample, channel, y);
  if (x < 0 || x >= width_)
    throw Error("Grid: column " + std::to_string(x) + " of " + std::to_string(width_) +
                " — count from 0, below the width");
  return (words[x / 64] >> x % 64 & 1) != 0;
}

void Grid::set(int64_t sample, int64_t channel, int64_t y, int64_t x, bool value) {
  if (get(sample, channel, y, x) != value) row(sample, channel, y)[x / 64] ^= uint64_t{1} << x % 64;
}

void Grid::fill_random(RandomKey key, double p) {
  if (!(p >= 0 && p <= 1)) throw Error("Grid::fill_random: " + std::to_string(p) + " is no probability — give 0 to 1");
  int64_t index = 0;
  for (size_t row = 0; row < words_.size(); row += static_cast<size_t>(row_words_), index += width_)
    random_bits(&words_[row], width_, index, p, key);
}

void Grid::clear_block(int64_t y, int64_t x, int64_t height, int64_t width) {
  if (height < 0 || width < 0)
    throw Error("Grid::clear_block: a block of " + std::to_string(height) + " x " + std::to_string(width) +
                " — sizes are not negative");
  const auto cut = [](int64_t from, int64_t length, int64_t size) {
    const int64_t first = std::clamp<int64_t>(from, 0, size);
    return std::pair(first, from > size - length ? size : std::max(first, from + length));
  };
  const auto [top, bottom] = cut(y, height, height_);
  const auto [left, right] = cut(x, width, width_);
  for (int64_t b = 0; b < batch_; b++)
    for (int64_t c = 0; c < channels_; c++)
      for (int64_t r = top; r < bottom; r++)
        for (int64_t k = left; k < right; k++) row(b, c, r)[k / 64] &= ~(uint64_t{1} << k % 64);
}

int64_t Grid::count(int64_t channel) const {
  int64_t total = 0;
  for (int64_t b = 0; b < batch_; b++) {
    const uint64_t* words = row(b, channel, 0);
    for (int64_t w = 0; w < height_ * row_words_; w++) total += std::popcount(words[w]);
  }
  return total;
}

}  // namespace ingot::gates
