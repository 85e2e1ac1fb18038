// Data: samples by number, and a loader that turns them into batches while the last one is being trained on.
//
//   data::TensorDataset digits(images, labels);
//   auto [train, test] = data::split(digits, 0.2, /*seed=*/1);
//   data::Loader loader(train, {.batch = 64, .shuffle = true, .transforms = {data::shift(1)}});
//   for (const data::Batch& batch : loader) step(batch.x, batch.y);        // one epoch; zero allocations
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ingot/plan.h"
#include "ingot/random.h"
#include "ingot/tensor.h"

namespace ingot::data {

/// Samples of one shape, by number. Several threads may fetch at once.
class Dataset {
 public:
  virtual ~Dataset() = default;
  virtual int64_t size() const = 0;
  /// Shape and type of one sample's input and of its target (shape {} for a label).
  virtual InputSpec input() const = 0;
  virtual InputSpec target() const = 0;
  /// Writes sample samples[i] to row i of x and y, which have the shapes above behind the row. Allocates nothing.
  virtual void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const = 0;
};

/// Tensors x [n, …] and y [n, …], in memory or mapped from a file (io.h). Pixels (u8) become f32 between 0 and 1, other
/// numbers f32 or i64.
class TensorDataset : public Dataset {
 public:
  TensorDataset(Tensor x, Tensor y);
  int64_t size() const override;
  InputSpec input() const override;
  InputSpec target() const override;
  void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const override;

 private:
  Tensor x_, y_;
};

/// Some samples of another dataset, which must outlive it.
class Subset : public Dataset {
 public:
  Subset(const Dataset& all, std::vector<int64_t> samples);
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  InputSpec input() const override { return all_->input(); }
  InputSpec target() const override { return all_->target(); }
  void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const override;

 private:
  const Dataset* all_;
  std::vector<int64_t> samples_;
};

struct Split {
  Subset train, test;
};
/// Holds a share of the samples back, drawn by `seed`.
Split split(const Dataset& all, double held_back, uint64_t seed);

/// Text as token numbers. A sample is `length` tokens and, as target, the same moved on by one.
class TokenDataset : public Dataset {
 public:
  /// Windows at every position (streams = 0): shuffle them. Or `streams` rows of windows that follow each other: sample
  /// k·streams + r is window k of row r, so that unshuffled batches of `streams` continue one another (truncated BPTT).
  TokenDataset(std::vector<int32_t> tokens, int64_t length, int64_t streams = 0);
  int64_t size() const override;
  InputSpec input() const override;
  InputSpec target() const override;
  void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const override;

 private:
  std::vector<int32_t> tokens_;
  int64_t length_, streams_;
};

/// What changes samples on their way into a batch. `in` is [n, …] f32; the result has the shape that shape() says.
/// Random ones draw from a key of their own and the sample's number, so they do not depend on threads or batches.
class Transform {
 public:
  virtual ~Transform() = default;
  /// The shape of a sample after it; in place if it is the same.
  virtual Dims shape(const Dims& sample) const { return sample; }
  virtual void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const = 0;
};
using TransformPtr = std::shared_ptr<const Transform>;
/// (x - mean) / deviation, per channel [c, h, w] or for all.
TransformPtr normalize(std::vector<float> mean, std::vector<float> deviation);
/// Moves pictures [c, h, w] by up to `pixels` along both axes; what comes in from outside is `fill`.
TransformPtr shift(int64_t pixels, float fill = 0);
/// A window of height × width out of pictures, at a random place.
TransformPtr crop(int64_t height, int64_t width);
/// Mirrors pictures left to right, half of them.
TransformPtr flip();
/// Adds normal noise.
TransformPtr noise(float deviation);

struct LoaderOptions {
  int64_t batch = 32;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;       // of the order and of the transforms
  int prefetch = 2;        // batches made ahead by a thread of the loader's; 0: made when asked for
  std::vector<TransformPtr> transforms = {};
  int64_t batches = 0;  // batches in an epoch; 0: all samples once
};

struct Batch {
  Tensor x, y;
  int64_t size() const { return x.size(0); }
};

/// Where a loader is: the epoch, and how many of its batches were given.
struct Position {
  int64_t epoch = 0, batch = 0;
};

/// Batches of a dataset, which must outlive the loader. An epoch's order depends on seed and epoch only.
class Loader {
 public:
  explicit Loader(const Dataset& dataset, LoaderOptions options = {});
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch of the epoch under way, or nullptr at its end (then the next call begins the next epoch). It is
  /// valid until the next call.
  const Batch* next();
  Position position() const;
  /// Goes on from there; used to resume.
  void seek(Position position);

  int64_t batches() const;  // in an epoch
  int64_t samples() const;  // in an epoch
  /// What the batches look like: shape with the full batch size.
  InputSpec input() const;
  InputSpec target() const;
  const LoaderOptions& options() const;

  /// `for (const Batch& b : loader)`: the rest of the epoch under way.
  struct End {};
  class Iterator {
   public:
    explicit Iterator(Loader* loader) : loader_(loader), batch_(loader->next()) {}
    const Batch& operator*() const { return *batch_; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    bool operator!=(End) const { return batch_ != nullptr; }

   private:
    Loader* loader_;
    const Batch* batch_;
  };
  Iterator begin() { return Iterator(this); }
  End end() const { return {}; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A batch size at which a step's temporaries still fit this machine's cache: from the bytes per sample of a plan whose
/// first input is a batch. A power of two; at least 8.
int64_t recommended_batch(const Plan& plan, int64_t batch);

}  // namespace ingot::data
