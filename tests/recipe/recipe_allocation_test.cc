// Every recipe trains without a single allocation per step and batch: neither tensors nor anything else, in any thread.
#include <gtest/gtest.h>

#include "ingot/recipe/recipe.h"
#include "tests/recipe/recipe_allocations.h"

namespace ingot::recipe {
namespace {

TEST(RecipeAllocations, None) { expect_no_allocations(Recipe::names(), {}, {}); }

}  // namespace
}  // namespace ingot::recipe
