// A plan in words: describe(), dump(), bytes().
#include <algorithm>
#include <cstdio>

#include "graph/plan_impl.h"
#include "ingot/base/error.h"
#include "ingot/base/memory.h"

namespace ingot {

Plan::Plan() = default;
Plan::Plan(Plan&&) noexcept = default;
Plan& Plan::operator=(Plan&&) noexcept = default;
Plan::~Plan() = default;
Plan::Plan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Plan::Impl& Plan::impl() const {
  if (impl_ == nullptr) throw Error("plan: empty — it was moved from, or never compiled");
  return *impl_;
}

std::span<const Tensor> Plan::outputs() const { return impl().context->outputs(); }
int Plan::threads() const { return impl().program().threads; }
int Plan::step_count() const { return static_cast<int>(impl().program().records.size()); }

const Tensor& Plan::output(std::string_view name) const {
  return outputs()[graph::output_index(impl().program(), name)];
}

PlanBytes Plan::bytes() const {
  const graph::Executable& e = *impl().executable;
  const graph::Program& p = e.program;
  PlanBytes b;
  b.arena = p.arena_bytes;
  b.scratch = e.scratch_bytes(p.threads);
  b.outputs = p.output_bytes;
  b.constants = e.kept_bytes;
  for (const int64_t bytes : p.constants) b.constants += static_cast<size_t>(bytes);
  b.live_peak = p.live_peak;
  b.inputs = impl().context->staged_bytes();
  for (const graph::Program::Slab& s : p.slabs) {
    size_t& to = s.role == Role::kParameter  ? b.parameters
                 : s.role == Role::kGradient ? b.gradients
                 : s.role == Role::kState    ? b.state
                                             : b.bound;
    to += static_cast<size_t>(s.bytes);
  }
  return b;
}

namespace {

std::string line(const char* format, auto... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string Plan::describe(bool by_node) const {
  const Impl& p = impl();
  const graph::Program& program = p.program();
  const PlanBytes b = bytes();
  std::string text = line("%s: %d ops captured, %d step%s, %d thread%s, %d barrier%s\n", p.options.name.c_str(),
                          p.captured, step_count(), step_count() == 1 ? "" : "s", threads(), threads() == 1 ? "" : "s",
                          program.barriers, program.barriers == 1 ? "" : "s");
  text += "passes\n";
  for (const graph::PassReport& r : p.reports) text += line("  %-14s %s\n", r.name.c_str(), r.what.c_str());
  text += "steps\n";
  for (const auto& kernel : p.executable->kernels) {
    const graph::Record& r = kernel->record();
    text += line("  %3d %s%-12s %-44s %s\n", r.position, r.barrier ? "| " : "  ", r.kind_name(), r.label.c_str(),
                 kernel->detail().c_str());
  }
  text += "bytes\n";
  const auto row = [&](const char* what, size_t bytes, const char* note) {
    if (bytes > 0) text += line("  %-12s %10s  %s\n", what, format_bytes(bytes).c_str(), note);
  };
  row("arena", b.arena, line("(live peak %s)", format_bytes(b.live_peak).c_str()).c_str());
  row("scratch", b.scratch, "");
  row("outputs", b.outputs, "");
  row("constants", b.constants, "");
  row("inputs", b.inputs, "copies of strided inputs");
  row("parameters", b.parameters, "");
  row("gradients", b.gradients, "");
  row("state", b.state, "");
  row("bound", b.bound, "other tensors of yours");
  if (!by_node) return text;
  text += "values in the arena: bytes, offset, alive in steps\n";
  for (const graph::Buffer& v : program.buffers)
    text += line("  %10s %10zu  %3d-%-3d %s%s\n", format_bytes(v.bytes).c_str(), v.offset, v.first, v.last,
                 v.name.c_str(), v.shared ? " (in place)" : "");
  return text;
}

std::string Plan::dump() const {
  std::string text;
  for (const auto& kernel : impl().executable->kernels) {
    const graph::Record& r = kernel->record();
    text += std::to_string(r.position) + (r.barrier ? " | " : " ") + r.kind_name() + " " + r.label + " : " +
            kernel->detail() + "\n";
  }
  text += "arena " + std::to_string(impl().program().arena_bytes) + "\n";
  return text;
}

}  // namespace ingot
