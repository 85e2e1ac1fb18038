// What this system hands over.
#include "ingot/logic/door.h"
#include "ingot/logic/ops.h"
#include "logic/door/commands.h"
#include "logic/door/sum_run.h"
#include "logic/door/theory_run.h"

namespace ingot::logic {
namespace {

constexpr recipe::EmbeddedFile kRecipes[] = {
#include "logic_recipes.inc"
};

constexpr recipe::Command (*kCommands[])() = {door::logic_command};

}  // namespace

const recipe::System& system() {
  static const recipe::JobKind kJobs[] = {
      {.name = "theory", .about = "rules that learn", .sections = door::theory_sections(), .begin = door::begin_theory},
      {.name = "sums",
       .about = "digits learned from sums",
       .sections = door::sum_sections(),
       .begin = door::begin_sums}};
  static const recipe::System all{.name = "logic",
                                  .about = "facts, rules, what follows from them, and rules that learn",
                                  .ops = ops(),
                                  .jobs = kJobs,
                                  .commands = kCommands,
                                  .files = kRecipes};
  return all;
}

}  // namespace ingot::logic
