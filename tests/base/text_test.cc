#include "ingot/base/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "ingot/base/numbers.h"

namespace ingot {
namespace {

TEST(Text, Lists) {
  const std::vector<std::string> none, one = {"a"}, three = {"a", "b", "c"};
  EXPECT_EQ(join(none), "");
  EXPECT_EQ(join(one), "a");
  EXPECT_EQ(join(three), "a, b, c");
  EXPECT_EQ(join(three, "-"), "a-b-c");
  EXPECT_EQ(listed(none), "");
  EXPECT_EQ(listed(one), "a");
  EXPECT_EQ(listed(three), "a, b and c");
}

TEST(Text, TrimsAndQuotes) {
  EXPECT_EQ(trimmed(" \t a b \t"), "a b");
  EXPECT_EQ(trimmed("  "), "");
  EXPECT_EQ(trimmed(""), "");
  EXPECT_EQ(in_quotes("a"), "\"a\"");
  EXPECT_EQ(in_quotes("a\x1b[2Jb"), "\"a?[2Jb\"");
  EXPECT_EQ(in_quotes(std::string(100, 'x')), "\"" + std::string(80, 'x') + "…\"");
}

TEST(Text, SaysWhatWasMeant) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);  // the textbook's
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  const std::vector<std::string> names = {"epochs", "batch", "rate"};
  EXPECT_EQ(did_you_mean("epoch", names), "did you mean \"epochs\"?");
  EXPECT_EQ(did_you_mean("something", names), "there are epochs, batch, rate");
}

TEST(Text, Counts) {
  EXPECT_EQ(counted(1, "step"), "1 step");
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(2400, "step"), "2,400 steps");
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-1000), "-1,000");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(std::numeric_limits<int64_t>::min()), "-9,223,372,036,854,775,808");
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1234), "1.2 k");
  EXPECT_EQ(format_count(999'960), "1.0 M");
  EXPECT_EQ(format_count(3.4e12), "3.4 T");
  EXPECT_EQ(percent(0.975), "97.5 %");
  EXPECT_EQ(percent(0.97512, 2), "97.51 %");
  EXPECT_EQ(percent(std::nan("")), "-");
}

TEST(Text, FormatsBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(12897485), "12.3 MiB");
  EXPECT_EQ(format_bytes(1048575), "1.0 MiB");
  EXPECT_EQ(format_bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16.0 EiB");
}

TEST(Numbers, RoundUpAndMultiply) {
  EXPECT_EQ(ceil_div(7, 3), 3);
  EXPECT_EQ(ceil_div(6, 3), 2);
  EXPECT_EQ(round_up(size_t{65}, size_t{64}), 128u);
  EXPECT_EQ(round_up(int64_t{0}, 64), 0);
  int64_t product = 5;
  EXPECT_TRUE(checked_multiply(int64_t{1} << 31, int64_t{1} << 31, product));
  EXPECT_EQ(product, int64_t{1} << 62);
  EXPECT_FALSE(checked_multiply(int64_t{1} << 32, int64_t{1} << 31, product));
  EXPECT_EQ(product, int64_t{1} << 62);  // as it was
  uint8_t small = 0;
  EXPECT_FALSE(checked_multiply(uint8_t{16}, uint8_t{16}, small));
}

TEST(Numbers, ParseTakesWholeNumbersOnly) {
  int n = -1;
  EXPECT_TRUE(parse_number("42", n));
  EXPECT_EQ(n, 42);
  for (const char* text : {"", " 42", "42 ", "4x", "0x10", "1e3", "99999999999", "+1"})
    EXPECT_FALSE(parse_number(text, n)) << text;
  EXPECT_EQ(n, 42);
  double x = 0;
  EXPECT_TRUE(parse_number("-1.5e3", x));
  EXPECT_EQ(x, -1500);
  EXPECT_FALSE(parse_number("1e999", x));
}

TEST(Numbers, ExactTextReadsBackAsTheSameBits) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 123456789012345680.0}) {
    double back = 0;
    ASSERT_TRUE(parse_number(exact_text(value), back)) << exact_text(value);
    EXPECT_EQ(back, value);
    EXPECT_EQ(std::signbit(back), std::signbit(value));
  }
  EXPECT_EQ(exact_text(0.1f), "0.1");
  EXPECT_EQ(exact_text(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace ingot
