// Makes the batches of a loader: which samples, fetched and transformed. No threads in here.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/data.h"

namespace ingot::data {

/// One batch's memory, with the handles for a full batch and for the shorter one at an epoch's end.
struct Slot {
  Batch full, rest;
  int64_t size = 0;  // samples in it now
  const Batch& batch() const { return size == full.size() ? full : rest; }
};

class BatchMaker {
 public:
  BatchMaker(const Dataset& dataset, const LoaderOptions& options);

  int64_t batches() const { return batches_; }
  int64_t samples() const { return samples_; }
  InputSpec input() const { return input_; }
  InputSpec target() const { return target_; }

  Slot make_slot() const;
  /// Fills a slot with batch `at.batch` of epoch `at.epoch`. Allocates nothing.
  void make(Position at, Slot& slot);

 private:
  // Transforms that share a buffer: the first gets samples of another shape than it makes, the others work in place.
  struct Stage {
    size_t first, last;  // transforms
    Tensor buffer;       // where they leave their samples; undefined for the last stage: the batch itself
  };
  void plan_stages(const Dims& sample);
  void choose(Position at, int64_t count);
  void shuffle(int64_t epoch, int64_t lap);

  const Dataset* dataset_;
  std::vector<TransformPtr> transforms_;
  bool shuffled_;
  uint64_t seed_;
  int64_t size_, batch_, batches_ = 0, samples_ = 0;
  InputSpec input_, target_;
  std::vector<Stage> stages_;
  std::vector<int64_t> order_;             // of the pass over the data that is under way, if shuffled
  Position pass_{-1, -1};                  // which that is: epoch and lap
  std::vector<int64_t> chosen_, numbers_;  // the batch's samples, and what transforms take for their numbers
};

/// The first `count` rows of a tensor.
Tensor first_rows(const Tensor& t, int64_t count);

}  // namespace ingot::data
