// The options of `ingot circuit`.
#include <memory>

#include "gates/door/circuit.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;
using Options = std::shared_ptr<CircuitOptions>;

// A command with options of its own; all have a file.
struct Part {
  Part(const char* name, const char* about, int (*what)(const CircuitOptions&)) {
    command.name = name, command.about = about;
    command.run = [o = options, what] { return what(*o); };
    add({"FILE", &options->file, "a circuit: .json or .igc, or the JSON of the Rust port"}).required = true;
  }
  Option& add(Option option) { return command.options.emplace_back(std::move(option)); }
  void json() { add({"--json", &options->json, "print JSON"}); }
  void seed(const char* about) { add({"--seed", &options->seed, about, "N", false, true}); }
  void size(const char* about) { add({"--size", &options->size, about, "WxH"}); }
  void steps(const char* about) {
    add({.name = "--steps", .target = &options->steps, .about = about, .type = "N", .least = 0, .most = 1LL << 40});
  }
  CircuitOptions* operator->() const { return options.get(); }

  Options options = std::make_shared<CircuitOptions>();
  Command command;
};

std::function<void()> off(const Options& o, bool CircuitOptions::*what) {
  return [o, what] { (*o).*what = false; };
}

Command info() {
  Part p("info", "What a circuit consists of", circuit_info);
  p.json();
  p.command.footer = fixed_text("For instance:\n  ingot circuit info runs/gol/circuit-simple.json");
  return p.command;
}

Command simplify() {
  Part p("simplify", "Make a circuit smaller, every pass proved", circuit_simplify);
  p.add({"-o,--out", &p->out, "where the result goes: .json or .igc", "FILE"});
  p.add({"--no-dont-cares", off(p.options, &CircuitOptions::dont_cares),
         "do not replace gates by others that differ only unseen"});
  p.add({"--no-proof", off(p.options, &CircuitOptions::prove), "do not prove the passes"});
  p.add({"--all-channels", &p->all_channels, "keep channels that never influence a visible one"});
  p.add({.name = "--rounds",
         .target = &p->rounds,
         .about = "tries to get out of a local optimum",
         .shows_default = true,
         .least = 0,
         .most = 100000});
  p.seed("of those tries");
  p.json();
  p.command.footer = fixed_text(
      "For instance:\n  ingot circuit simplify life.json -o small.json\n  ingot circuit simplify life.json --rounds "
      "200 -o small.igc");
  return p.command;
}

Command verify() {
  Part p("verify", "Are two circuits equal? A proof, or a counterexample", circuit_verify);
  p.add({"OTHER", &p->other, "another circuit"});
  p.add({"--rule", &p->rule, "a rule instead of another circuit: life, or as in B36/S23", "RULE"});
  p.add({"--all-channels", &p->all_channels, "cell rules must agree in channels that nobody ever sees, too"});
  p.add({.name = "--seconds",
         .target = &p->seconds,
         .about = "how long a proof by SAT may take before the answer is \"not decided\"",
         .type = "N",
         .shows_default = true,
         .least = 0,
         .most = 1e9});
  p.json();
  p.command.footer = fixed_text(
      "The exit code is 0 if they are equal, 3 if not, 9 if that was not decided. For instance:\n  ingot circuit "
      "verify life.json "
      "small.json\n"
      "  ingot circuit verify small.json --rule life       on all 512 neighbourhoods");
  return p.command;
}

Command run() {
  Part p("run", "Run a cell rule on a grid", circuit_run);
  p.size("the grid (default: what the rule was trained on, or 128x128)");
  p.steps("how many (default: as in training, or 300)");
  p.seed("of the random start and of which cells fire");
  p.add({.name = "--start",
         .target = &p->start,
         .about = "random, zeros, centre (the cell in the middle, all its channels on) or a picture.png",
         .shows_default = true});
  p.add({.name = "--density",
         .target = &p->density,
         .about = "of a random start",
         .shows_default = true,
         .least = 0,
         .most = 1});
  p.add({"--png", &p->png, "write the last state as a picture to this file", "FILE"});
  p.json();
  p.add(threads_option());
  p.command.footer = fixed_text(
      "For instance:\n  ingot circuit run life.json --size 128x128 --steps 300 --seed 1 --png after.png\n"
      "  ingot circuit run lizard.json --start centre --size 40x40 --steps 12 --png lizard.png");
  return p.command;
}

Command bench() {
  Part p("bench", "How fast a circuit runs bit-packed", circuit_bench);
  p.size("the grid of a cell rule (default: 512x512)");
  p.json();
  p.add(threads_option());
  p.command.footer = fixed_text("For instance:\n  ingot circuit bench small.json --size 512x512 --threads 1");
  return p.command;
}

Command write() {
  Part p("export", "A circuit for other tools", circuit_export);
  p.add({"--to", &p->format, "c, verilog, testbench, blif, aag, aig, dot, svg, json or igc (default: by OUT's ending)",
         "FORMAT"});
  p.add({"-o,--out", &p->out, "where it goes (default: standard output)", "OUT"});
  p.add({"--main", &p->with_main, "C: with a program that runs random inputs and prints a hash"});
  p.size("test bench: the grid (default: 16x16)");
  p.steps("test bench: how many (default: 100)");
  p.add({.name = "--words",
         .target = &p->words,
         .about = "test bench of a plain circuit: 64 random assignments each",
         .shows_default = true,
         .least = 1,
         .most = 1LL << 32});
  p.seed("test bench: of what is random");
  p.command.footer = fixed_text(
      "For instance:\n  ingot circuit export small.json -o life.c --main && cc -O2 life.c -o life && ./life 512 512 "
      "1000\n"
      "  ingot circuit export small.json --to verilog -o life.v\n"
      "  ingot circuit export small.json --to testbench -o test.v && iverilog life.v test.v -o life && vvp -n life\n"
      "  ingot circuit export small.json -o life.svg");
  return p.command;
}

}  // namespace

recipe::Command circuit_command() {
  return {.name = "circuit",
          .about = "Circuits: simplify, prove, run, measure, export",
          .footer = fixed_text(
              "For instance:\n  ingot circuit info life.json\n  ingot circuit simplify life.json -o small.json\n"
              "  ingot circuit verify small.json --rule life\n  ingot circuit run small.json --size 128x128 --steps "
              "300 --png "
              "after.png\n"
              "  ingot circuit export small.json -o life.svg\n\n`ingot circuit COMMAND --help` has more."),
          .commands = {info(), simplify(), verify(), run(), bench(), write()}};
}

}  // namespace ingot::gates::door
