// Kernels along one axis (softmax, scans, sorting): the other axes, and how the work is cut.
#pragma once
#include <algorithm>
#include <cstdint>

namespace ingot::kernels {

/// One axis of `length` elements and up to seven others. Every operand has its own strides (in elements, any sign, 0
/// for a broadcast input); their order is said at each kernel.
struct AxisLayout {
  static constexpr int kMaxOuter = 7, kMaxOperands = 3;
  struct Strides {
    int64_t outer[kMaxOuter] = {};
    int64_t axis = 1;
  };
  int outer_rank = 0;
  int64_t outer[kMaxOuter] = {};
  int64_t length = 1;
  Strides operand[kMaxOperands];
};

/// An AxisLayout for some operands, without axes of size one and with neighbours merged. When an outer axis is
/// contiguous in every operand (and the axis itself is not) it comes last and `width` is its size: vectors run across
/// it.
struct AxisPlan {
  AxisPlan(const AxisLayout& layout, int operands) : operands_(operands), length(layout.length) {
    for (int k = 0; k < operands; ++k) step[k] = layout.operand[k].axis;
    for (int a = 0; a < layout.outer_rank; ++a) {
      rows *= layout.outer[a];
      if (layout.outer[a] != 1) append(layout, a);
    }
    for (int k = 0; k < operands; ++k) contiguous &= step[k] == 1;
    if (!contiguous) pull_inner_axis();
  }

  int operands_, rank = 0;
  int64_t size[AxisLayout::kMaxOuter], stride[AxisLayout::kMaxOperands][AxisLayout::kMaxOuter];
  int64_t length, rows = 1;  // rows: product of the outer sizes, without the width
  int64_t width = 0;         // 0: no axis to run across
  int64_t step[AxisLayout::kMaxOperands];
  bool contiguous = true;  // the axis itself, in every operand

  /// Offset of operand k for the given row.
  int64_t offset(int k, int64_t row) const {
    int64_t at = 0;
    for (int a = rank - 1; a >= 0; --a) {
      at += row % size[a] * stride[k][a];
      row /= size[a];
    }
    return at;
  }

 private:
  void append(const AxisLayout& layout, int a) {
    bool merges = rank > 0;
    for (int k = 0; k < operands_ && merges; ++k)
      merges = stride[k][rank - 1] == layout.operand[k].outer[a] * layout.outer[a];
    if (!merges) size[rank++] = 1;
    size[rank - 1] *= layout.outer[a];
    for (int k = 0; k < operands_; ++k) stride[k][rank - 1] = layout.operand[k].outer[a];
  }

  void pull_inner_axis() {
    constexpr int64_t kNarrowest = 4;
    for (int a = 0; a < rank; ++a) {
      bool unit = size[a] >= kNarrowest;
      for (int k = 0; k < operands_ && unit; ++k) unit = stride[k][a] == 1;
      if (!unit) continue;
      width = size[a];
      rows /= width;
      for (int b = a; b + 1 < rank; ++b) {
        size[b] = size[b + 1];
        for (int k = 0; k < operands_; ++k) stride[k][b] = stride[k][b + 1];
      }
      --rank;
      return;
    }
  }
};

/// Calls body(row, first column, last column) for a share of the rows × columns of a plan with a width, in panels.
template <class Team, class Body>
void for_panels(const AxisPlan& plan, int64_t panel, const Team& team, const Body& body) {
  constexpr int64_t kGrain = 16;
  const int64_t blocks = (plan.width + kGrain - 1) / kGrain;
  const auto [first, last] = team.share(plan.rows * blocks);
  for (int64_t u = first; u < last;) {
    const int64_t row = u / blocks, next = std::min((row + 1) * blocks, last);
    const int64_t end = std::min((next - row * blocks) * kGrain, plan.width);
    for (int64_t c = (u - row * blocks) * kGrain; c < end; c += panel) body(row, c, std::min(c + panel, end));
    u = next;
  }
}

}  // namespace ingot::kernels
