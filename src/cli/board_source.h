// Boards that automata are trained on: the [data] types life, checkerboard and grow.
#pragma once
#include "cli/data_source.h"

namespace ingot::cli {

// Functions, because tables of other files hold what they return.
Choice life_choice();
Choice checkerboard_choice();
Choice grow_choice();

/// What a completed [data] of one of these types describes, for batches of `batch` samples.
DataSource make_board_source(const Settings& s, int64_t batch);

}  // namespace ingot::cli
