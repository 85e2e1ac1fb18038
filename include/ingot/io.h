// Tensors to and from files. A library of its own: link ingot::io (it needs zlib and libpng).
//
//   io::save_safetensors("model.safetensors", tensors, {{"epoch", "3"}});
//   io::SafeTensors file = io::load_safetensors("model.safetensors");
//   const Tensor& weight = file["0.weight"];
//
// Readers take files for hostile: whatever is wrong is an Error that names the file and the place, and no memory is
// taken that the file's real size does not justify. Every load_ has a parse_ that reads the same from memory. Writers
// write to a temporary file and rename it: a killed process leaves the old file or the new one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/named_tensor.h"
#include "ingot/tensor.h"

namespace ingot::io {

// Files ---------------------------------------------------------------------------------------------------------------

/// A file that appears whole or not at all: written under another name in the same folder, synced and renamed by
/// commit(). Without it, or after any Error, the temporary is gone and what stood at `path` stands there unchanged.
/// One writer per path at a time; a second one gets an Error. A device such as /dev/stdout is written directly.
class AtomicFile {
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
void write_file(const std::string& path, std::span<const std::byte> bytes);
void write_file(const std::string& path, std::string_view text);
/// All bytes of a regular file.
std::string read_file(const std::string& path);

// safetensors ---------------------------------------------------------------------------------------------------------

using Metadata = std::map<std::string, std::string>;

/// What a file says about one of its tensors: everything but the elements.
struct TensorInfo {
  std::string name;
  DType dtype;
  Dims shape;
  uint64_t offset, bytes;  // where its elements lie in the file
};
struct SafeTensorsInfo {
  std::vector<TensorInfo> tensors;  // in the order of the file
  Metadata metadata;
};

/// The contents of a safetensors file, tensors in the order of the file.
struct SafeTensors {
  std::vector<NamedTensor> tensors;
  Metadata metadata;

  /// The tensor of this name, or null.
  const Tensor* find(std::string_view name) const;
  /// The tensor of this name; an Error that says what there is if it is missing.
  const Tensor& operator[](std::string_view name) const;
};

SafeTensors load_safetensors(const std::string& path);
SafeTensors parse_safetensors(std::span<const std::byte> bytes);
/// Reads names, types, shapes and metadata only.
SafeTensorsInfo safetensors_info(const std::string& path);
/// Writes tensors of any type and layout; byte for byte what the Python package writes (metadata sorted by key).
void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors, const Metadata& metadata = {});

}  // namespace ingot::io
