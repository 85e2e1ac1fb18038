// `ingot circuit info`, `simplify`, `verify` and `export`.
#include "gates/door/circuit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ingot/base/clock.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"
#include "ingot/recipe/value.h"

namespace ingot::gates::door {
namespace {

using namespace recipe;
using gates::Circuit;

int64_t gate_count(const Circuit& c) { return static_cast<int64_t>(c.gates.size()); }

int64_t depth_of(const Circuit& c) {
  std::vector<int64_t> depth(c.signals());
  for (size_t i = 0; i < c.gates.size(); i++) {
    const gates::Gate& g = c.gates[i];
    const bool copy = g.function == gates::Function::kA || g.function == gates::Function::kB;
    depth[c.inputs + i] = std::max(reads_a(g.function) ? depth[g.a] : 0, reads_b(g.function) ? depth[g.b] : 0) + !copy;
  }
  int64_t most = 0;
  for (const uint32_t o : c.outputs) most = std::max(most, depth[o]);
  return most;
}

Value functions_record(const Circuit& c) {
  Value out;
  const std::vector<int64_t> counts = function_counts(c);
  for (size_t f = 0; f < counts.size(); f++)
    if (counts[f] > 0) out.set(name(static_cast<gates::Function>(f)), counts[f]);
  return out;
}

const char* border_text(const Circuit& c) { return c.cell->border == gates::Border::kWrap ? "wrap" : "zero"; }

// A life-like rule with the border and the fire rate of the circuit that is compared with it.
Circuit rule_for(const Circuit& c, const std::string& rule) {
  Circuit out = gates::life_like(rule, c.cell ? c.cell->border : gates::Border::kWrap);
  if (c.cell) out.cell->fire_rate = c.cell->fire_rate;
  return out;
}

// What is seen of two cell rules can be compared only if they are run alike.
void check_same_cells(const Circuit& a, const Circuit& b, const std::string& first, const std::string& second) {
  const auto about = [](const Circuit& c) {
    return fmt::format("{} visible of {}, border {}, fire rate {}", c.cell->visible,
                       counted(c.cell->channels, "channel"), border_text(c), c.cell->fire_rate);
  };
  if (about(a) != about(b))
    throw Error(
        fmt::format("verify: the cells of {} ({}) and {} ({}) do not run alike — with --all-channels only the "
                    "gates are compared",
                    first, about(a), second, about(b)));
}

// Which assignment makes the two differ: of a cell, its neighbourhood, a channel per line.
std::string counterexample_text(const Circuit& a, const Circuit& b, const std::vector<bool>& inputs) {
  const auto bits = [](const std::vector<bool>& values) {
    std::string out;
    for (const bool v : values) out += v ? '1' : '0';
    return out;
  };
  std::string out;
  if (!a.cell) {
    out = fmt::format("  inputs   {}\n", bits(inputs));
  } else {
    const auto channels = static_cast<size_t>(a.cell->channels);
    for (size_t c = 0; c < channels; c++)
      for (size_t row = 0; row < 3; row++) {
        const auto at = inputs.begin() + static_cast<int64_t>(9 * c + 3 * row);
        out += fmt::format("  {:<12} {}\n", row == 0 ? fmt::format("channel {}", c) : "", bits({at, at + 3}));
      }
  }
  return out + fmt::format("  first    {}\n  second   {}\n", bits(evaluate(a, inputs)), bits(evaluate(b, inputs)));
}

// How long a proof may take, and a line on the terminal that says that it is at work.
class Patience {
 public:
  explicit Patience(double seconds) : seconds_(seconds), start_(now_ns()) {}
  bool ask(int64_t proved, int64_t outputs) {
    const double passed = static_cast<double>(now_ns() - start_) / 1e9;
    if (const auto whole = static_cast<int64_t>(passed); whole > shown_ && shows_) {
      shown_ = whole;
      const std::string text = fmt::format("{} of {} proved equal, {} of {}", proved, counted(outputs, "output"),
                                           clock_text(passed), clock_text(seconds_));
      fmt::print(stderr, "{}", redrawn(text));
      std::fflush(stderr);
    }
    return passed < seconds_;
  }
  void end() const {
    if (shown_ > 0) fmt::print(stderr, "{}\r", redrawn(""));
  }

 private:
  double seconds_;
  int64_t start_, shown_ = 0;
  bool shows_ = errors_to_terminal();
};

void print_proof(const CircuitOptions& o, const gates::Proof& proof, const std::string& other, bool seen,
                 const std::string& counterexample) {
  const std::string both = fmt::format("{} and {}", printable(o.file), other);
  if (o.json) {
    Value out = record({{"equal", proof.equal}, {"method", proof.method}, {"seconds", proof.seconds}});
    if (!proof.decided)
      out = record({{"decided", false}, {"method", proof.method}, {"seconds", proof.seconds}});
    else if (!proof.equal)
      out.set("counterexample", proof.counterexample);
    fmt::print("{}\n", to_json(out));
  } else if (!proof.decided) {
    fmt::print("{}: {} may be equal or not ({}, {}) — give it more time with --seconds\n", bold("not decided"), both,
               proof.method, clock_text(proof.seconds));
  } else if (proof.equal) {
    fmt::print("{}: {}{} ({}, {})\n", green("equal"), both, seen ? ", in all that is ever seen" : "", proof.method,
               microseconds(1e6 * proof.seconds));
  } else {
    fmt::print("{}: {} ({}), for instance at\n{}", bold("different"), both, proof.method, counterexample);
  }
}

std::string as_format(const Circuit& c, const CircuitOptions& o, const std::string& format) {
  gates::Trial trial{.words = o.words, .seed = static_cast<uint64_t>(o.seed)};
  if (!o.size.empty()) {
    const Size size = parse_size(o.size);
    trial.width = size.width, trial.height = size.height;
  }
  if (o.steps >= 0) trial.steps = o.steps;
  if (format == "c") return to_c(c, o.with_main);
  if (format == "verilog" || format == "v") return to_verilog(c);
  if (format == "testbench") return to_verilog_testbench(c, trial);
  if (format == "blif") return to_blif(c);
  if (format == "aag") return to_aag(c);
  if (format == "aig") return to_aig(c);
  if (format == "dot") return to_dot(c);
  if (format == "svg") return to_svg(c);
  if (format == "json") return to_json(c);
  if (format == "igc") return to_binary(c);
  throw Error(fmt::format(
      "export: no format \"{}\" is known — there are c, verilog, testbench, blif, aag, aig, dot, svg, json, igc",
      format));
}

}  // namespace

Size parse_size(const std::string& text) {
  constexpr int64_t kMost = 1 << 20;
  Size size{0, 0};
  const char* const end = text.data() + text.size();
  const auto width = std::from_chars(text.data(), end, size.width);
  const bool split = width.ec == std::errc() && width.ptr != end && *width.ptr == 'x';
  const auto height = std::from_chars(split ? width.ptr + 1 : end, end, size.height);
  if (!split || height.ec != std::errc() || height.ptr != end || size.width < 1 || size.height < 1 ||
      size.width > kMost || size.height > kMost)
    throw Error(fmt::format("circuit: --size {} — write WIDTHxHEIGHT, as in 128x128", text));
  return size;
}

std::string about_circuit(const std::string& path, const Circuit& c) {
  const std::string gates = counted(gate_count(c), "gate");
  if (!c.cell)
    return fmt::format("{}: {}, {}, {}", bold(printable(path)), counted(c.inputs, "input"),
                       counted(static_cast<int64_t>(c.outputs.size()), "output"), gates);
  return fmt::format("{}: the rule of a cell with {}, border {}, {}", bold(printable(path)),
                     counted(c.cell->channels, "channel"), border_text(c), gates);
}

int circuit_info(const CircuitOptions& o) {
  const Circuit c = gates::load_circuit(o.file);
  if (o.json) {
    Value out = record({{"file", o.file},
                        {"name", c.name},
                        {"inputs", c.inputs},
                        {"outputs", c.outputs.size()},
                        {"gates", c.gates.size()},
                        {"active", active_gates(c)},
                        {"depth", depth_of(c)},
                        {"functions", functions_record(c)}});
    if (c.cell)
      out.set("cell", record({{"channels", c.cell->channels},
                              {"visible", c.cell->visible},
                              {"border", border_text(c)},
                              {"fire_rate", c.cell->fire_rate},
                              {"height", c.cell->height},
                              {"width", c.cell->width},
                              {"steps", c.cell->steps}}));
    fmt::print("{}\n", to_json(out, 2));
    return 0;
  }
  fmt::print("{}\n", about_circuit(o.file, c));
  fmt::print("  active gates   {} (not constant, no copy, no negation)\n  depth          {}\n",
             grouped(active_gates(c)), grouped(depth_of(c)));
  if (c.cell) {
    fmt::print("  visible        {} of {}\n", counted(c.cell->visible, "channel"), c.cell->channels);
    if (c.cell->fire_rate < 1) fmt::print("  fire rate      {}\n", c.cell->fire_rate);
    if (c.cell->height > 0)
      fmt::print("  trained on     {} x {} cells, {}\n", c.cell->width, c.cell->height, counted(c.cell->steps, "step"));
  }
  fmt::print("  functions     ");
  const Value functions = functions_record(c);
  for (const Entry& e : functions.table) fmt::print(" {} {}", grouped(e.value.integer), e.key);
  fmt::print("\n");
  return 0;
}

int circuit_simplify(const CircuitOptions& o) {
  if (!o.out.empty() && !o.out.ends_with(".json") && !o.out.ends_with(".igc"))
    throw Error(
        fmt::format("simplify: \"{}\" ends in neither .json nor .igc — one of them says which form to write", o.out));
  const Circuit before = gates::load_circuit(o.file);
  const gates::Simplified result = simplify(before, {.dont_cares = o.dont_cares,
                                                     .prove = o.prove,
                                                     .unused_channels = !o.all_channels,
                                                     .rounds = o.rounds,
                                                     .seed = static_cast<uint64_t>(o.seed)});
  if (!o.out.empty()) save_circuit(o.out, result.circuit);
  if (o.json) {
    Value passes = empty_list();
    for (const gates::PassResult& p : result.passes)
      passes.add(record({{"pass", p.pass}, {"gates", p.gates}, {"seconds", p.seconds}, {"proof", p.proof}}));
    fmt::print("{}\n", to_json(record({{"file", o.file},
                                       {"gates_before", before.gates.size()},
                                       {"gates", result.circuit.gates.size()},
                                       {"passes", passes}}),
                               2));
    return 0;
  }
  size_t width = 6;
  for (const gates::PassResult& p : result.passes) width = std::max(width, p.pass.size());
  fmt::print("{}\n\n{}\n", about_circuit(o.file, before),
             dim(fmt::format("  {:<{}}  {:>9}  {:>9}  {}", "pass", width, "gates", "time", "proved equal")));
  for (const gates::PassResult& p : result.passes)
    fmt::print("  {:<{}}  {:>9}  {:>9}  {}\n", p.pass, width, grouped(p.gates), microseconds(1e6 * p.seconds), p.proof);
  fmt::print("\n{}{}\n",
             bold(fmt::format("{} → {}", grouped(gate_count(before)), counted(gate_count(result.circuit), "gate"))),
             o.out.empty() ? " (nothing written: -o FILE)" : ", written to " + printable(o.out));
  return 0;
}

int circuit_verify(const CircuitOptions& o) {
  if (o.other.empty() == o.rule.empty()) throw Error("verify: give another circuit, or --rule — one of the two");
  const Circuit a = gates::load_circuit(o.file);
  const Circuit b = o.rule.empty() ? gates::load_circuit(o.other) : rule_for(a, o.rule);
  const std::string other = o.rule.empty() ? o.other : o.rule;
  if (a.inputs != b.inputs || a.outputs.size() != b.outputs.size())
    throw Error(fmt::format("verify: {} has {} and {}, {} has {} and {} — they cannot be equal", o.file,
                            counted(a.inputs, "input"), counted(static_cast<int64_t>(a.outputs.size()), "output"),
                            other, counted(b.inputs, "input"),
                            counted(static_cast<int64_t>(b.outputs.size()), "output")));
  const bool visible = a.cell && b.cell && !o.all_channels;
  if (visible) check_same_cells(a, b, o.file, other);
  Patience patience(o.seconds);
  const gates::GoOn go_on = [&](int64_t proved, int64_t outputs) { return patience.ask(proved, outputs); };
  const gates::Proof proof = visible ? prove_equal_visible(a, b, go_on) : prove_equal(a, b, go_on);
  patience.end();
  print_proof(o, proof, printable(other), visible && a.cell->channels > 1,
              proof.decided && !proof.equal ? counterexample_text(a, b, proof.counterexample) : "");
  constexpr int kDifferent = 3, kUndecided = 9;
  return !proof.decided ? kUndecided : proof.equal ? 0 : kDifferent;
}

int circuit_export(const CircuitOptions& o) {
  std::string format = o.format;
  if (format.empty()) {
    const size_t dot = o.out.rfind('.');
    if (dot == std::string::npos)
      throw Error("export: no format given — say --to svg, or -o with an ending, as in life.svg");
    format = o.out.substr(dot + 1);
  }
  const std::string text = as_format(gates::load_circuit(o.file), o, format);
  if (!o.out.empty()) {
    io::write_file(o.out, text);
    fmt::print("{}: {}\n", bold(printable(o.out)), byte_text(static_cast<double>(text.size())));
    return 0;
  }
  if (is_terminal() && (format == "aig" || format == "igc"))
    throw Error(fmt::format("export: {} is no text for a terminal — write it to a file with -o", format));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace ingot::gates::door
