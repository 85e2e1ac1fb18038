// What commands do with theories: train them, ask them, explain what they believe.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ingot/recipe/command.h"

namespace ingot::logic::door {

bool is_theory(const std::string& path);

/// What is wanted of a theory from a file.
struct TheoryJob {
  std::string file, folder = ".", output, semantics;
  std::string batch;       // a file of the tensors that the program calls input
  std::string load, save;  // tables that are learned
  std::vector<std::string> queries, explain;
  int64_t steps = 0, seed = 1;
  double lr = 0.05;
  bool json = false, plan = false, profile = false;
};
/// Trains, prints what it comes to, writes what the program calls output. The program's exit code.
int run_theory(const TheoryJob& job);
/// A proof alone.
int explain_theory(const TheoryJob& job, const std::string& what);

/// `ingot logic learn`.
recipe::Command learn_command();

}  // namespace ingot::logic::door
