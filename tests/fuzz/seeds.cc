// seeds FOLDER: what our writers write, into FOLDER/READER/, for the fuzzers to begin with.
#include <cstdio>
#include <filesystem>

#include "ingot/gates/circuit_io.h"
#include "ingot/io/io.h"

namespace {

using namespace ingot;

Tensor counting(const Dims& shape, DType dtype) {
  Tensor t = Tensor::empty(shape, dtype);
  for (int64_t i = 0; i < t.numel(); i++)
    store_from_double(static_cast<std::byte*>(t.raw()) + static_cast<size_t>(i) * size_of(dtype), dtype,
                      static_cast<double>(i % 7));
  return t;
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
  return 0;
}
