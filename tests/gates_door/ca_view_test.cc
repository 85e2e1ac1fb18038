// The viewer's pictures.
#include "gates/door/ca_view.h"

#include <gtest/gtest.h>

namespace ingot::gates::door {
namespace {

TEST(CaView, TwoCellsPerCharacter) {
  gates::Grid grid(1, 1, 3, 3);
  grid.set(0, 0, 0, 0, true), grid.set(0, 0, 1, 1, true), grid.set(0, 0, 0, 2, true), grid.set(0, 0, 1, 2, true);
  grid.set(0, 0, 2, 0, true);
  View view{.rows = 3, .columns = 3, .colours = false};
  EXPECT_EQ(draw_board(grid, 1, view), "▀▄█\n▀  \n");
  view.colours = true;
  const std::string picture = draw_board(grid, 1, view);
  EXPECT_TRUE(picture.starts_with("\033[38;2;235;235;235m\033[48;2;28;28;28m▀\033[38;2;28;28;28m")) << picture;
  view.top = 2, view.rows = 1, view.columns = 1;  // below the last row there is nothing
  EXPECT_EQ(draw_board(grid, 1, view), "\033[38;2;235;235;235m\033[48;2;0;0;0m▀\033[0m\n");
}

TEST(CaView, ColoursAndTheCursor) {
  gates::Grid grid(1, 4, 2, 2);
  grid.set(0, 1, 0, 0, true), grid.set(0, 3, 0, 1, true);  // green; the fourth channel is not seen
  View view{.rows = 2, .columns = 2};
  const std::string plain = draw_board(grid, 3, view);
  EXPECT_NE(plain.find("38;2;28;235;28m"), std::string::npos);
  EXPECT_EQ(plain.find("235;235"), std::string::npos);
  view.cursor_y = 1, view.cursor_x = 1, view.side = 1;
  EXPECT_NE(draw_board(grid, 3, view).find("48;2;134;74;29m"), std::string::npos) << draw_board(grid, 3, view);
}

}  // namespace
}  // namespace ingot::gates::door
