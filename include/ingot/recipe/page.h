// What the report's sections share: numbers as people read them, escaped text, pictures inside the page.
#pragma once
#include <string>
#include <string_view>

#include "ingot/base/export.h"
#include "ingot/base/tensor.h"
#include "ingot/base/text.h"

namespace ingot::recipe {

/// Text as it may stand inside an element or an attribute between double quotes.
INGOT_API std::string escaped(std::string_view text);
/// The same for text of several lines, which keeps its lines and tabs (inside <pre>).
INGOT_API std::string escaped_lines(std::string_view text);

/// Four significant digits, no more zeros than needed; "–" for what is no number.
INGOT_API std::string figure(double value);
/// 0.98611 as "98.61 %".
INGOT_API std::string percentage(double share, int decimals = 2);
/// "cross_entropy" as "Cross entropy", "mse" as "MSE": how a heading begins.
INGOT_API std::string heading_of(std::string_view name);
/// "1.20 MiB", "640 B".
INGOT_API std::string byte_text(double bytes);
/// "0.8 s", "12.3 s", "4 min 05 s".
INGOT_API std::string duration(double seconds);
/// "850 ns", "12.3 µs", "4.56 ms".
INGOT_API std::string microseconds(double us);

INGOT_API std::string base64(std::string_view bytes);
/// A picture [h, w], [1, h, w] or [3, h, w], u8 or floats between 0 and 1, as a PNG file.
INGOT_API std::string png(const Tensor& pixels);
/// The same as an <img>; large ones lose every second, third, … line.
INGOT_API std::string picture(const Tensor& pixels, std::string_view alt);

/// <section>: a heading, an optional line under it, and what it holds.
INGOT_API std::string section(std::string_view id, std::string_view heading, std::string_view note,
                              std::string_view body);
/// <details>: folded away.
INGOT_API std::string folded(std::string_view heading, std::string_view body, bool open = false);

}  // namespace ingot::recipe
