#include "gates/door/gate_classifier.h"

#include <fmt/format.h>

#include "ingot/gates/grid.h"
#include "ingot/gates/layers.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;

std::optional<gates::Circuit> circuit_in(nn::Layer& layer) {
  if (const auto* fixed = dynamic_cast<gates::GateNetwork*>(&layer)) return fixed->circuit();
  if (const auto* learned = dynamic_cast<gates::LearnedNetwork*>(&layer)) return learned->circuit();
  return {};
}

bool is_gates(nn::Layer& layer) {
  return dynamic_cast<gates::GateNetwork*>(&layer) != nullptr ||
         dynamic_cast<gates::LearnedNetwork*>(&layer) != nullptr;
}

// The place of the only network of gates; -1 if there is none, or more than one.
int64_t place_of_gates(nn::Sequential& model) {
  int64_t place = -1, count = 0;
  for (size_t i = 0; i < model.size(); i++)
    if (is_gates(model[i])) place = static_cast<int64_t>(i), count++;
  return count == 1 ? place : -1;
}

}  // namespace

bool is_gate_classifier(recipe::Job& job) {
  return job.data.task.classes > 0 && job.data.task.target.empty() && job.test != nullptr &&
         place_of_gates(*job.model) >= 0;
}

gates::Circuit classifier_circuit(recipe::Job& job) {
  return *circuit_in((*job.model)[static_cast<size_t>(place_of_gates(*job.model))]);
}

gates::Exam examine_classifier(recipe::Job& job, const gates::Circuit& circuit) {
  nn::Sequential& model = *job.model;
  const auto place = static_cast<size_t>(place_of_gates(model));
  gates::Runner runner(circuit);
  int64_t same = 0, right = 0, all = 0;
  model.eval();
  job.trainer->evaluate(*job.test, [&](const data::Batch& batch, const Tensor& result) {
    Tensor x = batch.x;
    for (size_t i = 0; i < model.size(); i++) x = i == place ? runner.evaluate(x) : model[i](x);
    const Tensor decided = argmax(x, {1}), expected = argmax(result, {1});
    for (int64_t row = 0; row < batch.size(); row++, all++) {
      const int64_t said = decided.data<int64_t>()[row];
      same += said == expected.data<int64_t>()[row] ? 1 : 0;
      right += said == batch.y.data<int64_t>()[row] ? 1 : 0;
    }
  });
  model.train();
  const double share = 100.0 * static_cast<double>(right) / static_cast<double>(std::max<int64_t>(all, 1));
  return {{{.question = "test samples that the bit-packed circuit decides as the model does", .right = same, .of = all},
           {.question = "of them right",
            .right = right,
            .of = all,
            .required = false,
            .note = fmt::format("{:.2f} %", share)}}};
}

}  // namespace ingot::gates::door
