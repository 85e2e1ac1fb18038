// What readers of files read from: bytes in order, and how many there are. Files are hostile: whoever reads says what is
// wrong, and where.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "ingot/base/error.h"

namespace ingot {

/// Bytes that come in order; `format` and `name` begin every Error about them, which is of the kind kFile.
class ByteSource {
 public:
  ByteSource(const char* format, std::string name, uint64_t size = 0)
      : format_(format), name_(std::move(name)), size_(size) {}
  virtual ~ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;

  uint64_t size() const { return size_; }
  uint64_t left() const { return size_ - position_; }
  uint64_t position() const { return position_; }
  const char* format() const { return format_; }
  const std::string& name() const { return name_; }
  /// The next bytes; an Error if there are not so many.
  void read(void* out, size_t bytes) {
    if (bytes > left())
      fail("it ends too early: " + std::to_string(bytes) + " bytes should follow byte " + std::to_string(position_) +
           ", but only " + std::to_string(left()) + " do");
    if (bytes == 0) return;
    take(out, bytes);
    position_ += bytes;
  }
  /// The next bytes as a number.
  template <class T>
  T read() {
    T value;
    read(&value, sizeof value);
    return value;
  }
  /// Throws "format: name: what".
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorKind::kFile, std::string(format_) + ": " + name_ + ": " + what);
  }

 protected:
  virtual void take(void* out, size_t bytes) = 0;
  void set_size(uint64_t size) { size_ = size; }

 private:
  const char* format_;
  std::string name_;
  uint64_t size_, position_ = 0;
};

/// Memory that somebody else keeps.
class MemorySource : public ByteSource {
 public:
  MemorySource(const char* format, std::span<const std::byte> bytes, std::string name = "memory")
      : ByteSource(format, std::move(name), bytes.size()), bytes_(bytes) {}

 protected:
  void take(void* out, size_t bytes) override { std::memcpy(out, bytes_.data() + position(), bytes); }

 private:
  std::span<const std::byte> bytes_;
};

/// CRC-32C (Castagnoli), a byte at a time.
inline uint32_t crc32c(std::string_view data) {
  static constexpr std::array<uint32_t, 256> kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; bit++) c = (c & 1) != 0 ? c >> 1 ^ 0x82f63b78u : c >> 1;
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = ~0u;
  for (const char byte : data) crc = crc >> 8 ^ kTable[(crc ^ static_cast<uint8_t>(byte)) & 255];
  return ~crc;
}

}  // namespace ingot
