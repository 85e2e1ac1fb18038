#include "base/os/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/file.h"

namespace ingot {
namespace fs = std::filesystem;
using os::system_calls;

os::SystemCalls os::system_calls{::write, ::fsync, ::rename};

namespace {

const char* hint(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return " — free some space or write elsewhere";
    case EFBIG: return " — raise the limit on file sizes (ulimit -f) or write elsewhere";
    case EACCES:
    case EPERM:
    case EROFS: return " — choose a folder that you may write to";
    case ENOENT:
    case ENOTDIR: return " — make the folder first";
    case EISDIR: return " — name a file in it";
    case EWOULDBLOCK: return " — let it finish, or write elsewhere";
    default: return "";
  }
}

[[noreturn]] void refuse(const std::string& path, const char* doing, int error, const char* then = "") {
  const std::string why = error == EWOULDBLOCK ? "another writer is at work on it" : std::strerror(error);
  throw Error(ErrorKind::kFile, "write: cannot " + std::string(doing) + " " + path + ": " + why + then + hint(error));
}

std::string folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder.string();
}

// Opens the temporary file for one writer. A lock tells a writer at work from what a killed one left behind; the file
// found under the name after locking must be the one locked, or its owner has just renamed it.
int open_temporary(const std::string& path, const std::string& temporary) {
  for (;;) {
    const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) refuse(path, "write", errno);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      close(fd);
      refuse(path, "write", EWOULDBLOCK);
    }
    struct stat locked = {}, named = {};
    if (fstat(fd, &locked) == 0 && stat(temporary.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
        locked.st_dev == named.st_dev)
      return fd;
    close(fd);
  }
}

}  // namespace

AtomicFile::AtomicFile(const std::string& path) : path_(path), target_(path) {
  if (path.empty()) throw Error(ErrorKind::kFile, "write: no file name given");
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    std::error_code error;
    const fs::path followed = fs::weakly_canonical(path, error);
    if (error) refuse(path, "write", error.value());
    target_ = followed.string();
  }
  struct stat old = {};
  const bool exists = stat(target_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) refuse(path, "write", EISDIR);
  if (exists && !S_ISREG(old.st_mode)) {
    fd_ = open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd_ < 0) refuse(path, "write", errno);
    return;
  }
  temporary_ = folder_of(target_) + "/." + fs::path(target_).filename().string() + ".ingot-tmp";
  fd_ = open_temporary(path, temporary_);
  if (ftruncate(fd_, 0) != 0 || (exists && fchmod(fd_, old.st_mode & 07777) != 0)) fail("prepare", errno);
}

AtomicFile::~AtomicFile() { abandon(); }

void AtomicFile::abandon() noexcept {
  if (fd_ < 0) return;
  if (!temporary_.empty()) unlink(temporary_.c_str());
  close(std::exchange(fd_, -1));
}

void AtomicFile::fail(const char* doing, int error) {
  const bool replaces = !temporary_.empty() && access(target_.c_str(), F_OK) == 0;
  abandon();
  refuse(path_, doing, error, replaces ? " (the old file is unchanged)" : "");
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  if (fd_ < 0) throw Error(ErrorKind::kFile, "write: " + path_ + " is finished or has failed — open it again");
  while (!bytes.empty()) {
    const ssize_t done = system_calls.write(fd_, bytes.data(), bytes.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail("write", done == 0 ? ENOSPC : errno);
    bytes = bytes.subspan(static_cast<size_t>(done));
  }
}

void AtomicFile::commit() {
  if (fd_ < 0) throw Error(ErrorKind::kFile, "write: " + path_ + " is finished or has failed — open it again");
  if (temporary_.empty()) return abandon();
  if (system_calls.sync(fd_) != 0) fail("write", errno);
  if (system_calls.rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace", errno);
  close(std::exchange(fd_, -1));  // and lets the next writer in
  const int folder = open(folder_of(target_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const int error = folder >= 0 && system_calls.sync(folder) != 0 ? errno : 0;
  if (folder >= 0) close(folder);
  if (error != 0 && error != EINVAL)  // EINVAL: a file system that does not sync folders
    refuse(path_, "sync the folder of", error, " (the new file is in place)");
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

void write_file(const std::string& path, std::string_view text) { write_file(path, std::as_bytes(std::span(text))); }

AppendFile::AppendFile(const char* place, const std::string& path) : place_(place), path_(path) {
  fd_ = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(std::strerror(errno));
  const bool taken = flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  struct stat status = {};
  const int error = fstat(fd_, &status) != 0 ? errno : 0;
  end_ = status.st_size;
  if (!taken && error == 0) return;
  close(fd_);
  fail(taken ? "another process is at work on it" : std::strerror(error));
}

AppendFile::~AppendFile() { close(fd_); }

void AppendFile::fail(const std::string& why) const {
  throw Error(ErrorKind::kFile, std::string(place_) + ": cannot write " + path_ + ": " + why);
}

void AppendFile::cut(uint64_t bytes) {
  if (ftruncate(fd_, static_cast<off_t>(bytes)) != 0) fail(std::strerror(errno));
  end_ = static_cast<int64_t>(bytes);
}

// One call per record, so that a reader at the same time sees whole ones.
void AppendFile::append(std::string_view record) {
  const int64_t end = end_ + static_cast<int64_t>(record.size());
  while (!record.empty()) {
    const ssize_t done = system_calls.write(fd_, record.data(), record.size());
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      const int error = done == 0 ? ENOSPC : errno;
      const bool taken_back = ftruncate(fd_, end_) == 0;
      fail(std::string(std::strerror(error)) + (taken_back ? " (what it had is still there)" : ""));
    }
    record.remove_prefix(static_cast<size_t>(done));
  }
  end_ = end;
}

FileLock::FileLock(const std::string& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  refused_ = fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

FileLock::~FileLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace ingot
