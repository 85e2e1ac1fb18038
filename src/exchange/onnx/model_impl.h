#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "exchange/onnx/schema.h"
#include "exchange/onnx/types.h"
#include "exchange/onnx/weights.h"
#include "ingot/exchange/onnx.h"

namespace ingot::onnx {

struct Model::Impl {
  Impl(File read, const ImportOptions& options);
  static std::vector<std::pair<std::string, int64_t>> ops_of(const File& file);

  /// The results for inputs of the capture under way, or computed; those of `known` (a bit each) are constants.
  std::vector<NamedTensor> bind(std::span<const Tensor> given, uint64_t known, bool training,
                                bool frozen = false) const;
  /// Whether the file lets this be input `i`; `sizes` has what names of sizes stand for in the inputs before it.
  void check(size_t i, const Tensor& x, std::map<std::string, int64_t>& sizes) const;
  DType carrier_of(size_t i) const;

  ImportOptions options;
  std::vector<std::pair<std::string, int64_t>> ops;  // as the file has them
  std::shared_ptr<const File> file;                  // with patterns fused
  std::vector<Port> inputs, outputs;
  std::vector<Weight> weights;
  std::vector<int64_t> slots;  // of the graph's inputs: which of `inputs`, or -1 for a weight that is listed among them
  std::vector<Type> types;     // of the graph's inputs
};

}  // namespace ingot::onnx
