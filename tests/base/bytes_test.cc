// Bytes in order: what is not there is a sentence with the format, the name and the place.
#include "ingot/base/bytes.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace ingot {
namespace {

TEST(Bytes, AreReadInOrderAndNoFurther) {
  const std::string text("\x01\x02\x03\x04\x05", 5);
  MemorySource source("igc", std::as_bytes(std::span(text)), "mine.igc");
  EXPECT_EQ(source.read<uint8_t>(), 1);
  EXPECT_EQ(source.read<uint16_t>(), 0x0302);
  EXPECT_EQ(source.left(), 2U);
  EXPECT_EQ(error_of([&] { source.read<uint32_t>(); }),
            "igc: mine.igc: it ends too early: 4 bytes should follow byte 3, but only 2 do");
  EXPECT_EQ(source.position(), 3U) << "nothing was taken";
  EXPECT_EQ(source.read<uint16_t>(), 0x0504);
  source.read(nullptr, 0);
  EXPECT_EQ(source.left(), 0U);
}

TEST(Bytes, ChecksumIsCastagnolis) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);            // the check value of its definition
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43U);
  EXPECT_EQ(crc32c(""), 0U);
}

}  // namespace
}  // namespace ingot
