// `ingot export`: a trained model for places where no library goes.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/exchange/c_source.h"
#include "ingot/exchange/onnx.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/job.h"
#include "ingot/recipe/model.h"

namespace ingot::cli {
namespace {

using namespace recipe;

struct ExportOptions {
  std::string model, to, out;  // a file or the folder of a run; a format; a folder (c) or a file
  std::string name;
  int64_t batch = 0;  // 0: not given
  bool train = false, callers_memory = false, weights_apart = false, no_math = false;
};

// One number for all elements of a sample, or one for each place of its first axis.
Tensor spread(const std::vector<float>& numbers, size_t axes) {
  Dims shape{static_cast<int64_t>(numbers.size())};
  if (numbers.size() == 1) return Tensor::from(numbers, {});
  while (static_cast<size_t>(shape.size()) < axes) shape.push_back(1);
  return Tensor::from(numbers, shape);
}

// From what the data's samples are like to what a user wants to know: probabilities of classes, or numbers in their unit.
PlanFunction inference(Model& model) {
  const bool plain = model.description().catalogue->loss(model.description().section("loss")).shown == nullptr;
  return [&model, plain](std::span<const Tensor> inputs) -> std::vector<NamedTensor> {
    const Task& task = model.task();
    const bool text = !task.vocabulary.empty();
    Tensor x = inputs[0];
    if (!task.mean.empty()) x = (x - spread(task.mean, task.input.size())) / spread(task.deviation, task.input.size());
    Tensor y = model.net()(x);
    if (task.classes > 0 && !text) return {{"probabilities", softmax(y, -1)}};
    if (plain && !task.target_mean.empty())
      y = y * spread(task.target_deviation, task.target.size()) + spread(task.target_mean, task.target.size());
    return {{text ? "logits" : "result", y}};
  };
}

InputSpec input_of(const Model& model, int64_t batch) {
  Dims shape = model.task().input;
  shape.insert(0, batch);
  return {shape, model.task().input_type, "x"};
}

void write_onnx(Model& model, const std::string& name, const ExportOptions& o) {
  const std::string path = o.out.empty() ? name + ".onnx" : o.out;
  const InputSpec input = input_of(model, 2);
  io::write_file(path, onnx::to_onnx(inference(model), std::span(&input, 1), model.net().state_dict()));
  fmt::print("{}  {}, opset 17, any batch\n", path, format_bytes(std::filesystem::file_size(path)));
}

void write_plan(const Plan& plan, const std::string& name, const ExportOptions& o) {
  const std::string path = o.out.empty() ? name + ".plan" : o.out;
  plan.save(path);
  fmt::print("{}  {}\n", path, format_bytes(std::filesystem::file_size(path)));
}

void write_c(const Plan& plan, const ExportOptions& o) {
  const exchange::CSource c =
      exchange::to_c(plan, {.own_memory = !o.callers_memory, .weights_apart = o.weights_apart, .math = !o.no_math});
  const std::string folder = o.out.empty() ? "." : o.out;
  c.write(folder);
  for (const char* file : {".h", ".c", "_weights.c"})
    if (file[0] == '.' || !c.weights.empty()) fmt::print("{}/{}{}\n", folder, c.name, file);
  fmt::print("constants {}, memory that lasts {}, temporaries {}\n", format_bytes(c.constants), format_bytes(c.state),
             format_bytes(c.arena));
}

// Options that would have no effect are refused.
void refuse_unfit(const ExportOptions& o) {
  const auto refuse = [](bool given, const std::string& text) {
    if (given) throw Error("export: " + text);
  };
  const bool onnx = o.to == "onnx";
  refuse(onnx && o.train, "an ONNX file has no training step — --to c and --to plan have");
  refuse(onnx && o.batch != 0, "an ONNX file takes any batch — leave --batch out, or write --to c or --to plan");
  refuse(onnx && !o.name.empty() && !o.out.empty(), "--name and --out both name the ONNX file — leave one out");
  refuse(o.train && o.batch != 0,
         "a training step has the batch that the model was trained with — leave --batch or --train out");
  for (const auto& [option, given] : {std::pair{"--callers-memory", o.callers_memory},
                                      {"--weights-apart", o.weights_apart},
                                      {"--no-math", o.no_math}})
    refuse(o.to != "c" && given, fmt::format("{} is for C — leave it out, or write --to c", option));
}

int export_model(const ExportOptions& o, const Systems& systems) {
  refuse_unfit(o);
  Model model = load_model(o.model, systems);
  std::filesystem::path path(o.model);
  if (!path.has_filename()) path = path.parent_path();
  const std::string name = o.name.empty() ? path.stem().string() : o.name;
  const auto write = [&](const Plan& plan) { o.to == "c" ? write_c(plan, o) : write_plan(plan, name, o); };
  if (o.to == "onnx") {
    write_onnx(model, name, o);
    return 0;
  }
  if (!o.train) {
    const InputSpec input = input_of(model, std::max<int64_t>(o.batch, 1));
    write(compile_function(inference(model), std::span(&input, 1), {.name = name, .threads = 1, .frozen = true}));
    return 0;
  }
  // The step goes on from what the model has learned; the optimiser begins anew.
  const TrainedNet trained{model.task(), {std::shared_ptr<void>(), &model.net()}};
  const Job job(model.description(), {.name = name, .threads = 1}, &trained);
  write(job.trainer->step_for(*job.train).plan());
  return 0;
}

}  // namespace

Command export_command(const Systems& systems) {
  auto o = std::make_shared<ExportOptions>();
  Command c{.name = "export",
            .about = "Writes a trained model for other places: as C, as an ONNX file, or as a compiled plan"};
  c.options = {
      {.name = "MODEL", .target = &o->model, .about = "a model file, or the folder of a run", .required = true},
      {.name = "--to",
       .target =
           [o](const std::string& format) {
             if (format != "c" && format != "onnx" && format != "plan")
               throw Error("export: there is no format \"" + format + "\" — there are c, onnx and plan");
             o->to = format;
           },
       .about = "c: one C99 file and its header; onnx: a file for others; plan: one for Plan::load",
       .type = "FORMAT",
       .required = true},
      {"-o,--out", &o->out, "the folder for C files (default: here), or the file (NAME.onnx, NAME.plan)"},
      {"--name", &o->name, "what names in C begin with (default: that of the run)"},
      {.name = "--batch",
       .target = &o->batch,
       .about = "samples in one run of C or a plan (default: 1)",
       .least = 1,
       .most = 1000000},
      {"--train", &o->train, "the training step that the model was trained with, in place of inference"},
      {"--callers-memory", &o->callers_memory, "C: the caller hands over all memory that changes"},
      {"--weights-apart", &o->weights_apart, "C: weights in a file of their own"},
      {"--no-math", &o->no_math, "C: do not use math.h"}};
  c.footer = recipe::fixed_text(
      "For instance:\n"
      "  ingot export runs/digits --to c -o firmware       digits.c and digits.h\n"
      "  ingot export runs/digits --to c --train           a whole training step as C\n"
      "  ingot export runs/digits --to onnx                digits.onnx\n"
      "  ingot export runs/digits --to plan --batch 32     for Plan::load, without the layers");
  c.run = [o, systems] { return export_model(*o, systems); };
  return c;
}

}  // namespace ingot::cli
