#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "ingot/base/error.h"
#include "ingot/base/file.h"

namespace ingot {

InputFile::InputFile(const char* place, std::string path) : place_(place), path_(std::move(path)) {
  fd_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe without a writer must not hang us
  if (fd_ < 0) fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat status = {};
  const bool known = fstat(fd_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    close(fd_);
    fail(known && S_ISDIR(status.st_mode) ? "it is a folder, not a file" : "it is not a regular file");
  }
  size_ = static_cast<uint64_t>(status.st_size);
}

InputFile::~InputFile() { close(fd_); }

void InputFile::fail(const std::string& what) const {
  throw Error(ErrorKind::kFile, std::string(place_) + ": " + path_ + ": " + what);
}

void InputFile::read(void* out, size_t bytes) {
  char* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t done = ::read(fd_, to, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) fail(std::string("cannot be read: ") + std::strerror(errno));
    if (done == 0) fail("it became shorter while it was read");
    to += done;
    bytes -= static_cast<size_t>(done);
  }
}

std::string read_file(const std::string& path) {
  InputFile file("read", path);
  constexpr uint64_t kMost = uint64_t{4} << 30;
  if (file.size() > kMost) file.fail("it is larger than 4 GiB");
  std::string text(file.size(), '\0');
  file.read(text.data(), text.size());
  return text;
}

MappedFile::MappedFile(const InputFile& file) : bytes_(file.size()) {
  if (bytes_ == 0) return;  // nothing to map, and the system refuses
  void* start = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd_, 0);
  if (start == MAP_FAILED) file.fail(std::string("cannot be mapped: ") + std::strerror(errno));
  data_ = static_cast<std::byte*>(start);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace ingot
