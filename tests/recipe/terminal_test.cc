#include "ingot/recipe/terminal.h"

#include <gtest/gtest.h>

namespace ingot::recipe {
namespace {

TEST(Terminal, WhatControlsItDoesNotComeOutOfAFile) {
  EXPECT_EQ(printable("life"), "life");
  EXPECT_EQ(printable("a\033[2Jb\r\n\a\177"), "a?[2Jb????");
  EXPECT_EQ(printable("\u009b2J"), "??2J");  // a control sequence in one character
  EXPECT_EQ(printable(std::string_view("\0", 1)), "?");
  EXPECT_EQ(printable_lines("a\nb\tc\033"), "a\nb\tc?");
}

TEST(Terminal, CharactersStayWhole) {
  EXPECT_EQ(printable("zähler × 元 🦎"), "zähler × 元 🦎");
  EXPECT_EQ(printable("äöü", 2), "äö");
  EXPECT_EQ(printable("🦎", 0), "");
  EXPECT_EQ(printable("a\xf0\x9f"), "a??");  // cut in the file
  EXPECT_EQ(printable("\xc3(\xff\x80"), "?(??");
}

}  // namespace
}  // namespace ingot::recipe
