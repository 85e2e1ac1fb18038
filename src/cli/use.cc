// `ingot eval` and `ingot predict`: trained models at work.
#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/recipe/model.h"
#include "ingot/recipe/own_run.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/progress.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

using namespace recipe;

struct EvalOptions {
  std::string model;              // a file, or the folder of a run
  std::vector<std::string> sets;  // other samples than those that were held back, or another exam
  bool json = false;
};

struct PredictOptions {
  std::string model;
  std::vector<std::string> inputs;  // tables, arrays, pictures
  SamplingOptions text{.length = 500};
  bool json = false;
};

int evaluate(const EvalOptions& o, const Systems& systems) {
  if (const auto own = load_own_run(o.model, systems, o.sets); own != nullptr) {
    own->examine();
    fmt::print("{}\n", o.json ? to_json(own->exam_record()) : own->exam_text());
    return 0;
  }
  Model model = load_model(o.model, systems);
  const Evaluation e = model.evaluate(o.sets);
  if (o.json) {
    Value out = record({{"model", model.path()}, {"samples", e.samples}, {"loss", e.scores.loss}});
    for (size_t i = 0; i < e.metrics.size(); i++) out.set(e.metrics[i], e.scores.metrics[i]);
    fmt::print("{}\n", to_json(out));
    return 0;
  }
  fmt::print("{}  {} samples{}\n  loss {:.5f}\n", bold(printable(model.path())), grouped(e.samples),
             e.held_back ? " that were held back" : "", e.scores.loss);
  for (size_t i = 0; i < e.metrics.size(); i++) fmt::print("  {}\n", metric_text(e.metrics[i], e.scores.metrics[i]));
  return 0;
}

void print_answer(const Answer& a, const std::string& path, size_t row, bool json) {
  Value out = record({{"input", path}, {"row", row}});
  std::string text = fmt::format("{} {:>5}  ", printable(path), row);
  if (a.label >= 0) {
    out.set("class", a.name).set("probability", a.probability).set("probabilities", a.probabilities);
    text += fmt::format("{:<12} {:5.1f} %", printable(a.name), 100 * a.probability);
  } else {
    out.set("prediction", a.numbers);
    for (size_t i = 0; i < a.numbers.size(); i++) text += fmt::format("{}{:.6g}", i == 0 ? "" : " ", a.numbers[i]);
  }
  fmt::print("{}\n", json ? to_json(out) : text);
}

// A text byte by byte, as it comes. A terminal gets whole characters, and none that control it.
class TextPrinter {
 public:
  void add(char c) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) flush();
    pending_ += c;
    if (static_cast<unsigned char>(c) < 0x80 || !terminal_) flush();
  }
  void flush() {
    fmt::print("{}", terminal_ ? printable_lines(pending_) : pending_);
    std::fflush(stdout);
    pending_.clear();
  }

 private:
  const bool terminal_ = is_terminal();
  std::string pending_;  // bytes of a character that may not be whole
};

int write_text(Model& model, const PredictOptions& o) {
  bool begun = false;  // the prompt is shown once it is known to be one
  TextPrinter printer;
  const std::string text = model.write(o.text, [&](char c) {
    if (o.json) return;
    if (!begun)
      for (const char each : o.text.prompt) printer.add(each);
    begun = true;
    printer.add(c);
  });
  printer.flush();
  fmt::print("{}\n", o.json ? to_json(record({{"prompt", o.text.prompt}, {"text", text}})) : "");
  return 0;
}

int predict(const PredictOptions& o, const Systems& systems) {
  Model model = load_model(o.model, systems);
  if (!model.task().vocabulary.empty()) {
    if (!o.inputs.empty())
      throw Error(
          fmt::format("predict: a model of text takes no file \"{}\" — say what to begin with: --prompt", o.inputs[0]));
    return write_text(model, o);
  }
  if (o.inputs.empty()) throw Error("predict: give inputs: tables (.csv), arrays (.npy) or pictures (.png)");
  for (const std::string& path : o.inputs) {
    const std::vector<Answer> answers = model.predict_rows(model.load_inputs(path));
    for (size_t row = 0; row < answers.size(); row++) print_answer(answers[row], path, row, o.json);
  }
  return 0;
}

}  // namespace

Command eval_command(const Systems& systems) {
  auto o = std::make_shared<EvalOptions>();
  return {.name = "eval",
          .about = "How good a trained model is",
          .options = {{.name = "MODEL",
                       .target = &o->model,
                       .about = "a model's file, or the folder of its run",
                       .required = true},
                      set_option(o->sets, "test with other data or by another exam, as below"),
                      {"--json", &o->json, "print JSON"},
                      threads_option("worker threads")},
          .run = [o, systems] { return evaluate(*o, systems); },
          .footer = fixed_text("For instance:\n  ingot eval runs/digits\n  ingot eval model.safetensors --json\n"
                               "  ingot eval runs/table --set data.file=new.csv --set data.held_back=0")};
}

Command predict_command(const Systems& systems) {
  auto o = std::make_shared<PredictOptions>();
  return {.name = "predict",
          .about = "What a trained model makes of new inputs",
          .options = {{.name = "MODEL",
                       .target = &o->model,
                       .about = "a model's file, or the folder of its run",
                       .required = true},
                      {"INPUT", &o->inputs, "tables (.csv), arrays (.npy), pictures (.png)"},
                      {"--prompt", &o->text.prompt, "what a language model goes on from"},
                      {.name = "--length",
                       .target = &o->text.length,
                       .about = "how many characters it writes",
                       .shows_default = true,
                       .least = 0,
                       .most = 10000000},
                      {.name = "--temperature",
                       .target = &o->text.temperature,
                       .about = "how boldly; 0: always the likeliest",
                       .shows_default = true,
                       .least = 0,
                       .most = 100},
                      {.name = "--seed", .target = &o->text.seed, .about = "of what it draws", .shows_default = true},
                      {"--json", &o->json, "print a line of JSON per sample"},
                      threads_option("worker threads")},
          .run = [o, systems] { return predict(*o, systems); },
          .footer = fixed_text(
              "For instance:\n  ingot predict runs/digits data/seven.png\n  ingot predict runs/regression houses.csv "
              "--json\n"
              "  ingot predict runs/text --prompt \"ROMEO:\" --length 1000")};
}

}  // namespace ingot::cli
