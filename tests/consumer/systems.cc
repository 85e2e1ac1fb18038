// A stranger's program on all systems and their doors: a circuit proved, a fact derived, recipes of each.
#include <ingot/gates.h>
#include <ingot/gates/door.h>
#include <ingot/logic.h>
#include <ingot/logic/door.h>
#include <ingot/recipe.h>
#include <ingot/rl/door.h>

#include <algorithm>
#include <cstdio>

int main() {
  using namespace ingot;
  gates::Circuit both{
      .inputs = 2, .gates = {{gates::Function::kNand, 0, 1}, {gates::Function::kNotA, 2, 2}}, .outputs = {3}};
  const gates::Circuit small = gates::simplify(both).circuit;
  if (small.gates.size() != 1 || small.gates[0].function != gates::Function::kAnd)
    return std::puts("not simplified"), 1;

  logic::Engine family(logic::Program::parse("p(1, 2). p(2, 3). a(x, y) <- p(x, y). a(x, z) <- a(x, y), p(y, z).",
                                             logic::Dialect::kRules));
  family.run();
  if (family.size("a") != 3) return std::puts("not derived"), 1;

  const std::vector<std::string> names = Recipe::names({&gates::system(), &rl::system(), &logic::system()});
  for (const char* of_each : {"digits", "gol", "cartpole", "smokers"})
    if (std::find(names.begin(), names.end(), of_each) == names.end()) return std::printf("no %s\n", of_each), 1;
  return 0;
}
