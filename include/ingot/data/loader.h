// The loader: batches of a dataset, made ahead by a thread of its own.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/data/batch.h"
#include "ingot/data/dataset.h"
#include "ingot/data/transforms.h"
#include "ingot/graph/plan.h"

namespace ingot::data {

struct LoaderOptions {
  int64_t batch = 32;
  bool shuffle = false;
  bool drop_last = false;  // leave out a last batch that is not full
  uint64_t seed = 0;       // of the order and of the transforms
  int prefetch = 2;        // batches made ahead by a thread of the loader's; 0: made when asked for
  std::vector<TransformPtr> transforms = {};
  int64_t batches = 0;  // full batches in an epoch, of more or fewer samples than there are; 0: all samples once
};

/// Where a loader is: the epoch, and how many of its batches were given. The end of an epoch's batches and the start of
/// the next epoch are two positions: next() says nullptr between them.
struct Position {
  int64_t epoch = 0, batch = 0;
};

/// Batches of a dataset, which must outlive the loader. What is in a batch depends on the seed, the epoch and the
/// batch's number only. For one user's thread.
class INGOT_API Loader {
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
  /// What full batches look like, tensor by tensor; with fewer samples than options().batch, the batch of all of them.
  const std::vector<InputSpec>& fields() const;
  /// Those of "x" and of "y"; an Error if there is none.
  const InputSpec& field(std::string_view name) const;
  const InputSpec& input() const { return field("x"); }
  const InputSpec& target() const { return field("y"); }
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
  struct INGOT_PRIVATE Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ingot::data
