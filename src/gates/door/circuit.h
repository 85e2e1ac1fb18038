// `ingot circuit`: what one can do with a circuit's file. Each command returns the exit code.
#pragma once
#include <cstdint>
#include <string>

#include "ingot/gates/circuit_io.h"
#include "ingot/gates/simplify.h"
#include "ingot/recipe/command.h"

namespace ingot::gates::door {

struct CircuitOptions {
  std::string file, other;  // circuits; the second of `verify`
  std::string out;          // a file to write
  bool json = false;
  bool dont_cares = true, prove = true;  // of simplify
  bool all_channels = false;             // simplify keeps, verify compares, those that are never seen as well
  int32_t rounds = gates::SimplifyOptions{}.rounds;
  int64_t seed = 1;
  std::string rule;     // of verify: "life"
  double seconds = 60;  // that verify may take
  std::string size;     // "128x128"
  int64_t steps = -1;   // -1: what the command takes by default
  double density = 0.5;
  std::string start = "random";  // or "zeros", "centre", a picture
  std::string png;
  std::string format;  // of export
  bool with_main = false;
  int64_t words = 256;
};

int circuit_info(const CircuitOptions& o);
int circuit_simplify(const CircuitOptions& o);
int circuit_verify(const CircuitOptions& o);
int circuit_run(const CircuitOptions& o);
int circuit_bench(const CircuitOptions& o);
int circuit_export(const CircuitOptions& o);

/// "128x96" as width and height.
struct Size {
  int64_t width, height;
};
Size parse_size(const std::string& text);
/// "life.json: the rule of a cell with 1 channel, wrap, 243 gates".
std::string about_circuit(const std::string& path, const gates::Circuit& circuit);

/// The command and its parts.
recipe::Command circuit_command();

}  // namespace ingot::gates::door
