// summary(): a model's forward captured, and what each of its modules recorded.
#include <algorithm>
#include <map>

#include "graph/capture.h"
#include "ingot/base/error.h"
#include "ingot/base/text.h"
#include "ingot/nn/module.h"
#include "ingot/ops/functions.h"
#include "nn/parts.h"

namespace ingot::nn {
namespace {

// A row per module, and what each keeps itself.
class Rows final : public Parts {
 public:
  std::vector<SummaryRow> rows;
  std::map<const Module*, size_t> of;

 protected:
  void module(const std::string& path, Module& m) override {
    of.emplace(&m, rows.size());
    paths_.push_back(path);
    SummaryRow& row = rows.emplace_back();
    row.path = path;
    row.kind = m.kind();
    row.frozen = m.frozen();
  }
  // The module of a tensor is the one whose path it has, less its own name.
  void tensor(const std::string& path, Tensor& t, bool trained) override {
    for (const Tensor& other : known_)
      if (same_elements(other, t)) return;
    known_.push_back(t);
    size_t owner = rows.size() - 1;
    while (owner > 0 && !(path.starts_with(paths_[owner]) && path.size() > paths_[owner].size() &&
                          path[paths_[owner].size()] == '.'))
      owner--;
    if (trained) rows[owner].parameters += t.numel();
    rows[owner].bytes += static_cast<size_t>(t.numel()) * size_of(t.dtype());
  }

 private:
  std::vector<std::string> paths_;
  std::vector<Tensor> known_;
};

// Gives what is recorded to the innermost module that is being called; outside all, to the model.
class Attribution final : public CallWatch {
 public:
  Attribution(Rows& rows, const graph::Graph& graph) : rows_(rows), graph_(graph), before_(set_call_watch(this)) {}
  ~Attribution() override { set_call_watch(before_); }
  Attribution(const Attribution&) = delete;
  Attribution& operator=(const Attribution&) = delete;

  std::vector<std::string> unlisted;

  void enter(Module& m) override {
    settle();
    if (!rows_.of.contains(&m)) note_unlisted(m);
    inside_.push_back(row_of(m));
    rows_.rows[inside_.back()].calls++;
  }
  void leave(Module&) override {
    settle();
    inside_.pop_back();
  }
  void result(Module& m, const Tensor& y) override { rows_.rows[row_of(m)].output = y.shape(); }
  void settle() {
    SummaryRow& row = rows_.rows[inside_.empty() ? 0 : inside_.back()];
    for (; settled_ < graph_.nodes.size(); settled_++) row.flops += graph::flops_of(graph_, graph_.nodes[settled_]);
  }

 private:
  void note_unlisted(Module& m) {
    if (m.parameter_count() == 0 || std::find(noted_.begin(), noted_.end(), &m) != noted_.end()) return;
    noted_.push_back(&m);
    const SummaryRow& caller = rows_.rows[inside_.empty() ? 0 : inside_.back()];
    unlisted.push_back(m.kind() + " (" + grouped(m.parameter_count()) + " parameters, called in " +
                       (caller.path.empty() ? caller.kind : caller.path) + ")");
  }
  // A module that parts() does not list counts with the one that calls it.
  size_t row_of(const Module& m) const {
    const auto found = rows_.of.find(&m);
    return found != rows_.of.end() ? found->second : inside_.empty() ? 0 : inside_.back();
  }
  Rows& rows_;
  const graph::Graph& graph_;
  CallWatch* before_;
  std::vector<size_t> inside_;
  size_t settled_ = 0;
  std::vector<const Module*> noted_;
};

// Columns as wide as their widest cell; the first two and the third (a shape) to the left, numbers to the right.
std::string table(const std::vector<std::vector<std::string>>& lines, size_t left) {
  std::vector<int> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (size_t c = 0; c < line.size(); c++) widths[c] = std::max(widths[c], text_width(line[c]));
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (size_t c = 0; c < line.size(); c++) {
      if (c > 0) row.append(2, ' ');
      row += padded(line[c], widths[c], c >= left);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text.append(row).push_back('\n');
  }
  return text;
}

}  // namespace

std::string Summary::text() const {
  std::vector<std::vector<std::string>> lines{{"module", "kind", "output", "parameters", "bytes", "FLOPs"}};
  for (const SummaryRow& r : rows) {
    std::string output = r.calls > 0 ? to_string(r.output) : "-";
    if (r.calls > 1) output += std::string(" (") + std::to_string(r.calls) + " calls)";
    lines.push_back({r.path.empty() ? "(model)" : r.path, r.kind, output,
                     r.parameters == 0 ? "" : grouped(r.parameters) + (r.frozen ? " frozen" : ""),
                     r.bytes == 0 ? "" : format_bytes(static_cast<uint64_t>(r.bytes)),
                     r.flops == 0 ? "" : format_count(r.flops)});
  }
  lines.push_back(
      {"total", "", "", grouped(parameters), format_bytes(static_cast<uint64_t>(bytes)), format_count(flops)});
  std::string text = table(lines, 3);
  if (trainable != parameters) text += grouped(trainable) + " parameters are trained, the others frozen\n";
  for (const std::string& module : unlisted)
    text += "neither trained nor saved, as no parts() lists it: " + module + "\n";
  return text;
}

Summary summary(Module& model, const PlanFunction& forward, std::span<const InputSpec> inputs) {
  Summary s;
  Rows rows;
  rows.visit(model);
  {
    const Tensor seed = zeros({}, kI64);
    graph::Capture capture(inputs, /*share=*/false);
    const RandomScope random(seed);
    Attribution attribution(rows, capture.graph());
    const std::vector<NamedTensor> results = forward(capture.inputs());
    attribution.settle();
    s.unlisted = std::move(attribution.unlisted);
    if (rows.rows[0].calls == 0 && results.size() == 1 && results[0].tensor.defined()) {
      rows.rows[0].calls = 1;
      rows.rows[0].output = results[0].tensor.shape();
    }
  }
  s.rows = std::move(rows.rows);
  for (const SummaryRow& r : s.rows) {
    s.parameters += r.parameters;
    s.bytes += r.bytes;
    s.flops += r.flops;
  }
  std::vector<const void*> counted;
  for (const Parameter& p : model.trainable_parameters()) {
    if (std::find(counted.begin(), counted.end(), p.tensor->raw()) != counted.end()) continue;
    counted.push_back(p.tensor->raw());
    s.trainable += p.tensor->numel();
  }
  return s;
}

Summary summary(Layer& model, const InputSpec& input) {
  return summary(
      model, [&](std::span<const Tensor> in) { return ingot::detail::as_outputs(model(in[0])); }, std::span(&input, 1));
}

}  // namespace ingot::nn
