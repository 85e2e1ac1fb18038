// The recipes of gates train without allocations, too.
#include <gtest/gtest.h>

#include "ingot/gates/door.h"
#include "tests/recipe/recipe_allocations.h"

namespace ingot::gates::door {
namespace {

TEST(GateRecipeAllocations, None) {
  const recipe::Systems systems = {&gates::system()};
  recipe::expect_no_allocations({"gol", "gates-mnist"}, systems, {});
  // All of a step is in the first ones.
  recipe::expect_no_allocations({"ca", "checkerboard", "checkerboard-async", "g", "lizard"}, systems,
                                {"model.layers.0.steps=2"});
}

}  // namespace
}  // namespace ingot::gates::door
