// Animated PNG: an ordinary PNG of the first frame, with chunks beside it that libpng passes over.
#include <zlib.h>

#include "ingot/base/error.h"
#include "io/animation.h"

namespace ingot::io {
namespace {

constexpr int64_t kLongestSide = 1'000'000;

std::string big_endian(int64_t value, int bytes = 4) {
  std::string out;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const uLong crc = crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<int64_t>(data.size())) + body + big_endian(static_cast<int64_t>(crc));
}

// Rows without a filter, deflated: grids of cells are flat areas.
std::string packed(const uint8_t* pixels, int64_t height, int64_t width) {
  std::string rows;
  rows.reserve(static_cast<size_t>(height * (width * 3 + 1)));
  for (int64_t y = 0; y < height; y++) {
    rows += '\0';
    rows.append(reinterpret_cast<const char*>(pixels) + y * width * 3, static_cast<size_t>(width * 3));
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
                static_cast<uLong>(rows.size()), 9) != Z_OK)
    throw Error(ErrorKind::kMemory, "save_apng: zlib has no memory");
  out.resize(size);
  return out;
}

}  // namespace

std::string to_apng(const Tensor& frames, const AnimationOptions& options) {
  const Frames f = frames_of("save_apng", frames, options, kLongestSide);
  if (f.height * f.width > INT32_MAX / 4)
    throw Error("save_apng: frames of " + std::to_string(f.height * f.width) + " pixels — take smaller ones");
  std::string out = "\x89PNG\r\n\x1a\n";
  out += chunk("IHDR", big_endian(f.width) + big_endian(f.height) + std::string("\x08\x02\0\0\0", 5));
  out += chunk("acTL", big_endian(f.count) + big_endian(0));
  int64_t sequence = 0;
  for (int64_t i = 0; i < f.count; i++) {
    out +=
        chunk("fcTL", big_endian(sequence++) + big_endian(f.width) + big_endian(f.height) + std::string(8, '\0') +
                          big_endian(ticks(options, i, f.count, 1000), 2) + big_endian(1000, 2) + std::string(2, '\0'));
    const std::string data = packed(f.frame(i), f.height, f.width);
    out += i == 0 ? chunk("IDAT", data) : chunk("fdAT", big_endian(sequence++) + data);
  }
  return out + chunk("IEND", "");
}

void save_apng(const std::string& path, const Tensor& frames, const AnimationOptions& options) {
  write_file(path, std::string_view(to_apng(frames, options)));
}

}  // namespace ingot::io
