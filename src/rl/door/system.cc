// What this system hands over.
#include "ingot/rl/door.h"
#include "rl/door/agent_run.h"
#include "rl/door/cube_commands.h"
#include "rl/door/options.h"

namespace ingot::rl {
namespace {

constexpr recipe::EmbeddedFile kRecipes[] = {
#include "rl_recipes.inc"
};

constexpr recipe::Command (*kCommands[])() = {door::cube_command};

}  // namespace

const recipe::System& system() {
  static const recipe::JobKind kJobs[] = {
      {.name = "agent", .about = "learning by playing", .sections = door::sections(), .begin = door::begin_run}};
  static const recipe::System all{.name = "rl",
                                  .about = "learning by playing: environments, puzzles, search",
                                  .jobs = kJobs,
                                  .commands = kCommands,
                                  .files = kRecipes};
  return all;
}

}  // namespace ingot::rl
