// Recipes: descriptions of training jobs, their runs, and the models that come out of them.
#pragma once
#include "ingot/recipe/description.h"
#include "ingot/recipe/job.h"
#include "ingot/recipe/model.h"
#include "ingot/recipe/progress.h"
#include "ingot/recipe/recipe.h"
#include "ingot/recipe/run_folder.h"
#include "ingot/recipe/system.h"
