// The `ingot` program: options in, library calls, output.
#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/base/process.h"
#include "ingot/ops/own_op.h"
#ifdef INGOT_WITH_GATES
#include "ingot/gates/door.h"
#endif
#ifdef INGOT_WITH_LOGIC
#include "ingot/logic/door.h"
#endif
#ifdef INGOT_WITH_RL
#include "ingot/rl/door.h"
#endif

int main(int argc, char** argv) {
  using namespace ingot;
  prepare_process(cli::exit_code(Error(ErrorKind::kFile, "")));
  const recipe::Systems systems = {
#ifdef INGOT_WITH_GATES
      &gates::system(),
#endif
#ifdef INGOT_WITH_RL
      &rl::system(),
#endif
#ifdef INGOT_WITH_LOGIC
      &logic::system(),
#endif
  };
  for (const recipe::System* system : systems) add_ops(system->ops);
  std::string typed = "ingot";
  for (int i = 1; i < argc; i++) typed += std::string(" ") + argv[i];

  std::vector<cli::Command> commands = {cli::train_command(systems, typed), cli::eval_command(systems),
                                        cli::predict_command(systems),      cli::info_command(systems),
                                        cli::recipes_command(systems),      cli::data_command()};
#ifdef INGOT_WITH_EXCHANGE
  commands.push_back(cli::export_command(systems));
#endif
  for (const recipe::System* system : systems)
    for (const auto make : system->commands) commands.push_back(make());
#ifdef INGOT_WITH_EXCHANGE
  commands.push_back(cli::onnx_command());
#endif
  commands.push_back(cli::profile_command(systems));
  commands.push_back(cli::doctor_command());
  commands.push_back(cli::ops_command());
  commands.push_back(cli::completion_command(commands));
  return cli::run_program(commands, argc, argv);
}
