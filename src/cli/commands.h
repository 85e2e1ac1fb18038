// The commands of the `ingot` program: each returns the exit code.
#pragma once
#include <string>

namespace ingot::cli {

/// What this machine offers, and whether Ingot reaches its targets on it.
int doctor(bool json);

/// The table of ops: all, or one in full. Markdown is the form of docs/ops.md.
int list_ops(const std::string& name, bool markdown);

}  // namespace ingot::cli
