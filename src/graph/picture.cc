#include "graph/picture.h"

#include <algorithm>

#include "ingot/base/text.h"

namespace ingot::graph {
namespace {

using Look = Picture::Look;

struct Style {
  const char *fill, *line, *shape, *style;  // the last two are Graphviz's
};

const Style& style_of(Look look) {
  static constexpr Style kStyles[] = {
      {"#cfe8ff", "#2b6cb0", "ellipse", "filled"},             // kInput
      {"#d5f0d0", "#3c7d34", "cylinder", "filled"},            // kParameter
      {"#e6eccf", "#6f7d34", "cylinder", "filled"},            // kState
      {"#ececec", "#777777", "cylinder", "filled"},            // kBound
      {"#f4f4f4", "#aaaaaa", "plaintext", ""},                 // kConstant
      {"#fff3b0", "#b7791f", "ellipse", "filled"},             // kOutput
      {"#ffffff", "#555555", "box", "filled,rounded"},         // kOp
      {"#ffffff", "#999999", "box", "filled,rounded,dashed"},  // kView
      {"#ffdcc8", "#c05621", "box", "filled,rounded"},         // kGemm
      {"#e6dcff", "#6b46c1", "box", "filled,rounded"},         // kFused
  };
  return kStyles[static_cast<int>(look)];
}

// Between the quotes of a DOT string.
std::string dot_escaped(std::string_view text) {
  std::string out;
  for (const char c : valid_utf8(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out;
}

}  // namespace

const char* fill_of(Look look) { return style_of(look).fill; }
const char* line_of(Look look) { return style_of(look).line; }

void Picture::connect(int from, int to, const std::string& label, bool order) {
  const Box &a = boxes[static_cast<size_t>(from)], &b = boxes[static_cast<size_t>(to)];
  const bool told = (a.source() && a.lines.back() == label) || (b.look == Look::kOutput && b.lines.back() == label);
  const Arrow arrow{from, to, told ? "" : label, order};
  if (std::find(arrows.begin(), arrows.end(), arrow) == arrows.end()) arrows.push_back(arrow);
}

std::string to_dot(const Picture& picture) {
  std::string text = "digraph plan {\n  label=\"" + dot_escaped(picture.title) +
                     "\";\n  labelloc=t;\n  rankdir=TB;\n  node [fontname=\"Helvetica\", fontsize=11, "
                     "margin=\"0.12,0.06\"];\n  edge [fontname=\"Helvetica\", fontsize=9, color=\"#666666\", "
                     "fontcolor=\"#666666\"];\n";
  for (size_t i = 0; i < picture.boxes.size(); i++) {
    const Picture::Box& b = picture.boxes[i];
    const Style& s = style_of(b.look);
    std::string label;
    if (b.barrier) label = "━━ barrier ━━\\n";
    for (size_t k = 0; k < b.lines.size(); k++) label += (k == 0 ? "" : "\\n") + dot_escaped(b.lines[k]);
    if (b.in_place) label += "\\n(in place)";
    text += formatted("  n%zu [label=\"%s\", shape=%s, style=\"%s\", fillcolor=\"%s\", color=\"%s\"%s];\n", i,
                      label.c_str(), s.shape, s.style, s.fill, b.barrier ? "#d00000" : s.line,
                      b.barrier ? ", penwidth=2" : "");
  }
  for (const Picture::Arrow& a : picture.arrows) {
    text += formatted("  n%d -> n%d", a.from, a.to);
    if (a.order) text += " [style=dashed]";
    if (!a.label.empty()) text += " [label=\"" + dot_escaped(a.label) + "\"]";
    text += ";\n";
  }
  return text + "}\n";
}

}  // namespace ingot::graph
