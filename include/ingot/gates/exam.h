// Exams of trained automata: does the circuit do what it was trained for, on boards that it has never seen?
//
//   gates::Exam exam = gates::examine_life(circuit);          // a proof: all 512 neighbourhoods
//   if (!exam.passed()) …
#pragma once
#include <string>
#include <vector>

#include "ingot/base/export.h"
#include "ingot/gates/boards.h"
#include "ingot/gates/circuit.h"

namespace ingot::gates {

/// One question and how it went.
struct ExamItem {
  std::string question;  // "boards of 16 × 16 after 20 steps"
  int64_t right = 0, of = 0;
  bool required = true;   // else it is told, but decides nothing
  std::string note = {};  // "2 of the wrong ones inverted"
};

struct INGOT_API Exam {
  std::vector<ExamItem> items;
  /// Is everything that is required right?
  bool passed() const;
};

/// How many fresh boards a circuit must get right in the k-th exam of a run, from 1 on: so many that circuits which are
/// wrong on one board of a hundred or more are taken with a probability of at most 1 %, however many exams there are.
/// In the only one (0) it is 32.
INGOT_API int64_t exam_boards(int64_t number);
/// As many larger boards keep out circuits that are wrong on one of ten or more. In the only exam it is 8.
INGOT_API int64_t exam_large_boards(int64_t number);

/// The Game of Life: all 512 neighbourhoods, which is a proof; told as well, once they are right: 300 steps on 128 ×
/// 128.
INGOT_API Exam examine_life(const Circuit& rule);

/// The checkerboard, from random bits drawn by `key`: fresh boards of the trained size, and some of four times that
/// size after four times the steps (there, all may be inverted if the difference in size is 2 more than a multiple of
/// 4: the phase of what counts from the far border is another one then). Told as well: healing a block that was
/// cleared, a block that is cleared for ever, and the robustness protocol of the paper (4,000 steps, cells firing at a
/// rate of 0.6, a random block cleared at each).
INGOT_API Exam examine_checkerboard(const Circuit& rule, int64_t number, RandomKey key);

/// A picture [visible, height, width] that grows from a seed: no cell is wrong after the trained steps. With a fire
/// rate below 1, in as many runs as exam_boards says. Told as well, if it grows from the centre: on a grid of twice the
/// size.
INGOT_API Exam examine_growth(const Circuit& rule, const Tensor& picture, Seed seed, int64_t number, RandomKey key);

}  // namespace ingot::gates
