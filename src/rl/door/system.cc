// What this system hands over.
#include "ingot/rl/door.h"
#include "rl/door/cube_commands.h"

namespace ingot::rl {
namespace {

constexpr recipe::Command (*kCommands[])() = {door::cube_command};

}  // namespace

const recipe::System& system() {
  static const recipe::System all{
      .name = "rl", .about = "learning by playing: environments, puzzles, search", .commands = kCommands};
  return all;
}

}  // namespace ingot::rl
