// IDX: two zero bytes, a type, the number of axes, their sizes and the elements, all big-endian.
#include <bit>

#include "ingot/io/io.h"
#include "io/unpack.h"

namespace ingot::io {
namespace {

uint32_t big_endian(Source& source) { return __builtin_bswap32(source.read<uint32_t>()); }

template <class T>
void swap_bytes(const Tensor& t) {
  T* elements = static_cast<T*>(t.raw());
  for (int64_t i = 0; i < t.numel(); i++)
    elements[i] = sizeof(T) == 8 ? static_cast<T>(__builtin_bswap64(elements[i]))
                                 : static_cast<T>(__builtin_bswap32(static_cast<uint32_t>(elements[i])));
}

// Signed integers of 1 or 2 bytes, as i32.
Tensor widened(Source& source, const Dims& shape, int bytes) {
  Dims raw_shape = shape;
  raw_shape.push_back(bytes);
  const Tensor raw = read_tensor(source, raw_shape, kU8);
  Tensor t = Tensor::empty(shape, kI32);
  const uint8_t* from = raw.data<uint8_t>();
  int32_t* to = t.data<int32_t>();
  for (int64_t i = 0; i < t.numel(); i++)
    to[i] = bytes == 1 ? static_cast<int8_t>(from[i]) : static_cast<int16_t>(from[2 * i] << 8 | from[2 * i + 1]);
  return t;
}

Tensor read_elements(Source& source, uint8_t type, const Dims& shape) {
  Tensor t;
  switch (type) {
    case 0x08: return read_tensor(source, shape, kU8);
    case 0x09: return widened(source, shape, 1);
    case 0x0b: return widened(source, shape, 2);
    case 0x0c: t = read_tensor(source, shape, kI32); break;
    case 0x0d: t = read_tensor(source, shape, kF32); break;
    case 0x0e: t = read_tensor(source, shape, kF64); break;
    default: source.fail("its type " + std::to_string(type) + " is unknown — 8, 9, 11, 12, 13 and 14 are");
  }
  if (type == 0x0e)
    swap_bytes<uint64_t>(t);
  else
    swap_bytes<uint32_t>(t);
  return t;
}

Tensor read_idx(Source& file, const UnpackLimits& limits) {
  const Tensor bytes = read_unpacked(file, limits);
  MemorySource source(file.format(), bytes_of(bytes), file.name());
  if (source.size() < 4) source.fail("it is too short to be an IDX file");
  uint8_t start[4];
  source.read(start, sizeof start);
  if (start[0] != 0 || start[1] != 0) source.fail("it does not begin as IDX files do");
  if (start[3] == 0 || start[3] > kMaxRank - 1)
    source.fail("it has " + std::to_string(start[3]) + " axes — 1 to " + std::to_string(kMaxRank - 1) +
                " are supported");
  Dims shape;
  for (int i = 0; i < start[3]; i++) shape.push_back(big_endian(source));
  Tensor t = read_elements(source, start[2], shape);
  if (source.left() != 0)
    source.fail(std::to_string(source.left()) + " bytes follow the elements of shape " + to_string(shape));
  return t;
}

}  // namespace

Tensor load_idx(const std::string& path, const UnpackLimits& limits) {
  FileSource file("load_idx", path);
  return read_idx(file, limits);
}

Tensor parse_idx(std::span<const std::byte> bytes, const UnpackLimits& limits) {
  MemorySource memory("parse_idx", bytes);
  return read_idx(memory, limits);
}

}  // namespace ingot::io
