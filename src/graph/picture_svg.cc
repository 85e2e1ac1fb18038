// A layered drawing (Sugiyama, Tagawa and Toda 1981, in its simplest form): layers by the longest path, order inside a
// layer by the mean place of the neighbours, long arrows led through every layer between.
#include <algorithm>
#include <cmath>

#include "graph/picture.h"
#include "ingot/base/text.h"

namespace ingot::graph {
namespace {

constexpr double kCharacter = 6.4, kTitleCharacter = 7.0, kLine = 15, kGapX = 22, kGapY = 46, kMargin = 24;
constexpr int kSweeps = 12;
constexpr int kNear = 2;  // a source is drawn again for users more than so many layers below its first

struct Svg {
  std::string text;
  Svg& operator<<(std::string_view words) {
    text += words;
    return *this;
  }
  Svg& operator<<(double value) {  // one decimal and a point, whatever the locale
    const auto tenths = static_cast<long long>(std::llround(value * 10));
    text += formatted("%s%lld.%lld", tenths < 0 ? "-" : "", std::abs(tenths) / 10, std::abs(tenths) % 10);
    return *this;
  }
  void words(double x, double y, const char* style, const std::string& what) {
    *this << "<text x=\"" << x << "\" y=\"" << y << "\" class=\"" << style << "\">" << xml_escaped(what) << "</text>\n";
  }
};

class Layout {
 public:
  explicit Layout(const Picture& picture) : picture_(picture) {
    find_layers();
    place_nodes();
    lead_arrows();
    order_layers();
    assign_x();
    assign_y();
  }

  std::string svg() const;

 private:
  struct Node {
    int box = -1;  // -1: a bend of a long arrow
    int layer = 0;
    double width = 8, height = 0, x = 0;  // x of the middle
    std::vector<int> up, down;
  };
  struct Path {
    std::vector<int> nodes;
    int arrow;
    bool labelled;
  };

  const Picture::Box& box(const Node& n) const { return picture_.boxes[static_cast<size_t>(n.box)]; }
  Node& node(int n) { return nodes_[static_cast<size_t>(n)]; }
  const Node& node(int n) const { return nodes_[static_cast<size_t>(n)]; }

  void find_layers() {
    layer_.assign(picture_.boxes.size(), 1);
    for (bool changed = true; changed;) {  // few rounds: arrows are listed nearly in order
      changed = false;
      for (const Picture::Arrow& a : picture_.arrows) {
        int& to = layer_[static_cast<size_t>(a.to)];
        const int least =
            layer_[static_cast<size_t>(a.from)] + (picture_.boxes[static_cast<size_t>(a.from)].source() ? 0 : 1);
        if (to < least) to = least, changed = true;
      }
    }
  }

  int add_node(int box, int layer) {
    Node n;
    n.box = box;
    n.layer = layer;
    if (box >= 0) {
      const Picture::Box& b = picture_.boxes[static_cast<size_t>(box)];
      for (size_t i = 0; i < b.lines.size(); i++)
        n.width = std::max(n.width, text_width(b.lines[i]) * (i == 0 ? kTitleCharacter : kCharacter) + 20);
      n.height = kLine * static_cast<double>(b.lines.size() + (b.in_place ? 1 : 0) + (b.barrier ? 1 : 0)) + 10;
    }
    nodes_.push_back(n);
    return static_cast<int>(nodes_.size()) - 1;
  }

  // Sources stand just above who uses them, again for each that is far away.
  void place_nodes() {
    std::vector<int> fixed(picture_.boxes.size(), -1);
    for (size_t i = 0; i < picture_.boxes.size(); i++)
      if (!picture_.boxes[i].source()) fixed[i] = add_node(static_cast<int>(i), layer_[i]);
    std::vector<std::vector<int>> copies(picture_.boxes.size());
    for (size_t k = 0; k < picture_.arrows.size(); k++) {
      const Picture::Arrow& a = picture_.arrows[k];
      const int to = fixed[static_cast<size_t>(a.to)];
      int from = fixed[static_cast<size_t>(a.from)];
      if (from < 0) {
        const int layer = layer_[static_cast<size_t>(a.to)] - 1;
        for (const int c : copies[static_cast<size_t>(a.from)])
          if (layer >= node(c).layer && layer - node(c).layer < kNear) from = c;
        if (from < 0) copies[static_cast<size_t>(a.from)].push_back(from = add_node(a.from, layer));
      }
      // A value that goes to several steps is labelled once.
      const bool told = std::any_of(paths_.begin(), paths_.end(), [&](const Path& p) {
        return p.nodes[0] == from && picture_.arrows[static_cast<size_t>(p.arrow)].label == a.label;
      });
      paths_.push_back({{from, to}, static_cast<int>(k), !told && !a.label.empty()});
    }
  }

  void lead_arrows() {
    for (Path& p : paths_) {
      const int from = p.nodes[0], to = p.nodes[1];
      p.nodes = {from};
      for (int layer = node(from).layer + 1; layer < node(to).layer; layer++) p.nodes.push_back(add_node(-1, layer));
      p.nodes.push_back(to);
      for (size_t i = 0; i + 1 < p.nodes.size(); i++) {
        node(p.nodes[i]).down.push_back(p.nodes[i + 1]);
        node(p.nodes[i + 1]).up.push_back(p.nodes[i]);
      }
    }
    int deepest = 0;
    for (const Node& n : nodes_) deepest = std::max(deepest, n.layer);
    layers_.resize(static_cast<size_t>(deepest) + 1);
    for (size_t i = 0; i < nodes_.size(); i++)
      layers_[static_cast<size_t>(nodes_[i].layer)].push_back(static_cast<int>(i));
  }

  double mean_x(const std::vector<int>& neighbours, double otherwise) const {
    double sum = 0;
    for (const int n : neighbours) sum += node(n).x;
    return neighbours.empty() ? otherwise : sum / static_cast<double>(neighbours.size());
  }

  void pack(const std::vector<int>& layer) {  // side by side, in order, about the middle
    double x = 0;
    for (const int n : layer) {
      node(n).x = x + node(n).width / 2;
      x += node(n).width + kGapX;
    }
    for (const int n : layer) node(n).x -= x / 2;
  }

  int64_t crossings() const {
    int64_t count = 0;
    for (const auto& layer : layers_) {
      std::vector<std::pair<double, double>> lines;
      for (const int n : layer)
        for (const int d : node(n).down) lines.emplace_back(node(n).x, node(d).x);
      for (size_t i = 0; i < lines.size(); i++)
        for (size_t k = 0; k < i; k++)
          count += (lines[i].first - lines[k].first) * (lines[i].second - lines[k].second) < 0;
    }
    return count;
  }

  void order_layers() {
    for (const auto& layer : layers_) pack(layer);
    auto best = layers_;
    int64_t fewest = crossings();
    for (int sweep = 0; sweep < kSweeps && fewest > 0; sweep++) {
      const bool down = sweep % 2 == 0;
      for (size_t k = 0; k < layers_.size(); k++) {
        std::vector<int>& layer = layers_[down ? k : layers_.size() - 1 - k];
        std::vector<std::pair<double, int>> keyed;
        keyed.reserve(layer.size());
        for (const int n : layer) keyed.emplace_back(mean_x(down ? node(n).up : node(n).down, node(n).x), n);
        std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        for (size_t i = 0; i < layer.size(); i++) layer[i] = keyed[i].second;
        pack(layer);
      }
      if (const int64_t now = crossings(); now < fewest) fewest = now, best = layers_;
    }
    layers_ = best;
    for (const auto& layer : layers_) pack(layer);
  }

  // Where a node would like to be for its neighbours on one side. Long arrows want to be straight most.
  double wanted_x(const Node& n, const std::vector<int>& neighbours) const {
    double sum = 0, weights = 0;
    for (const int k : neighbours) {
      const double weight = n.box < 0 && node(k).box < 0 ? 8 : n.box < 0 || node(k).box < 0 ? 2 : 1;
      sum += weight * node(k).x;
      weights += weight;
    }
    return weights == 0 ? n.x : sum / weights;
  }

  // Each node moves towards its neighbours above and below in turn, at last both; where two would overlap, both give
  // way.
  void assign_x() {
    const int sweeps = 4 * kSweeps;
    for (int sweep = 0; sweep < sweeps; sweep++) {
      const bool down = sweep % 2 == 0, both = sweep >= sweeps - 4;
      for (size_t k = 0; k < layers_.size(); k++) {
        const std::vector<int>& layer = layers_[down ? k : layers_.size() - 1 - k];
        std::vector<double> wanted, left(layer.size()), right(layer.size());
        for (const int id : layer) {
          const Node& n = node(id);
          const double up = wanted_x(n, n.up), below = wanted_x(n, n.down);
          const bool only_up = n.down.empty() || (down && !both && !n.up.empty());
          const bool only_down = n.up.empty() || (!down && !both && !n.down.empty());
          wanted.push_back(only_up ? up : only_down ? below : (up + below) / 2);
        }
        const auto gap = [&](size_t i) { return (node(layer[i]).width + node(layer[i + 1]).width) / 2 + kGapX; };
        for (size_t i = 0; i < layer.size(); i++)
          left[i] = i == 0 ? wanted[0] : std::max(wanted[i], left[i - 1] + gap(i - 1));
        for (size_t i = layer.size(); i-- > 0;)
          right[i] = i + 1 == layer.size() ? wanted[i] : std::min(wanted[i], right[i + 1] - gap(i));
        for (size_t i = 0; i < layer.size(); i++) node(layer[i]).x = (left[i] + right[i]) / 2;
      }
    }
    double low = nodes_.empty() ? 0 : nodes_[0].x, high = low;
    for (const Node& n : nodes_) low = std::min(low, n.x - n.width / 2), high = std::max(high, n.x + n.width / 2);
    for (Node& n : nodes_) n.x += kMargin - low;
    width_ = high - low + 2 * kMargin;
  }

  void assign_y() {
    double y = kMargin + 2 * kLine;
    for (const auto& layer : layers_) {
      double height = 0;
      for (const int n : layer) height = std::max(height, node(n).height);
      tops_.push_back(y);
      heights_.push_back(height);
      if (!layer.empty()) y += height + kGapY;
    }
    height_ = y - kGapY + kMargin;
  }

  double top(const Node& n) const {
    const auto l = static_cast<size_t>(n.layer);
    return tops_[l] + (heights_[l] - n.height) / 2;
  }

  void draw_box(Svg& out, const Node& n) const;
  double port(const Node& n, const std::vector<int>& neighbours, int other) const;
  void draw_path(Svg& lines, Svg& labels, const Path& p) const;

  const Picture& picture_;
  std::vector<int> layer_;  // of boxes
  std::vector<Node> nodes_;
  std::vector<Path> paths_;
  std::vector<std::vector<int>> layers_;
  std::vector<double> tops_, heights_;
  double width_ = 0, height_ = 0;
};

void Layout::draw_box(Svg& out, const Node& n) const {
  const Picture::Box& b = box(n);
  const double left = n.x - n.width / 2, y0 = top(n);
  const bool round = b.source() || b.look == Picture::Look::kOutput;
  out << "<rect x=\"" << left << "\" y=\"" << y0 << "\" width=\"" << n.width << "\" height=\"" << n.height << "\" rx=\""
      << (round ? n.height / 2 : 5) << "\" fill=\"" << fill_of(b.look) << "\" stroke=\"" << line_of(b.look) << "\""
      << (b.look == Picture::Look::kView ? " stroke-dasharray=\"4 3\"" : "") << "/>\n";
  double y = y0 + kLine + 1;
  if (b.barrier) {
    out << "<path d=\"M" << left - 6 << " " << y0 - 3 << "H" << left + n.width + 6
        << "\" stroke=\"#d00000\" stroke-width=\"3\"/>\n";
    out.words(n.x, y, "r", "barrier");
    y += kLine;
  }
  for (size_t i = 0; i < b.lines.size(); i++, y += kLine) out.words(n.x, y, i == 0 ? "t" : "d", b.lines[i]);
  if (b.in_place) out.words(n.x, y, "i", "in place");
}

// Arrows leave and reach a box spread over its width, in the order of where they go and come from.
double Layout::port(const Node& n, const std::vector<int>& neighbours, int other) const {
  if (n.box < 0 || neighbours.size() < 2) return n.x;
  size_t before = 0;
  for (const int k : neighbours) before += node(k).x < node(other).x;
  const auto last = static_cast<double>(neighbours.size() - 1);
  return n.x + std::min(28.0, n.width * 0.7 / last) * (static_cast<double>(before) - last / 2);
}

// Straight down through the layers it passes, curved between them.
void Layout::draw_path(Svg& lines, Svg& labels, const Path& p) const {
  const Node& first = node(p.nodes[0]);
  double x = port(first, first.down, p.nodes[1]), y = top(first) + first.height;
  lines << "<path d=\"M" << x << " " << y;
  for (size_t i = 1; i < p.nodes.size(); i++) {
    const Node& n = node(p.nodes[i]);
    const auto layer = static_cast<size_t>(n.layer);
    const bool last = i + 1 == p.nodes.size();
    const double next_x = port(n, n.up, p.nodes[i - 1]);
    const double next_y = last ? top(n) - (box(n).barrier ? 5 : 1) : tops_[layer];
    const double bend = std::max(12.0, (next_y - y) / 2);
    lines << "C" << x << " " << y + bend << " " << next_x << " " << next_y - bend << " " << next_x << " " << next_y;
    if (i == 1 && p.labelled)
      for (const char* style : {"b", "a"})  // white around it first, as it stands on lines
        labels.words((x + next_x) / 2, (y + next_y) / 2 + 3, style,
                     picture_.arrows[static_cast<size_t>(p.arrow)].label);
    x = next_x;
    y = next_y;
    if (!last) lines << "V" << (y = tops_[layer] + heights_[layer]);
  }
  lines << (picture_.arrows[static_cast<size_t>(p.arrow)].order ? "\" stroke-dasharray=\"5 3" : "")
        << "\" class=\"e\" marker-end=\"url(#tip)\"/>\n";
}

std::string Layout::svg() const {
  const double width = std::max(width_, text_width(picture_.title) * 9.0 + 2 * kMargin);
  Svg out, labels;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height_
      << "\" viewBox=\"0 0 " << width << " " << height_ << "\">\n";
  out << "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
         "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#666\"/></marker></defs>\n"
         "<style>text{font-family:Helvetica,Arial,sans-serif;font-size:11px;text-anchor:middle;fill:#222}"
         ".h{font-size:15px;font-weight:bold;text-anchor:start}.t{font-size:12px;font-weight:bold}.d{fill:#444}"
         ".i{fill:#6b46c1;font-style:italic}.r{fill:#d00000}.e{fill:none;stroke:#666;stroke-width:1.1}"
         ".a{font-size:9px;fill:#555}.b{font-size:9px;stroke:#fff;stroke-width:3px}</style>\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n";
  out.words(kMargin, kMargin + 4, "h", picture_.title);
  for (const Path& p : paths_) draw_path(out, labels, p);
  for (const Node& n : nodes_)
    if (n.box >= 0) draw_box(out, n);
  return (out << labels.text << "</svg>\n").text;
}

}  // namespace

std::string to_svg(const Picture& picture) { return Layout(picture).svg(); }

}  // namespace ingot::graph
