// The options of `ingot circuit`.
#include <memory>

#include "cli/circuit.h"
#include "ingot/threads.h"

namespace ingot::cli {
namespace {

using Command = int (*)(const CircuitOptions&);

class Commands {
 public:
  Commands(CLI::App* circuit, std::function<int()>& run) : circuit_(circuit), run_(run) {}

  // A command with options of its own; all have a file.
  CLI::App* add(const char* name, const char* about, Command command) {
    o_ = std::make_shared<CircuitOptions>();
    CLI::App* sub = circuit_->add_subcommand(name, about);
    sub->callback([&run = run_, o = o_, command] { run = [o, command] { return command(*o); }; });
    sub->add_option("FILE", o_->file, "a circuit: .json or .igc, or the JSON of the Rust port")->required();
    return sub;
  }
  CircuitOptions& options() { return *o_; }
  void json(CLI::App* sub) { sub->add_flag("--json", o_->json, "print JSON"); }
  void seed(CLI::App* sub, const char* what) {
    sub->add_option("--seed", o_->seed, what)->capture_default_str()->type_name("N");
  }
  void size(CLI::App* sub, const char* what) { sub->add_option("--size", o_->size, what)->type_name("WxH"); }
  void steps(CLI::App* sub, const char* what) {
    sub->add_option("--steps", o_->steps, what)->check(CLI::Range(int64_t{0}, int64_t{1} << 40))->type_name("N");
  }

 private:
  CLI::App* circuit_;
  std::function<int()>& run_;
  std::shared_ptr<CircuitOptions> o_;
};

void add_threads(CLI::App* sub) {
  sub->add_option_function<int>(
         "--threads", [](int n) { set_threads(n); }, "worker threads (default: INGOT_THREADS, or all cores)")
      ->type_name("N");
}

void add_proofs(Commands& all) {
  CLI::App* simplify = all.add("simplify", "Make a circuit smaller, every pass proved", circuit_simplify);
  CircuitOptions& s = all.options();
  simplify->add_option("-o,--out", s.out, "where the result goes: .json or .igc")->type_name("FILE");
  const auto without = [&](const char* name, bool CircuitOptions::*what, const char* about) {
    simplify->add_flag_callback(
        name, [&s, what] { s.*what = false; }, about);
  };
  without("--no-dont-cares", &CircuitOptions::dont_cares, "do not replace gates by others that differ only unseen");
  without("--no-proof", &CircuitOptions::prove, "do not prove the passes");
  simplify->add_flag("--all-channels", s.all_channels, "keep channels that never influence a visible one");
  simplify->add_option("--rounds", s.rounds, "tries to get out of a local optimum")
      ->check(CLI::Range(0, 100000))
      ->capture_default_str();
  all.seed(simplify, "of those tries");
  all.json(simplify);
  simplify->footer(
      "For instance:\n  ingot circuit simplify life.json -o small.json\n  ingot circuit simplify life.json --rounds "
      "200 -o small.igc");

  CLI::App* verify = all.add("verify", "Are two circuits equal? A proof, or a counterexample", circuit_verify);
  CircuitOptions& v = all.options();
  verify->add_option("OTHER", v.other, "another circuit");
  verify->add_option("--rule", v.rule, "a rule instead of another circuit: life, or as in B36/S23")->type_name("RULE");
  verify->add_flag("--all-channels", v.all_channels, "cell rules must agree in channels that nobody ever sees, too");
  all.json(verify);
  verify->footer(
      "The exit code is 0 if they are equal, 3 if not, 1 for an error. For instance:\n  ingot circuit verify life.json "
      "small.json\n"
      "  ingot circuit verify small.json --rule life       on all 512 neighbourhoods");
}

void add_runs(Commands& all) {
  CLI::App* run = all.add("run", "Run a cell rule on a grid", circuit_run);
  CircuitOptions& o = all.options();
  all.size(run, "the grid (default: what the rule was trained on, or 128x128)");
  all.steps(run, "how many (default: as in training, or 300)");
  all.seed(run, "of the random start and of which cells fire");
  run->add_option("--start", o.start,
                  "random, zeros, centre (the cell in the middle, all its channels on) or a picture.png")
      ->capture_default_str();
  run->add_option("--density", o.density, "of a random start")->check(CLI::Range(0.0, 1.0))->capture_default_str();
  run->add_option("--png", o.png, "write the last state as a picture to this file")->type_name("FILE");
  all.json(run);
  add_threads(run);
  run->footer(
      "For instance:\n  ingot circuit run life.json --size 128x128 --steps 300 --seed 1 --png after.png\n"
      "  ingot circuit run lizard.json --start centre --size 40x40 --steps 12 --png lizard.png");

  CLI::App* bench = all.add("bench", "How fast a circuit runs bit-packed", circuit_bench);
  all.size(bench, "the grid of a cell rule (default: 512x512)");
  all.json(bench);
  add_threads(bench);
  bench->footer("For instance:\n  ingot circuit bench small.json --size 512x512 --threads 1");
}

void add_export(Commands& all) {
  CLI::App* sub = all.add("export", "A circuit for other tools", circuit_export);
  CircuitOptions& o = all.options();
  sub->add_option("--to", o.format,
                  "c, verilog, testbench, blif, aag, aig, dot, svg, json or igc (default: by OUT's ending)")
      ->type_name("FORMAT");
  sub->add_option("-o,--out", o.out, "where it goes (default: standard output)")->type_name("OUT");
  sub->add_flag("--main", o.with_main, "C: with a program that runs random inputs and prints a hash");
  all.size(sub, "test bench: the grid (default: 16x16)");
  all.steps(sub, "test bench: how many (default: 100)");
  sub->add_option("--words", o.words, "test bench of a plain circuit: 64 random assignments each")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 32))
      ->capture_default_str();
  all.seed(sub, "test bench: of what is random");
  sub->footer(
      "For instance:\n  ingot circuit export small.json -o life.c --main && cc -O2 life.c -o life && ./life 512 512 "
      "1000\n"
      "  ingot circuit export small.json --to verilog -o life.v\n"
      "  ingot circuit export small.json --to testbench -o test.v && iverilog life.v test.v -o life && vvp -n life\n"
      "  ingot circuit export small.json -o life.svg");
}

}  // namespace

void add_circuit(CLI::App& app, std::function<int()>& run) {
  CLI::App* circuit = app.add_subcommand("circuit", "Circuits: simplify, prove, run, measure, export");
  circuit->require_subcommand(1);
  Commands all(circuit, run);
  CLI::App* info = all.add("info", "What a circuit consists of", circuit_info);
  all.json(info);
  add_proofs(all);
  add_runs(all);
  add_export(all);
  circuit->footer(
      "For instance:\n  ingot circuit info life.json\n  ingot circuit simplify life.json -o small.json\n"
      "  ingot circuit verify small.json --rule life\n  ingot circuit run small.json --size 128x128 --steps 300 --png "
      "after.png\n"
      "  ingot circuit export small.json -o life.svg\n\n`ingot circuit COMMAND --help` has more.");
}

}  // namespace ingot::cli
