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

#include "ingot/base/export.h"
#include "ingot/base/file.h"
#include "ingot/base/named_tensor.h"
#include "ingot/base/tensor.h"

namespace ingot::io {

// Files ---------------------------------------------------------------------------------------------------------------

using ingot::AtomicFile;
using ingot::read_file;
using ingot::write_file;

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
struct INGOT_API SafeTensors {
  std::vector<NamedTensor> tensors;
  Metadata metadata;

  /// The tensor of this name, or null.
  const Tensor* find(std::string_view name) const;
  /// The tensor of this name; an Error that says what there is if it is missing.
  const Tensor& operator[](std::string_view name) const;
};

INGOT_API SafeTensors load_safetensors(const std::string& path);
INGOT_API SafeTensors parse_safetensors(std::span<const std::byte> bytes);
/// Reads names, types, shapes and metadata only.
INGOT_API SafeTensorsInfo safetensors_info(const std::string& path);
/// Writes tensors of any type and layout; byte for byte what the Python package writes (metadata sorted by key).
INGOT_API void save_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                                const Metadata& metadata = {});
/// The same without reading: tensors look at the file, whose pages are loaded when they are touched. Writing to them
/// changes this process's copy only. Ingot never changes a file in place; a file that another program cuts off while it
/// is mapped would end this one.
INGOT_API SafeTensors map_safetensors(const std::string& path);

// npy and npz ---------------------------------------------------------------------------------------------------------

/// What compressed data may unpack to: `bytes` in any case, and beyond that at most `ratio` times its size in the file.
struct UnpackLimits {
  uint64_t bytes = uint64_t{256} << 20;
  double ratio = 200;
};

/// An array as NumPy saves it: f2, f4, f8, i4, i8, u1 or b1, little-endian. Always row-major in memory.
INGOT_API Tensor load_npy(const std::string& path);
INGOT_API Tensor parse_npy(std::span<const std::byte> bytes);
/// Looks at the file, as map_safetensors does; Fortran order becomes strides.
INGOT_API Tensor map_npy(const std::string& path);
/// Writes what numpy.save writes. NumPy has no bf16.
INGOT_API void save_npy(const std::string& path, const Tensor& t);

/// The arrays of numpy.savez and savez_compressed.
INGOT_API std::vector<NamedTensor> load_npz(const std::string& path, const UnpackLimits& limits = {});
INGOT_API std::vector<NamedTensor> parse_npz(std::span<const std::byte> bytes, const UnpackLimits& limits = {});
/// Writes up to 4 GiB of arrays that numpy.load reads.
INGOT_API void save_npz(const std::string& path, std::span<const NamedTensor> tensors, bool compress = false);

// Data sets -----------------------------------------------------------------------------------------------------------

struct CsvOptions {
  enum class Header { kGuess, kYes, kNo };  // guess: the first line is one if a field of it is no number

  char separator = '\0';  // 0: tab, ; | or , — the first that the first two lines have equally many of
  Header header = Header::kGuess;
  DType dtype = kF32;  // f32, f64, i32 or i64
  /// Empty fields, NA, N/A, null, None and ? become NaN. Else they are Errors with line and column.
  bool missing_is_nan = false;
  UnpackLimits limits = {};
};
struct Csv {
  std::vector<std::string> columns;  // names; empty without a header
  Tensor values;                     // [rows, columns]
  char separator = ',';              // what stood between them
};
/// A table of numbers, plain or .gz.
INGOT_API Csv load_csv(const std::string& path, const CsvOptions& options = {});
INGOT_API Csv parse_csv(std::span<const std::byte> bytes, const CsvOptions& options = {});

/// An IDX file (MNIST's format), plain or .gz: u8, i32, f32 or f64; 8- and 16-bit signed integers become i32.
INGOT_API Tensor load_idx(const std::string& path, const UnpackLimits& limits = {});
INGOT_API Tensor parse_idx(std::span<const std::byte> bytes, const UnpackLimits& limits = {});

/// A picture as u8: [h, w] if grey, else [c, h, w] with c = 3 (colours), 2 (grey and alpha) or 4 (colours and alpha).
/// Palettes become colours, 16 bits become 8.
INGOT_API Tensor load_png(const std::string& path, const UnpackLimits& limits = {});
INGOT_API Tensor parse_png(std::span<const std::byte> bytes, const UnpackLimits& limits = {});
/// What a picture says of itself, as load_png would give it; no pixel is read.
struct PngInfo {
  int64_t height, width, channels;
};
INGOT_API PngInfo png_info(const std::string& path);
/// Writes u8 [h, w] or [c, h, w] with c from 1 to 4.
INGOT_API void save_png(const std::string& path, const Tensor& picture);

struct AnimationOptions {
  double seconds = 0.1;       // a frame; GIF counts hundredths, APNG thousandths
  double last_seconds = 0.1;  // the last one, before it begins again
  int64_t scale = 1;          // a pixel becomes a square of so many
};
/// Frames u8 [n, h, w, 3] as the bytes of a GIF that repeats; with more than 256 colours in all, the nearest of 252.
INGOT_API std::string to_gif(const Tensor& frames, const AnimationOptions& options = {});
INGOT_API void save_gif(const std::string& path, const Tensor& frames, const AnimationOptions& options = {});
/// The same as an animated PNG; who does not know those sees the first frame.
INGOT_API std::string to_apng(const Tensor& frames, const AnimationOptions& options = {});
INGOT_API void save_apng(const std::string& path, const Tensor& frames, const AnimationOptions& options = {});

struct PictureFolder {
  Tensor x;                          // u8 [n, c, h, w]
  Tensor y;                          // i64 [n]: numbers of classes
  std::vector<std::string> classes;  // names of the subfolders, sorted
};
/// The pictures folder/CLASS/*.png, all of one size, sorted by class and name.
INGOT_API PictureFolder load_png_folder(const std::string& folder, const UnpackLimits& limits = {});

// TensorBoard ---------------------------------------------------------------------------------------------------------

/// Scalars for TensorBoard, which looks for files with "tfevents" in their name. Goes on with an existing file; what a
/// killed process left unfinished at its end is cut off first.
class INGOT_API EventFile {
 public:
  explicit EventFile(const std::string& path);

  /// Appends one value; `seconds` since 1970, or now if negative.
  void scalar(std::string_view tag, double value, int64_t step, double seconds = -1);

 private:
  AppendFile file_;
};

}  // namespace ingot::io
