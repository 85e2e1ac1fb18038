// GIF as giflib reads it, animated PNG as libpng does.
#include <gif_lib.h>
#include <gtest/gtest.h>

#include <cstring>

#include "ingot/base/random.h"
#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "temporary.h"
#include "tests/error_of.h"

namespace ingot::io {
namespace {

// Frames of noise in `colours` colours: what LZW cannot pack runs through all lengths of codes.
Tensor noise(int64_t frames, int64_t h, int64_t w, int64_t colours) {
  const Tensor out = Tensor::empty({frames, h, w, 3}, kU8);
  std::vector<int64_t> numbers(static_cast<size_t>(frames * h * w));
  fill_integers(numbers.data(), static_cast<int64_t>(numbers.size()), 0, 0, colours, {1, 2});
  for (size_t i = 0; i < numbers.size(); i++)
    for (int c = 0; c < 3; c++)
      out.data<uint8_t>()[3 * i + static_cast<size_t>(c)] = static_cast<uint8_t>(numbers[i] * (37 + 2 * c) >> (c * 3));
  return out;
}

struct Decoded {
  Tensor frames;
  std::vector<int> delays;
};

Decoded decode_gif(const std::string& path) {
  int error = 0;
  GifFileType* gif = DGifOpenFileName(path.c_str(), &error);
  EXPECT_NE(gif, nullptr) << GifErrorString(error);
  EXPECT_EQ(DGifSlurp(gif), GIF_OK) << GifErrorString(gif->Error);
  Decoded out{Tensor::empty({gif->ImageCount, gif->SHeight, gif->SWidth, 3}, kU8), {}};
  uint8_t* to = out.frames.data<uint8_t>();
  for (int i = 0; i < gif->ImageCount; i++) {
    const SavedImage& image = gif->SavedImages[i];
    EXPECT_TRUE(image.ImageDesc.Width == gif->SWidth && image.ImageDesc.Height == gif->SHeight);
    for (int p = 0; p < gif->SWidth * gif->SHeight; p++) {
      const GifColorType colour = gif->SColorMap->Colors[image.RasterBits[p]];
      *to++ = colour.Red, *to++ = colour.Green, *to++ = colour.Blue;
    }
    GraphicsControlBlock control{};
    if (DGifSavedExtensionToGCB(gif, i, &control) == GIF_OK) out.delays.push_back(control.DelayTime);
  }
  DGifCloseFile(gif, &error);
  return out;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && a.to_vector<uint8_t>() == b.to_vector<uint8_t>();
}

TEST(Gif, GiflibReadsWhatWasWritten) {
  TemporaryFolder folder;
  const std::string path = folder / "x.gif";
  for (const int64_t colours : {1, 2, 3, 4, 5, 8, 17, 128, 256})
    for (const int64_t side : {1, 2, 3, 7, 64, 129}) {
      const Tensor frames = noise(3, side, side + 1, colours);
      save_gif(path, frames);
      ASSERT_TRUE(same(decode_gif(path).frames, frames)) << colours << " colours, " << side << " pixels";
    }
}

TEST(Gif, FlatFramesOfEveryLength) {  // the last code at every place relative to the growth of codes
  TemporaryFolder folder;
  const std::string path = folder / "x.gif";
  for (int64_t width = 1; width < 120; width++) {
    const Tensor frames = concat({full({1, 5, width, 3}, 9.0, kU8), noise(1, 5, width, 2)}, 0);
    save_gif(path, frames);
    ASSERT_TRUE(same(decode_gif(path).frames, frames)) << width;
  }
}

TEST(Gif, DelaysScaleAndManyColours) {
  TemporaryFolder folder;
  const std::string path = folder / "x.gif";
  save_gif(path, noise(3, 4, 5, 2), {.seconds = 0.25, .last_seconds = 1, .scale = 3});
  const Decoded gif = decode_gif(path);
  EXPECT_EQ(gif.frames.shape(), (Dims{3, 12, 15, 3}));
  EXPECT_EQ(gif.delays, (std::vector<int>{25, 25, 100}));
  EXPECT_EQ(gif.frames.at<uint8_t>({1, 11, 14, 0}), noise(3, 4, 5, 2).at<uint8_t>({1, 3, 4, 0}));

  Tensor many = Tensor::empty({1, 32, 32, 3}, kU8);
  for (int i = 0; i < 32 * 32 * 3; i++) many.data<uint8_t>()[i] = static_cast<uint8_t>(i * 2654435761U >> 20);
  save_gif(path, many);
  const std::vector<uint8_t> before = many.to_vector<uint8_t>(), after = decode_gif(path).frames.to_vector<uint8_t>();
  for (size_t i = 0; i < before.size(); i++) ASSERT_LE(std::abs(before[i] - after[i]), 26) << i;
}

// A frame of an animated PNG as a PNG of its own, for libpng to read.
Tensor decode_apng(const std::string& bytes, int64_t wanted, std::vector<uint32_t>* order = nullptr) {
  const auto number = [&](size_t at) {
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++) value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
    return value;
  };
  const auto crc = [](const std::string& body) {  // of the new chunk
    uint32_t c = ~0U;
    for (const char byte : body) {
      c ^= static_cast<uint8_t>(byte);
      for (int bit = 0; bit < 8; bit++) c = c >> 1 ^ ((c & 1) != 0 ? 0xEDB88320U : 0);
    }
    c = ~c;
    return std::string{static_cast<char>(c >> 24), static_cast<char>(c >> 16), static_cast<char>(c >> 8),
                       static_cast<char>(c)};
  };
  std::string out = bytes.substr(0, 8);
  int64_t frame = -1;
  for (size_t at = 8; at < bytes.size(); at += 12 + number(at)) {
    const std::string type = bytes.substr(at + 4, 4), whole = bytes.substr(at, 12 + number(at));
    if (type == "fcTL") frame++;
    if (order != nullptr && (type == "fcTL" || type == "fdAT")) order->push_back(number(at + 8));
    if (type == "IHDR" || type == "IEND" || (type == "IDAT" && wanted == 0)) out += whole;
    if (type != "fdAT" || frame != wanted) continue;
    const std::string body = "IDAT" + bytes.substr(at + 12, number(at) - 4);
    const auto size = static_cast<uint32_t>(body.size() - 4);
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift);
    out += body + crc(body);
  }
  return parse_png(as_span(out));
}

TEST(Apng, LibpngReadsEveryFrame) {
  TemporaryFolder folder;
  const Tensor frames = noise(4, 9, 13, 200);
  save_apng(folder / "x.png", frames, {.scale = 1});
  const std::string bytes = contents(folder / "x.png");
  std::vector<uint32_t> order;
  for (int64_t i = 0; i < 4; i++) {
    const Tensor picture = permute(decode_apng(bytes, i, i == 0 ? &order : nullptr), {1, 2, 0});
    EXPECT_TRUE(same(contiguous(picture), squeeze(slice(frames, 0, i, i + 1), {0}))) << i;
  }
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(load_png(folder / "x.png").shape(), (Dims{3, 9, 13}));
}

TEST(Animation, RefusesWhatIsNone) {
  for (const auto& write : {to_gif, to_apng}) {
    for (const Tensor& wrong :
         {Tensor(), zeros({2, 3, 3}, kU8), zeros({2, 3, 3, 4}, kU8), zeros({0, 3, 3, 3}, kU8), zeros({2, 3, 3, 3})})
      EXPECT_REFUSED(write(wrong, {}), "an animation is u8 [frames, h, w, 3]");
    EXPECT_REFUSED(write(noise(1, 2, 2, 2), {.seconds = -1}), "0 to 60 seconds");
    EXPECT_REFUSED(write(noise(1, 2, 2, 2), {.scale = 1 << 20}), "sides are at most");
    EXPECT_REFUSED(write(noise(1, 2, 2, 2), {.scale = 0}), "sides are at most");
  }
}

}  // namespace
}  // namespace ingot::io
