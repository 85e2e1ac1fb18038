// The commands of the `ingot` program: each returns the exit code.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace ingot::cli {

/// What this machine offers, and whether Ingot reaches its targets on it.
int doctor(bool json);

/// The table of ops: all, or one in full. Markdown is the form of docs/ops.md.
int list_ops(const std::string& name, bool markdown);

struct ProfileOptions {
  std::string example;
  int runs = 200, threads = 0;  // 0: threads()
  int64_t batch = 0;            // 0: the example's own
  std::string trace, dot, svg;  // files to write, if named
  bool captured = false;        // pictures show the graph before the passes
  bool json = false, dump = false, describe = false, by_time = false, by_op = false;
  std::vector<std::string> without;  // passes
};

/// Where the time of an example's compiled step goes.
int profile(const ProfileOptions& options);
/// The examples and how the command is called, for --help.
std::string profile_help();

}  // namespace ingot::cli
