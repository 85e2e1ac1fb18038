// TensorBoard's event files: records of a length, its checksum, an Event in protobuf's encoding and its checksum.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <chrono>

#include "ingot/error.h"
#include "ingot/io.h"
#include "io/crc.h"
#include "io/file.h"
#include "io/source.h"

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

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error("events: cannot write " + path + ": " + why);
}

}  // namespace

EventFile::EventFile(const std::string& path) : path_(path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) refuse(path, std::strerror(errno));
  try {
    if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse(path, "another process is at work on it");
    FileSource file("events", path);
    const uint64_t end = whole_records(file);
    if (end == 0 && file.size() > 256) refuse(path, "it is no event file — choose another name");
    if (ftruncate(fd_, static_cast<off_t>(end)) != 0) refuse(path, std::strerror(errno));
    end_ = static_cast<int64_t>(end);
    if (end == 0) {
      std::string first = event(-1);
      put_bytes(first, 3, "brain.Event:2");  // file_version
      append(first);
    }
  } catch (...) {
    close(fd_);
    throw;
  }
}

EventFile::~EventFile() { close(fd_); }

void EventFile::scalar(std::string_view tag, double value, int64_t step, double seconds) {
  std::string entry, summary, all = event(seconds);
  put_bytes(entry, 1, tag);
  put_key(entry, 2, kFixed32);  // simple_value
  put(entry, static_cast<float>(value));
  put_bytes(summary, 1, entry);
  put_key(all, 2, kVarint);
  put_varint(all, static_cast<uint64_t>(step));
  put_bytes(all, 5, summary);
  append(all);
}

// One call per record, so that a reader at the same time sees whole ones; half a record is taken back.
void EventFile::append(const std::string& event) {
  const std::string text = record(event);
  for (size_t done = 0; done < text.size();) {
    const ssize_t now = system_calls.write(fd_, text.data() + done, text.size() - done);
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) {
      const int error = now == 0 ? ENOSPC : errno;
      const bool taken_back = ftruncate(fd_, end_) == 0;
      refuse(path_, std::string(std::strerror(error)) + (taken_back ? " (what it had is still there)" : ""));
    }
    done += static_cast<size_t>(now);
  }
  end_ += static_cast<int64_t>(text.size());
}

}  // namespace ingot::io
