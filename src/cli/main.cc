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
  app.footer("Examples:\n  ingot doctor\n  ingot ops\n  ingot ops conv2d\n  ingot profile mlp");

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

  ingot::cli::ProfileOptions to_profile;
  CLI::App* profile = app.add_subcommand("profile", "Where the time of a compiled training step goes, step by step");
  profile->add_option("EXAMPLE", to_profile.example, "what to profile; see below")->required();
  profile->add_option("--runs", to_profile.runs, "runs to measure, of which medians are shown")->capture_default_str();
  profile->add_option("--threads", to_profile.threads, "threads (default: INGOT_THREADS, or all cores)");
  profile->add_option("--batch", to_profile.batch, "size of the batch (default: the example's)")
      ->check(CLI::Range(1, 1000000));
  profile->add_option("--trace", to_profile.trace, "write the last run as a trace for Perfetto to this file");
  profile->add_option("--dot", to_profile.dot, "write a picture for Graphviz to this file");
  profile->add_option("--svg", to_profile.svg, "write a picture as SVG to this file");
  profile->add_flag("--captured", to_profile.captured, "pictures show the graph before the passes");
  profile->add_option("--without", to_profile.without, "leave out these passes")->delimiter(',');
  profile->add_flag("--by-time", to_profile.by_time, "the slowest steps first");
  profile->add_flag("--by-op", to_profile.by_op, "one row for all steps that do the same");
  profile->add_flag("--json", to_profile.json, "print JSON");
  profile->add_flag("--describe", to_profile.describe,
                    "print what the passes did, the steps and the bytes; measure nothing");
  profile->add_flag("--dump", to_profile.dump, "print the steps as stable text; measure nothing");
  profile->footer(ingot::cli::profile_help());

  CLI11_PARSE(app, argc, argv);
  try {
    if (profile->count("--threads") > 0) ingot::set_threads(to_profile.threads);
    if (profile->parsed()) return ingot::cli::profile(to_profile);
    if (threads != 0 || doctor->count("--threads") > 0) ingot::set_threads(threads);
    return doctor->parsed() ? ingot::cli::doctor(json) : ingot::cli::list_ops(op, markdown);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ingot: %s\n", e.what());
    return 1;
  }
}
