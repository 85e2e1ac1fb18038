// What readers read from: bytes in order, and how many there are.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/file.h"
#include "ingot/base/tensor.h"

namespace ingot::io {

static_assert(std::endian::native == std::endian::little, "the formats are little-endian, and so must the machine be");

/// Bytes that come in order; `format` and `name` begin every Error about them.
class INGOT_API Source {
 public:
  Source(const char* format, std::string name, uint64_t size = 0)
      : format_(format), name_(std::move(name)), size_(size) {}
  virtual ~Source() = default;
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  uint64_t size() const { return size_; }
  uint64_t left() const { return size_ - position_; }
  uint64_t position() const { return position_; }
  const char* format() const { return format_; }
  const std::string& name() const { return name_; }
  /// The next bytes; an Error if there are not so many.
  void read(void* out, size_t bytes);
  /// The next bytes as an integer.
  template <class T>
  T read() {
    T value;
    read(&value, sizeof value);
    return value;
  }
  /// Throws "format: name: what".
  [[noreturn]] void fail(const std::string& what) const;

 protected:
  virtual void take(void* out, size_t bytes) = 0;
  void set_size(uint64_t size) { size_ = size; }

 private:
  const char* format_;
  std::string name_;
  uint64_t size_, position_ = 0;
};

/// Memory that somebody else keeps.
class INGOT_API MemorySource : public Source {
 public:
  MemorySource(const char* format, std::span<const std::byte> bytes, std::string name = "memory")
      : Source(format, std::move(name), bytes.size()), bytes_(bytes) {}

 protected:
  void take(void* out, size_t bytes) override;

 private:
  std::span<const std::byte> bytes_;
};

/// A regular file.
class INGOT_API FileSource : public Source {
 public:
  FileSource(const char* format, const std::string& path);
  const InputFile& file() const { return file_; }

 protected:
  void take(void* out, size_t bytes) override { file_.read(out, bytes); }

 private:
  InputFile file_;
};

/// All bytes that are left, as u8 [n]: counted memory, and more than the machine has is an Error.
INGOT_API Tensor read_all(Source& source);
/// The bytes of a contiguous tensor.
inline std::span<const std::byte> bytes_of(const Tensor& t) {
  return {static_cast<const std::byte*>(t.raw()), static_cast<size_t>(t.numel()) * size_of(t.dtype())};
}
/// A new tensor filled with the next bytes; an Error if they are too few, or no valid bools.
INGOT_API Tensor read_tensor(Source& source, const Dims& shape, DType dtype);
/// An Error unless the bytes of a bool tensor are 0 and 1.
INGOT_API void check_bools(const Source& source, const Tensor& t);
/// The same elements in row-major order, copied if they do not lie so already.
INGOT_API Tensor row_major(const Tensor& t);
/// The same for writing: an Error that starts with `op` if there are no elements to be had.
INGOT_API Tensor to_write(const char* op, const std::string& name, const Tensor& t);
/// Elements of a shape times bytes of an element; false if that or a size is beyond what files can hold.
INGOT_API bool byte_count(std::span<const int64_t> shape, DType dtype, uint64_t& bytes);

}  // namespace ingot::io
