// Files: written whole or not at all, grown record by record, read, mapped and locked. Every Error is of kind kFile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "ingot/base/export.h"

namespace ingot {

/// A file that appears whole or not at all: written under another name in the same folder, synced and renamed by
/// commit(). Without it, or after any Error, the temporary is gone and what stood at `path` stands there unchanged.
/// One writer per path at a time; a second one gets an Error. A device such as /dev/stdout is written directly.
class INGOT_API AtomicFile {
 public:
  explicit AtomicFile(const std::string& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  void commit();

 private:
  [[noreturn]] void fail(const char* doing, int error);
  void abandon() noexcept;

  std::string path_, target_, temporary_;  // as given, links followed, and what is written meanwhile (empty: a device)
  int fd_ = -1;
};

/// Replaces the file at `path`, atomically.
INGOT_API void write_file(const std::string& path, std::span<const std::byte> bytes);
INGOT_API void write_file(const std::string& path, std::string_view text);
/// All bytes of a regular file of at most 4 GiB.
INGOT_API std::string read_file(const std::string& path);

/// A file that grows by whole records: what a failed append left of one is taken back. Locked: a second writer gets an
/// Error. Errors begin with `place`.
class INGOT_API AppendFile {
 public:
  AppendFile(const char* place, const std::string& path);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  /// Cuts off all behind the first `bytes`.
  void cut(uint64_t bytes);
  void append(std::string_view record);
  /// Throws "place: cannot write path: why".
  [[noreturn]] void fail(const std::string& why) const;

 private:
  const char* place_;
  std::string path_;
  int fd_ = -1;
  int64_t end_ = 0;
};

/// A regular file, open for reading from its beginning. Errors begin with `place`.
class INGOT_API InputFile {
 public:
  InputFile(const char* place, std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  uint64_t size() const { return size_; }
  /// The next bytes; an Error if there are not so many.
  void read(void* out, size_t bytes);
  /// Throws "place: path: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class MappedFile;
  const char* place_;
  std::string path_;
  int fd_;
  uint64_t size_ = 0;
};

/// The bytes of a file in memory, read when they are looked at. Writing to them changes no file: they are private to
/// this process.
class INGOT_API MappedFile {
 public:
  explicit MappedFile(const InputFile& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

/// Holds a file or a folder for this process, until it is destroyed or the process ends in any way.
class INGOT_API FileLock {
 public:
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// True if another process holds it already.
  bool refused() const { return refused_; }

 private:
  int fd_;
  bool refused_;
};

}  // namespace ingot
