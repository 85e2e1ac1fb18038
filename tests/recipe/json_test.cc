// Values as JSON, there and back.
#include <gtest/gtest.h>

#include <cmath>

#include "ingot/recipe/task.h"
#include "ingot/recipe/value.h"
#include "tests/error_of.h"

namespace ingot::recipe {
namespace {

TEST(Json, ThereAndBack) {
  const std::string text = R"({"a":1,"b":[0.5,-2,true],"c":{"d":"x\"\n","e":[]},"f":{}})";
  EXPECT_EQ(to_json(parse_json(text)), text);
  const Value made = record({{"a", 1},
                             {"b", Value(std::vector<Value>{0.5, -2, true})},
                             {"c", record({{"d", "x\"\n"}, {"e", empty_list()}})},
                             {"f", Value()}});
  EXPECT_EQ(to_json(made), text);
  EXPECT_EQ(to_json(record({{"x", std::nan("")}})), R"({"x":null})");
  EXPECT_TRUE(std::isnan(parse_json("null").number));
  EXPECT_EQ(to_json(Value("\xff")), "\"\xef\xbf\xbd\"");
}

TEST(Json, WhatIsNoneIsRefused) {
  for (const std::string bad : {"", "{", "[1,]", "{\"a\" 1}", "nothing"})
    EXPECT_NE(error_of([&] { parse_json(bad); }), "no error") << bad;
  const std::string deep(100000, '[');
  EXPECT_NE(error_of([&] { parse_json(deep + std::string(100000, ']')); }).find("nested too deeply"),
            std::string::npos);
  EXPECT_EQ(parse_json_lines("{\"a\":1}\n{broken\n[2]\n{\"a\":2}\n{\"a\":3}").size(), 2U);
}

TEST(TaskJson, IsReadBackAndDamageIsNamed) {
  Task task;
  task.input = {1, 8, 8}, task.classes = 2, task.class_names = {"a", "b"};
  task.mean = {0.5F}, task.deviation = {2.0F};
  const std::string text = task.to_json();
  EXPECT_EQ(Task::from_json(text).to_json(), text);
  EXPECT_EQ(Task::from_json(text).class_name(1), "b");
  const auto error = [&](const std::string& from, const std::string& to) {
    std::string damaged = text;
    damaged.replace(damaged.find(from), from.size(), to);
    return error_of([&] { Task::from_json(damaged); });
  };
  EXPECT_NE(error("\"classes\":2", "\"classes\":3").find("not equally many"), std::string::npos);
  EXPECT_NE(error("\"classes\":2", "\"classes\":\"2\"").find("cannot be read: classes"), std::string::npos);
  EXPECT_NE(error("\"rows\"", "\"rowz\"").find("is not complete"), std::string::npos);
  EXPECT_NE(error("[1,8,8]", "[1,8,800000000]").find("too many"), std::string::npos);
}

}  // namespace
}  // namespace ingot::recipe
