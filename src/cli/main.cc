// The `ingot` program: options in, library calls, output.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "cli/commands.h"
#include "ingot/threads.h"

int main(int argc, char** argv) {
  CLI::App app{"Ingot: training steps compiled into one planned program."};
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.require_subcommand(1);
  app.footer("Examples:\n  ingot doctor\n  ingot ops\n  ingot ops conv2d");

  bool json = false, markdown = false;
  int threads = 0;
  std::string op;
  CLI::App* doctor =
      app.add_subcommand("doctor", "What this machine offers, and whether Ingot reaches its targets on it");
  doctor->add_flag("--json", json, "print JSON");
  doctor->add_option("--threads", threads, "measure with this many threads (default: INGOT_THREADS, or all cores)");
  CLI::App* ops = app.add_subcommand("ops", "The operations: names, signatures, what they do");
  ops->add_option("NAME", op, "show one operation in full");
  ops->add_flag("--markdown", markdown, "as a Markdown table");

  CLI11_PARSE(app, argc, argv);
  try {
    if (threads != 0 || doctor->count("--threads") > 0) ingot::set_threads(threads);
    return doctor->parsed() ? ingot::cli::doctor(json) : ingot::cli::list_ops(op, markdown);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingot: %s\n", e.what());
    return 1;
  }
}
