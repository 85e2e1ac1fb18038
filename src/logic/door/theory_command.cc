#include "logic/door/theory_command.h"

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/base/text.h"
#include "ingot/io/io.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/terminal.h"
#include "logic/door/session.h"

namespace ingot::logic::door {
namespace {

using namespace recipe;

constexpr int64_t kMostShown = 1000;
constexpr double kRounding = 1e-4;  // that a truth may be outside of 0 to 1

// What is asked, and a truth for all values of its variables.
struct Answers {
  std::string question;
  std::vector<std::pair<std::string, std::string>> variables;
  Tensor truths;  // f64
};

Answers ask(const Theory& theory, std::string question, const data::Batch& batch) {
  while (question.ends_with('?') || question.ends_with('.')) question.pop_back();
  return {question, theory.variables_of(question), contiguous(to(theory.ask(question, batch), kF64))};
}

data::Batch batch_of(const TheoryJob& job) {
  data::Batch batch;
  if (job.batch.empty()) return batch;
  const std::vector<NamedTensor> tensors =
      job.batch.ends_with(".npz") ? io::load_npz(job.batch) : io::load_safetensors(job.batch).tensors;
  for (const NamedTensor& t : tensors) batch.set(t.name, t.tensor);
  return batch;
}

// The values of the variables in row i; what has no named members is a number.
std::vector<std::string> row_of(const Theory& theory, const Answers& a, int64_t i) {
  std::vector<std::string> row(a.variables.size());
  for (size_t v = row.size(); v-- > 0;) {
    const int64_t size = a.truths.size(static_cast<int64_t>(v)), value = i % size;
    const std::string& domain = a.variables[v].second;
    const auto members = domain.empty() ? std::vector<std::string>() : theory.members(domain);
    row[v] = members.empty() ? std::to_string(value) : members[static_cast<size_t>(value)];
    i /= size;
  }
  return row;
}

std::string answer_text(const Theory& theory, const Answers& a) {
  if (a.variables.empty()) return fmt::format("{}?  {:.4f}\n", a.question, a.truths.item<double>());
  std::string text = a.question + "?\n";
  for (int64_t i = 0; i < std::min(a.truths.numel(), kMostShown); i++) {
    std::vector<std::string> row = row_of(theory, a, i);
    for (size_t v = 0; v < row.size(); v++) row[v].insert(0, a.variables[v].first + " = ");
    text += fmt::format("  {:.4f}  {}\n", a.truths.data<double>()[i], join(row));
  }
  return a.truths.numel() > kMostShown ? text + "  …\n" : text;
}

std::string number(double x) { return std::isfinite(x) ? exact_text(x) : "null"; }

std::string json_text(const std::string& text) { return "\"" + json_escaped(valid_utf8(text)) + "\""; }

std::string json_of(const Theory& theory, std::span<const NamedTensor> results, std::span<const Answers> answers) {
  std::string text = "{";
  if (!results.empty()) text += "\"satisfaction\": " + number(results[1].tensor.item<double>()) + ", ";
  text += "\"assertions\": [";
  for (size_t i = 0; i < theory.assertions().size(); i++) {
    const Assertion& a = theory.assertions()[i];
    text += fmt::format("{}{{\"name\": {}, \"line\": {}, \"weight\": {}, \"truth\": {}}}", i == 0 ? "" : ", ",
                        json_text(a.name), a.line, number(a.weight), number(results[i + 2].tensor.item<double>()));
  }
  text += "], \"answers\": [";
  for (size_t q = 0; q < answers.size(); q++) {
    const Answers& a = answers[q];
    text += fmt::format("{}{{\"query\": {}, \"names\": [", q == 0 ? "" : ", ", json_text(a.question));
    for (size_t v = 0; v < a.variables.size(); v++) text += (v == 0 ? "" : ", ") + json_text(a.variables[v].first);
    text += "], \"rows\": [";
    for (int64_t i = 0; i < a.truths.numel(); i++) {
      std::vector<std::string> row = row_of(theory, a, i);
      for (std::string& word : row) word = json_text(word);
      text += (i == 0 ? "[" : ", [") + join(row) + "]";
    }
    text += "], \"truths\": [";
    for (int64_t i = 0; i < a.truths.numel(); i++) text += (i == 0 ? "" : ", ") + number(a.truths.data<double>()[i]);
    text += "]}";
  }
  return text + "]}\n";
}

std::string folder_of(const TheoryJob& job) { return job.output.empty() ? "." : job.output; }

void load_tables(Theory& theory, const std::string& path) {
  const std::vector<NamedTensor> tables = io::load_safetensors(path).tensors;
  for (const NamedTensor& t : tables) {
    const Tensor x = contiguous(to(t.tensor, kF64));
    for (int64_t i = 0; i < x.numel(); i++)
      if (!std::isfinite(x.data<double>()[i]))
        throw Error(ErrorKind::kNumeric, "logic: " + in_quotes(t.name) + " of " + in_quotes(path) +
                                             " has elements that are no numbers — learn it anew, without --load");
  }
  const nn::StateDifference difference = theory.load_state_dict(tables, false);
  if (!difference.missing.empty() || !difference.unexpected.empty())
    throw Error(ErrorKind::kArgument,
                fmt::format("logic: {} has tables of another theory: {} — this one learns {}", in_quotes(path),
                            difference.missing.empty() ? "it has " + join(difference.unexpected) + ", too"
                                                       : "it lacks " + join(difference.missing),
                            theory.learned().empty() ? "none" : join(theory.learned())));
}

Theory theory_of(const TheoryJob& job) {
  if (job.file.ends_with(".rules") || job.file.ends_with(".dl"))
    throw Error(
        "logic: " + in_quotes(job.file) +
        " has exact rules, of which nothing is learned — `ingot logic run` computes them; a theory is a .theory");
  Theory theory = Theory::load(job.file, TheoryOptions{.folder = job.folder, .semantics = job.semantics});
  if (!theory.networks().empty())
    throw Error(ErrorKind::kArgument, "logic: network " + in_quotes(theory.networks()[0]) +
                                          " is not known here — networks are handed over in C++ (Theory::network)");
  if (!job.load.empty()) load_tables(theory, job.load);
  return theory;
}

// Where everything goes can be known, and is, before anything is computed.
void prepare(const Theory& theory, const TheoryJob& job) {
  if (job.output == "-") throw Error("logic: what a theory calls output goes to files — give -D a folder");
  std::vector<std::string> read = theory.files();
  read.insert(read.end(), {job.file, job.batch});
  if (!job.save.empty()) prepare_outputs(read, {job.save});  // which may be what --load names: one goes on with it
  read.push_back(job.load);
  prepare_outputs(read, theory.outputs(folder_of(job)));
}

void require_truths(const Theory& theory, std::span<const NamedTensor> results) {
  for (size_t i = 2; i < results.size(); i++) {
    const double truth = results[i].tensor.item<double>();
    if (truth >= -kRounding && truth <= 1 + kRounding) continue;
    const Assertion& a = theory.assertions()[i - 2];
    throw Error(ErrorKind::kNumeric,
                fmt::format("logic: assertion {} in line {} comes to {:.4f}, and truths are from 0 to 1 — {}",
                            in_quotes(printable(a.name)), a.line, truth,
                            std::isnan(truth) ? "look for log, / or ^ of a number that has none"
                                              : "put sig(…), or another function into 0 to 1, around its numbers"));
  }
}

// The plan of everything that is printed.
Plan plan_of(const Theory& theory, std::span<const Answers> answers, const data::Batch& batch) {
  return compile(
      [&] {
        std::vector<NamedTensor> all;
        if (!theory.assertions().empty()) all = theory.results(batch);
        for (const Answers& a : answers) all.push_back({a.question, theory.ask(a.question, batch)});
        if (all.empty())
          for (const std::string& name : theory.names()) all.push_back({name, theory(name, batch)});
        return all;
      },
      {}, {.name = "theory"});
}

void train(Theory& theory, const TheoryJob& job, const data::Batch& batch) {
  if (theory.parameter_count() == 0 || theory.assertions().empty()) return;
  theory.require_learnable();
  auto step = nn::train_step(theory, [&] { return theory.results(batch); },
                             optim::Adam{.lr = static_cast<float>(job.lr)}, {}, {.name = "theory"});
  for (int64_t i = 0; i < job.steps; i++) {
    if (step() < 1e30f) continue;
    if (i == 0) require_truths(theory, theory.results(batch));  // which was so from the beginning
    throw Error(ErrorKind::kNumeric, fmt::format("logic: the loss is no number after step {} — lower --lr", i + 1));
  }
}

}  // namespace

bool is_theory(const std::string& path) { return path.ends_with(".theory"); }

int run_theory(const TheoryJob& job) {
  const nn::SeedScope seed(job.seed);
  Theory theory = theory_of(job);
  const data::Batch batch = batch_of(job);
  prepare(theory, job);
  if (job.steps > 0) train(theory, job, batch);
  std::vector<NamedTensor> results;
  if (!theory.assertions().empty()) results = theory.results(batch);
  require_truths(theory, results);
  std::vector<std::string> questions = theory.questions();
  questions.insert(questions.end(), job.queries.begin(), job.queries.end());
  std::vector<Answers> answers;
  answers.reserve(questions.size());
  for (const std::string& q : questions) answers.push_back(ask(theory, q, batch));
  if (job.json) {
    fmt::print("{}", json_of(theory, results, answers));
  } else {
    for (size_t i = 1; i < results.size(); i++)
      fmt::print("{:.4f}  {}\n", results[i].tensor.item<double>(), printable(results[i].name));
    for (const Answers& a : answers) fmt::print("{}", printable_lines(answer_text(theory, a)));
    for (const std::string& what : job.explain) fmt::print("{}", printable_lines(theory.explain(what, batch)));
    if (results.empty() && answers.empty() && job.explain.empty())
      fmt::print("{}: {}\nnothing is asserted, and nothing asked — ask with --query\n",
                 counted(std::ssize(theory.names()), "relation"), printable(join(theory.names())));
    if (job.plan || job.profile) {
      Plan plan = plan_of(theory, answers, batch);
      if (job.plan) fmt::print("{}", plan.describe());
      if (job.profile) fmt::print("{}", plan.profile().table());
    }
  }
  if (!job.save.empty()) io::save_safetensors(job.save, theory.state_dict());
  theory.write(folder_of(job), batch);
  return 0;
}

int explain_theory(const TheoryJob& job, const std::string& what) {
  const nn::SeedScope seed(job.seed);
  fmt::print("{}", printable_lines(theory_of(job).explain(what, batch_of(job))));
  return 0;
}

Command learn_command() {
  auto o = std::make_shared<TheoryJob>();
  o->steps = 1000;
  Command c{.name = "learn", .about = "Train a theory: tables that are learned from facts and assertions"};
  c.options = {
      {.name = "FILE", .target = &o->file, .about = "a theory", .required = true},
      {.name = "--steps",
       .target = &o->steps,
       .about = "of Adam; 0: only look",
       .type = "N",
       .shows_default = true,
       .least = 0,
       .most = 1e15},
      {.name = "--lr",
       .target = &o->lr,
       .about = "its rate",
       .type = "RATE",
       .shows_default = true,
       .least = 0,
       .most = 1e15},
      {.name = "--seed",
       .target = &o->seed,
       .about = "of the tables that are learned",
       .type = "N",
       .shows_default = true,
       .least = 0,
       .most = 1e15},
      {.name = "-F,--facts",
       .target = &o->folder,
       .about = "where its files of facts are",
       .type = "DIR",
       .shows_default = true},
      {.name = "-D,--output",
       .target = &o->output,
       .about = "where `output` writes its files (default: .)",
       .type = "DIR"},
      {.name = "--semantics",
       .target = &o->semantics,
       .about = "in place of the program's: godel, 'ltn 4', …",
       .type = "NAME"},
      {.name = "--query", .target = &o->queries, .about = "ask this, too: 'smokes(x)'", .type = "QUESTION"},
      {.name = "--explain", .target = &o->explain, .about = "a fact, or an assertion by its name: why", .type = "WHAT"},
      {.name = "--batch",
       .target = &o->batch,
       .about = "the tensors that it calls input, all samples (.safetensors, .npz)",
       .type = "FILE"},
      {.name = "--load", .target = &o->load, .about = "begin with these tables (.safetensors)", .type = "FILE"},
      {.name = "--save", .target = &o->save, .about = "write what was learned (.safetensors)", .type = "FILE"},
      {.name = "--plan", .target = &o->plan, .about = "the plan of what is printed"},
      {.name = "--profile", .target = &o->profile, .about = "the time of its steps"},
      {.name = "--json", .target = &o->json, .about = "for programs"}};
  c.run = [o] { return run_theory(*o); };
  c.footer = fixed_text(
      "Prints the satisfaction, the truth of each assertion, and answers.\nFor instance:\n  ingot logic learn "
      "examples/logic/embedding.theory --query 'believed(eve, x)'");
  return c;
}

}  // namespace ingot::logic::door
