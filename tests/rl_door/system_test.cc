#include <gtest/gtest.h>

#include "ingot/rl/door.h"
#include "rl/door/cube_solver.h"

namespace ingot::rl::door {
namespace {

TEST(RlSystem, BringsItsCommands) {
  EXPECT_STREQ(system().name, "rl");
  ASSERT_EQ(system().commands.size(), 1U);
  EXPECT_EQ(system().commands[0]().name, "cube");
}

TEST(CubeCommands, TellStickersFromMoves) {
  EXPECT_EQ(size_of_facelets("R U F'"), 0);
  EXPECT_EQ(size_of_facelets(""), 0);
  EXPECT_EQ(size_of_facelets("UUUURRRRFFFFDDDDLLLLBBBB"), 2);
  EXPECT_EQ(size_of_facelets("UUUU RRRR FFFF DDDD LLLL BBBB"), 2);
  EXPECT_EQ(size_of_facelets(std::string(54, 'W')), 3);
  EXPECT_EQ(size_of_facelets("R U F R U F R U F R U F R U F R U F R U F R U F"), 0);  // 24 moves
  const Cube2 cube;
  EXPECT_EQ(parse_cube(cube, "R U"), after(cube, cube.solved(), parse_moves(cube, "R U")));
  EXPECT_EQ(parse_cube(cube, cube.facelets(parse_cube(cube, "R U"))), parse_cube(cube, "R U"));
}

}  // namespace
}  // namespace ingot::rl::door
