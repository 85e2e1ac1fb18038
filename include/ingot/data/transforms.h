// Transforms: what changes samples on their way into a batch.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/base/random.h"
#include "ingot/base/tensor.h"

namespace ingot::data {

/// What changes samples on their way into a batch. Random ones draw from a key of their own, which is another one in
/// every epoch, and from the sample's number, so they do not depend on threads, prefetching or batch sizes.
class INGOT_API Transform {
 public:
  virtual ~Transform() = default;
  /// The tensors of a sample that it changes, each in the same way; they are f32.
  virtual std::vector<std::string> fields() const { return {"x"}; }
  /// The shape of a sample after it; an Error if it takes no such samples.
  virtual Dims shape(const Dims& sample) const { return sample; }
  /// From `in` to `out`, both contiguous f32 [n, …]; they are one tensor if shape() changes nothing. A sample that
  /// comes a second time in an epoch (LoaderOptions::batches) has another number then. Allocates nothing.
  virtual void apply(const Tensor& in, const Tensor& out, std::span<const int64_t> samples, RandomKey key) const = 0;
};
using TransformPtr = std::shared_ptr<const Transform>;
// Pictures are [c, h, w] or [h, w].
/// (x - mean) / deviation: one number for all, or one per channel (the sample's first axis).
INGOT_API TransformPtr normalize(std::vector<float> mean, std::vector<float> deviation);
/// Moves pictures by up to `pixels` along both axes; what comes in from outside is `fill`.
INGOT_API TransformPtr shift(int64_t pixels, float fill = 0);
/// A window of height × width out of pictures, at a random place.
INGOT_API TransformPtr crop(int64_t height, int64_t width);
/// The window in the middle: what to evaluate on after training with crop().
INGOT_API TransformPtr center_crop(int64_t height, int64_t width);
/// Mirrors pictures left to right, half of them.
INGOT_API TransformPtr flip();
/// Adds normal noise.
INGOT_API TransformPtr noise(float deviation);
/// A transform of other tensors than x; of several, with the same random numbers for all of them: a picture and its
/// mask are mirrored together by on({"x", "mask"}, flip()).
INGOT_API TransformPtr on(std::vector<std::string> fields, TransformPtr transform);

}  // namespace ingot::data
