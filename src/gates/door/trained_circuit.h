// What becomes of trained gates: their circuit and its exam; of an automaton also a film.
#pragma once
#include <string>
#include <vector>

#include "gates/door/board_source.h"
#include "ingot/gates/exam.h"
#include "ingot/gates/grid.h"
#include "ingot/gates/layers.h"
#include "ingot/gates/simplify.h"
#include "ingot/recipe/job.h"
#include "ingot/recipe/run_folder.h"

namespace ingot::gates::door {

/// Does a circuit come out of this job: an automaton on boards, or a classifier with one network of gates in it?
bool makes_circuit(recipe::Job& job);

struct TrainedCircuit {
  int64_t trained = 0;  // gates with parameters; the circuit has those of the kernels once per channel
  Circuit raw, simple;
  std::vector<PassResult> passes;  // from one to the other
  Exam exam = {};                  // of the simple one
};

/// The circuit of a job's gates as they are now, simplified.
TrainedCircuit circuit_of(recipe::Job& job);

/// "3,040 gates trained (4,608 with the kernels repeated per channel)".
std::string trained_text(const TrainedCircuit& circuit);

/// The exam of a run's circuit that has this number: each has boards of its own, and is stricter than the last.
Exam exam_of(recipe::Job& job, const Circuit& circuit, int64_t number);
/// A circuit's own number, by which attempts.jsonl knows it.
std::string fingerprint(const Circuit& circuit);

/// Writes circuit.json, circuit-simple.json, exam.json and, of an automaton, a film, rollout.gif.
void save(const recipe::Job& job, const TrainedCircuit& circuit, const recipe::RunFolder& folder);
/// The exam as a record: {"passed": …, "items": […]}.
recipe::Value exam_record(const Exam& exam);
/// What people read of it, a line each.
std::vector<std::string> exam_lines(const Exam& exam);

/// What the report and the GIF show, u8 [frames, height, width, 3]: twice the trained steps, of Life a while.
Tensor film_of(const recipe::Job& job, const TrainedCircuit& circuit);

}  // namespace ingot::gates::door
