// Branches and loops over graphs inside. Which branch, and how many rounds, must be known when the model is bound; what
// follows from sizes is, and so is what follows from a small input, which then counts like a size.
#include <algorithm>
#include <optional>

#include "exchange/onnx/binder.h"
#include "ingot/base/error.h"
#include "ingot/graph/eager.h"

namespace ingot::onnx {
namespace {

const Graph& graph_of(Use& u, const char* name) {
  const Attribute* a = u.find(name);
  if (a == nullptr || a->graph == nullptr) u.fail(std::string("no graph \"") + name + "\"", "the file is broken");
  return *a->graph;
}

void if_op(Use& u) {
  const bool holds = u.known_real(0) != 0;
  u.results = u.binder().run_graph(graph_of(u, holds ? "then_branch" : "else_branch"), {});
}

Value known_value(const Tensor& t, Type type) { return {t, type, true, 0}; }

// The binder leaves it to these ops to keep what is known out of a capture.
Value entry(const Value& v, int axis, int64_t i) {
  std::optional<Eager> now;
  if (v.known) now.emplace();
  return {select(v.tensor, axis, i), v.type, v.known, v.inputs};
}

Value stacked(const std::vector<Value>& parts, int axis) {
  if (parts.empty()) return known_value(Tensor::empty({0}), Type::kFloat);  // of no rounds: nobody knows its shape
  std::vector<Tensor> tensors;
  Value all = parts[0];
  for (const Value& p : parts) {
    tensors.push_back(p.tensor);
    all.known &= p.known, all.inputs |= p.inputs;
  }
  std::optional<Eager> now;
  if (all.known) now.emplace();
  if (tensors.size() > kMaxInputs) {  // more than an op takes at once
    const auto middle = parts.begin() + static_cast<int64_t>(parts.size() / 2);
    const Value first = stacked({parts.begin(), middle}, axis), second = stacked({middle, parts.end()}, axis);
    all.tensor = concat({first.tensor, second.tensor}, axis);
  } else {
    all.tensor = stack(tensors, axis);
  }
  return all;
}

void loop_op(Use& u) {
  const Graph& body = graph_of(u, "body");
  const int64_t most = u.has(0) ? saturate<int64_t>(u.known_real(0)) : INT64_MAX;
  bool goes_on = !u.has(1) || u.known_real(1) != 0;
  std::vector<Value> carried;
  carried.reserve(static_cast<size_t>(u.count()));
  for (int i = 2; i < u.count(); i++) carried.push_back(u.value(i));
  const size_t states = carried.size();
  if (body.outputs.size() < states + 1) u.fail("the body gives too little", "it gives a condition and every state");
  std::vector<std::vector<Value>> scans(body.outputs.size() - 1 - states);
  for (int64_t round = 0; round < most && goes_on; round++) {
    std::vector<Value> in{known_value(Tensor::from<int64_t>({round}, {}), Type::kInt64),
                          known_value(from_reals({1}, {}, Type::kBool), Type::kBool)};
    in.insert(in.end(), carried.begin(), carried.end());
    std::vector<Value> out = u.binder().run_graph(body, std::move(in));
    if (!out[0].known) {
      if (out[0].inputs == 0) u.fail("the condition follows from weights", "it must be known beforehand");
      throw NeedsValue{out[0].inputs, "the condition of a Loop"};
    }
    goes_on = to_reals(out[0].tensor)[0] != 0;
    for (size_t i = 0; i < states; i++) carried[i] = out[i + 1];
    for (size_t i = 0; i < scans.size(); i++) scans[i].push_back(out[i + 1 + states]);
  }
  u.results = std::move(carried);
  for (const auto& each : scans) u.results.push_back(stacked(each, 0));
}

void scan_op(Use& u) {
  const Graph& body = graph_of(u, "body");
  const auto count = static_cast<size_t>(u.integer("num_scan_inputs", 0));
  const bool old = u.opset() < 9;  // states and inputs have a batch in front, and lengths come first
  const int skip = old ? 1 : 0;
  if (u.count() < skip) u.fail("too few inputs", "states and what is scanned are needed");
  const size_t given = static_cast<size_t>(u.count() - skip);
  if (count == 0 || count > given) u.fail("num_scan_inputs does not fit", "at least one of the inputs is scanned");
  const size_t states = given - count;
  if (body.outputs.size() < states) u.fail("the body gives too little", "it gives every state");
  if (old && u.has(0)) u.fail("sequences of different lengths", "they are not supported");
  const auto list = [&](const char* name, size_t i) {
    const std::vector<int64_t> all = u.integers(name);
    return i < all.size() ? all[i] : 0;
  };
  const int64_t batches = old ? u.in(skip).shape()[0] : 1;
  std::vector<std::vector<Value>> results(body.outputs.size());
  for (int64_t b = 0; b < batches; b++) {
    const auto input = [&](size_t i) {
      const Value& v = u.value(static_cast<int>(i) + skip);
      return old ? entry(v, 0, b) : v;
    };
    std::vector<Value> carried;
    carried.reserve(states);
    for (size_t i = 0; i < states; i++) carried.push_back(input(i));
    std::vector<std::vector<Value>> scans(body.outputs.size() - states);
    std::vector<Value> scanned;
    std::vector<int> axes;
    for (size_t i = 0; i < count; i++) {
      scanned.push_back(input(states + i));
      axes.push_back(u.axis(list("scan_input_axes", i), scanned.back().tensor.rank()));
    }
    const int64_t rounds = scanned[0].tensor.shape()[axes[0]];
    for (int64_t round = 0; round < rounds; round++) {
      std::vector<Value> in = carried;
      for (size_t i = 0; i < count; i++) {
        const bool backwards = list(old ? "directions" : "scan_input_directions", i) != 0;
        in.push_back(entry(scanned[i], axes[i], backwards ? rounds - 1 - round : round));
      }
      std::vector<Value> out = u.binder().run_graph(body, std::move(in));
      for (size_t i = 0; i < states; i++) carried[i] = out[i];
      for (size_t i = 0; i < scans.size(); i++) scans[i].push_back(out[states + i]);
    }
    for (size_t i = 0; i < states; i++) results[i].push_back(carried[i]);
    for (size_t i = 0; i < scans.size(); i++) {
      std::vector<Value>& parts = scans[i];
      if (list("scan_output_directions", i) != 0) std::reverse(parts.begin(), parts.end());
      const int axis = parts.empty() ? 0 : u.axis(list("scan_output_axes", i), parts[0].tensor.rank() + 1);
      results[states + i].push_back(stacked(parts, axis));
    }
  }
  for (const auto& each : results) u.results.push_back(old ? stacked(each, 0) : each.at(0));
}

}  // namespace

std::span<const Row> control_rows() {
  static constexpr Row kRows[] = {
      {"If", 1, if_op, "", true}, {"Loop", 1, loop_op, "", true}, {"Scan", 8, scan_op, "", true}};
  return kRows;
}

}  // namespace ingot::onnx
