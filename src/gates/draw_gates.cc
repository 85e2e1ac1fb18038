// A circuit in gate symbols: layers from left to right, one wire per signal that branches where it is read.
#include <algorithm>
#include <array>
#include <cmath>

#include "gates/draw.h"
#include "ingot/base/text.h"

namespace ingot::gates {
namespace {

class Drawing {
 public:
  Drawing(const Circuit& circuit, const Netlist& list) : circuit_(circuit), list_(list) {
    place_nodes();
    lead_wires();
    order_layers();
    assign_y();
    assign_x();
  }
  std::string svg() const;

 private:
  enum class Kind : uint8_t { kInput, kGate, kOutput, kWire };
  struct Node {
    Kind kind;
    uint32_t signal;  // that it is, shows or leads on
    size_t layer;
    double y = 0;
    std::vector<size_t> from = {}, to = {};
    double half() const { return kind == Kind::kGate ? 15 : kind == Kind::kWire ? 2 : 11; }
  };
  static constexpr double kGapY = 7, kMargin = 20, kTop = 56, kLabel = 74;
  static constexpr int kSweeps = 32;

  size_t add(Kind kind, uint32_t signal, size_t layer) {
    nodes_.push_back({kind, signal, layer});
    return nodes_.size() - 1;
  }
  void place_nodes();
  void lead_wires();
  void order_layers();
  void stack(const std::vector<size_t>& layer);
  int64_t crossings() const;
  double mean_y(const std::vector<size_t>& neighbours, double otherwise) const;
  void assign_y();
  void assign_x();
  double left(const Node& n, bool second) const;
  double right(const Node& n) const;
  void draw_wire(std::string& out, const Node& n) const;
  std::string input_label(const Node& n) const;

  const Circuit& circuit_;
  const Netlist& list_;
  std::vector<Node> nodes_;
  std::vector<size_t> node_of_;   // of signals
  std::vector<size_t> out_node_;  // of outputs
  std::vector<std::vector<size_t>> layers_;
  std::vector<double> x_;  // of layers
  double width_ = 0, height_ = 0;
};

void Drawing::place_nodes() {
  const std::vector<int> depth = depths(list_);
  node_of_.resize(depth.size());
  size_t deepest = 0;
  for (const uint32_t k : list_.used_inputs()) node_of_[k] = add(Kind::kInput, k, 0);
  for (uint32_t s = list_.inputs; s < depth.size(); s++) {
    node_of_[s] = add(Kind::kGate, s, static_cast<size_t>(depth[s]));
    deepest = std::max(deepest, static_cast<size_t>(depth[s]));
  }
  for (const uint32_t s : list_.outputs) out_node_.push_back(add(Kind::kOutput, s, deepest + 1));
}

// A signal that is read layers later passes through a node in each layer between.
void Drawing::lead_wires() {
  std::vector<std::vector<size_t>> readers(node_of_.size());
  for (uint32_t i = 0; i < list_.gates.size(); i++) {
    const Gate& g = list_.gates[i];
    readers[g.a].push_back(node_of_[list_.inputs + i]);
    if (reads_b(g.function)) readers[g.b].push_back(node_of_[list_.inputs + i]);
  }
  for (size_t i = 0; i < list_.outputs.size(); i++)
    if (!is_constant(list_.outputs[i])) readers[list_.outputs[i]].push_back(out_node_[i]);
  for (uint32_t s = 0; s < readers.size(); s++) {
    std::sort(readers[s].begin(), readers[s].end(),
              [&](size_t m, size_t n) { return nodes_[m].layer < nodes_[n].layer; });
    size_t at = node_of_[s];
    for (const size_t reader : readers[s]) {
      while (nodes_[at].layer + 1 < nodes_[reader].layer) {
        const size_t next = add(Kind::kWire, s, nodes_[at].layer + 1);
        nodes_[at].to.push_back(next);
        nodes_[next].from.push_back(at);
        at = next;
      }
      nodes_[at].to.push_back(reader);
      nodes_[reader].from.push_back(at);
    }
  }
  for (size_t n = 0; n < nodes_.size(); n++) {
    if (layers_.size() <= nodes_[n].layer) layers_.resize(nodes_[n].layer + 1);
    layers_[nodes_[n].layer].push_back(n);
  }
}

void Drawing::stack(const std::vector<size_t>& layer) {
  double y = 0;
  for (const size_t n : layer) {
    nodes_[n].y = y + nodes_[n].half();
    y += 2 * nodes_[n].half() + kGapY;
  }
  for (const size_t n : layer) nodes_[n].y -= y / 2;
}

int64_t Drawing::crossings() const {
  int64_t count = 0;
  for (const auto& layer : layers_) {
    std::vector<std::pair<double, double>> lines;
    for (const size_t n : layer)
      for (const size_t t : nodes_[n].to) lines.emplace_back(nodes_[n].y, nodes_[t].y);
    for (size_t i = 0; i < lines.size(); i++)
      for (size_t k = 0; k < i; k++)
        count += (lines[i].first - lines[k].first) * (lines[i].second - lines[k].second) < 0;
  }
  return count;
}

double Drawing::mean_y(const std::vector<size_t>& neighbours, double otherwise) const {
  double sum = 0;
  for (const size_t n : neighbours) sum += nodes_[n].y;
  return neighbours.empty() ? otherwise : sum / static_cast<double>(neighbours.size());
}

void Drawing::order_layers() {
  for (const auto& layer : layers_) stack(layer);
  auto best = layers_;
  int64_t fewest = crossings();
  for (int sweep = 0; sweep < kSweeps && fewest > 0; sweep++) {
    const bool forward = sweep % 2 == 1;  // from the outputs first: there are few of them
    for (size_t k = 0; k < layers_.size(); k++) {
      auto& layer = layers_[forward ? k : layers_.size() - 1 - k];
      std::vector<std::pair<double, size_t>> wishes;
      for (const size_t n : layer) wishes.emplace_back(mean_y(forward ? nodes_[n].from : nodes_[n].to, nodes_[n].y), n);
      std::stable_sort(wishes.begin(), wishes.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      std::transform(wishes.begin(), wishes.end(), layer.begin(), [](const auto& w) { return w.second; });
      stack(layer);
    }
    if (const int64_t now = crossings(); now < fewest) fewest = now, best = layers_;
  }
  layers_ = best;
  for (const auto& layer : layers_) stack(layer);
}

// Nodes move towards their neighbours as far as their order and size allow; wires that pass through pull hardest.
void Drawing::assign_y() {
  for (int sweep = 0; sweep < 2 * kSweeps; sweep++) {
    for (size_t k = 0; k < layers_.size(); k++) {
      const auto& layer = layers_[sweep % 2 == 0 ? k : layers_.size() - 1 - k];
      if (layer.empty()) continue;
      std::vector<double> wish, low(layer.size()), high(layer.size());
      for (const size_t n : layer) {
        const double before = mean_y(nodes_[n].from, nodes_[n].y), behind = mean_y(nodes_[n].to, nodes_[n].y);
        wish.push_back(nodes_[n].from.empty() ? behind : nodes_[n].to.empty() ? before : (before + behind) / 2);
      }
      const auto gap = [&](size_t i) { return nodes_[layer[i]].half() + nodes_[layer[i + 1]].half() + kGapY; };
      low[0] = wish[0];
      for (size_t i = 1; i < layer.size(); i++) low[i] = std::max(wish[i], low[i - 1] + gap(i - 1));
      high.back() = wish.back();
      for (size_t i = layer.size() - 1; i-- > 0;) high[i] = std::min(wish[i], high[i + 1] - gap(i));
      for (size_t i = 0; i < layer.size(); i++) nodes_[layer[i]].y = (low[i] + high[i]) / 2;
    }
  }
  double top = 0, bottom = 0;
  for (const Node& n : nodes_) top = std::min(top, n.y - n.half()), bottom = std::max(bottom, n.y + n.half());
  for (Node& n : nodes_) n.y += kTop - top;
  height_ = kTop + bottom - top;
}

void Drawing::assign_x() {
  double x = kMargin + kLabel;
  for (size_t l = 0; l < layers_.size(); l++) {
    x_.push_back(x);
    size_t wires = 0;
    for (const size_t n : layers_[l]) wires += nodes_[n].to.size();
    x += 74 + 2.5 * static_cast<double>(std::min<size_t>(wires, 24));
  }
  width_ = x + kMargin;
}

double Drawing::left(const Node& n, bool second) const {
  return x_[n.layer] + (n.kind == Kind::kGate   ? port_x(list_.gates[n.signal - list_.inputs].function, second)
                        : n.kind == Kind::kWire ? -12
                                                : 0);
}
double Drawing::right(const Node& n) const {
  return x_[n.layer] + (n.kind == Kind::kGate   ? out_x(list_.gates[n.signal - list_.inputs].function)
                        : n.kind == Kind::kWire ? 12
                                                : 0);
}

// The operand that comes from above enters above.
bool enters_swapped(double a, double b) { return a > b; }

// From a node to all that read it in the next layer, and through itself if it only leads on.
void Drawing::draw_wire(std::string& out, const Node& n) const {
  static constexpr std::array<const char*, 8> kColours = {"#4c6a92", "#a0522d", "#3d7a5f", "#7a4d8f",
                                                          "#8a6d1d", "#b0413e", "#33787d", "#6b6b6b"};
  const double x0 = right(n);
  std::string path;
  if (n.kind == Kind::kWire) path += formatted("M%.1f %.1fH%.1f", left(n, false), n.y, x0);
  for (const size_t t : n.to) {
    const Node& to = nodes_[t];
    const bool gate = to.kind == Kind::kGate;
    const auto arrive = [&](double port, bool second) {
      const double x1 = left(to, second), y1 = to.y + port, bend = (x1 - x0) / 2;
      path += formatted("M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f", x0, n.y, x0 + bend, n.y, x1 - bend, y1, x1, y1);
    };
    if (!gate || to.from.size() < 2) {
      arrive(0, false);
      continue;
    }
    const Gate& g = list_.gates[to.signal - list_.inputs];
    const size_t me = static_cast<size_t>(&n - nodes_.data());
    const bool first = g.a == n.signal;
    const size_t other = to.from[0] == me ? to.from[1] : to.from[0];
    const bool upper = !enters_swapped(n.y, nodes_[other].y);
    arrive(upper ? -kPort : kPort, !first);
  }
  if (path.empty()) return;
  out += formatted("<path class=\"w\" stroke=\"%s\" d=\"%s\"/>\n", kColours[n.signal % kColours.size()], path.c_str());
  if (n.to.size() > 1)
    out += formatted("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.4\" fill=\"%s\"/>\n", x0, n.y,
                     kColours[n.signal % kColours.size()]);
}

// Of a cell rule, the neighbourhood with the cell that is meant.
std::string Drawing::input_label(const Node& n) const {
  const double x = x_[0];
  if (!circuit_.cell)
    return formatted("<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x - 6, n.y + 4,
                     input_name(circuit_, n.signal).c_str());
  std::string out;
  for (uint32_t i = 0; i < 9; i++)
    out += formatted(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"6\" height=\"6\" fill=\"%s\" stroke=\"#777\" stroke-width=\"0.6\"/>",
        x - 24 + 6 * (i % 3), n.y - 9 + 6 * (i / 3), i == n.signal % 9 ? "#222" : "#fff");
  const std::string text =
      circuit_.cell->channels == 1 ? input_name(circuit_, n.signal).substr(3) : input_name(circuit_, n.signal);
  return out + formatted("<text class=\"e\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", x - 29, n.y + 4, text.c_str());
}

std::string Drawing::svg() const {
  const Legend key = legend(list_, kMargin, height_ + 40);
  std::string out = svg_head(circuit_, list_, std::max({width_, key.right + kMargin, 500.0}), height_ + 70);
  for (const Node& n : nodes_) draw_wire(out, n);
  for (const Node& n : nodes_) {
    if (n.kind == Kind::kInput) out += input_label(n);
    if (n.kind != Kind::kGate) continue;
    const Gate& g = list_.gates[n.signal - list_.inputs];
    bool swapped = false;
    if (n.from.size() > 1) {
      const bool a_first = nodes_[n.from[0]].signal == g.a;
      swapped = enters_swapped(nodes_[n.from[a_first ? 0 : 1]].y, nodes_[n.from[a_first ? 1 : 0]].y);
    }
    out += gate_symbol(g.function, x_[n.layer], n.y, swapped);
  }
  for (size_t i = 0; i < out_node_.size(); i++) {
    const Node& n = nodes_[out_node_[i]];
    const std::string text = output_name(circuit_, i) + (!is_constant(n.signal)    ? ""
                                                         : n.signal == kTrueSignal ? " = 1"
                                                                                   : " = 0");
    out += formatted("<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", x_[n.layer] + 5, n.y + 4, text.c_str());
  }
  return out + key.svg + "</svg>\n";
}

}  // namespace

std::string draw_gates(const Circuit& circuit, const Netlist& list) { return Drawing(circuit, list).svg(); }

}  // namespace ingot::gates
