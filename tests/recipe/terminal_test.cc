#include "ingot/recipe/terminal.h"

#include <gtest/gtest.h>

#include "ingot/recipe/screen.h"

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

TEST(Screen, KeysFromBytes) {
  std::string bytes = " s\rq\x03\x04\x1b[A\x1bOB\x1b[1;5C\x1b[D\x1b[5~x";
  using enum KeyPress;
  for (const KeyPress key : {KeyPress{' '}, KeyPress{'s'}, KeyPress{'\r'}, KeyPress{'q'}, kQuit, kQuit, kUp, kDown,
                             kRight, kLeft, kOther, KeyPress{'x'}})
    EXPECT_EQ(take_key(bytes), key) << bytes;
  EXPECT_TRUE(bytes.empty());
  EXPECT_FALSE(take_key(bytes).has_value());
  bytes = "\x1b[";  // the rest is still on its way
  EXPECT_FALSE(take_key(bytes).has_value());
  bytes += "A";
  EXPECT_EQ(take_key(bytes), kUp);
  bytes = "\x1bq";
  EXPECT_EQ(take_key(bytes), kOther);
  EXPECT_EQ(take_key(bytes), KeyPress{'q'});
}

}  // namespace
}  // namespace ingot::recipe
