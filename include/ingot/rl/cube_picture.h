// Cubes in colour, from their stickers (`facelets()` of either cube): in the terminal, as pictures, as films.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "ingot/base/tensor.h"

namespace ingot::rl {

/// From where the cube is seen: degrees to the right of its front, degrees above its middle.
struct CubeCamera {
  double right = 35, up = 30;
};

/// The cube unfolded, for a terminal: in true colour, or as letters.
INGOT_API std::string cube_net_text(std::string_view facelets, bool colours);

/// The cube unfolded, u8 [3, height, width], a sticker being `sticker` pixels wide.
INGOT_API Tensor cube_net(std::string_view facelets, int64_t sticker = 16);
/// The cube in perspective, u8 [3, size, size].
INGOT_API Tensor cube_picture(std::string_view facelets, int64_t size = 160, const CubeCamera& camera = {});
/// Cubes in perspective, one beside another, u8 [3, size, n · size]: an episode as a strip of film.
INGOT_API Tensor cube_film_strip(std::span<const std::string> facelets, int64_t size = 96);
/// The same as frames u8 [n, size, size, 3], as io::save_gif takes them.
INGOT_API Tensor cube_frames(std::span<const std::string> facelets, int64_t size = 160);

/// A picture u8 [3, height, width] as text: two pixels to a character, in true colour.
INGOT_API std::string picture_text(const Tensor& picture);

}  // namespace ingot::rl
