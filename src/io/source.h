// What readers of tensors read from: a file, or memory; and tensors out of it.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "ingot/base/bytes.h"
#include "ingot/base/file.h"
#include "ingot/base/tensor.h"

namespace ingot::io {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian, and so must the machine be");

using Source = ByteSource;

/// A regular file.
class FileSource : public Source {
 public:
  FileSource(const char* format, const std::string& path);
  const InputFile& file() const { return file_; }

 protected:
  void take(void* out, size_t bytes) override { file_.read(out, bytes); }

 private:
  InputFile file_;
};

/// All bytes that are left, as u8 [n]: counted memory, and more than the machine has is an Error.
Tensor read_all(Source& source);
/// The bytes of a contiguous tensor.
inline std::span<const std::byte> bytes_of(const Tensor& t) {
  return {static_cast<const std::byte*>(t.raw()), static_cast<size_t>(t.numel()) * size_of(t.dtype())};
}
/// A new tensor filled with the next bytes; an Error if they are too few, or no valid bools.
Tensor read_tensor(Source& source, const Dims& shape, DType dtype);
/// An Error unless the bytes of a bool tensor are 0 and 1.
void check_bools(const Source& source, const Tensor& t);
/// The same elements in row-major order, copied if they do not lie so already.
Tensor row_major(const Tensor& t);
/// The same for writing: an Error that starts with `op` if there are no elements to be had.
Tensor to_write(const char* op, const std::string& name, const Tensor& t);
/// Elements of a shape times bytes of an element; false if that or a size is beyond what files can hold.
bool byte_count(std::span<const int64_t> shape, DType dtype, uint64_t& bytes);

}  // namespace ingot::io
