// What exporters take apart and Ingot has as one op: found in a file's graph before it is bound.
#pragma once
#include <unordered_map>
#include <vector>

#include "exchange/onnx/use.h"

namespace ingot::onnx {

/// Puts ops of Ingot's (silu, gelu, gelu_erf, layer_norm) in place of the nodes that compute them, and drops nodes that no
/// result needs.
void fuse_patterns(Graph& graph);

/// Convolutions whose result only a batch norm reads, and that norm.
std::unordered_map<const Node*, const Node*> norms_after_convolutions(const Graph& graph);
/// Puts a norm's (x, scale, bias, mean, variance) into a convolution's weight and bias, if all of that is known; the norm
/// need not run then.
bool fold_norm(std::vector<Value>& convolution, const std::vector<Value>& norm, double eps);

}  // namespace ingot::onnx
