// Shell completion, made from the program's own commands and options.
#pragma once
#include <CLI/App.hpp>
#include <string>

namespace ingot::cli {

/// A script for bash, zsh or fish.
std::string completion_script(const CLI::App& app, const std::string& shell);

}  // namespace ingot::cli
