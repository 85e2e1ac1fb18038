// Descriptions and model files that nobody wrote in good faith: a sentence, at once, whatever they ask for.
#include <gtest/gtest.h>

#include "ingot/recipe/description.h"
#include "ingot/recipe/value.h"
#include "tests/error_of.h"

namespace ingot::recipe {
namespace {

std::string repeated(const std::string& part, int times) {
  std::string out;
  for (int i = 0; i < times; i++) out += part;
  return out;
}

std::string error(const std::string& text, const std::vector<std::string>& sets = {}) {
  return error_of([&] { parse_description("mine.toml", text, sets); });
}

TEST(Hostile, KeysOfManyDotsDoNotOverflowTheStack) {
  const std::string dots = repeated(".a", 50000), spaced = repeated(" . 'a'", 50000);
  for (const std::string& text :
       {"a" + dots + " = 1", "[a" + dots + "]", "[[a" + dots + "]]", "x = { a" + dots + " = 1 }", "a" + spaced + " = 1",
        "\"a\"" + repeated(".\"a\"", 50000) + " = 1"}) {
    EXPECT_REFUSED(parse_toml("mine.toml", text), "mine.toml:1:");
    EXPECT_REFUSED(parse_toml("mine.toml", text), "nested too deeply");
  }
  // A quotation mark that ends in four does not hide what follows.
  EXPECT_REFUSED(parse_toml("mine.toml", "x = [\"\"\"a\"\"\"\", { a" + dots + " = 1 }]"), "nested too deeply");
  // Few dots in each of many tables are many in all.
  EXPECT_REFUSED(parse_toml("mine.toml", repeated("a" + repeated(".a", 50) + " = { ", 200)), "nested too deeply");
  Value root;
  EXPECT_REFUSED(set_value(root, "a" + dots + "=1"), "nested too deeply");
  set_value(root, "a={ a" + dots + " = 1 }");  // no TOML value: a text
}

// In builds with assertions, too.
TEST(Hostile, WhatTheTomlLibraryAssertsIsASentence) {
  for (const char* text : {"[&model]", "a = [ } ]", "a = [1, }, 2]", "a = { = }", "a = ä", "ä = 1"})
    EXPECT_REFUSED(parse_toml("mine.toml", text), "mine.toml:1:");
}

TEST(Hostile, DotsThatAreNoKeysMayBeMany) {
  const std::string dots(1000, '.'), numbers = repeated("0.5, ", 1000);
  const std::string text = "a = \"\\\"" + dots + "\" # " + dots + "\nb = '" + dots + "'\nc = \"\"\"\n\"\" " + dots +
                           "\"\"\"\nd = '''" + dots + "'''\ne = [" + numbers + "]\n" + "[s]\nf.g.h = 1.5\n";
  const Value root = parse_toml("mine.toml", text);
  EXPECT_EQ(root.find("b")->text, dots);
  EXPECT_EQ(root.find("e")->list.size(), 1000U);
  EXPECT_EQ(root.find("s")->find("f")->find("g")->find("h")->number, 1.5);
}

TEST(Hostile, AnErrorShowsAPieceOfALongLine) {
  const std::string filler = repeated("é", 1'000'000);
  std::string said = error("name = \"" + filler + "\" nonsense");
  EXPECT_LT(said.size(), 1000U) << said.substr(0, 2000);
  EXPECT_NE(said.find("nonsense\n"), std::string::npos) << said;
  // The caret stands below what it points at.
  const size_t line = said.find(" | ") + 3, end = said.find('\n', line), caret = said.find(" | ", end) + 3;
  EXPECT_EQ(text_width(said.substr(line, said.find("nonsense") - line)), text_width(said.substr(caret)) - 1) << said;
  said = error(repeated("k", 1'000'000) + " = 1");
  EXPECT_LT(said.size(), 1000U) << said.substr(0, 2000);
  said = error("[data]\ntype = \"" + repeated("k", 1'000'000) + "\"");
  EXPECT_LT(said.size(), 1000U) << said.substr(0, 2000);
  said = error("", {"train." + repeated("k", 100'000) + "=1"});
  EXPECT_LT(said.size(), 1000U) << said.substr(0, 2000);
}

TEST(Hostile, ATextThatIsNoUtf8IsRefusedBeforeItTrains) {
  const std::string data = "[data]\ntype = \"csv\"\nfile = \"x.csv\"\n[model]\nlayers = [{ type = \"linear\" }]\n";
  EXPECT_REFUSED(parse_description("mine.toml", data, std::vector<std::string>{"data.file=h\xe4user.csv"}), "UTF-8");
  EXPECT_REFUSED(parse_description("h\xe4user.toml", data), "UTF-8");
  EXPECT_EQ(parse_description("häuser.toml", data).name, "häuser");
}

TEST(Hostile, ANameHasNoControlCharacters) {
  const std::string data =
      "[data]\ntype = \"digits\"\n[model]\nlayers = [{ type = \"flatten\" }, { type = \"linear\" }]\n";
  EXPECT_REFUSED(parse_description("mine.toml", "name = \"a\\u001b[2J\"\n" + data), "control characters");
  EXPECT_REFUSED(parse_description("mine.toml", "name = \"a\\u009b2J\"\n" + data), "control characters");
  EXPECT_REFUSED(parse_description("mine.toml", "name = \"..\"\n" + data), "a name is a word");
}

TEST(Hostile, JsonHasNoTerminalControls) {
  EXPECT_EQ(to_json(Value("a\u009b2J\x7f\x1b é")), R"("a\u009b2J\u007f\u001b é")");
  EXPECT_EQ(parse_json(to_json(Value("a\u009b2J\x7f"))).text, "a\u009b2J\x7f");
}

}  // namespace
}  // namespace ingot::recipe
