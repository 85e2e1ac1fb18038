// zlib behind the limits that hostile files need.
#pragma once
#include <zlib.h>

#include "ingot/io/io.h"
#include "ingot/io/source.h"

namespace ingot::io {

/// An Error if `unpacked` bytes are more than the limits allow for a file of `packed` ones,
void check_limits(const Source& source, uint64_t packed, uint64_t unpacked, const UnpackLimits& limits);
/// or if so many cannot even come from `packed` deflated ones.
void check_unpacked(const Source& source, uint64_t packed, uint64_t unpacked, const UnpackLimits& limits);

/// The bytes of `source`, unpacked if they are gzip's.
Tensor read_unpacked(Source& source, const UnpackLimits& limits);

/// An entry of an archive: stored, or deflated without a header. finish() checks length and CRC.
class EntrySource : public Source {
 public:
  EntrySource(const Source& archive, const std::string& entry, std::span<const std::byte> packed, uint64_t size,
              bool deflated, uint32_t crc);
  ~EntrySource() override;
  void finish();

 protected:
  void take(void* out, size_t bytes) override;

 private:
  std::span<const std::byte> packed_;
  bool deflated_;
  uint32_t wanted_crc_;
  uLong crc_ = 0;
  z_stream zlib_ = {};
  bool ended_ = false;
};

}  // namespace ingot::io
