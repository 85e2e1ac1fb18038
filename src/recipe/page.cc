#include "ingot/recipe/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ingot/base/error.h"
#include "ingot/base/text.h"

namespace ingot::recipe {
namespace {

constexpr int64_t kMostPixels = 256;  // along an axis

uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; i++) {
      t[i] = i;
      for (int bit = 0; bit < 8; bit++) t[i] = (t[i] >> 1) ^ ((t[i] & 1) != 0 ? 0xEDB88320U : 0);
    }
    return t;
  }();
  uint32_t crc = ~0U;
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 255] ^ (crc >> 8);
  return ~crc;
}

uint32_t adler32(std::string_view bytes) {
  uint32_t a = 1, b = 0;
  for (const char c : bytes) {
    a = (a + static_cast<uint8_t>(c)) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

// A zlib stream of stored blocks: pictures here are of a few hundred bytes, and the page needs no library for them.
std::string stored(std::string_view bytes) {
  std::string out = "\x78\x01";
  const uint32_t sum = adler32(bytes);
  do {
    const std::string_view block = bytes.substr(0, 65535);
    bytes.remove_prefix(block.size());
    const auto n = static_cast<uint16_t>(block.size());
    const auto inverse = static_cast<uint16_t>(~n);
    out += bytes.empty() ? '\1' : '\0';
    for (const uint16_t word : {n, inverse}) out += {static_cast<char>(word & 255), static_cast<char>(word >> 8)};
    out += block;
  } while (!bytes.empty());
  return out + big_endian(sum);
}

std::string chunk(std::string_view type, const std::string& data) {
  const std::string body = std::string(type) + data;
  return big_endian(static_cast<uint32_t>(data.size())) + body + big_endian(crc32(body));
}

uint8_t pixel(double value, bool bytes) {
  if (!bytes) value *= 255;
  return value > 0 ? static_cast<uint8_t>(std::min(255.0, value + 0.5)) : 0;  // and 0 for NaN
}

std::string with_unit(double value, const char* unit) {
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, unit);
}

}  // namespace

std::string escaped(std::string_view text) { return xml_escaped(text); }

std::string escaped_lines(std::string_view text) {
  std::string out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find_first_of("\n\t", begin), text.size());
    out += escaped(text.substr(begin, end - begin));
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

std::string figure(double value) {
  if (std::isnan(value)) return "–";
  if (std::isinf(value)) return value > 0 ? "∞" : "−∞";
  if (value == 0) return "0";
  const double size = std::fabs(value);
  std::string text;
  if (size >= 1e6 || size < 1e-3)
    text = fmt::format("{:.2e}", value);
  else
    text = fmt::format("{:.{}f}", value, size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4);
  if (text[0] == '-') text.replace(0, 1, "−");
  return text;
}

std::string percentage(double share, int decimals) {
  return std::isfinite(share) ? fmt::format("{:.{}f} %", 100 * share, decimals) : figure(share);
}

std::string heading_of(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  const size_t large = text.size() <= 3 ? text.size() : 1;  // mse is an abbreviation
  for (size_t i = 0; i < large; i++)
    if (text[i] >= 'a' && text[i] <= 'z') text[i] = static_cast<char>(text[i] - 'a' + 'A');
  return text;
}

std::string byte_text(double bytes) {
  if (!(bytes >= 0)) return "–";
  if (bytes < 1024) return fmt::format("{:.0f} B", bytes);
  const char* const units[] = {"KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (bytes /= 1024; bytes >= 1000 && unit < 3; unit++) bytes /= 1024;
  return with_unit(bytes, units[unit]);
}

std::string duration(double seconds) {
  if (!std::isfinite(seconds)) return figure(seconds);
  if (seconds < 99.95) return with_unit(seconds, "s");
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string microseconds(double us) {
  if (!std::isfinite(us)) return figure(us);
  if (us < 1) return fmt::format("{:.0f} ns", us * 1000);
  return us < 1000 ? with_unit(us, "µs") : us < 1e6 ? with_unit(us / 1000, "ms") : with_unit(us / 1e6, "s");
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; k++) word = word << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string png(const Tensor& pixels) {
  const int rank = pixels.defined() ? pixels.rank() : 0;
  const int64_t channels = rank == 3 ? pixels.size(0) : 1;
  if (rank < 2 || rank > 3 || (channels != 1 && channels != 3) || pixels.numel() == 0)
    throw Error(
        fmt::format("report: a picture is [h, w], [1, h, w] or [3, h, w], not {} — take one sample, channels first",
                    pixels.defined() ? to_string(pixels.shape()) : std::string("undefined")));
  const int64_t height = pixels.size(-2), width = pixels.size(-1);
  const int64_t stride = (std::max(height, width) + kMostPixels - 1) / kMostPixels;
  const bool bytes = pixels.dtype() == kU8;
  std::string rows;
  for (int64_t y = 0; y < height; y += stride) {
    rows += '\0';  // no filter
    for (int64_t x = 0; x < width; x += stride)
      for (int64_t c = 0; c < channels; c++) {
        const int64_t at =
            y * pixels.strides()[rank - 2] + x * pixels.strides()[rank - 1] + (rank == 3 ? c * pixels.strides()[0] : 0);
        const auto* element =
            static_cast<const std::byte*>(pixels.raw()) + at * static_cast<int64_t>(size_of(pixels.dtype()));
        rows += static_cast<char>(pixel(load_as_double(element, pixels.dtype()), bytes));
      }
  }
  const auto kept = [&](int64_t n) { return big_endian(static_cast<uint32_t>((n + stride - 1) / stride)); };
  std::string header = kept(width) + kept(height) + std::string("\x08\x00\x00\x00\x00", 5);
  header[9] = channels == 3 ? 2 : 0;
  return std::string("\x89PNG\r\n\x1a\n") + chunk("IHDR", header) + chunk("IDAT", stored(rows)) + chunk("IEND", "");
}

std::string picture(const Tensor& pixels, std::string_view alt) {
  const std::string file = png(pixels);  // first: it refuses what is no picture
  return fmt::format(R"(<img src="data:image/png;base64,{}" alt="{}" width="{}" height="{}"/>)", base64(file),
                     escaped(alt), pixels.size(-1), pixels.size(-2));
}

std::string section(std::string_view id, std::string_view heading, std::string_view note, std::string_view body) {
  return fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n{}{}</section>\n", id, escaped(heading),
                     note.empty() ? "" : fmt::format("<p class=\"note\">{}</p>\n", escaped(note)), body);
}

std::string folded(std::string_view heading, std::string_view body, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open=\"open\"" : "", escaped(heading),
                     body);
}

}  // namespace ingot::recipe
