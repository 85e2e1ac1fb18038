// Makes the batches of a loader: which samples, fetched and transformed. No threads in here.
#pragma once
#include <cstdint>
#include <vector>

#include "ingot/data/loader.h"

namespace ingot::data {

/// One batch's memory, with the handles for a full batch and for the shorter one at an epoch's end.
struct Slot {
  struct Handles {
    Batch result;   // what the user gets
    Batch fetched;  // where samples come in: the same memory, or where the first transforms find them
  };
  Handles full, rest;
  int64_t size = 0;  // samples in it now
  const Handles& now() const { return size == full.result.size() ? full : rest; }
  const Batch& batch() const { return now().result; }
};

class BatchMaker {
 public:
  BatchMaker(const Dataset& dataset, const LoaderOptions& options);

  int64_t batches() const { return batches_; }
  int64_t samples() const { return samples_; }
  const std::vector<InputSpec>& fields() const { return fields_; }

  Slot make_slot() const;
  /// Fills a slot with batch `at.batch` of epoch `at.epoch`. Allocates nothing.
  void make(Position at, Slot& slot);

 private:
  // Transforms that share a buffer: the first gets samples of another shape than it makes, the others work in place.
  struct Stage {
    size_t first, last;  // of the field's transforms
    Tensor buffer;       // where they leave their samples; undefined for the last stage: the batch itself
  };
  // What happens to one tensor of the samples; no transforms: nothing.
  struct Way {
    std::vector<size_t> transforms;  // their numbers
    std::vector<Stage> stages;
  };
  Way way_of(InputSpec& field) const;
  Slot::Handles handles(const Batch& memory, int64_t count) const;
  void transform(const Way& way, const Tensor& result, int64_t count, int64_t epoch) const;
  void choose(Position at, int64_t count);
  void shuffle(int64_t epoch, int64_t lap);

  const Dataset* dataset_;
  std::vector<TransformPtr> transforms_;
  bool shuffled_;
  uint64_t seed_;
  int64_t size_, batch_, batches_ = 0, samples_ = 0;
  std::vector<InputSpec> fields_;          // of full batches
  std::vector<Way> ways_;                  // one per field
  std::vector<int64_t> order_;             // of the pass over the data that is under way, if shuffled
  Position pass_{-1, -1};                  // which that is: epoch and lap
  std::vector<int64_t> chosen_, numbers_;  // the batch's samples, and what transforms take for their numbers
};

/// The first `count` rows of a tensor.
Tensor first_rows(const Tensor& t, int64_t count);

}  // namespace ingot::data
