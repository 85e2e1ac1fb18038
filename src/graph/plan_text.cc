// A plan in words: describe(), dump(), bytes().
#include <algorithm>
#include <cstdio>

#include "graph/plan_impl.h"
#include "ingot/error.h"
#include "ingot/memory.h"

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

std::span<const Tensor> Plan::outputs() const { return impl().program.outputs; }
int Plan::threads() const { return impl().threads; }
int Plan::step_count() const { return static_cast<int>(impl().list.size()); }

const Tensor& Plan::output(std::string_view name) const {
  std::string names;
  for (size_t i = 0; i < impl().graph.outputs.size(); i++) {
    if (impl().graph.outputs[i].name == name) return impl().program.outputs[i];
    names += (names.empty() ? "" : ", ") + impl().graph.outputs[i].name;
  }
  throw Error(impl().options.name + ": no result is named \"" + std::string(name) + "\" — there are " + names);
}

PlanBytes Plan::bytes() const {
  const graph::Program& p = impl().program;
  PlanBytes b;
  b.arena = p.arena_bytes;
  b.scratch = p.scratch_bytes;
  b.outputs = p.output_bytes;
  b.constants = p.constant_bytes;
  b.live_peak = p.live_peak;
  for (const Tensor& t : impl().staged)
    if (t.defined()) b.inputs += t.storage()->bytes;
  // Memory of the user's, each block once.
  std::vector<const Storage*> seen;
  for (const Tensor& t : p.bound) {
    if (std::find(seen.begin(), seen.end(), t.storage()) != seen.end()) continue;
    seen.push_back(t.storage());
    const size_t bytes = std::max(t.storage()->bytes, static_cast<size_t>(t.numel()) * size_of(t.dtype()));
    size_t* to = &b.bound;
    for (const auto& [slab, role] : impl().options.roles)
      if (slab.shares_storage(t))
        to = role == Role::kParameter  ? &b.parameters
             : role == Role::kGradient ? &b.gradients
             : role == Role::kState    ? &b.state
                                       : &b.bound;
    *to += bytes;
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
  const PlanBytes b = bytes();
  std::string text = line("%s: %d ops captured, %d step%s, %d thread%s, %d barrier%s\n", p.options.name.c_str(),
                          p.captured, step_count(), step_count() == 1 ? "" : "s", p.threads, p.threads == 1 ? "" : "s",
                          p.program.barriers, p.program.barriers == 1 ? "" : "s");
  text += "passes\n";
  for (const graph::PassReport& r : p.reports) text += line("  %-14s %s\n", r.name.c_str(), r.what.c_str());
  text += "steps\n";
  for (const graph::Step* s : p.list)
    text += line("  %3d %s%-12s %-44s %s\n", s->position, s->barrier ? "| " : "  ", s->kind, s->name.c_str(),
                 s->detail().c_str());
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
  for (const graph::Buffer& v : p.program.buffers)
    text += line("  %10s %10zu  %3d-%-3d %s%s\n", format_bytes(v.bytes).c_str(), v.offset, v.first, v.last,
                 v.name.c_str(), v.shared ? " (in place)" : "");
  return text;
}

std::string Plan::dump() const {
  std::string text;
  for (const graph::Step* s : impl().list)
    text +=
        std::to_string(s->position) + (s->barrier ? " | " : " ") + s->kind + " " + s->name + " : " + s->detail() + "\n";
  text += "arena " + std::to_string(impl().program.arena_bytes) + "\n";
  return text;
}

}  // namespace ingot
