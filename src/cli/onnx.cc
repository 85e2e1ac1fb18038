// `ingot onnx`: models of others.
#include "ingot/exchange/onnx.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/base/numbers.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/model.h"
#include "ingot/recipe/page.h"
#include "ingot/recipe/terminal.h"

namespace ingot::cli {
namespace {

namespace fs = std::filesystem;
using namespace recipe;

struct OnnxOptions {
  std::string file, out;
  std::vector<std::string> inputs, sizes;
  int runs = 100;
  double bound = 1e-5;
  bool json = false, by_op = false, as_written = false;
};

// Inputs ----------------------------------------------------------------------------------------------------------------

// Sizes that the file leaves open: "batch=8".
std::map<std::string, int64_t> sizes_of(const std::vector<std::string>& given) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& each : given) {
    const size_t equals = each.find('=');
    int64_t size = 0;
    if (equals == std::string::npos || !parse_number(std::string_view(each).substr(equals + 1), size) || size < 0)
      throw Error(fmt::format("onnx: --size {} — give NAME=N, as in batch=8", each));
    sizes[each.substr(0, equals)] = size;
  }
  return sizes;
}

// The same; the model must have such names.
std::map<std::string, int64_t> known_sizes(const onnx::Model& model, const std::vector<std::string>& given) {
  std::map<std::string, int64_t> sizes = sizes_of(given);
  std::vector<std::string> names;
  for (const onnx::Port& port : model.inputs())
    for (const std::string& dim : port.dims)
      if (int64_t size = 0; !parse_number(dim, size)) names.push_back(dim);
  for (const auto& [name, size] : sizes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw Error(fmt::format("onnx: --size {}={} — {}", name, size,
                              names.empty() ? "the model leaves no size open" : did_you_mean(name, names)));
  return sizes;
}

// Numbers of the right shapes; sizes that nobody gave are `open`.
std::vector<Tensor> made_up(const onnx::Model& model, const std::vector<std::string>& given, int64_t open = 1) {
  const std::map<std::string, int64_t> sizes = known_sizes(model, given);
  std::vector<Tensor> inputs;
  for (const onnx::Port& port : model.inputs()) {
    Dims shape;
    for (const std::string& dim : port.dims) {
      int64_t size = open;
      if (!parse_number(dim, size))
        if (const auto found = sizes.find(dim); found != sizes.end()) size = found->second;
      shape.push_back(size);
    }
    const auto stream = static_cast<int64_t>(inputs.size());
    inputs.push_back(is_float(port.dtype) ? uniform(shape, 1, -1, 1, stream, port.dtype)
                                          : to(uniform(shape, 1, 0, 2, stream), port.dtype));
  }
  return inputs;
}

Tensor tensor_of(const std::string& path) {
  if (path.ends_with(".npy")) return io::load_npy(path);
  if (path.ends_with(".pb")) {
    const std::string bytes = io::read_file(path);
    return onnx::parse_tensor(std::as_bytes(std::span(bytes)));
  }
  throw Error(fmt::format("onnx: \"{}\" — inputs are .npy or .pb files", path));
}

std::vector<Tensor> inputs_of(const onnx::Model& model, const OnnxOptions& o) {
  if (o.inputs.empty()) return made_up(model, o.sizes);
  std::vector<Tensor> inputs;
  inputs.reserve(o.inputs.size());
  for (const std::string& path : o.inputs) inputs.push_back(tensor_of(path));
  std::map<std::string, int64_t> sizes = known_sizes(model, o.sizes);
  for (size_t i = 0; !sizes.empty() && i < std::min(inputs.size(), model.inputs().size()); i++)
    if (const auto problem = model.inputs()[i].contradiction(inputs[i].shape(), sizes); !problem.empty())
      throw Error(ErrorKind::kShape, fmt::format("onnx: \"{}\" is {} — with --size, the model takes another shape: {}",
                                                 o.inputs[i], describe(inputs[i]), problem));
  return inputs;
}

std::vector<const Tensor*> list_of(const std::vector<Tensor>& tensors) {
  std::vector<const Tensor*> list;
  list.reserve(tensors.size());
  for (const Tensor& t : tensors) list.push_back(&t);
  return list;
}

// Commands --------------------------------------------------------------------------------------------------------------

int info(const OnnxOptions& o) { return onnx_info(o.file, o.json); }

// Refuses a name for results that there is no format for.
void check_out(const std::string& out, size_t results) {
  if (out.empty() || out.ends_with(".npz") || out.ends_with(".safetensors")) return;
  if (!out.ends_with(".npy"))
    throw Error(
        fmt::format("onnx run: \"{}\" — results are written to .npz or .safetensors, a single one to .npy", out));
  if (results != 1)
    throw Error(fmt::format(
        "onnx run: \"{}\" holds one array, the model has {} results — write to .npz or .safetensors", out, results));
}

int run(const OnnxOptions& o) {
  onnx::Model model = onnx::load(o.file);
  check_out(o.out, model.outputs().size());
  onnx::Session session(model);
  const std::vector<Tensor> inputs = inputs_of(model, o);
  const auto results = session.run(list_of(inputs));
  std::vector<NamedTensor> named;
  named.reserve(results.size());
  for (size_t i = 0; i < results.size(); i++) named.push_back({model.outputs()[i].name, results[i]});
  if (!o.out.empty()) {
    if (o.out.ends_with(".npy"))
      io::save_npy(o.out, named[0].tensor);
    else if (o.out.ends_with(".npz"))
      io::save_npz(o.out, named);
    else
      io::save_safetensors(o.out, named);
    return fmt::print("{}: {} written\n", printable(o.out), counted(static_cast<int64_t>(named.size()), "result")), 0;
  }
  for (const NamedTensor& t : named)
    fmt::print("{}  {}\n{}\n", bold(printable(t.name)), describe(t.tensor), to_string(t.tensor));
  return 0;
}

// Equal infinities, and what is no number in both, do not differ. Integers of 64 bits are compared as they are.
double distance(const Tensor& a, const Tensor& b) {
  if (!(a.shape() == b.shape()) || a.dtype() != b.dtype()) return HUGE_VAL;
  const std::vector<double> x = to(a, kF64).to_vector<double>(), y = to(b, kF64).to_vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); i++)
    if (x[i] != y[i] && !(std::isnan(x[i]) && std::isnan(y[i])))
      largest = std::max(largest, std::isfinite(x[i] - y[i]) ? std::fabs(x[i] - y[i]) : HUGE_VAL);
  if (largest == 0 && a.dtype() == kI64 && a.to_vector<int64_t>() != b.to_vector<int64_t>()) return 1;
  return largest;
}
double largest_of(const Tensor& t) {
  double largest = 0;
  for (const double v : to(t, kF64).to_vector<double>())
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  return largest;
}

// Whether the results are as the file declares them, and what is not.
bool check_declared(const onnx::Model& model, std::span<const Tensor> inputs, std::span<const Tensor> results) {
  bool well = true;
  std::map<std::string, int64_t> sizes;
  for (size_t i = 0; i < inputs.size(); i++) model.inputs()[i].contradiction(inputs[i].shape(), sizes);
  for (size_t i = 0; i < results.size(); i++) {
    const onnx::Port& port = model.outputs()[i];
    std::string problem = port.contradiction(results[i].shape(), sizes);
    if (port.has_type && port.dtype != results[i].dtype()) problem = "the type is another";
    if (problem.empty()) continue;
    well = false;
    fmt::print("{}  is {}, but the file says {}: {}\n", printable(port.name), describe(results[i]),
               printable(port.text()), printable(problem));
  }
  return well;
}

// Its plan against op by op, and against the results that come with it in test_data_set_0.
int check(const OnnxOptions& o) {
  onnx::Model model = onnx::load(o.file, {.as_written = o.as_written});
  const fs::path data = fs::path(o.file).parent_path() / "test_data_set_0";
  std::vector<Tensor> inputs, expected;
  const auto beside = [&](const char* what, size_t i) { return (data / fmt::format("{}_{}.pb", what, i)).string(); };
  if (o.inputs.empty())
    for (size_t i = 0; fs::exists(beside("input", i)); i++) inputs.push_back(tensor_of(beside("input", i)));
  for (size_t i = 0; !inputs.empty() && fs::exists(beside("output", i)); i++)
    expected.push_back(tensor_of(beside("output", i)));
  if (inputs.empty()) inputs = inputs_of(model, o);
  onnx::Session session(model);
  std::vector<Tensor> results;
  for (const Tensor& t : session.run(list_of(inputs))) results.push_back(clone(t));
  const std::vector<NamedTensor> plain = model.forward(std::span<const Tensor>(inputs));
  if (model.opset() > onnx::kKnownOpset)
    fmt::print(
        "opset {} is later than {}, the last that Ingot knows: its new attributes are refused, a new meaning of an op "
        "is not noticed\n",
        model.opset(), onnx::kKnownOpset);
  const bool declared = check_declared(model, inputs, results);
  bool well = true;
  if (!session.why_not_planned().empty()) fmt::print("not planned: {}\n", printable(session.why_not_planned()));
  for (size_t i = 0; i < results.size(); i++) {
    const double bound = is_float(results[i].dtype()) ? o.bound * largest_of(results[i]) + 1e-6 : 0;
    const double planned = distance(results[i], plain[i].tensor);
    const double given = i < expected.size() ? distance(results[i], expected[i]) : 0;
    well &= planned <= bound && given <= bound;
    fmt::print("{}  {}  plan and op by op differ by {:.2g}{}\n", printable(model.outputs()[i].name),
               describe(results[i]), planned,
               i < expected.size() ? fmt::format(", from what is expected by {:.2g}", given) : "");
  }
  if (!well) fmt::print("that is too much\n");
  if (!declared) fmt::print("the file contradicts itself: whoever wrote it must mend what it declares\n");
  if (well && declared) fmt::print("{}\n", green("all is well"));
  return well && declared ? 0 : kNo;
}

bool is_open(const std::string& dim) {
  int64_t size = 0;
  return !parse_number(dim, size);
}

// Is the first size of every input open, and the same?
bool has_free_batch(const onnx::Model& model) {
  const std::vector<onnx::Port>& ports = model.inputs();
  return std::all_of(ports.begin(), ports.end(), [&](const onnx::Port& p) {
    return !p.dims.empty() && is_open(p.dims[0]) && p.dims[0] == ports[0].dims[0];
  });
}

// What is converted has the sizes that it was captured with; the first axis alone may stay open.
void refuse_open_axes(const onnx::Model& model, const std::vector<std::string>& given, bool free) {
  const std::map<std::string, int64_t> sizes = sizes_of(given);
  for (const onnx::Port& port : model.inputs()) {
    if (!port.has_shape)
      throw Error(ErrorKind::kShape,
                  fmt::format("onnx convert: the file does not say the shape of input \"{}\" — convert a "
                              "file that does, or write its weights to .safetensors",
                              port.name));
    for (size_t i = free ? 1 : 0; i < port.dims.size(); i++)
      if (is_open(port.dims[i]) && !sizes.contains(port.dims[i]))
        throw Error(
            ErrorKind::kShape,
            fmt::format("onnx convert: axis {} of input {} is open, and only a first axis that all inputs share "
                        "stays so — give its size: --size {}=…",
                        i, port.text(), port.dims[i]));
  }
}

int convert(const OnnxOptions& o) {
  onnx::Model model = onnx::load(o.file);
  if (o.out.ends_with(".safetensors")) {
    io::save_safetensors(o.out, model.state_dict(), {{"from", fs::path(o.file).filename().string()}});
  } else if (o.out.ends_with(".onnx")) {
    const std::vector<Tensor> inputs = made_up(model, o.sizes, 2);
    const bool free = has_free_batch(model);
    refuse_open_axes(model, o.sizes, free);
    std::vector<InputSpec> specs;
    for (size_t i = 0; i < inputs.size(); i++)
      specs.push_back({inputs[i].shape(), inputs[i].dtype(), model.inputs()[i].name});
    const PlanFunction fn = [&](std::span<const Tensor> in) { return model.forward(in); };
    io::write_file(o.out, onnx::to_onnx(fn, specs, model.state_dict(), {.batch_axis = free ? 0 : -1}));
  } else {
    throw Error(fmt::format("onnx convert: \"{}\" — write weights to .safetensors, or the model to .onnx", o.out));
  }
  return fmt::print("{} written\n", printable(o.out)), 0;
}

int bench(const OnnxOptions& o) {
  const auto begin = std::chrono::steady_clock::now();
  onnx::Model model = onnx::load(o.file);
  onnx::Session session(model);
  const std::vector<Tensor> inputs = inputs_of(model, o);
  const std::vector<const Tensor*> list = list_of(inputs);
  session.run(list);
  const double ready = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  Plan* const plan = session.plan_for(list);
  if (plan == nullptr) throw Error(fmt::format("onnx bench: {} — only plans are measured", session.why_not_planned()));
  const Profile profile = plan->profile(o.runs);
  if (o.json) {
    fmt::print("{}\n", to_json(record({{"file", o.file},
                                       {"ready_ms", ready},
                                       {"us", profile.plain_us},
                                       {"threads", profile.threads},
                                       {"bytes", plan->bytes().own()}})));
    return 0;
  }
  fmt::print("{}  ready in {:.1f} ms, {:.1f} µs a run on {}, {}\n", bold(printable(o.file)), ready, profile.plain_us,
             counted(profile.threads, "thread"), format_bytes(plan->bytes().own()));
  fmt::print("{}", o.by_op ? profile.by_op() : profile.table(true));
  return 0;
}

Option file_option(OnnxOptions& o) {
  return {.name = "FILE", .target = &o.file, .about = "an ONNX model", .required = true};
}
Option size_option(OnnxOptions& o) {
  return {.name = "--size",
          .target = &o.sizes,
          .about = "a size that the model leaves open (default: 1)",
          .type = "NAME=N"};
}
Option inputs_option(OnnxOptions& o) {
  return {"INPUT", &o.inputs, "tensors in the order of its inputs (.npy, .pb; default: made up)"};
}
std::vector<Option> check_options(OnnxOptions& o) {
  return {inputs_option(o),
          size_option(o),
          {.name = "--bound",
           .target = &o.bound,
           .about = "how far apart results may be, as a share of the largest",
           .shows_default = true,
           .least = 0,
           .most = 1e9},
          {"--as-written", &o.as_written, "batch norms and dropouts do what their attributes say"},
          threads_option()};
}

}  // namespace

int onnx_info(const std::string& file, bool json) {
  const onnx::Model model = onnx::load(file);
  if (!json) return fmt::print("{}: {}", bold(printable(file)), printable_lines(model.describe())), 0;
  const auto ports = [](const std::vector<onnx::Port>& list) {
    Value out = empty_list();
    for (const onnx::Port& p : list) {
      Value dims = empty_list();
      for (const std::string& d : p.dims) dims.add(d);
      out.add(record({{"name", p.name}, {"type", p.type}, {"shape", dims}}));
    }
    return out;
  };
  Value ops, weights = empty_list();
  for (const auto& [op, count] : model.ops()) ops.set(op, count);
  for (const NamedTensor& w : model.state_dict())
    weights.add(record({{"name", w.name},
                        {"dtype", name(w.tensor.dtype())},
                        {"shape", std::vector<int64_t>(w.tensor.shape().begin(), w.tensor.shape().end())}}));
  fmt::print("{}\n", to_json(record({{"file", file},
                                     {"opset", model.opset()},
                                     {"ir", model.ir_version()},
                                     {"producer", model.producer()},
                                     {"inputs", ports(model.inputs())},
                                     {"outputs", ports(model.outputs())},
                                     {"ops", ops},
                                     {"weights", weights}}),
                             2));
  return 0;
}

Command onnx_command() {
  auto o = std::make_shared<OnnxOptions>();
  const Option out{.name = "-o,--out", .target = &o->out, .about = "the file to write", .type = "FILE"};
  Option wanted = out, results = out;
  wanted.required = true;
  results.about = "a file for the results: .npz, .safetensors, or .npy for a single one";
  const auto command = [&](const char* name, const char* about, std::vector<Option> options,
                           int (*run)(const OnnxOptions&)) {
    options.insert(options.begin(), file_option(*o));
    return Command{.name = name,
                   .about = about,
                   .options = std::move(options),
                   .run = [o, run] { return run(*o); },
                   .footer = fixed_text(fmt::format("For instance:\n  ingot onnx {} model.onnx{}", name,
                                                    std::string(name) == "convert" ? " -o weights.safetensors" : ""))};
  };
  return {.name = "onnx",
          .about = "Models in ONNX files: look at them, run, check, convert and measure them",
          .footer = fixed_text("For instance:\n  ingot onnx info model.onnx\n  ingot onnx run model.onnx x.npy\n"
                               "  ingot onnx bench model.onnx --size batch=8"),
          .commands = {command("info", "What is in a model", {{"--json", &o->json, "print JSON"}}, info),
                       command("run", "What a model makes of inputs",
                               {inputs_option(*o), size_option(*o), results, threads_option()}, run),
                       command("check", "Whether a model runs, and its plan gives what its ops give one by one",
                               check_options(*o), check),
                       command("convert", "Its weights as .safetensors, or itself as opset 17",
                               {wanted, size_option(*o)}, convert),
                       command("bench", "How long a run takes, and where the time goes",
                               {inputs_option(*o),
                                size_option(*o),
                                {.name = "--runs",
                                 .target = &o->runs,
                                 .about = "how many",
                                 .shows_default = true,
                                 .least = 1,
                                 .most = 1000000},
                                {"--by-op", &o->by_op, "a row per kind of step"},
                                {"--json", &o->json, "print JSON"},
                                threads_option()},
                               bench)}};
}

}  // namespace ingot::cli
