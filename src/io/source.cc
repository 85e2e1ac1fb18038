#include "ingot/io/source.h"

#include <algorithm>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"

namespace ingot::io {

void Source::fail(const std::string& what) const {
  throw Error(ErrorKind::kFile, std::string(format_) + ": " + name_ + ": " + what);
}

void Source::read(void* out, size_t bytes) {
  if (bytes > left())
    fail("it ends too early: " + std::to_string(bytes) + " bytes should follow byte " + std::to_string(position_) +
         ", but only " + std::to_string(left()) + " do");
  if (bytes == 0) return;
  take(out, bytes);
  position_ += bytes;
}

void MemorySource::take(void* out, size_t bytes) { std::memcpy(out, bytes_.data() + position(), bytes); }

FileSource::FileSource(const char* format, const std::string& path) : Source(format, path), file_(format, path) {
  set_size(file_.size());
}

Tensor read_all(Source& source) {
  Tensor bytes = Tensor::empty({static_cast<int64_t>(source.left())}, kU8);
  source.read(bytes.raw(), source.left());
  return bytes;
}

Tensor read_tensor(Source& source, const Dims& shape, DType dtype) {
  uint64_t bytes = 0;
  if (!byte_count(shape, dtype, bytes) || bytes > source.left())
    source.fail("shape " + to_string(shape) + " of " + ingot::name(dtype) + " does not fit into the " +
                std::to_string(source.left()) + " bytes that are left");
  Tensor t = Tensor::empty(shape, dtype);
  source.read(t.raw(), bytes);
  check_bools(source, t);
  return t;
}

void check_bools(const Source& source, const Tensor& t) {
  if (t.dtype() != kBool) return;
  const std::span<const std::byte> bytes = bytes_of(t);
  const auto wrong = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong != bytes.end())
    source.fail("a bool has the value " + std::to_string(std::to_integer<int>(*wrong)) + ", not 0 or 1");
}

Tensor to_write(const char* op, const std::string& name, const Tensor& t) {
  const std::string which = name.empty() ? "the tensor" : "tensor " + in_quotes(name);
  if (!t.defined()) throw Error(std::string(op) + ": " + which + " is undefined");
  if (t.is_symbolic())
    throw Error(std::string(op) + ": " + which + " is symbolic: its elements exist only when the plan runs");
  return row_major(t);
}

Tensor row_major(const Tensor& t) {
  if (t.is_contiguous()) return t;
  const size_t bytes = size_of(t.dtype());
  Tensor result = Tensor::empty(t.shape(), t.dtype());
  std::byte* to = static_cast<std::byte*>(result.raw());
  const std::byte* from = static_cast<const std::byte*>(t.raw());
  Dims index = Dims::filled(t.rank(), 0);
  const int last = t.rank() - 1;
  const int64_t count = t.shape()[last], step = t.strides()[last] * static_cast<int64_t>(bytes);
  for (int64_t row = t.numel() / count; row > 0; row--) {
    int64_t offset = 0;
    for (int i = 0; i < last; i++) offset += index[i] * t.strides()[i] * static_cast<int64_t>(bytes);
    for (int64_t i = 0; i < count; i++, to += bytes) std::memcpy(to, from + offset + i * step, bytes);
    for (int axis = last - 1; axis >= 0 && ++index[axis] == t.shape()[axis]; axis--) index[axis] = 0;
  }
  return result;
}

bool byte_count(std::span<const int64_t> shape, DType dtype, uint64_t& bytes) {
  constexpr int64_t kMost = int64_t{1} << 60;
  int64_t count = 1;
  for (int64_t size : shape)
    if (size < 0) return false;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) count = 0;
  for (int64_t size : shape)
    if (count != 0 && (!checked_multiply(count, size, count) || count > kMost)) return false;
  bytes = static_cast<uint64_t>(count) * size_of(dtype);
  return true;
}

}  // namespace ingot::io
