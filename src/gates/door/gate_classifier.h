// Classifiers with a network of gates: what is before it makes bits of a sample, what is behind it counts votes.
#pragma once
#include "ingot/gates/circuit.h"
#include "ingot/gates/exam.h"
#include "ingot/recipe/job.h"

namespace ingot::gates::door {

/// Does the model have one network of gates, and the job samples of classes to test with?
bool is_gate_classifier(recipe::Job& job);
/// The circuit of that network.
gates::Circuit classifier_circuit(recipe::Job& job);
/// Does the circuit, run bit-packed, decide for every sample of the test as the model does? Told as well: how often
/// that is right.
gates::Exam examine_classifier(recipe::Job& job, const gates::Circuit& circuit);

}  // namespace ingot::gates::door
