// GIF89a: one palette for all frames, LZW as its specification describes it.
#include <algorithm>
#include <array>
#include <unordered_map>
#include <vector>

#include "io/animation.h"

namespace ingot::io {
namespace {

constexpr int64_t kLongestSide = 65535;

std::string little_endian(int64_t value) { return {static_cast<char>(value & 255), static_cast<char>(value >> 8)}; }

uint32_t colour_at(const uint8_t* pixel) { return uint32_t{pixel[0]} << 16 | uint32_t{pixel[1]} << 8 | pixel[2]; }

// The colours of all frames and the number of each; beyond 256, a cube of 6 × 7 × 6 of them.
class Palette {
 public:
  explicit Palette(const Frames& f) {
    const int64_t pixels = f.count * f.height * f.width;
    for (int64_t i = 0; i < pixels && !cube_; i++) {
      const uint32_t colour = colour_at(f.frame(0) + 3 * i);
      if (!colours_.empty() && colour == colours_[last_]) continue;
      const auto [found, is_new] = numbers_.try_emplace(colour, static_cast<uint8_t>(colours_.size()));
      if (is_new && colours_.size() == 256)
        cube_ = true;
      else if (is_new)
        colours_.push_back(colour);
      last_ = found->second;
    }
    if (!cube_) return;
    colours_.clear();
    for (uint32_t r = 0; r < 6; r++)
      for (uint32_t g = 0; g < 7; g++)
        for (uint32_t b = 0; b < 6; b++) colours_.push_back(r * 51 << 16 | (g * 255 + 3) / 6 << 8 | b * 51);
  }

  uint8_t number(const uint8_t* pixel) const {
    const auto level = [](int value, int levels) { return (value * (levels - 1) + 127) / 255; };
    if (cube_) return static_cast<uint8_t>((level(pixel[0], 6) * 7 + level(pixel[1], 7)) * 6 + level(pixel[2], 6));
    return numbers_.at(colour_at(pixel));
  }
  // Bits of a colour's number: GIF has tables of 2 to 256.
  int bits() const {
    int bits = 1;
    while ((size_t{1} << bits) < colours_.size()) bits++;
    return bits;
  }
  std::string table() const {
    std::string out;
    for (size_t i = 0; i < size_t{1} << bits(); i++) {
      const uint32_t colour = i < colours_.size() ? colours_[i] : 0;
      out += {static_cast<char>(colour >> 16), static_cast<char>(colour >> 8), static_cast<char>(colour)};
    }
    return out;
  }

 private:
  std::vector<uint32_t> colours_;
  std::unordered_map<uint32_t, uint8_t> numbers_;
  bool cube_ = false;
  uint8_t last_ = 0;
};

// Codes of growing length, packed from the least significant bit, in blocks of up to 255 bytes.
class LzwWriter {
 public:
  explicit LzwWriter(int bits) : first_(bits), length_(bits + 1), clear_(1U << bits) { restart(); }

  void add(uint8_t number) {
    if (prefix_ < 0) {
      prefix_ = number;
      return;
    }
    const uint32_t key = static_cast<uint32_t>(prefix_) << 8 | number;
    if (const auto found = codes_.find(key); found != codes_.end()) {
      prefix_ = found->second;
      return;
    }
    put(static_cast<uint32_t>(prefix_));
    codes_.emplace(key, static_cast<int>(next_++));
    // The reader is one code behind: lengths grow when the first code of the new length may come.
    if (next_ > uint32_t{1} << length_) length_++;
    if (next_ == 4096) restart();
    prefix_ = number;
  }

  std::string finish() {
    if (prefix_ >= 0) put(static_cast<uint32_t>(prefix_));
    if (next_ == uint32_t{1} << length_ && length_ < 12) length_++;
    put(clear_ + 1);
    if (held_ > 0) bytes_ += static_cast<char>(word_);
    std::string out(1, static_cast<char>(first_));
    for (size_t at = 0; at < bytes_.size(); at += 255) {
      const std::string_view block = std::string_view(bytes_).substr(at, 255);
      out += static_cast<char>(block.size());
      out += block;
    }
    return out + '\0';
  }

 private:
  void restart() {
    put(clear_);
    codes_.clear();
    length_ = first_ + 1;
    next_ = clear_ + 2;
  }
  void put(uint32_t code) {
    word_ |= code << held_;
    for (held_ += length_; held_ >= 8; held_ -= 8, word_ >>= 8) bytes_ += static_cast<char>(word_);
  }

  int first_, length_, held_ = 0;
  uint32_t clear_, next_ = 0, word_ = 0;
  int prefix_ = -1;
  std::unordered_map<uint32_t, int> codes_;
  std::string bytes_;
};

}  // namespace

std::string to_gif(const Tensor& frames, const AnimationOptions& options) {
  const Frames f = frames_of("save_gif", frames, options, kLongestSide);
  const Palette palette(f);
  std::string out = "GIF89a" + little_endian(f.width) + little_endian(f.height);
  out += {static_cast<char>(0xf0 | (palette.bits() - 1)), '\0', '\0'};
  out += palette.table();
  if (f.count > 1) out += std::string("\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0", 19);  // for ever
  for (int64_t i = 0; i < f.count; i++) {
    if (f.count > 1)
      out += std::string("\x21\xf9\x04\x04", 4) + little_endian(ticks(options, i, f.count, 100)) + std::string(2, '\0');
    out += "\x2c" + std::string(4, '\0') + little_endian(f.width) + little_endian(f.height) + std::string(1, '\0');
    LzwWriter lzw(std::max(2, palette.bits()));
    const uint8_t* pixel = f.frame(i);
    for (int64_t p = 0; p < f.height * f.width; p++, pixel += 3) lzw.add(palette.number(pixel));
    out += lzw.finish();
  }
  return out + ";";
}

void save_gif(const std::string& path, const Tensor& frames, const AnimationOptions& options) {
  write_file(path, std::string_view(to_gif(frames, options)));
}

}  // namespace ingot::io
