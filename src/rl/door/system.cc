// What this system hands over.
#include "ingot/rl/door.h"

namespace ingot::rl {

const recipe::System& system() {
  static const recipe::System all{.name = "rl", .about = "learning by playing: environments, puzzles, search"};
  return all;
}

}  // namespace ingot::rl
