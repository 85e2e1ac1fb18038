// Pictures by libpng. It reports errors by longjmp, so what it calls and what calls it hold no objects in between: each
// method below that can come back that way has plain locals only, and throws after it did.
#include <png.h>

#include <algorithm>
#include <csetjmp>

#include "ingot/base/error.h"
#include "ingot/io/io.h"
#include "io/unpack.h"

namespace ingot::io {
namespace {

constexpr int kLongestSide = 1'000'000;  // libpng's own limit

struct Message {
  char text[120] = "";
};

void on_error(png_structp png, png_const_charp text) {
  Message* message = static_cast<Message*>(png_get_error_ptr(png));
  std::strncpy(message->text, text, sizeof message->text - 1);
  png_longjmp(png, 1);
}
void on_warning(png_structp, png_const_charp) {}

class PngReader {
 public:
  PngReader(const Source& source, std::span<const std::byte> bytes)
      : source_(source), left_(bytes), size_(bytes.size()) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &message_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      source.fail("libpng has no memory");
    }
  }
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  PngInfo info() {
    if (!read_info()) fail();
    return {png_get_image_height(png_, info_), png_get_image_width(png_, info_), channels_};
  }

  Tensor read(const UnpackLimits& limits) {
    const auto [h, w, c] = info();
    check_unpacked(source_, size_, file_bytes_, limits);
    check_limits(source_, size_, static_cast<uint64_t>(h * w * c), limits);
    const Tensor pixels = Tensor::empty({h, w, c}, kU8);
    if (!read_rows(pixels.data<uint8_t>(), h, w * c)) fail();
    if (c == 1) return pixels.view(pixels.raw(), {h, w}, {w, 1});
    Tensor planes = Tensor::empty({c, h, w}, kU8);
    for (int64_t i = 0; i < h * w; i++)
      for (int64_t k = 0; k < c; k++) planes.data<uint8_t>()[k * h * w + i] = pixels.data<uint8_t>()[i * c + k];
    return planes;
  }

 private:
  [[noreturn]] void fail() const { source_.fail(std::string("it is no valid PNG picture: ") + message_.text); }

  static void on_read(png_structp png, png_bytep to, size_t bytes) {
    PngReader* self = static_cast<PngReader*>(png_get_io_ptr(png));
    if (bytes > self->left_.size()) png_error(png, "it ends too early");
    std::memcpy(to, self->left_.data(), bytes);
    self->left_ = self->left_.subspan(bytes);
  }

  bool read_info() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, on_read);
    png_set_user_limits(png_, kLongestSide, kLongestSide);
    png_set_chunk_malloc_max(png_, 1 << 20);
    png_set_chunk_cache_max(png_, 64);
    png_set_crc_action(png_, PNG_CRC_ERROR_QUIT, PNG_CRC_ERROR_QUIT);
    png_read_info(png_, info_);
    file_bytes_ = png_get_rowbytes(png_, info_) * uint64_t{png_get_image_height(png_, info_)};
    png_set_expand(png_);    // palettes to colours, 1, 2 and 4 bits to 8, transparent colours to alpha
    png_set_scale_16(png_);  // 16 bits to 8
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    channels_ = png_get_channels(png_, info_);
    return true;
  }
  bool read_rows(uint8_t* pixels, int64_t rows, int64_t row_bytes) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    for (int pass = 0; pass < passes_; pass++)
      for (int64_t y = 0; y < rows; y++) png_read_row(png_, pixels + y * row_bytes, nullptr);
    png_read_end(png_, nullptr);
    return true;
  }

  const Source& source_;
  std::span<const std::byte> left_;
  uint64_t size_, file_bytes_ = 0;
  int channels_ = 0, passes_ = 0;
  Message message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

class PngWriter {
 public:
  PngWriter() {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &message_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, nullptr);
      throw Error(ErrorKind::kMemory, "save_png: libpng has no memory");
    }
  }
  ~PngWriter() { png_destroy_write_struct(&png_, &info_); }
  PngWriter(const PngWriter&) = delete;
  PngWriter& operator=(const PngWriter&) = delete;

  // pixels: u8 [h, w, c].
  const std::string& write(const Tensor& pixels) {
    if (!write_rows(pixels.data<uint8_t>(), pixels.size(0), pixels.size(1), pixels.size(2)))
      throw Error("save_png: " + std::string(message_.text));
    return out_;
  }

 private:
  static void on_write(png_structp png, png_bytep from, size_t bytes) {
    static_cast<PngWriter*>(png_get_io_ptr(png))->out_.append(reinterpret_cast<const char*>(from), bytes);
  }
  static void on_flush(png_structp) {}

  bool write_rows(const uint8_t* pixels, int64_t h, int64_t w, int64_t channels) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const int types[] = {PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB, PNG_COLOR_TYPE_RGB_ALPHA};
    png_set_write_fn(png_, this, on_write, on_flush);
    png_set_IHDR(png_, info_, static_cast<png_uint_32>(w), static_cast<png_uint_32>(h), 8, types[channels - 1],
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_BASE, PNG_FILTER_TYPE_BASE);
    png_write_info(png_, info_);
    for (int64_t y = 0; y < h; y++) png_write_row(png_, pixels + y * w * channels);
    png_write_end(png_, nullptr);
    return true;
  }

  std::string out_;
  Message message_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
};

Tensor png_bytes(Source& source) {
  Tensor bytes = read_all(source);
  if (bytes.numel() < 8 || png_sig_cmp(bytes.data<uint8_t>(), 0, 8) != 0)
    source.fail("it does not begin as PNG pictures do");
  return bytes;
}

Tensor read_png(Source& source, const UnpackLimits& limits) {
  const Tensor bytes = png_bytes(source);
  return PngReader(source, bytes_of(bytes)).read(limits);
}

}  // namespace

Tensor load_png(const std::string& path, const UnpackLimits& limits) {
  FileSource file("load_png", path);
  return read_png(file, limits);
}

PngInfo png_info(const std::string& path) {
  FileSource file("png_info", path);
  const Tensor bytes = png_bytes(file);
  return PngReader(file, bytes_of(bytes)).info();
}

Tensor parse_png(std::span<const std::byte> bytes, const UnpackLimits& limits) {
  MemorySource memory("parse_png", bytes);
  return read_png(memory, limits);
}

void save_png(const std::string& path, const Tensor& picture) {
  const Tensor t = to_write("save_png", "", picture);
  const bool grey = t.rank() == 2;
  if (t.dtype() != kU8 || (!grey && t.rank() != 3) || (!grey && (t.size(0) < 1 || t.size(0) > 4)) || t.numel() == 0 ||
      t.size(-1) > kLongestSide || t.size(-2) > kLongestSide)
    throw Error("save_png: a picture is u8 [h, w] or [c, h, w] with 1 to 4 channels and sides up to a million, not " +
                std::string(name(t.dtype())) + " " + to_string(t.shape()));
  const int64_t c = grey ? 1 : t.size(0), h = t.size(-2), w = t.size(-1);
  const Tensor pixels = Tensor::empty({h, w, c}, kU8);
  for (int64_t i = 0; i < h * w; i++)
    for (int64_t k = 0; k < c; k++) pixels.data<uint8_t>()[i * c + k] = t.data<uint8_t>()[k * h * w + i];
  PngWriter writer;
  write_file(path, std::string_view(writer.write(pixels)));
}

}  // namespace ingot::io
