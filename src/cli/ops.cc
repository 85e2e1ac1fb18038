#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "ingot/base/error.h"
#include "ingot/ops/op.h"

namespace ingot::cli {
namespace {

const char* types_of(const Op& op) {
  switch (op.types) {
    case Types::kFloats: return "f32 f64";
    case Types::kNumbers: return "f32 f64 i32 i64";
    case Types::kAll: return "all";
  }
  return "";
}

void print_markdown() {
  std::puts(
      "<!-- Written by `./dev generate` from the table of ops: change src/ops and run it again. -->\n# Operations\n");
  std::puts(
      "Every op has an allocating form and an `_into` form that takes its destination first, has exactly the result's "
      "shape and\n"
      "type, and allocates nothing. `x?` may be left out, `xs...` is a list of tensors. Several results come with the "
      "names\n"
      "behind the arrow: `sort(x).indices`, `auto [values, indices] = sort(x)`. Constants of integer tensors are "
      "numbers that\n"
      "their type holds; anything else is an Error.\n");
  std::string family;
  for (const Op* op : all_ops()) {
    if (family != op->family) {
      family = op->family;
      fmt::print("\n## {}\n\n| op | what it does | types | gradient |\n|---|---|---|---|\n", family);
    }
    fmt::print("| `{}` | {} | {} | {} |\n", op->signature.text(), op->doc, types_of(*op),
               op->gradient != nullptr ? "yes" : std::string("no: ") + op->not_differentiable);
  }
}

void print_one(const Op& op) {
  fmt::print("{}\n  {}\n\n  family    {}\n  types     {}\n  gradient  {}\n", op.signature.text(), op.doc, op.family,
             types_of(op), op.gradient != nullptr ? "yes" : std::string("no: ") + op.not_differentiable);
}

int list_ops(const std::string& name, bool markdown) {
  if (markdown) return print_markdown(), 0;
  if (!name.empty()) {
    const Op* op = find_op(name);
    if (op == nullptr) throw Error("ops: there is no op \"" + name + "\" — `ingot ops` lists them all");
    return print_one(*op), 0;
  }
  std::string family;
  for (const Op* op : all_ops()) {
    if (family != op->family) fmt::print("{}{}\n", family.empty() ? "" : "\n", op->family);
    family = op->family;
    fmt::print("  {:<28} {}\n", op->name, op->doc);
  }
  return 0;
}

}  // namespace

Command ops_command() {
  auto name = std::make_shared<std::string>();
  auto markdown = std::make_shared<bool>(false);
  return {.name = "ops",
          .about = "The operations: names, signatures, what they do",
          .options = {{"NAME", name.get(), "show one operation in full"},
                      {"--markdown", markdown.get(), "as a Markdown table"}},
          .run = [=] { return list_ops(*name, *markdown); },
          .footer = recipe::fixed_text("For instance:\n  ingot ops\n  ingot ops softmax")};
}

}  // namespace ingot::cli
