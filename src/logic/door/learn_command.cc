#include "logic/door/learn_command.h"

#include <fmt/format.h>

#include <memory>

#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/logic/theory.h"
#include "ingot/nn/train_step.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/terminal.h"

namespace ingot::logic::door {
namespace {

using namespace recipe;

constexpr int64_t kMostShown = 1000;

struct Options {
  std::string file;
  std::vector<std::string> queries;
  int64_t steps = 1000, seed = 1;
  double lr = 0.05;
};

// Truths, and values of the variables; what has no domain is a number.
std::string answer_text(const Theory& theory, const std::string& question) {
  const Tensor truths = theory.ask(question);
  const auto variables = theory.variables_of(question);
  const Tensor x = contiguous(to(truths, kF64));
  if (x.numel() == 1 && x.rank() == 0) return fmt::format("{}?  {:.4f}\n", question, x.item<double>());
  std::string text = question + "?\n";
  for (int64_t i = 0; i < std::min(x.numel(), kMostShown); i++) {
    std::string index;
    int64_t rest = i;
    for (int a = x.rank() - 1; a >= 0; a--) {
      const auto& [name, domain] = variables[static_cast<size_t>(a)];
      const auto value = static_cast<size_t>(rest % x.size(a));
      const std::string text_of_value = domain.empty() ? std::to_string(value) : theory.members(domain)[value];
      index.insert(0, fmt::format("{} = {}{}", name, text_of_value, index.empty() ? "" : ", "));
      rest /= x.size(a);
    }
    text += fmt::format("  {:.4f}  {}\n", x.data<double>()[i], index);
  }
  return x.numel() > kMostShown ? text + "  …\n" : text;
}

int learn(const Options& o) {
  const nn::SeedScope seed(o.seed);
  Theory theory = Theory::load(o.file);
  if (!theory.networks().empty())
    throw Error(ErrorKind::kArgument, "logic: network " + in_quotes(theory.networks()[0]) +
                                          " is not known here — networks are handed over in C++ (Theory::network)");
  if (theory.parameter_count() > 0 && !theory.assertions().empty()) {
    auto step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = static_cast<float>(o.lr)},
                               {}, {.name = "theory"});
    for (int64_t i = 0; i < o.steps; i++)
      if (!(step() < 1e30f))
        throw Error(ErrorKind::kNumeric, fmt::format("logic: the loss is no number after step {} — lower --lr", i + 1));
  }
  if (!theory.assertions().empty()) {
    const auto results = theory.results();
    for (size_t i = 1; i < results.size(); i++)
      fmt::print("{:.4f}  {}\n", results[i].tensor.item<double>(), printable(results[i].name));
  }
  std::vector<std::string> questions = theory.questions();
  questions.insert(questions.end(), o.queries.begin(), o.queries.end());
  for (std::string q : questions) {
    if (q.ends_with('?')) q.pop_back();
    fmt::print("{}", printable_lines(answer_text(theory, q)));
  }
  return 0;
}

}  // namespace

Command learn_command() {
  auto o = std::make_shared<Options>();
  Command c{.name = "learn", .about = "Train a theory: tables that are learned from facts and assertions"};
  c.options = {{.name = "FILE", .target = &o->file, .about = "a theory", .required = true},
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
               {.name = "--query", .target = &o->queries, .about = "ask this, too: 'smokes(x)'", .type = "QUESTION"}};
  c.run = [o] { return learn(*o); };
  c.footer = fixed_text(
      "Prints the satisfaction, the truth of each assertion, and answers.\nFor instance:\n  ingot logic learn "
      "examples/logic/embedding.theory --query 'believed(eve, x)'");
  return c;
}

}  // namespace ingot::logic::door
