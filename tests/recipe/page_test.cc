// Numbers as people read them, PNG files byte by byte, ticks of axes.
#include "ingot/recipe/page.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ingot/recipe/chart.h"

namespace ingot::recipe {
namespace {

TEST(Page, Figures) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(0.98611), "0.9861");
  EXPECT_EQ(figure(12.3456), "12.35");
  EXPECT_EQ(figure(-1234.6), "−1235");
  EXPECT_EQ(figure(3e-7), "3.00e-07");
  EXPECT_EQ(figure(std::nan("")), "–");
  EXPECT_EQ(percentage(0.98611), "98.61 %");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(heading_of("cross_entropy"), "Cross entropy");
  EXPECT_EQ(heading_of("mse"), "MSE");
  EXPECT_EQ(heading_of(""), "");
  EXPECT_EQ(byte_text(640), "640 B");
  EXPECT_EQ(byte_text(1536), "1.50 KiB");
  EXPECT_EQ(byte_text(3.0 * (1 << 30)), "3.00 GiB");
  EXPECT_EQ(duration(0.25), "0.25 s");
  EXPECT_EQ(duration(245), "4 min 05 s");
  EXPECT_EQ(duration(7260), "2 h 01 min");
  EXPECT_EQ(microseconds(0.85), "850 ns");
  EXPECT_EQ(microseconds(4560), "4.56 ms");
}

TEST(Page, EscapedLinesKeepTheirLines) {
  EXPECT_EQ(escaped_lines("a<b\n\tc&\x02\n"), "a&lt;b\n\tc&amp; \n");
  EXPECT_EQ(escaped_lines(""), "");
}

TEST(Page, Base64) {  // the vectors of RFC 4648
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

// What Python says of these pixels: struct, zlib.compress(rows, level 0), zlib.crc32.
TEST(Page, PngBytes) {
  EXPECT_EQ(base64(png(Tensor::from<uint8_t>({0, 255, 7, 9, 100, 200}, {2, 3}))),
            "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAAAAAC4HznGAAAAE0lEQVR4AQEIAPf/AAD/BwAJZMgH0AI8hqksDwAAAABJRU5ErkJggg==");
  EXPECT_EQ(base64(png(Tensor::from<float>({0, 1, 0.5F, 2, -1, NAN}, {3, 1, 2}))),
            "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAAEklEQVR4AQEHAPj/AACAAP//AAeCAn9KllThAAAAAElFTkSuQmCC");
}

TEST(Page, LargePicturesLoseLines) {
  EXPECT_EQ(png(Tensor::from(std::vector<uint8_t>(600 * 2), {600, 2})).substr(16, 8),
            std::string("\0\0\0\1\0\0\0\xc8", 8));
}

TEST(Chart, TicksAreRoundAndInside) {
  for (const double low : {-3.7, 0.0, 0.25, 1.0, 97.2})
    for (const double span : {1e-4, 0.013, 0.75, 1.0, 42.0, 1e6}) {
      const std::vector<double> ticks = nice_ticks(low, low + span, 5);
      ASSERT_GE(ticks.size(), 2U) << low << " " << span;
      EXPECT_LE(ticks.size(), 7U);
      const double step = ticks[1] - ticks[0], lead = step / std::pow(10, std::floor(std::log10(step) + 1e-6));
      EXPECT_TRUE(std::fabs(lead - 1) < 1e-3 || std::fabs(lead - 2) < 1e-3 || std::fabs(lead - 5) < 1e-3) << lead;
      EXPECT_GE(ticks.front(), low - 1e-6 * span);
      EXPECT_LE(ticks.back(), low + span * (1 + 1e-6));
    }
  EXPECT_EQ(nice_ticks(1, 3, 7, true), (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(nice_ticks(4, 4, 5), (std::vector<double>{4}));
  EXPECT_TRUE(nice_ticks(NAN, NAN, 5).empty());
  EXPECT_EQ(log_ticks(0.8, 1200).size(), 10U);  // 1, 2, 5, … 500, 1000
  EXPECT_TRUE(log_ticks(0, 1).empty());
}

LineChart chart_of(std::vector<double> y) {
  LineChart c{.title = "loss"};
  for (size_t i = 0; i < y.size(); i++) c.x.push_back(static_cast<double>(i + 1));
  c.series = {{"training", "train", std::move(y)}};
  return c;
}

TEST(Chart, LogScaleBeyondTwoDecades) {
  EXPECT_EQ(line_chart(chart_of({1, 0.5, 0.02})).find("logarithmic"), std::string::npos);
  EXPECT_NE(line_chart(chart_of({1, 0.5, 0.002})).find("logarithmic"), std::string::npos);
  EXPECT_EQ(line_chart(chart_of({1, 0.5, 0.002, 0})).find("logarithmic"), std::string::npos);  // zero has no logarithm
}

TEST(Chart, GapsBreakTheCurve) {
  const std::string gap = line_chart(chart_of({3, 2, NAN, 1, NAN, 2, 1}));
  const size_t path = gap.find("<path d=\"");
  const std::string d = gap.substr(path, gap.find('"', path + 9) - path);
  EXPECT_EQ(std::count(d.begin(), d.end(), 'M'), 3);
  EXPECT_NE(gap.find("r=\"3.5\""), std::string::npos);  // the value between two gaps is a dot
  EXPECT_EQ(gap.find("nan"), std::string::npos);
}

TEST(Chart, FlatAndSingleValuesHaveAScale) {
  for (const auto& y : {std::vector<double>{0, 0, 0}, {5, 5}, {7}, {-2}, {1e30, 1e30}, {1e-30}}) {
    const std::string svg = line_chart(chart_of(y));
    EXPECT_EQ(svg.find("nan"), std::string::npos);
    EXPECT_EQ(svg.find("inf"), std::string::npos);
  }
  EXPECT_NE(scatter_chart("s", {1, 1}, {1, 1}).find("class=\"point\""), std::string::npos);
  EXPECT_NE(scatter_chart("s", {NAN}, {1}).find("no finite values"), std::string::npos);
}

}  // namespace
}  // namespace ingot::recipe
