// What this system hands over.
#include "gates/door/board_source.h"
#include "gates/door/ca_view.h"
#include "gates/door/circuit.h"
#include "gates/door/circuit_job.h"
#include "gates/door/gate_layers.h"
#include "ingot/gates/door.h"
#include "ingot/gates/ops.h"
#include "ingot/recipe/run_folder.h"

namespace ingot::gates {
namespace {

// {"NAME.toml", "its text"}, a line each; CMake writes them from recipes/gates.
constexpr recipe::EmbeddedFile kRecipes[] = {
#include "gates_recipes.inc"
};

constexpr recipe::TrainOption kTrainOptions[] = {
    {"--steps", "model.layers.0.steps", "N", "of an automaton"},
    {"--channels", "data.channels", "N", "bits of an automaton's cells"},
    {"--target", "data.picture", "FILE", "the picture that an automaton grows (a PNG)"}};

constexpr recipe::Command (*kCommands[])() = {door::ca_command, door::circuit_command};

std::string next_steps(const std::string& run) {
  if (!recipe::is_file(run + "/circuit-simple.json")) return "";
  return "ingot ca view " + run + ", ingot circuit info " + run + "/circuit-simple.json";
}

}  // namespace

const recipe::System& system() {
  static const recipe::System all{.name = "gates",
                                  .about = "logic gates that learn, cellular automata, circuits",
                                  .ops = ops(),
                                  .layers = door::gate_layers(),
                                  .losses = door::gate_losses(),
                                  .sources = door::board_sources(),
                                  .jobs = door::circuit_jobs(),
                                  .commands = kCommands,
                                  .keys = door::circuit_keys(),
                                  .train_options = kTrainOptions,
                                  .files = kRecipes,
                                  .next_steps = next_steps};
  return all;
}

}  // namespace ingot::gates
