// What becomes of trained gates: their circuit and its exam; of an automaton also a film.
#pragma once
#include <string>
#include <vector>

#include "cli/job.h"
#include "cli/report.h"
#include "cli/run_folder.h"
#include "ingot/exam.h"
#include "ingot/gates.h"
#include "ingot/grid.h"
#include "ingot/simplify.h"

namespace ingot::cli {

/// The automaton that a model is; nullptr if it is another one.
gates::Automaton* automaton_of(nn::Sequential& model);

/// Does a circuit come out of this job: an automaton on boards, or a classifier with one network of gates in it?
bool makes_circuit(Job& job);

struct TrainedCircuit {
  int64_t trained = 0;  // gates with parameters; the circuit has those of the kernels once per channel
  gates::Circuit raw, simple;
  std::vector<gates::PassResult> passes;  // from one to the other
  gates::Exam exam = {};                  // of the simple one
};

/// The circuit of a job's gates as they are now, simplified.
TrainedCircuit circuit_of(Job& job);

/// "3,040 gates trained (4,608 with the kernels repeated per channel)".
std::string trained_text(const TrainedCircuit& circuit);

/// Which exam of its run a circuit takes: exams are counted over attempts and over runs that go on, and each is
/// stricter than the last. The only one of a run without restarts is 0.
struct ExamTurn {
  int64_t number = 0;
  bool again = false;  // the circuit has taken it: nothing was trained since, and it comes out the same
  int64_t taken = 0;   // exams of this run, with this one
};
/// `attempts`: lines of attempts.jsonl; `taken`: how many exams the run's state knows of.
ExamTurn exam_turn(const Job& job, const TrainedCircuit& circuit, const std::string& attempts, int64_t taken);
/// The exam of that number, on boards that only it has.
gates::Exam exam_of(Job& job, const gates::Circuit& circuit, int64_t number);
/// A circuit's own number, by which attempts.jsonl knows it.
std::string fingerprint(const gates::Circuit& circuit);

/// Writes circuit.json, circuit-simple.json, exam.json and, of an automaton, a film, rollout.gif.
void save(const Job& job, const TrainedCircuit& circuit, const RunFolder& folder);
/// The exam as JSON: {"passed": …, "items": […]}.
std::string exam_json(const gates::Exam& exam);
/// What people read of it, a line each.
std::vector<std::string> exam_lines(const gates::Exam& exam);

/// What an automaton begins with, [1, channels, height, width]; `seed` draws random bits.
gates::Grid start_board(const BoardTask& task, const gates::CellRule& rule, uint64_t seed);
/// The visible channels of a sample as pixels u8 [height, width, 3]: one channel in black and white, three as colours.
Tensor board_pixels(const gates::Grid& grid, int64_t sample, int64_t visible);
/// The first `count` states of a rule, u8 [count, height, width, 3].
Tensor film(const gates::Circuit& rule, gates::Grid start, int64_t count, RandomKey fire);

/// The part of a run's page on it; `attempts`: lines of attempts.jsonl.
ReportCircuit report_circuit(const Job& job, const TrainedCircuit& circuit, const std::string& attempts);

}  // namespace ingot::cli
