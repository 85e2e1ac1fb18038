// Boards that automata are trained on: the [data] types life, checkerboard and grow.
#pragma once
#include <span>

#include "ingot/gates/boards.h"
#include "ingot/recipe/data_source.h"

namespace ingot::gates::door {

/// What an automaton learns: how its circuit is examined, and what its report shows, depends on it.
struct BoardTask : recipe::SourceDetails {
  enum class Kind { kLife, kCheckerboard, kGrow };
  BoardTask(Kind k, Tensor p, Seed s) : kind(k), picture(std::move(p)), seed(s) {}
  Kind kind;
  Tensor picture;  // [visible, height, width]; of kLife none
  Seed seed;
};

std::span<const recipe::SourceType> board_sources();
/// The boards of a source; nullptr if it has others samples.
const BoardTask* boards_of(const recipe::DataSource& source);

}  // namespace ingot::gates::door
