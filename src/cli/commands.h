// The commands of the `ingot` program: options in, library calls, output.
#pragma once
#include <span>
#include <string>

#include "ingot/recipe/command.h"
#include "ingot/recipe/system.h"

namespace ingot::cli {

using recipe::Command;
using recipe::Systems;

/// Trains what is described, into a folder of its own. `typed`: the command line, for the report.
Command train_command(const Systems& systems, const std::string& typed);
/// How good a trained model is; what it makes of new inputs.
Command eval_command(const Systems& systems);
Command predict_command(const Systems& systems);
/// What is in a file or a run's folder.
Command info_command(const Systems& systems);
/// What is ready to train.
Command recipes_command(const Systems& systems);
/// Data sets that are not in the program.
Command data_command();
/// Where the time of a compiled step goes.
Command profile_command(const Systems& systems);
/// What this machine offers, and whether Ingot reaches its targets on it.
Command doctor_command();
/// The table of ops.
Command ops_command();
#ifdef INGOT_WITH_EXCHANGE
/// Writes a trained model for other places.
Command export_command(const Systems& systems);
/// Models in ONNX files.
Command onnx_command();
int onnx_info(const std::string& file, bool json);
#endif
/// A script that lets a shell complete these commands.
Command completion_command(const std::vector<Command>& commands);

/// Names of the recipes with a line each, for --help.
std::string recipes_help(const Systems& systems);

/// Reads the command line, runs what it says and returns the exit code.
int run_program(const std::vector<Command>& commands, int argc, char** argv);

/// How the program ends: 0 is well. What goes wrong is an Error, whose kind decides.
constexpr int kNo = 3, kCancelled = 130;
int exit_code(const std::exception& problem);
/// What the codes mean, for --help.
std::string exit_codes_help();

}  // namespace ingot::cli
