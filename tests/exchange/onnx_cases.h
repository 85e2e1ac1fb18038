// ONNX's conformance cases, as Debian's package libonnx-testdata has them: a model, its inputs, and what must come out.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace ingot::onnx {

struct Case {
  std::string kind, name, folder;  // "node", "test_add", where
};

/// All cases of a kind (node, simple, pytorch-operator, pytorch-converted), sorted; an empty list if there are none.
std::vector<Case> cases_of(const std::string& kind);
/// Runs a case; empty if all results are right, else what is wrong.
std::string problem_of(const Case& each);
/// The ops of a case's model, as far as it can be read, without those that any model may have.
std::vector<std::string> ops_of(const Case& each);
/// Cases that are not passed, with the reason: lines "kind/name: reason" of tests/exchange/onnx_refused.txt.
std::vector<std::pair<std::string, std::string>> refused_cases();

}  // namespace ingot::onnx
