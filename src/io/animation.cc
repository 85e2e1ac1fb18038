#include "io/animation.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ingot/base/error.h"
#include "ingot/io/source.h"

namespace ingot::io {

Frames frames_of(const std::string& op, const Tensor& frames, const AnimationOptions& options, int64_t longest_side) {
  if (!frames.defined() || frames.dtype() != kU8 || frames.rank() != 4 || frames.size(3) != 3 || frames.numel() == 0)
    throw Error(op + ": an animation is u8 [frames, h, w, 3], not " +
                (frames.defined() ? std::string(name(frames.dtype())) + " " + to_string(frames.shape()) : "undefined"));
  const int64_t n = frames.size(0), h = frames.size(1), w = frames.size(2), scale = options.scale;
  if (scale < 1 || scale > longest_side || h > longest_side / scale || w > longest_side / scale)
    throw Error(op + ": frames of " + std::to_string(h) + " × " + std::to_string(w) + " pixels, " +
                std::to_string(scale) + " times as large — sides are at most " + std::to_string(longest_side));
  for (const double seconds : {options.seconds, options.last_seconds})
    if (!(seconds >= 0 && seconds <= 60)) throw Error(op + ": a frame is shown for 0 to 60 seconds");
  const Tensor small = row_major(frames);
  Frames out{n, h * scale, w * scale, small};
  if (scale == 1) return out;
  out.pixels = Tensor::empty({n, h * scale, w * scale, 3}, kU8);
  uint8_t* to = out.pixels.data<uint8_t>();
  const int64_t row_bytes = w * scale * 3;
  for (int64_t y = 0; y < n * h; y++, to += (scale - 1) * row_bytes) {
    const uint8_t* const line = to;
    for (int64_t x = 0; x < w * scale; x++, to += 3)
      std::memcpy(to, small.data<uint8_t>() + (y * w + x / scale) * 3, 3);
    for (int64_t copy = 1; copy < scale; copy++) std::memcpy(to + (copy - 1) * row_bytes, line, row_bytes);
  }
  return out;
}

uint16_t ticks(const AnimationOptions& options, int64_t i, int64_t count, int per_second) {
  const double seconds = i + 1 == count ? options.last_seconds : options.seconds;
  return static_cast<uint16_t>(std::min(65535.0, std::round(seconds * per_second)));
}

}  // namespace ingot::io
