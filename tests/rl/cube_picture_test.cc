#include "ingot/rl/cube_picture.h"

#include <gtest/gtest.h>

#include <map>

#include "ingot/rl/cube2.h"
#include "ingot/rl/cube3.h"
#include "tests/error_of.h"

namespace ingot::rl {
namespace {

std::map<std::array<int, 3>, int> colours_of(const Tensor& picture) {
  std::map<std::array<int, 3>, int> counts;
  const int64_t pixels = picture.size(1) * picture.size(2);
  const uint8_t* p = picture.data<uint8_t>();
  for (int64_t i = 0; i < pixels; i++) counts[{p[i], p[pixels + i], p[2 * pixels + i]}]++;
  return counts;
}

constexpr std::array<int, 3> kWhite = {248, 248, 248}, kRed = {196, 30, 58}, kGreen = {0, 158, 96},
                             kBlue = {0, 81, 186};

TEST(CubePicture, NetHasEverySticker) {
  const auto counts = colours_of(cube_net(Cube3().facelets(Cube3().solved()), 20));
  for (const auto& colour : {kWhite, kRed, kGreen, kBlue}) EXPECT_NEAR(counts.at(colour), 9 * 17 * 17, 9 * 80);
}

TEST(CubePicture, PerspectiveShowsThreeFaces) {
  const std::string solved = Cube2().facelets(Cube2().solved());
  const auto front = colours_of(cube_picture(solved, 100));
  for (const auto& colour : {kWhite, kRed, kGreen}) EXPECT_GT(front.at(colour), 300);
  EXPECT_FALSE(front.contains(kBlue));  // that is behind
  EXPECT_TRUE(colours_of(cube_picture(solved, 100, {.right = 180})).contains(kBlue));
}

TEST(CubePicture, FilmsHaveAFrameForEachCube) {
  const Cube2 cube;
  const std::vector<std::string> film = {cube.facelets(cube.solved()), cube.facelets(cube.apply(cube.solved(), 0))};
  EXPECT_EQ(cube_film_strip(film, 32).shape(), (Dims{3, 32, 64}));
  EXPECT_EQ(cube_frames(film, 32).shape(), (Dims{2, 32, 32, 3}));
}

TEST(CubePicture, TextOfANet) {
  EXPECT_EQ(cube_net_text(Cube2().facelets(Cube2().apply(Cube2().solved(), 0)), false),
            "    U F \n"
            "    U F \n"
            "L L F D R R U B \n"
            "L L F D R R U B \n"
            "    D B \n"
            "    D B \n");
  const std::string colours = cube_net_text(Cube3().facelets(Cube3().solved()), true);
  EXPECT_NE(colours.find("\033[48;2;0;158;96m"), std::string::npos);
  EXPECT_EQ(std::count(colours.begin(), colours.end(), '\n'), 9);
  EXPECT_NE(picture_text(cube_picture(Cube2().facelets({}), 16)).find("▀"), std::string::npos);
  EXPECT_REFUSED(cube_net_text("UUU", true), "give 24 or 54 letters");
}

}  // namespace
}  // namespace ingot::rl
