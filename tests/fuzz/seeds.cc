// seeds FOLDER: what our writers write, into FOLDER/READER/, for the fuzzers to begin with.
#include <cstdio>
#include <filesystem>

#include "ingot/exchange/onnx.h"
#include "ingot/gates/circuit_io.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/io/io.h"
#include "ingot/nn/layers.h"
#include "ingot/ops/ops.h"
#include "ingot/recipe/system.h"
#include "ingot/recipe/task.h"

namespace {

using namespace ingot;

Tensor counting(const Dims& shape, DType dtype) {
  Tensor t = Tensor::empty(shape, dtype);
  for (int64_t i = 0; i < t.numel(); i++)
    store_from_double(static_cast<std::byte*>(t.raw()) + static_cast<size_t>(i) * size_of(dtype), dtype,
                      static_cast<double>(i % 7));
  return t;
}

// One plan for each kind of record, and one that trains.
std::vector<Plan> plans() {
  const Tensor w = full({3, 2}, 0.5), g = zeros({3, 2}), k = ones({2, 1, 2, 2});
  std::vector<Plan> made;
  made.push_back(compile([](const Tensor& x) { return tanh(x * 2 + 1); }, {{3, 2}}));
  made.push_back(compile([](const Tensor& x) { return mean(exp(x), {1}); }, {{3, 8}}));
  made.push_back(compile([=](const Tensor& x) { return gelu(matmul(x, w)); }, {{2, 3}}, {.frozen = true}));
  made.push_back(compile([](const Tensor& x, const Tensor& at) { return softmax(index_select(x, at), -1); },
                         {{3, 2}, {{2}, kI64}}));
  made.push_back(compile(
      [=](const Tensor& x) {
        return max_pool2d(relu(conv2d(x, k)), {.kernel = {2, 2}});
      },
      {{1, 1, 5, 5}}, {.frozen = true}));
  made.push_back(compile(
      [=](const Tensor& x, const Tensor& seed) {
        const auto [loss, slopes] = value_and_grad([&] { return mean(square(dropout(matmul(x, w), 0.3, seed))); }, {w});
        copy_into(g, slopes[0]);
        copy_into(w, w - g * 0.1);
        return loss;
      },
      {{2, 3}, {Dims(), kI64}}, {.names = {{"w", w}, {"g", g}}}));
  return made;
}

// Recipes, and the kinds of text that once brought a reader down: keys of many dots, numbers at the end of their range, layers that
// ask for more than there is.
template <class Place>
void write_descriptions(Place place) {
  const auto catalogue = std::make_shared<recipe::Catalogue>();
  const std::string digits = R"([data]
type = "digits"
[model]
layers = [{ type = "conv2d", out = 2 }, { type = "flatten" }, { type = "linear" }]
)";
  for (const std::string& name : catalogue->recipe_names())
    io::write_file(place("description", name), catalogue->file(name + ".toml")->text);
  std::string dots = "a";
  for (int i = 0; i < 200; i++) dots += ".a";
  io::write_file(place("description", "dots"), dots + " = 1\n");
  io::write_file(place("description", "header"), "[" + dots + "]\n");
  io::write_file(place("description", "brackets"), "a = " + std::string(300, '['));
  io::write_file(place("description", "large"), digits + "[train]\nseed = 9223372036854775807\nepochs = 1000\n");
  io::write_file(place("description", "strings"), "name = \"\"\"a\n\\\"\"\"\"\nabout = 'b'\n" + digits);

  recipe::Task labels, numbers, text;
  labels.input = {1, 8, 8}, labels.classes = 10;
  numbers.input = {4}, numbers.target = {1};
  text.input = text.target = {6}, text.input_type = kI64, text.classes = 3, text.vocabulary = "abc";
  const auto model = [&](const char* name, const std::string& layers, const recipe::Task& task) {
    io::write_file(place("model", name),
                   "[data]\ntype = \"digits\"\n[model]\nlayers = [" + layers + "]\n\n---\n" + task.to_json());
  };
  const std::string last = R"({ type = "flatten" }, { type = "linear" })";
  model("labels", R"({ type = "conv2d", out = 2 }, { type = "batch_norm2d" }, { type = "relu" }, )" + last, labels);
  model("wide", R"({ type = "flatten" }, { type = "linear", out = 10000000 }, { type = "linear" })", labels);
  model("pad", R"({ type = "pad", before = [0, 65536, 65536], after = [0, 0, 0] }, )" + last, labels);
  model("numbers", R"({ type = "linear", out = 8 }, { type = "tanh" }, { type = "linear" })", numbers);
  model("text", R"({ type = "embedding", width = 4 }, { type = "gru", hidden = 4 }, { type = "linear" })", text);
  numbers.target = {67108864};
  model("target", last, numbers);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 1;
  const std::filesystem::path folder = arguments[1];
  const auto place = [&](const char* reader, const std::string& name) {
    std::filesystem::create_directories(folder / reader);
    return (folder / reader / name).string();
  };
  std::vector<NamedTensor> tensors;
  for (DType dtype : {kF32, kF64, kI32, kI64, kU8, kBool, kF16}) {
    tensors.push_back({name(dtype), counting({2, 3}, dtype)});
    io::save_npy(place("npy", name(dtype)), tensors.back().tensor);
  }
  io::save_npy(place("npy", "scalar"), counting({}, kF32));
  io::save_npy(place("npy", "empty"), counting({3, 0, 2}, kF32));
  io::save_npz(place("npz", "stored"), tensors);
  io::save_npz(place("npz", "deflated"), tensors, true);
  io::save_npz(place("npz", "none"), {});
  tensors.push_back({"bf16", counting({4}, kBF16)});
  io::save_safetensors(place("safetensors", "all"), tensors, {{"epoch", "3"}, {"note", "text"}});
  io::save_safetensors(place("safetensors", "one"), std::span(tensors).subspan(0, 1));
  io::save_safetensors(place("safetensors", "none"), {});
  io::save_png(place("png", "grey"), counting({5, 4}, kU8));
  for (int64_t channels : {2, 3, 4})
    io::save_png(place("png", std::to_string(channels)), counting({channels, 5, 4}, kU8));
  const gates::Circuit rule{.inputs = 9,
                            .gates = {{gates::Function::kXor, 0, 4}, {gates::Function::kNand, 9, 8}},
                            .outputs = {10},
                            .cell = gates::CellRule{},
                            .name = "rule"};
  const gates::Circuit plain{.inputs = 300, .gates = {{gates::Function::kOr, 0, 299}}, .outputs = {300, 3}};
  io::write_file(place("circuit", "rule"), gates::to_json(rule));
  io::write_file(place("circuit", "plain"), gates::to_json(plain));
  io::write_file(place("circuit", "port"),
                 R"({"perception": {"kernels": [{"layers": [{"gates": [{"op": 6, "wire_a": 0, "wire_b": 4}]}],
                     "input_size": 9}], "channels": 1}, "update": {"layers": [{"gates": [{"op": 7, "wire_a": 0,
                     "wire_b": 1}]}], "input_size": 2, "output_size": 1}, "channels": 1})");
  for (const gates::Circuit& c : {rule, plain}) {
    const std::string whole = gates::to_binary(c);  // the target adds the mark and the checksum
    io::write_file(place("igc", std::to_string(c.inputs)), std::string_view(whole).substr(4, whole.size() - 8));
  }
  write_descriptions(place);
  nn::Sequential net{nn::Conv2d(1, 2, 3), nn::BatchNorm2d(2), nn::SiLU(),
                     nn::MaxPool2d(2),    nn::Flatten(),      nn::Linear(2, 2)};
  net.eval();
  onnx::save(place("onnx", "net"), net, {2, 1, 4, 4});
  for (const Plan& plan : plans()) plan.save(place("plan", std::to_string(plan.to_bytes().size())));
  return 0;
}
