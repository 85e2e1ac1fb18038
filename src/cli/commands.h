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
  std::string example;            // or a recipe, or a file
  std::vector<std::string> sets;  // changes of a recipe's or file's keys
  int runs = 200, threads = 0;    // 0: threads()
  int64_t batch = 0;              // 0: the example's own
  std::string trace, dot, svg;    // files to write, if named
  bool captured = false;          // pictures show the graph before the passes
  bool json = false, dump = false, describe = false, by_time = false, by_op = false;
  std::vector<std::string> without;  // passes
};

/// Where the time of an example's compiled step goes.
int profile(const ProfileOptions& options);
/// The examples and how the command is called, for --help.
std::string profile_help();

struct TrainOptions {
  std::string what;               // a recipe, a file, or the folder of a run
  std::vector<std::string> sets;  // "train.epochs=3"
  std::string out;                // the run's folder; empty: runs/NAME
  bool resume = false, json = false, quiet = false;
  std::string command;  // as it was typed, for the report
};
/// Trains what is described, into a folder of its own.
int train(const TrainOptions& options);

struct EvalOptions {
  std::string model;              // a file, or the folder of a run
  std::vector<std::string> sets;  // of [data]: other samples than those that were held back
  bool json = false;
};
/// How good a trained model is on what was held back, or on other data.
int evaluate(const EvalOptions& options);

struct PredictOptions {
  std::string model;
  std::vector<std::string> inputs;  // tables, arrays, pictures
  std::string prompt = "\n";        // of a language model
  int64_t length = 500, seed = 0;
  double temperature = 0.8;
  bool json = false;
};
/// What a trained model makes of new inputs.
int predict(const PredictOptions& options);

struct CaViewOptions {
  std::string path;              // a circuit's file, or the folder of a run
  std::string size;              // "64x64"; empty: as it was trained, or as the terminal is
  std::string start;             // random, centre or zeros; empty: as it was trained, or random
  int64_t seed = 1, frames = 0;  // frames to print instead; 0: an animation
  double speed = 10;             // steps a second
};
/// An automaton at work in the terminal.
int ca_view(const CaViewOptions& options);

/// What is in a model, a checkpoint, an array's file or a run's folder.
int info(const std::string& path, bool json);

/// The recipes: all, or the description of one; or the keys of all descriptions, as docs/toml.md has them.
int recipes(const std::string& show, bool keys, bool json);
/// Their names with a line each, for --help.
std::string recipes_help();

/// Fetches a data set into this user's cache.
int get_data(const std::string& name);

}  // namespace ingot::cli
