// A picture of a graph: boxes and arrows, and the two languages that it is written in.
#pragma once
#include <string>
#include <vector>

namespace ingot::graph {

struct Picture {
  enum class Look : uint8_t { kInput, kParameter, kState, kBound, kConstant, kOutput, kOp, kView, kGemm, kFused };
  struct Box {
    Look look = Look::kOp;
    std::vector<std::string> lines;  // the first is the title
    bool barrier = false, in_place = false;
    /// Is it where values come from, so that it can be drawn again beside each that uses it?
    bool source() const { return look < Look::kOutput; }
  };
  struct Arrow {
    int from, to;  // boxes
    std::string label;
    bool order = false;  // no value passes, but one runs before the other
    bool operator==(const Arrow&) const = default;
  };
  std::string title;
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;  // they form no circle

  int add(Box box) {
    boxes.push_back(std::move(box));
    return static_cast<int>(boxes.size()) - 1;
  }
  /// An arrow; its label is left out where a source or a result says the same in its last line.
  void connect(int from, int to, const std::string& label, bool order = false);
};

/// The colours of a box, as "#rrggbb".
const char* fill_of(Picture::Look look);
const char* line_of(Picture::Look look);

std::string to_dot(const Picture& picture);
std::string to_svg(const Picture& picture);

}  // namespace ingot::graph
