// What this system hands over.
#include "ingot/logic/door.h"
#include "ingot/logic/ops.h"
#include "logic/door/commands.h"

namespace ingot::logic {
namespace {

constexpr recipe::Command (*kCommands[])() = {door::logic_command};

}  // namespace

const recipe::System& system() {
  static const recipe::System all{
      .name = "logic", .about = "facts, rules, and what follows from them", .ops = ops(), .commands = kCommands};
  return all;
}

}  // namespace ingot::logic
