// What both kinds of animation take: frames, checked and as large as they are shown.
#pragma once
#include <string>

#include "ingot/io/io.h"

namespace ingot::io {

struct Frames {
  int64_t count, height, width;  // after scaling
  Tensor pixels;                 // u8 [count, height, width, 3]
  const uint8_t* frame(int64_t i) const { return pixels.data<uint8_t>() + i * height * width * 3; }
};
/// An Error that begins with `op` if it is no animation, or one too large for its format.
Frames frames_of(const std::string& op, const Tensor& frames, const AnimationOptions& options, int64_t longest_side);
/// How long frame i is shown, in ticks of which `per_second` make a second.
uint16_t ticks(const AnimationOptions& options, int64_t i, int64_t count, int per_second);

}  // namespace ingot::io
