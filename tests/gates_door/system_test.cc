// What the door of gates hands over: types in descriptions, keys, recipes.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "ingot/gates/door.h"
#include "ingot/recipe/recipe.h"
#include "tests/error_of.h"
#include "tests/test_file.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

const Systems kSystems = {&gates::system()};
const auto kCatalogue = std::make_shared<Catalogue>(kSystems);

TEST(GatesSystem, TheDocumentHasAllKeys) {
  std::ifstream file(test_file("../docs/toml.md"));
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str().starts_with(kCatalogue->document()))
      << "run ./dev generate";  // other systems' sections follow
}

TEST(GatesSystem, ItsRecipesAreThereAndReadBack) {
  for (const char* name : {"ca", "checkerboard", "checkerboard-async", "g", "gates-mnist", "gol", "lizard"}) {
    const Description d = Recipe::load(name, kSystems).description();
    EXPECT_EQ(d.name, name);
    EXPECT_EQ(parse_description("config.toml", d.toml(), {}, kCatalogue).toml(), d.toml()) << name;
    for (const char* key : {"about", "reaches", "takes"}) EXPECT_NE(d.said(key), "") << name << " " << key;
    EXPECT_NE(kCatalogue->kind_of(d), nullptr) << name;
  }
  EXPECT_EQ(kCatalogue->kind_of(Recipe::load("digits", kSystems).description()), nullptr);
  EXPECT_NE(error_of([] { Recipe::load("gol"); }).find("there is no recipe and no file"), std::string::npos);
}

TEST(GatesSystem, RestartsMayGrowAndAttemptsStay) {
  const auto gol = [](std::vector<std::string> sets) { return load_description("gol", sets, kCatalogue); };
  const Description before = gol({"train.restarts=2", "train.attempt=1"});
  gol({"train.restarts=3", "train.attempt=1"}).check_changes(before);
  const auto error = [&](const std::string& restarts, const std::string& attempt) {
    return error_of([&] { gol({"train.restarts=" + restarts, "train.attempt=" + attempt}).check_changes(before); });
  };
  EXPECT_NE(error("1", "1").find("\"train.restarts\" cannot change"), std::string::npos);
  EXPECT_NE(error("2", "0").find("\"train.attempt\" cannot change"), std::string::npos);
}

TEST(GatesSystem, ASystemCannotBeThereTwice) {
  EXPECT_NE(error_of([] {
              Catalogue({&gates::system(), &gates::system()});
            }).find("which there is already"),
            std::string::npos);
}

}  // namespace
}  // namespace ingot::gates::door
