// Descriptions: what is said is taken over and completed, and every mistake is pointed at.
#include "ingot/recipe/description.h"

#include <gtest/gtest.h>

#include "ingot/recipe/recipe.h"
#include "tests/error_of.h"

namespace ingot::recipe {
namespace {

const std::string kGood = R"([data]
type = "digits"
[model]
layers = [
  { type = "flatten" },
  { type = "linear", out = 32 },
  { type = "relu" },
  { type = "linear" },
]
)";

std::string error(const std::string& text, const std::vector<std::string>& sets = {}) {
  return error_of([&] { parse_description("mine.toml", text, sets); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(Description, IsCompletedAndSaysItAll) {
  const Description d = parse_description("mine.toml", kGood);
  EXPECT_EQ(d.name, "mine");
  EXPECT_EQ(d.settings("train").integer("epochs"), 10);
  EXPECT_EQ(d.settings("optimizer").type(), "adam");
  EXPECT_EQ(d.settings("optimizer").number("beta2"), 0.999);
  EXPECT_EQ(d.settings("data").number("held_back"), 0.2);
  EXPECT_EQ(d.settings("model").value("layers").list[1].find("out")->integer, 32);
  EXPECT_TRUE(d.settings("model").value("layers").list[1].find("bias")->boolean);
  // What it says of itself gives the same again.
  const Description again = parse_description("config.toml", d.toml());
  EXPECT_EQ(again.toml(), d.toml());
  EXPECT_EQ(again.name, "mine");
}

TEST(Description, EveryRecipeReadsBack) {
  const std::vector<std::string> names = Recipe::names();
  ASSERT_GE(names.size(), 5U);
  for (const std::string& name : names) {
    const Description d = load_description(name);
    EXPECT_EQ(d.name, name);
    EXPECT_EQ(parse_description("config.toml", d.toml()).toml(), d.toml()) << name;
    for (const char* key : {"about", "reaches", "takes"}) EXPECT_NE(d.said(key), "") << name << " " << key;
  }
}

TEST(Description, SetChangesAnyKey) {
  const Description d =
      parse_description("mine.toml", kGood,
                        std::vector<std::string>{"train.epochs=3", "model.layers.1.out=7", "optimizer.type=sgd",
                                                 "optimizer.lr=1e-2", "data.held_back=0"});
  EXPECT_EQ(d.settings("train").integer("epochs"), 3);
  EXPECT_EQ(d.settings("model").value("layers").list[1].find("out")->integer, 7);
  EXPECT_EQ(d.settings("optimizer").type(), "sgd");
  EXPECT_EQ(d.settings("optimizer").number("lr"), 0.01);
  EXPECT_EQ(d.settings("data").number("held_back"), 0);
}

// The whole message each time: it is what a user has to go by.
TEST(DescriptionErrors, PointAtThePlace) {
  EXPECT_EQ(error(replaced(kGood, "out = 32", "outs = 32")),
            "mine.toml:6:22: an entry of layers of type linear has no key \"outs\" — did you mean \"out\"?\n"
            "  6 |   { type = \"linear\", outs = 32 },\n"
            "    |                      ^");
  EXPECT_EQ(error(replaced(kGood, "\"relu\"", "\"rellu\"")),
            "mine.toml:7:12: unknown type \"rellu\" — did you mean \"relu\"?\n"
            "  7 |   { type = \"rellu\" },\n"
            "    |            ^");
  EXPECT_EQ(error(replaced(kGood, "out = 32", "out = \"many\"")),
            "mine.toml:6:28: \"out\" must be integer\n"
            "  6 |   { type = \"linear\", out = \"many\" },\n"
            "    |                            ^");
  EXPECT_EQ(error(kGood + "[trian]\nepochs = 3\n"),
            "mine.toml:10:2: there is no section or key \"trian\" — did you mean \"train\"?\n"
            "  10 | [trian]\n"
            "     |  ^");
  EXPECT_EQ(error(kGood + "[train]\nepochs = 0\n"),
            "mine.toml:11:10: \"epochs\" must be 1 to 1000000\n"
            "  11 | epochs = 0\n"
            "     |          ^");
  EXPECT_EQ(error(kGood + "[train]\nbatch = \"atuo\"\n"),
            "mine.toml:11:9: \"batch\" must be integer or \"auto\"\n"
            "  11 | batch = \"atuo\"\n"
            "     |         ^");
  EXPECT_EQ(error(kGood, {"train.batch=automatic"}),
            "--set train.batch=automatic: \"batch\" must be integer or \"auto\"");
  EXPECT_EQ(error(kGood + "[train]\nepochs = 3.5\n"),
            "mine.toml:11:10: \"epochs\" must be integer\n"
            "  11 | epochs = 3.5\n"
            "     |          ^");
  EXPECT_EQ(
      error(replaced(kGood, "{ type = \"relu\" }", "{ }")), "mine.toml:7:3: an entry of layers needs a type: " + [] {
        std::string all;
        const Catalogue catalogue;
        for (const Choice* c : catalogue.types("layers")) all += (all.empty() ? "" : ", ") + std::string(c->type);
        return all;
      }() + "\n  7 |   { },\n    |   ^");
}

TEST(DescriptionErrors, ToNameWhatIsMissing) {
  EXPECT_EQ(error("[model]\nlayers = []\n"),
            "mine.toml: [data] needs a type: digits, mnist, csv, idx, npy, png_folder, text");
  EXPECT_EQ(error("[data]\ntype = \"csv\"\n"),
            "mine.toml:1:1: [data] of type csv needs \"file\": the table\n"
            "  1 | [data]\n"
            "    | ^");
  EXPECT_EQ(error("[data]\ntype = \"digits\"\n"),
            "mine.toml: [model] needs \"layers\": the types below; sizes of inputs are inferred");
}

TEST(DescriptionErrors, OfTomlItself) {
  EXPECT_EQ(error("[data\n").substr(0, 14), "mine.toml:1:6:");
  EXPECT_NE(error("a = 1\na = 2\n").find("mine.toml:2:"), std::string::npos);
  EXPECT_EQ(error("[data]\ntype = 2024-01-01\n"),
            "mine.toml:2:8: dates and times have no meaning here\n"
            "  2 | type = 2024-01-01\n"
            "    |        ^");
}

TEST(DescriptionErrors, OfTheCommandLineSaySo) {
  EXPECT_EQ(error(kGood, {"train.epochz=3"}),
            "--set train.epochz=3: [train] has no key \"epochz\" — did you mean \"epochs\"?");
  EXPECT_EQ(error(kGood, {"train.epochs=many"}), "--set train.epochs=many: \"epochs\" must be integer");
  EXPECT_EQ(error(kGood, {"train.epochs"}), "--set train.epochs: write --set path.to.key=value");
  EXPECT_EQ(error(kGood, {"model.layers.9.out=3"}),
            "--set model.layers.9.out=3: \"9\" is no element of a list of 4: give 0 to 3");
  EXPECT_EQ(error(kGood, {"optimizer.type=adamm"}),
            "--set optimizer.type=adamm: unknown type \"adamm\" — did you mean \"adam\"?");
}

// What was trained with a system that this program does not have can be used all the same; but it cannot be trained.
TEST(Description, KeysOfOtherSystemsAreLeftOutOfTrainedModels) {
  const std::string text = kGood + "[train]\nepochs = 3\nfrom_elsewhere = 2\n";
  EXPECT_NE(error(text).find("has no key \"from_elsewhere\""), std::string::npos);
  const Description d = parse_trained("model", text, {}, std::make_shared<Catalogue>());
  EXPECT_EQ(d.settings("train").integer("epochs"), 3);
  EXPECT_FALSE(d.settings("train").has("from_elsewhere"));
  EXPECT_NE(error_of([&] {
              parse_trained("model", replaced(kGood, "out = 32", "outs = 32"), {}, std::make_shared<Catalogue>());
            }).find("has no key \"outs\""),
            std::string::npos);
}

TEST(Description, ARunThatGoesOnMayNotChangeWhatItIs) {
  const auto changed = [](const std::string& set) {
    return error_of([&] {
      parse_description("mine.toml", kGood, std::vector{set}).check_changes(parse_description("mine.toml", kGood));
    });
  };
  for (const char* free : {"train.epochs=20", "optimizer.lr=0.5", "output.report=false", "schedule.type=cosine"})
    EXPECT_EQ(changed(free), "no error") << free;
  for (const char* fixed : {"train.batch=7", "train.seed=1", "model.layers.1.out=7", "data.held_back=0.5",
                            "optimizer.type=sgd", "loss.type=nll"})
    EXPECT_NE(changed(fixed).find("cannot change"), std::string::npos) << fixed;
}

}  // namespace
}  // namespace ingot::recipe
