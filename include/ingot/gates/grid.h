// Circuits run bit-packed: 64 cells, or 64 assignments, in a word, and several words at once.
//
//   gates::Grid board(1, 1, 512, 512);
//   board.fill_random({.seed = 1});
//   gates::Runner life(circuit);
//   life.step(board, 1000);
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/random.h"
#include "ingot/base/tensor.h"
#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// The states of cellular automata: one bit per sample, channel and cell, [batch, channels, height, width].
class INGOT_API Grid {
 public:
  /// All false.
  Grid(int64_t batch, int64_t channels, int64_t height, int64_t width);
  /// True where an f32 tensor [batch, channels, height, width] is at least a half.
  static Grid from_tensor(const Tensor& tensor);
  /// An f32 tensor [batch, channels, height, width] of zeros and ones.
  Tensor to_tensor() const;

  int64_t batch() const { return batch_; }
  int64_t channels() const { return channels_; }
  int64_t height() const { return height_; }
  int64_t width() const { return width_; }

  bool get(int64_t sample, int64_t channel, int64_t y, int64_t x) const;
  void set(int64_t sample, int64_t channel, int64_t y, int64_t x, bool value);
  /// Every bit is true with probability p: the bits of fill_bernoulli with this key, in the order of a tensor.
  void fill_random(RandomKey key, double p = 0.5);
  /// All channels of the cells [y, y + height) × [x, x + width) become false, in every sample; what lies outside the
  /// grid is left out.
  void clear_block(int64_t y, int64_t x, int64_t height, int64_t width);
  /// How many bits of a channel are true, over all samples.
  int64_t count(int64_t channel) const;
  bool operator==(const Grid&) const = default;

  /// The words of a row, 64 cells each from the least significant bit on; bits behind the width are false.
  int64_t row_words() const { return row_words_; }
  const uint64_t* row(int64_t sample, int64_t channel, int64_t y) const;
  uint64_t* row(int64_t sample, int64_t channel, int64_t y);

 private:
  int64_t batch_, channels_, height_, width_, row_words_;
  std::vector<uint64_t> words_;
};

struct RunnerOptions {
  bool keep_copies = false;  // execute gates that copy a signal or are constant like any other: for benchmarks
};

/// A circuit compiled into a list of vector instructions. Runs take no memory after the first of a size; one runner
/// serves one thread at a time, and uses all of the pool itself.
class INGOT_API Runner {
 public:
  explicit Runner(const Circuit& circuit, const RunnerOptions& options = {});
  ~Runner();
  Runner(Runner&&) noexcept;
  Runner& operator=(Runner&&) noexcept;

  /// Steps of a cell rule with its border. Below a fire rate of 1, the cells that take their next state in the step
  /// `first_step` + k are those of `fire_mask` with that step.
  void step(Grid& grid, int64_t steps = 1, RandomKey fire = {}, int64_t first_step = 0);
  /// One step in which exactly the cells of `fires` [batch, 1, height, width] take their next state.
  void step(Grid& grid, const Grid& fires);
  /// The cells that fire in a step, [batch, 1, height, width]: fill_random with the stream key.stream + step.
  static Grid fire_mask(const Grid& grid, double fire_rate, RandomKey key, int64_t step);

  /// The outputs of 64·words assignments at once: `in` is [inputs, words], `out` [outputs, words].
  void evaluate(std::span<const uint64_t> in, std::span<uint64_t> out, int64_t words);
  /// The outputs of an f32 tensor of assignments [batch, inputs], true where it is at least a half: an f32 tensor
  /// [batch, outputs] of zeros and ones.
  Tensor evaluate(const Tensor& x);

  /// Gates that are executed, and signals that are kept at the same time.
  int64_t gates() const;
  int64_t slots() const;

 private:
  struct INGOT_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingot::gates
