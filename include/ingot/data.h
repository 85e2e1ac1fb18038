// Data: samples by number, and a loader that turns them into batches while the last one is being trained on.
//
//   data::TensorDataset digits(images, labels);
//   auto [train, test] = data::split(digits, 0.2, /*seed=*/1);
//   data::Loader loader(train, {.batch = 64, .shuffle = true, .transforms = {data::shift(1)}});
//   for (const data::Batch& batch : loader) step(batch.x, batch.y);        // one epoch; zero allocations
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ingot/machine.h"
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
  /// Writes sample samples[i] to row i of x and y, which have the shapes above behind the row and are contiguous.
  /// Allocates nothing.
  virtual void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const = 0;
};

/// Tensors x [n, …] and y [n, …], in memory or mapped from a file (io.h); they are looked at, not copied, if each
/// sample lies in one piece. Batches are f32 (from all floats, bool, and u8 as pixels between 0 and 1) or i64 (from
/// i32, i64, and from u8 if y is a label per sample).
class TensorDataset : public Dataset {
 public:
  TensorDataset(Tensor x, Tensor y);
  int64_t size() const override;
  InputSpec input() const override;
  InputSpec target() const override;
  void fetch(std::span<const int64_t> samples, const Tensor& x, const Tensor& y) const override;

 private:
  Tensor x_, y_;
  DType input_type_, target_type_;  // of the batches
};

/// Some samples of another dataset, which must outlive it.
class Subset : public Dataset {
 public:
  Subset(const Dataset& all, std::vector<int64_t> samples);
  Subset(const Dataset&& all, std::vector<int64_t> samples) = delete;  // it would be gone
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
/// Holds a share of the samples back, drawn by `seed`; both parts keep the order of the whole, and none is empty.
Split split(const Dataset& all, double held_back, uint64_t seed);
Split split(const Dataset&& all, double held_back, uint64_t seed) = delete;

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
  int64_t row_;  // tokens from the start of one row to the next
};

/// What changes samples on their way into a batch. Random ones draw from a key of their own, which is another one in
/// every epoch, and from the sample's number, so they do not depend on threads, prefetching or batch sizes.
class Transform {
 public:
  virtual ~Transform() = default;
  /// The shape of a sample after it; an Error if it takes no such samples.
  virtual Dims shape(const Dims& sample) const { return sample; }
  /// From `in` to `out`, both contiguous f32 [n, …]; they are one tensor if shape() changes nothing. A sample that
  /// comes a second time in an epoch (LoaderOptions::batches) has another number then. Allocates nothing.
  virtual void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const = 0;
};
using TransformPtr = std::shared_ptr<const Transform>;
// Pictures are [c, h, w] or [h, w].
/// (x - mean) / deviation: one number for all, or one per channel (the sample's first axis).
TransformPtr normalize(std::vector<float> mean, std::vector<float> deviation);
/// Moves pictures by up to `pixels` along both axes; what comes in from outside is `fill`.
TransformPtr shift(int64_t pixels, float fill = 0);
/// A window of height × width out of pictures, at a random place.
TransformPtr crop(int64_t height, int64_t width);
/// The window in the middle: what to evaluate on after training with crop().
TransformPtr center_crop(int64_t height, int64_t width);
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
  int64_t batches = 0;  // full batches in an epoch, of more or fewer samples than there are; 0: all samples once
};

struct Batch {
  Tensor x, y;
  int64_t size() const { return x.size(0); }
};

/// Where a loader is: the epoch, and how many of its batches were given. The end of an epoch's batches and the start of
/// the next epoch are two positions: next() says nullptr between them.
struct Position {
  int64_t epoch = 0, batch = 0;
};

/// Batches of a dataset, which must outlive the loader. What is in a batch depends on the seed, the epoch and the
/// batch's number only. For one user's thread.
class Loader {
 public:
  explicit Loader(const Dataset& dataset, LoaderOptions options = {});
  explicit Loader(const Dataset&& dataset, LoaderOptions options = {}) = delete;  // it would be gone
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch of the epoch under way, or nullptr at its end (then the next call begins the next epoch). Its
  /// memory is the loader's and holds it until the next call. An error of the dataset or a transform comes from here,
  /// when it is that batch's turn; the call after tries again.
  const Batch* next();
  Position position() const;
  /// Goes on from there; used to resume. Batches given so far are no longer valid.
  void seek(Position position);

  int64_t batches() const;  // in an epoch
  int64_t samples() const;  // in an epoch
  /// What full batches look like; with fewer samples than options().batch, the batch of all of them.
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

/// A batch size that suits this machine's caches, from the bytes per sample of a plan that was compiled for batches of
/// `batch`: its temporaries; with the loader that feeds it, those of the batches, too. A power of two from 8 to 4096.
int64_t recommended_batch(const Plan& plan, int64_t batch);
int64_t recommended_batch(const Plan& plan, const Loader& loader);
/// The rule. Samples enough that their bytes fill the L2 caches of the workers, and at least as many bytes as the
/// `fixed` ones that a step goes through whatever the batch (parameters, gradients, optimiser state), so that it is not
/// mostly update; but no more than fit into half of L3, which is shared with others.
int64_t recommended_batch(double bytes_per_sample, double fixed, int workers, const MachineInfo& machine);

}  // namespace ingot::data
