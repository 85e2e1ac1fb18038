// DOT, the parts that pictures are made of, and the overview of a large circuit.
#include "gates/draw.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ingot/base/text.h"
#include "ingot/gates/circuit_io.h"

namespace ingot::gates {
namespace {

enum class Shape : uint8_t { kAnd, kOr, kXor, kNot };
struct Symbol {
  Shape shape;
  bool not_a, not_b, not_out;
};

Symbol symbol_of(Function f) {
  switch (f) {
    case Function::kAnd: return {Shape::kAnd, false, false, false};
    case Function::kAndNot: return {Shape::kAnd, false, true, false};
    case Function::kNotAnd: return {Shape::kAnd, true, false, false};
    case Function::kNand: return {Shape::kAnd, false, false, true};
    case Function::kOr: return {Shape::kOr, false, false, false};
    case Function::kOrNot: return {Shape::kOr, false, true, false};
    case Function::kNotOr: return {Shape::kOr, true, false, false};
    case Function::kNor: return {Shape::kOr, false, false, true};
    case Function::kXor: return {Shape::kXor, false, false, false};
    case Function::kXnor: return {Shape::kXor, false, false, true};
    default: return {Shape::kNot, false, false, true};  // a netlist has no others
  }
}

constexpr double kHalf = 16, kCircle = 3;
// Where the left edge is at the height of the ports.
double left_edge(Shape shape) {
  return shape == Shape::kAnd ? -kHalf : shape == Shape::kNot ? -8 : shape == Shape::kOr ? -13 : -18;
}
double right_edge(Shape shape) { return shape == Shape::kNot ? 9 : kHalf; }

}  // namespace

const char* fill_colour(Function f) {
  switch (f) {
    case Function::kAnd: return "#cfe2ff";
    case Function::kAndNot:
    case Function::kNotAnd: return "#a9cbfd";
    case Function::kNand: return "#7fb0fb";
    case Function::kOr: return "#cdeed9";
    case Function::kOrNot:
    case Function::kNotOr: return "#a5ddba";
    case Function::kNor: return "#77c896";
    case Function::kXor: return "#ffe0ad";
    case Function::kXnor: return "#ffc266";
    default: return "#dcdfe4";
  }
}

double port_x(Function f, bool second) {
  const Symbol s = symbol_of(f);
  return left_edge(s.shape) - ((second ? s.not_b : s.not_a) ? 2 * kCircle : 0);
}
double out_x(Function f) {
  const Symbol s = symbol_of(f);
  return right_edge(s.shape) + (s.not_out ? 2 * kCircle : 0);
}

std::string gate_symbol(Function f, double x, double y, bool swapped) {
  const Symbol s = symbol_of(f);
  static constexpr std::array<const char*, 4> kPaths = {
      "M-16 -13h18a13 13 0 0 1 0 26h-18z", "M-16 -13q8 13 0 26q20 0 32 -13q-12 -13 -32 -13z",
      "M-16 -13q8 13 0 26q20 0 32 -13q-12 -13 -32 -13z M-21 -13q8 13 0 26", "M-8 -9L9 0L-8 9z"};
  std::string out =
      formatted("<g transform=\"translate(%.1f %.1f)\"><title>%s</title><path class=\"g\" d=\"%s\" fill=\"%s\"/>", x, y,
                name(f), kPaths[static_cast<size_t>(s.shape)], fill_colour(f));
  const auto circle = [&](double cx, double cy) {
    out += formatted("<circle class=\"g\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"#fff\"/>", cx, cy, kCircle);
  };
  const double a = swapped ? kPort : -kPort;
  if (s.not_a) circle(left_edge(s.shape) - kCircle, a);
  if (s.not_b) circle(left_edge(s.shape) - kCircle, -a);
  if (s.not_out) circle(right_edge(s.shape) + kCircle, 0);
  return out + "</g>\n";
}

Legend legend(const Netlist& list, double x, double y, const char* (*square)(Function)) {
  std::array<int64_t, kFunctions> counts{};
  for (const Gate& g : list.gates) counts[static_cast<size_t>(g.function)]++;
  std::string out;
  for (size_t i = 0; i < counts.size(); i++) {
    if (counts[i] == 0) continue;
    const auto f = static_cast<Function>(i);
    const std::string text =
        formatted("%lld %s", static_cast<long long>(counts[i]), f == Function::kNotA ? "not" : name(f));
    const double text_x = x + (square == nullptr ? 54 : 16);
    if (square == nullptr)
      out += gate_symbol(f, x + 26, y, false);
    else
      out += formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"10\" height=\"10\" fill=\"%s\"/>", x, y - 5, square(f));
    out += formatted("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", text_x, y + 4, text.c_str());
    x = text_x + 16 + 7 * static_cast<double>(text.size());
  }
  return {out, x};
}

std::string svg_head(const Circuit& circuit, const Netlist& list, double width, double height) {
  return formatted(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n",
             width, height, width, height) +
         "<style>text{font-family:Helvetica,Arial,sans-serif;font-size:12px;fill:#222}.h{font-size:15px;font-weight:"
         "bold}"
         ".g{stroke:#333;stroke-width:1.2}.w{fill:none;stroke-width:1.4}.e{text-anchor:end}</style>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text class=\"h\" x=\"20\" y=\"28\">" +
         xml_escaped(headline(circuit, list)) + "</text>\n";
}

std::vector<int> depths(const Netlist& list) {
  std::vector<int> depth(list.inputs + list.gates.size());
  for (size_t i = 0; i < list.gates.size(); i++)
    depth[list.inputs + i] = 1 + std::max(depth[list.gates[i].a], depth[list.gates[i].b]);
  return depth;
}

namespace {

// A square per gate, a block of columns per layer, and wires as thin lines as long as they can be told apart.
class Overview {
 public:
  Overview(const Circuit& circuit, const Netlist& list)
      : circuit_(circuit), list_(list), x_(list.inputs + list.gates.size()), y_(x_) {
    const std::vector<int> depth = depths(list);
    layers_.resize(depth.empty() ? 1 : static_cast<size_t>(*std::max_element(depth.begin(), depth.end())) + 1);
    layers_[0] = list.used_inputs();
    for (uint32_t s = list.inputs; s < depth.size(); s++) layers_[static_cast<size_t>(depth[s])].push_back(s);
    for (size_t l = 0; l < layers_.size(); l++) place(layers_[l], l);
  }

  std::string svg() const {
    const double height = kTop + kColumn + 90;
    const Legend key = legend(list_, kMargin, kTop + kColumn + 50, dark);
    std::string out = svg_head(circuit_, list_, std::max(right_, key.right) + kMargin, height);
    constexpr size_t kMostWires = 30'000;
    if (2 * list_.gates.size() <= kMostWires) out += wires();
    for (const auto& layer : layers_)
      for (const uint32_t s : layer)
        out += formatted("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x_[s], y_[s],
                         kSquare, kSquare, s < list_.inputs ? "#333" : dark(list_.gates[s - list_.inputs].function));
    return out + key.svg + "</svg>\n";
  }

 private:
  static constexpr double kSquare = 6, kPitch = 7, kColumn = 560, kTop = 50, kMargin = 20, kGap = 34;

  // Squares are too small for the pale colours of symbols.
  static const char* dark(Function f) {
    switch (fill_colour(f)[1]) {
      case 'c': return f == Function::kAnd ? "#4c8ef7" : "#46b06f";
      case 'a': return f == Function::kAndNot || f == Function::kNotAnd ? "#2f6fd8" : "#2f9158";
      case '7': return f == Function::kNand ? "#1b4fa8" : "#1d6b3d";
      case 'f': return f == Function::kXor ? "#f59f1a" : "#c97800";
      default: return "#8b919c";
    }
  }

  void place(std::vector<uint32_t>& layer, size_t number) {
    if (number > 0) {  // beside what they read
      const auto wish = [&](uint32_t s) {
        const Gate& g = list_.gates[s - list_.inputs];
        return y_[g.a] + y_[g.b];
      };
      std::stable_sort(layer.begin(), layer.end(), [&](uint32_t s, uint32_t t) { return wish(s) < wish(t); });
    }
    const auto rows = static_cast<size_t>(kColumn / kPitch);
    const size_t columns = std::max<size_t>(1, (layer.size() + rows - 1) / rows);
    const size_t used = (layer.size() + columns - 1) / columns;
    const double step = used > 1 ? std::min(3 * kPitch, kColumn / static_cast<double>(used)) : kPitch;
    const double top = kTop + (kColumn - step * static_cast<double>(used)) / 2;
    for (size_t i = 0; i < layer.size(); i++) {
      const size_t row = i / columns;
      x_[layer[i]] = right_ + kPitch * static_cast<double>(i % columns);
      y_[layer[i]] = top + step * static_cast<double>(row);
    }
    right_ += kPitch * static_cast<double>(columns) + kGap;
  }

  std::string wires() const {
    std::string out = "<g stroke=\"#5b6b86\" stroke-opacity=\"0.28\" stroke-width=\"0.7\" fill=\"none\">\n";
    const auto line = [&](uint32_t from, uint32_t to) {
      const double x0 = x_[from] + kSquare, y0 = y_[from] + kSquare / 2, x1 = x_[to], y1 = y_[to] + kSquare / 2;
      out += formatted("<path d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\"/>\n", x0, y0, (x0 + x1) / 2, y0,
                       (x0 + x1) / 2, y1, x1, y1);
    };
    for (uint32_t i = 0; i < list_.gates.size(); i++) {
      line(list_.gates[i].a, list_.inputs + i);
      if (reads_b(list_.gates[i].function)) line(list_.gates[i].b, list_.inputs + i);
    }
    return out + "</g>\n";
  }

  const Circuit& circuit_;
  const Netlist& list_;
  std::vector<std::vector<uint32_t>> layers_;
  std::vector<double> x_, y_;
  double right_ = kMargin;
};

}  // namespace

std::string to_svg(const Circuit& circuit) {
  constexpr size_t kMostSymbols = 300;  // ordering their wires takes the square of it
  const Netlist list = netlist_of(circuit);
  return list.gates.size() <= kMostSymbols && list.outputs.size() <= kMostSymbols ? draw_gates(circuit, list)
                                                                                  : Overview(circuit, list).svg();
}

std::string to_dot(const Circuit& circuit) {
  const Netlist list = netlist_of(circuit);
  const auto node = [&](uint32_t s) {
    return (is_constant(s) ? s == kTrueSignal ? "true" : "false" : "s" + std::to_string(s));
  };
  std::string out = "digraph \"" + identifier(circuit) + "\" {\n  label=\"" + headline(circuit, list) +
                    "\";\n  labelloc=t;\n  rankdir=LR;\n  node [fontname=\"Helvetica\", fontsize=11, style=filled];\n"
                    "  edge [arrowsize=0.6, color=\"#5b6b86\"];\n";
  for (const uint32_t k : list.used_inputs())
    out += "  s" + std::to_string(k) + " [label=\"" + input_name(circuit, k) +
           "\", shape=plaintext, fillcolor=\"#ffffff\"];\n";
  for (size_t i = 0; i < list.gates.size(); i++) {
    const Gate& g = list.gates[i];
    const std::string own = node(list.inputs + static_cast<uint32_t>(i));
    out += "  " + own + " [label=\"" + name(g.function) + "\", shape=box, fillcolor=\"" + fill_colour(g.function) +
           "\"];\n";
    // Where the operands differ in their part, the arrows say which is which.
    const bool matters = reads_b(g.function) && value(g.function, false, true) != value(g.function, true, false);
    out += "  " + node(g.a) + " -> " + own + (matters ? " [headlabel=\"a\"]" : "") + ";\n";
    if (reads_b(g.function)) out += "  " + node(g.b) + " -> " + own + (matters ? " [headlabel=\"b\"]" : "") + ";\n";
  }
  for (size_t i = 0; i < list.outputs.size(); i++) {
    const std::string own = "out" + std::to_string(i);
    out.append("  ").append(own).append(" [label=\"").append(output_name(circuit, i));
    out.append("\", shape=plaintext, fillcolor=\"#ffffff\"];\n  ").append(node(list.outputs[i]));
    out.append(" -> ").append(own).append(";\n");
  }
  return out + "}\n";
}

}  // namespace ingot::gates
