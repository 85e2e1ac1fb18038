#include "io/unpack.h"

#include <algorithm>
#include <climits>

#include "ingot/base/error.h"
#include "ingot/base/memory.h"
#include "ingot/base/text.h"

namespace ingot::io {
namespace {

constexpr uInt kChunk = 1u << 30;  // zlib counts in 32 bits
constexpr int kGzip = 15 + 16, kRaw = -15;

// Hands zlib the next piece of what is left; returns how much.
uInt feed(z_stream& zlib, std::span<const std::byte>& left) {
  if (zlib.avail_in == 0) {
    zlib.avail_in = static_cast<uInt>(std::min<size_t>(left.size(), kChunk));
    zlib.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(left.data()));
    left = left.subspan(zlib.avail_in);
  }
  return zlib.avail_in;
}

struct Inflater {
  z_stream zlib = {};
  explicit Inflater(int window) {
    if (inflateInit2(&zlib, window) != Z_OK) throw Error(ErrorKind::kMemory, "unpack: zlib has no memory");
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&zlib); }
};

// gzip says how long its contents are only in the end, and may lie: the result grows as it comes.
Tensor gunzip(const Source& source, std::span<const std::byte> packed, const UnpackLimits& limits) {
  Inflater inflater(kGzip);
  z_stream& zlib = inflater.zlib;
  std::span<const std::byte> left = packed;
  Tensor out = Tensor::empty({static_cast<int64_t>(packed.size() * 4 + 1024)}, kU8);
  uint64_t size = 0;
  for (;;) {
    if (feed(zlib, left) == 0) source.fail("it ends in the middle of its compressed data");
    if (size == static_cast<uint64_t>(out.numel())) {
      check_unpacked(source, packed.size(), size + 1, limits);
      Tensor larger = Tensor::empty({out.numel() * 2}, kU8);
      std::memcpy(larger.raw(), out.raw(), size);
      out = std::move(larger);
    }
    const uInt room = static_cast<uInt>(std::min<uint64_t>(static_cast<uint64_t>(out.numel()) - size, kChunk));
    zlib.next_out = static_cast<Bytef*>(out.raw()) + size;
    zlib.avail_out = room;
    const int result = inflate(&zlib, Z_NO_FLUSH);
    size += room - zlib.avail_out;
    if (result == Z_STREAM_END) {
      if (zlib.avail_in == 0 && left.empty()) break;
      if (inflateReset(&zlib) != Z_OK) source.fail("zlib cannot go on");  // another member follows
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      source.fail(std::string("its compressed data is damaged") +
                  (zlib.msg != nullptr ? std::string(": ") + zlib.msg : ""));
    }
  }
  check_unpacked(source, packed.size(), size, limits);
  return out.view(out.raw(), {static_cast<int64_t>(size)}, {1});
}

}  // namespace

void check_limits(const Source& source, uint64_t packed, uint64_t unpacked, const UnpackLimits& limits) {
  if (unpacked > limits.bytes && static_cast<double>(unpacked) > limits.ratio * static_cast<double>(packed))
    source.fail(
        "it unpacks to more than " + format_bytes(limits.bytes) + " and " +
        std::to_string(static_cast<int64_t>(limits.ratio)) +
        " times its size — if that is meant to be so, keep it unpacked (a program of yours can raise UnpackLimits)");
}

void check_unpacked(const Source& source, uint64_t packed, uint64_t unpacked, const UnpackLimits& limits) {
  // A byte of deflate makes 1032 at most; some more for what is tiny.
  if (unpacked > packed * 1032 + 4096)
    source.fail(std::to_string(packed) + " compressed bytes cannot hold the " + std::to_string(unpacked) +
                " they claim");
  check_limits(source, packed, unpacked, limits);
}

Tensor read_unpacked(Source& source, const UnpackLimits& limits) {
  Tensor bytes = read_all(source);
  const std::span<const std::byte> packed = bytes_of(bytes);
  const bool gzip = packed.size() >= 2 && packed[0] == std::byte{0x1f} && packed[1] == std::byte{0x8b};
  return gzip ? gunzip(source, packed, limits) : bytes;
}

EntrySource::EntrySource(const Source& archive, const std::string& entry, std::span<const std::byte> packed,
                         uint64_t size, bool deflated, uint32_t crc)
    : Source(archive.format(), archive.name() + ", entry " + in_quotes(entry), size),
      packed_(packed),
      deflated_(deflated),
      wanted_crc_(crc) {
  if (deflated && inflateInit2(&zlib_, kRaw) != Z_OK) fail("zlib has no memory");
}

EntrySource::~EntrySource() {
  if (deflated_) inflateEnd(&zlib_);
}

void EntrySource::take(void* out, size_t bytes) {
  Bytef* to = static_cast<Bytef*>(out);
  while (bytes > 0) {
    uInt done = static_cast<uInt>(std::min<size_t>(bytes, kChunk));
    if (deflated_) {
      const uInt room = done;
      feed(zlib_, packed_);
      zlib_.next_out = to;
      zlib_.avail_out = room;
      const int result = ended_ ? Z_DATA_ERROR : inflate(&zlib_, Z_NO_FLUSH);
      ended_ = result == Z_STREAM_END;
      done = room - zlib_.avail_out;
      if ((result != Z_OK && result != Z_STREAM_END) || (done == 0 && zlib_.avail_in == 0 && packed_.empty()))
        fail("its compressed data is damaged or ends too early");
    } else {
      std::memcpy(to, packed_.data(), done);
      packed_ = packed_.subspan(done);
    }
    crc_ = crc32(crc_, to, done);
    to += done;
    bytes -= done;
  }
}

void EntrySource::finish() {
  if (left() != 0) fail("it goes on behind its end");
  if (deflated_ && !ended_) {  // the end mark may still be there, but no byte more
    Bytef one = 0;
    feed(zlib_, packed_);
    zlib_.next_out = &one;
    zlib_.avail_out = 1;
    ended_ = inflate(&zlib_, Z_FINISH) == Z_STREAM_END && zlib_.avail_out == 1;
  }
  if (deflated_ ? !ended_ || zlib_.avail_in > 0 || !packed_.empty() : !packed_.empty())
    fail("its compressed data does not end where it should");
  if (crc_ != wanted_crc_) fail("its checksum (CRC) is wrong: the data is damaged");
}

}  // namespace ingot::io
