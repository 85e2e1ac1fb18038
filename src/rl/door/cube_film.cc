#include "rl/door/cube_film.h"

#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/recipe/page.h"
#include "ingot/rl/cube_picture.h"

namespace ingot::rl::door {

std::string film_section(const std::vector<std::string>& film, const std::vector<std::string>& moves,
                         const std::string& note) {
  constexpr int64_t kFrame = 72, kAnimation = 180;
  std::string body = "<p>";
  for (size_t i = 0; i < film.size(); i++)
    body += recipe::picture(cube_picture(film[i], kFrame), i == 0 ? "scrambled" : "after " + moves[i - 1]) +
            (i < moves.size() ? xml_escaped(moves[i]) + " " : "");
  body += "</p><p>" + recipe::picture(cube_net(film[0], 14), "scrambled, unfolded") +
          "<img alt=\"the solution\" src=\"data:image/gif;base64," +
          recipe::base64(io::to_gif(cube_frames(film, kAnimation), {.seconds = 0.5, .last_seconds = 2})) + "\"/></p>";
  return recipe::section("film", "A cube being solved", note, body);
}

}  // namespace ingot::rl::door
