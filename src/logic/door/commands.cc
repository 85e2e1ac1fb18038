#include "logic/door/commands.h"

#include <fmt/format.h>

#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "ingot/logic/program.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/session.h"
#include "logic/door/theory_command.h"

namespace ingot::logic::door {
namespace {

using recipe::Command;

struct Options {
  std::string file, fact, facts = ".", output, memory, semantics, load, batch;
  std::vector<std::string> queries, without;
  int proofs = -1;
  bool profile = false, json = false, plan = false;
};

// "2g", "500m", "64k" or bytes.
uint64_t bytes_of(const std::string& text) {
  if (text.empty()) return 0;
  const std::string units = "kmg";
  const size_t unit = units.find(static_cast<char>(std::tolower(static_cast<unsigned char>(text.back()))));
  uint64_t number = 0, bytes = 0;
  const bool suffix = unit != std::string::npos;
  if (!parse_number(std::string_view(text).substr(0, text.size() - (suffix ? 1 : 0)), number) || number == 0 ||
      !checked_multiply(number, uint64_t{1} << (suffix ? 10 * (unit + 1) : 0), bytes))
    throw Error("logic: --memory " + in_quotes(text) + " is no size — write 500m or 2g");
  return bytes;
}

// "exact", "proofs 20": what --proofs says as a number.
int proofs_of(const Options& o) {
  if (o.semantics.empty()) return o.proofs;
  if (o.semantics == "exact") return 0;
  int64_t most = 0;
  if (o.semantics.starts_with("proofs ") && parse_number(trimmed(o.semantics.substr(7)), most) && most >= 1 &&
      most <= 100000)
    return static_cast<int>(most);
  throw Error("logic: there is no semantics " + in_quotes(o.semantics) +
              " for exact rules — exact, or 'proofs 20'; others (godel, ltn, …) are a .theory's");
}

RunOptions run_options(const Options& o) {
  if (!o.load.empty()) throw Error("logic: --load is for theories — exact rules have nothing that is learned");
  if (!o.batch.empty()) throw Error("logic: --batch is for theories — facts of exact rules come from -F");
  return {.facts = o.facts,
          .output = o.output.empty() ? "." : o.output,
          .memory_limit = bytes_of(o.memory),
          .proofs = proofs_of(o),
          .without = o.without};
}

std::string method_names() {
  std::vector<std::string> names;
  for (const Method& m : methods()) names.emplace_back(m.name);
  return join(names);
}

// The file, and the queries of the command line behind it.
Program program_of(const Options& o) { return load_program(o.file, o.queries); }

std::string json_of(const Engine& e, const std::string& shown) {
  std::string text = "{\"relations\": {";
  bool first = true;
  for (const std::string& name : e.relations()) {
    text += fmt::format("{}\"{}\": {}", first ? "" : ", ", json_escaped(name), e.size(name));
    first = false;
  }
  text += "}, \"answers\": [";
  first = true;
  for (const Answer& a : e.answers()) {
    text += fmt::format("{}{{\"query\": \"{}\", \"names\": [", first ? "" : ", ", json_escaped(valid_utf8(a.query)));
    for (size_t i = 0; i < a.names.size(); i++)
      text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", json_escaped(a.names[i]));
    text += "], \"rows\": [";
    for (size_t r = 0; r < a.rows.size(); r++) {
      text += r == 0 ? "[" : ", [";
      for (size_t i = 0; i < a.rows[r].size(); i++)
        text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", json_escaped(valid_utf8(a.rows[r][i])));
      text += "]";
    }
    text += "]";
    for (size_t r = 0; r < a.probabilities.size(); r++)
      text += fmt::format("{}{:.17g}", r == 0 ? ", \"probabilities\": [" : ", ", a.probabilities[r]);
    text += a.probabilities.empty() ? "}" : "]}";
    first = false;
  }
  text += "], \"rules\": [";
  first = true;
  for (const RuleProfile& p : e.profile()) {
    text += fmt::format(
        "{}{{\"line\": {}, \"rule\": \"{}\", \"how\": \"{}\", \"seconds\": {:.6f}, \"facts\": {}, \"rounds\": {}}}",
        first ? "" : ", ", p.line, json_escaped(valid_utf8(p.rule)), json_escaped(p.how), p.seconds, p.facts, p.rounds);
    first = false;
  }
  return text +
         fmt::format("], \"peak_bytes\": {}, \"output\": \"{}\"}}\n", e.peak_bytes(), json_escaped(valid_utf8(shown)));
}

// What is said of exact rules only.
TheoryJob theory_job(const Options& o) {
  const char* odd = !o.memory.empty() ? "--memory" : o.proofs >= 0 ? "--proofs" : !o.without.empty() ? "--without" : "";
  if (*odd != '\0')
    throw Error("logic: " + std::string(odd) + " is for exact rules, and " + in_quotes(o.file) + " is a theory");
  TheoryJob job;
  job.file = o.file, job.folder = o.facts, job.output = o.output;
  job.semantics = o.semantics, job.load = o.load, job.batch = o.batch, job.queries = o.queries;
  job.json = o.json, job.plan = o.plan, job.profile = o.profile;
  return job;
}

int run(const Options& o) {
  if (is_theory(o.file)) return run_theory(theory_job(o));
  const Program program = program_of(o);
  Engine e(program, run_options(o));
  std::vector<std::string> read = program.files();
  const std::vector<std::string> facts = e.fact_files();
  read.insert(read.end(), facts.begin(), facts.end());
  prepare_outputs(read, e.output_files());
  e.run();
  const std::string shown = e.write();
  if (o.json) {
    fmt::print("{}", json_of(e, shown));
    return 0;
  }
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  for (const Answer& a : e.answers()) fmt::print("{}", answer_text(a));
  for (const std::string& proof : e.explanations()) fmt::print("{}", recipe::printable_lines(proof));
  if (o.plan) fmt::print("{}", e.plan());
  if (o.profile) fmt::print("{}", profile_text(e));
  return 0;
}

int explain(const Options& o) {
  if (is_theory(o.file)) return explain_theory(theory_job(o), o.fact);
  Engine e(program_of(o), run_options(o));
  e.run();
  const std::string proof = e.explain(o.fact);
  fmt::print("{}", recipe::printable_lines(proof));
  return proof.starts_with("There is no ") ? 3 : 0;
}

std::vector<recipe::Option> common_options(const std::shared_ptr<Options>& o) {
  return {{.name = "-F,--facts",
           .target = &o->facts,
           .about = "where .input finds its files",
           .type = "DIR",
           .shows_default = true},
          {.name = "--memory",
           .target = &o->memory,
           .about = "the most that facts may take, as 500m or 2g (default: half of the machine's)",
           .type = "SIZE"},
          {.name = "--proofs",
           .target = &o->proofs,
           .about = "keep so many best proofs of an uncertain fact; 0: all, exactly (default: as the program says)",
           .type = "K",
           .least = 0,
           .most = 100000},
          {.name = "--semantics",
           .target = &o->semantics,
           .about = "in place of the program's: exact, 'proofs 20'; of a theory: godel, 'ltn 4', …",
           .type = "NAME"},
          {.name = "--load", .target = &o->load, .about = "of a theory: the tables that were learned", .type = "FILE"},
          {.name = "--batch",
           .target = &o->batch,
           .about = "of a theory: the tensors that it calls input (.safetensors, .npz)",
           .type = "FILE"}};
}

Command run_command() {
  auto o = std::make_shared<Options>();
  Command c{.name = "run", .about = "Compute what follows from a program"};
  c.options = common_options(o);
  c.options.insert(c.options.begin(), {.name = "FILE",
                                       .target = &o->file,
                                       .about = "a program: .rules, Soufflé's .dl, or a .theory",
                                       .required = true});
  c.options.push_back({.name = "-D,--output",
                       .target = &o->output,
                       .about = "where .output writes its files; - for the terminal (default: .)",
                       .type = "DIR"});
  c.options.push_back(
      {.name = "--query", .target = &o->queries, .about = "ask this, too: 'path(1, x)?'", .type = "QUERY"});
  c.options.push_back({.name = "--plan", .target = &o->plan, .about = "how each rule was computed"});
  c.options.push_back({.name = "--profile", .target = &o->profile, .about = "time and facts of each rule"});
  c.options.push_back({.name = "--without",
                       .target = &o->without,
                       .about = "do without a method: " + method_names() + "; results are the same",
                       .type = "METHOD"});
  c.options.push_back({.name = "--json", .target = &o->json, .about = "for programs"});
  c.run = [o] { return run(*o); };
  c.footer = recipe::fixed_text(
      "For instance:\n  ingot logic run examples/logic/family.rules\n  ingot logic run reach.dl -F facts -D out "
      "--profile\n"
      "  ingot logic run examples/logic/family.rules --query 'ancestor(x, dan)?'");
  return c;
}

Command explain_command() {
  auto o = std::make_shared<Options>();
  Command c{.name = "explain", .about = "A smallest proof of a fact, or the premises that are missing"};
  c.options = common_options(o);
  c.options.insert(c.options.begin(), {{.name = "FILE",
                                        .target = &o->file,
                                        .about = "a program: .rules, Soufflé's .dl, or a .theory",
                                        .required = true},
                                       {.name = "FACT",
                                        .target = &o->fact,
                                        .about = "ancestor(ann, cid); of a theory also an assertion",
                                        .required = true}});
  c.run = [o] { return explain(*o); };
  c.footer = recipe::fixed_text(
      "Exit code 3: there is no such fact.\nFor instance:\n  ingot logic explain examples/logic/family.rules "
      "'ancestor(ann, dan)'");
  return c;
}

}  // namespace

Command logic_command() {
  return {.name = "logic",
          .about = "Facts and rules: programs of Ingot's own dialect and of Soufflé's, and theories that learn",
          .commands = {run_command(), explain_command(), learn_command(), repl_command(), watch_command()}};
}

}  // namespace ingot::logic::door
