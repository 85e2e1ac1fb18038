// Lines as keys change them.
#include "ingot/recipe/line_editor.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace ingot::recipe {
namespace {

using State = EditedLine::State;

class Typing : public ::testing::Test {
 protected:
  // What stands there after these keys, the cursor as |.
  std::string after(std::string keys) {
    EditedLine line(history_, complete_);
    state_ = line.take(keys);
    rest_ = keys;
    offer_ = line.take_offer();
    return line.text().substr(0, line.place()) + "|" + line.text().substr(line.place());
  }
  History history_{""};
  EditedLine::Complete complete_;
  State state_ = State::kTyping;
  std::string rest_, offer_;
};

TEST_F(Typing, KeysMoveAndChange) {
  EXPECT_EQ(after("edge"), "edge|");
  EXPECT_EQ(after("edge\033[D\033[D"), "ed|ge");
  EXPECT_EQ(after("edge\033[D\177"), "ed|e");
  EXPECT_EQ(after("edge\033[H\033[3~x"), "x|dge");
  EXPECT_EQ(after("ab cd ef\027"), "ab cd |");
  EXPECT_EQ(after("ab cd ef\033b\033b\013"), "ab |");
  EXPECT_EQ(after("ab cd\001\013x\031"), "xab cd|");  // all cut out, and put back behind an x
  EXPECT_EQ(after("ab cd\002\025"), "|d");
  EXPECT_EQ(after("ab\001\033[1;5C!"), "ab!|");
  EXPECT_EQ(after("ab\033[9;9Z\033OPc"), "abc|");  // keys that mean nothing
}

TEST_F(Typing, CharactersAreWhole) {
  EXPECT_EQ(after("grün\033[D\177"), "gr|n");
  EXPECT_EQ(after("a→\001\004"), "|→");
  EXPECT_EQ(after("a\xc3"), "a|");  // the beginning of one
  EXPECT_EQ(rest_, "\xc3");
  EXPECT_EQ(after("a\xc3\x28"), "a|");  // no character at all
  EXPECT_EQ(after("a\033["), "a|");
  EXPECT_EQ(rest_, "\033[");
}

TEST_F(Typing, WhatEndsALine) {
  after("one\rtwo\r");
  EXPECT_EQ(state_, State::kDone);
  EXPECT_EQ(rest_, "two\r");
  after("one\003");
  EXPECT_EQ(state_, State::kInterrupted);
  EXPECT_EQ(after("one\001\004"), "|ne");
  EXPECT_EQ(state_, State::kTyping);
  after("\004");
  EXPECT_EQ(state_, State::kEnd);
}

TEST_F(Typing, EarlierLines) {
  history_.add("first");
  history_.add("second");
  history_.add("second");
  EXPECT_EQ(after("\033[A"), "second|");
  EXPECT_EQ(after("\033[A\033[A\033[A"), "first|");
  EXPECT_EQ(after("mine\033[A\033[A\033[B\033[B\033[B"), "mine|");
  EXPECT_EQ(after("\020!"), "second!|");
}

TEST_F(Typing, Completion) {
  complete_ = [](const std::string& before) {
    const size_t from = before.find_last_of(' ') + 1;
    Completions c{.from = from};
    for (const char* w : {"ancestor", "anchor", "parent"})
      if (std::string(w).starts_with(before.substr(from))) c.words.emplace_back(w);
    return c;
  };
  EXPECT_EQ(after("not pa\t(x)"), "not parent(x)|");
  EXPECT_EQ(after("a\t"), "anc|");
  EXPECT_EQ(offer_, "");
  EXPECT_EQ(after("a\t\t"), "anc|");
  EXPECT_EQ(offer_, "ancestor  anchor");
  EXPECT_EQ(after("zzz\t"), "zzz|");
  EXPECT_EQ(after("pa x\033[D\033[D\t"), "parent| x");
}

TEST(LineWindow, ShowsThePartWithTheCursor) {
  const std::string text = "0123456789abcdefghij";
  EXPECT_EQ(LineWindow(text, 20, 80).shown, text);
  EXPECT_EQ(LineWindow(text, 20, 80).column, 20u);
  for (size_t place = 0; place <= text.size(); place++) {
    const LineWindow w(text, place, 8);
    ASSERT_LT(w.column, 8u);
    ASSERT_LE(w.shown.size(), 7u);
    const size_t from = text.find(w.shown);
    ASSERT_EQ(w.shown.empty() ? place : from + w.column, place);
  }
  EXPECT_EQ(LineWindow("äöüß", 8, 80).column, 4u);
}

TEST(History, IsKeptAndBounded) {
  const auto folder = std::filesystem::temp_directory_path() / "ingot-history-test";
  std::filesystem::remove_all(folder);
  const std::string file = (folder / "deep" / "history").string();
  {
    History h(file);
    h.add("one");
    h.add("  ");
    h.add("two");
  }
  EXPECT_EQ(History(file).lines(), (std::vector<std::string>{"one", "two"}));
  {
    std::ofstream more(file, std::ios::app);
    more << "\033[31mred\n";
    for (size_t i = 0; i < History::kMost; i++) more << i << "\n";
  }
  EXPECT_EQ(History(file).lines().size(), History::kMost);
  EXPECT_EQ(History(file).lines().front(), "0");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(file);  // a folder in its place
  History none(file);
  none.add("still works");
  EXPECT_EQ(none.lines().size(), 1u);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace ingot::recipe
