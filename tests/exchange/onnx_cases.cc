#include "tests/exchange/onnx_cases.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "exchange/onnx/schema.h"
#include "ingot/base/error.h"
#include "ingot/exchange/onnx.h"
#include "ingot/io/io.h"
#include "ingot/ops/functions.h"
#include "ingot/ops/ops.h"
#include "tests/test_file.h"

namespace ingot::onnx {
namespace {

namespace fs = std::filesystem;

const fs::path kData = "/usr/share/libonnx-testdata/data";

Tensor tensor_of(const fs::path& path) {
  const std::string bytes = io::read_file(path.string());
  return parse_tensor(std::as_bytes(std::span(bytes)));
}

std::vector<Tensor> tensors_of(const fs::path& folder, const std::string& what) {
  std::vector<Tensor> list;
  for (int i = 0; fs::exists(folder / (what + "_" + std::to_string(i) + ".pb")); i++)
    list.push_back(tensor_of(folder / (what + "_" + std::to_string(i) + ".pb")));
  return list;
}

// The windows' and RoiAlign's data were computed with few digits: ONNX's own bound.
bool has_few_digits(const std::string& name) {
  return name.find("window") != std::string::npos || name.find("roialign") != std::string::npos;
}

// The data keep bf16 as its bits, in u16.
Tensor as_written(const Tensor& t, DType wanted) {
  if (wanted != kBF16 || t.dtype() != kI32) return t;
  const Tensor bits = Tensor::empty(t.shape(), kBF16);
  for (int64_t i = 0; i < t.numel(); i++)
    static_cast<BFloat16*>(bits.raw())[i].bits = static_cast<uint16_t>(t.data<int32_t>()[i]);
  return bits;
}

std::string difference(const Tensor& got, const Tensor& expected, double share) {
  if (!(got.shape() == expected.shape()))
    return "the shape is " + to_string(got.shape()) + ", not " + to_string(expected.shape());
  if (got.dtype() != expected.dtype())
    return std::string("the type is ") + name(got.dtype()) + ", not " + name(expected.dtype());
  const std::vector<double> a = to(got, kF64).to_vector<double>(), b = to(expected, kF64).to_vector<double>();
  const bool real = got.dtype() == kF32 || got.dtype() == kF64 || got.dtype() == kF16 || got.dtype() == kBF16;
  double largest = 0;
  for (const double v : b) largest = std::isfinite(v) ? std::max(largest, std::fabs(v)) : largest;
  for (size_t i = 0; i < b.size(); i++) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    const double bound = real ? share * largest + 1e-6 : 0;
    if (!(std::fabs(a[i] - b[i]) <= bound))
      return "element " + std::to_string(i) + " is " + std::to_string(a[i]) + ", not " + std::to_string(b[i]);
  }
  return "";
}

}  // namespace

std::vector<Case> cases_of(const std::string& kind) {
  std::vector<Case> cases;
  if (fs::exists(kData / kind))
    for (const auto& entry : fs::directory_iterator(kData / kind))
      if (fs::exists(entry.path() / "model.onnx"))
        cases.push_back({kind, entry.path().filename().string(), entry.path().string()});
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

std::string problem_of(const Case& each) {
  try {
    Model model = load(each.folder + "/model.onnx", {.as_written = true});
    Session session(model);
    for (int set = 0;; set++) {
      const fs::path folder = fs::path(each.folder) / ("test_data_set_" + std::to_string(set));
      if (!fs::exists(folder)) return set > 0 ? "" : "there is no data";
      std::vector<Tensor> inputs = tensors_of(folder, "input");
      const std::vector<Tensor> expected = tensors_of(folder, "output");
      std::vector<const Tensor*> list;
      for (size_t i = 0; i < inputs.size() && i < model.inputs().size(); i++)
        inputs[i] = as_written(inputs[i], model.inputs()[i].dtype);
      for (const Tensor& t : inputs) list.push_back(&t);
      const auto results = session.run(list);
      if (results.size() != expected.size()) return "the number of results differs";
      for (size_t i = 0; i < expected.size(); i++)
        if (const std::string problem = difference(results[i], as_written(expected[i], results[i].dtype()),
                                                   has_few_digits(each.name) ? 1e-3 : 1e-5);
            !problem.empty())
          return "result " + std::to_string(i) + ": " + problem;
    }
  } catch (const std::exception& e) {
    return e.what();
  }
}

std::vector<std::string> ops_of(const Case& each) {
  std::vector<std::string> ops;
  const std::string bytes = io::read_file(each.folder + "/model.onnx");
  try {
    const File file = parse_model(std::as_bytes(std::span(bytes)), "");
    for (const Node& node : file.graph.nodes)
      if (std::find(ops.begin(), ops.end(), node.kind()) == ops.end()) ops.push_back(node.kind());
  } catch (const Error&) {
  }
  if (ops.size() > 1) std::erase(ops, "Constant");
  return ops;
}

std::vector<std::pair<std::string, std::string>> refused_cases() {
  std::vector<std::pair<std::string, std::string>> list;
  std::ifstream file(test_file("exchange/onnx_refused.txt"));
  for (std::string line; std::getline(file, line);)
    if (const size_t colon = line.find(": "); colon != std::string::npos && line[0] != '#')
      list.emplace_back(line.substr(0, colon), line.substr(colon + 2));
  return list;
}

}  // namespace ingot::onnx
