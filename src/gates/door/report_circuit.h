// The part of a run's page on the circuit that came out of it.
#pragma once
#include <string>
#include <vector>

#include "gates/door/trained_circuit.h"
#include "ingot/recipe/report.h"

namespace ingot::gates::door {

struct ReportCircuit {
  bool passed = false;
  recipe::ReportTable exam = {};
  recipe::ReportTable attempts = {};  // shown if there was more than one
  Tensor frames = {};                 // u8 [steps + 1, h, w, 3]
  std::string film_note = {};
  std::vector<std::string> functions = {};       // names
  std::vector<int64_t> before = {}, after = {};  // gates with each of them, as trained and simplified
  recipe::ReportTable passes = {};
  std::string note = {};  // "3,040 gates, 22 of them active; 6 after simplification"
  std::string svg = {};
};

/// `attempts`: lines of attempts.jsonl.
ReportCircuit report_circuit(const recipe::Job& job, const TrainedCircuit& circuit, const std::string& attempts);
/// Its sections: exam, film, circuit.
std::string circuit_sections(const ReportCircuit& circuit);

}  // namespace ingot::gates::door
