// TensorBoard's event files: records of a length, its checksum, an Event in protobuf's encoding and its checksum.
#include <bit>
#include <chrono>

#include "ingot/base/error.h"
#include "ingot/io/crc.h"
#include "ingot/io/io.h"
#include "ingot/io/source.h"

namespace ingot::io {
namespace {

// Stored turned and shifted, so that a checksum of data with checksums in it is no trivial one.
uint32_t masked_crc(std::string_view data) { return std::rotr(crc32c(data), 15) + 0xa282ead8u; }

template <class T>
void put(std::string& text, T value) {
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// protobuf: a field is its number and kind, then the value.
enum Kind { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };
void put_varint(std::string& text, uint64_t value) {
  for (; value >= 128; value >>= 7) text += static_cast<char>(value | 128);
  text += static_cast<char>(value);
}
void put_key(std::string& text, int field, Kind kind) { put_varint(text, static_cast<uint64_t>(field << 3 | kind)); }
void put_bytes(std::string& text, int field, std::string_view bytes) {
  put_key(text, field, kBytes);
  put_varint(text, bytes.size());
  text += bytes;
}

std::string event(double seconds) {
  if (seconds < 0) seconds = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string text;
  put_key(text, 1, kFixed64);  // wall_time
  put(text, seconds);
  return text;
}

std::string record(const std::string& event) {
  std::string text;
  put<uint64_t>(text, event.size());
  put(text, masked_crc(text));
  text += event;
  put(text, masked_crc(event));
  return text;
}

// Where the last whole record of a file ends.
uint64_t whole_records(Source& source) {
  uint64_t end = 0;
  std::string data;
  while (source.left() >= 16) {
    std::string head(8, '\0');
    source.read(head.data(), 8);
    uint64_t length = 0;
    std::memcpy(&length, head.data(), 8);
    if (source.read<uint32_t>() != masked_crc(head) || source.left() < 4 || length > source.left() - 4) break;
    data.resize(length);
    source.read(data.data(), length);
    if (source.read<uint32_t>() != masked_crc(data)) break;
    end = source.position();
  }
  return end;
}

}  // namespace

EventFile::EventFile(const std::string& path) : file_("events", path) {
  FileSource written("events", path);
  const uint64_t end = whole_records(written);
  if (end == 0 && written.size() > 256) file_.fail("it is no event file — choose another name");
  file_.cut(end);
  if (end > 0) return;
  std::string first = event(-1);
  put_bytes(first, 3, "brain.Event:2");  // file_version
  file_.append(record(first));
}

void EventFile::scalar(std::string_view tag, double value, int64_t step, double seconds) {
  std::string entry, summary, all = event(seconds);
  put_bytes(entry, 1, tag);
  put_key(entry, 2, kFixed32);  // simple_value
  put(entry, static_cast<float>(value));
  put_bytes(summary, 1, entry);
  put_key(all, 2, kVarint);
  put_varint(all, static_cast<uint64_t>(step));
  put_bytes(all, 5, summary);
  file_.append(record(all));
}

}  // namespace ingot::io
