#include "kernels/reduce_plan.h"

#include <cstdlib>

#include "kernels/axes.h"

namespace ingot::kernels {
namespace {

constexpr int64_t kSegment = 16384;     // elements of a range that one worker folds alone
constexpr int64_t kMaxSegments = 1024;  // bounds the scratch
constexpr int64_t kFewOutputs = 32;     // below this the range is shared out instead of the outputs
constexpr int64_t kNarrowestColumns = 4;

// Axes of size one say nothing; a single axis of no step stands for an empty list.
void add_axis(Axes& axes, int64_t size, int64_t in, int64_t out) {
  if (size == 1) return;
  axes.size[axes.rank] = size;
  axes.in[axes.rank] = in;
  axes.out[axes.rank++] = out;
}

void flip_negative(Axes& axes, int64_t& in_offset, int64_t& out_offset) {
  for (int a = 0; a < axes.rank; ++a) {
    if (axes.in[a] >= 0) continue;
    in_offset += (axes.size[a] - 1) * axes.in[a];
    out_offset += (axes.size[a] - 1) * axes.out[a];
    axes.in[a] = -axes.in[a];
    axes.out[a] = -axes.out[a];
  }
}

// Largest step first; a step of 0 (broadcast) counts as the largest, so that the contiguous axis ends up innermost.
void sort_by_stride(Axes& axes) {
  int64_t* const steps[] = {axes.in, axes.out};
  order_axes(axes.rank, axes.size, steps, 2, [&](int a, int b) {
    return static_cast<uint64_t>(axes.in[a]) - 1 > static_cast<uint64_t>(axes.in[b]) - 1;
  });
}

void merge(Axes& axes) { axes.rank = merge_axes(axes.rank, axes.size, axes.in, axes.out); }

void at_least_one_axis(Axes& axes, int64_t size) {
  if (axes.rank > 0 && size != 0) return;
  axes.rank = 1;
  axes.size[0] = size;
  axes.in[0] = axes.out[0] = 1;
}

int64_t product(const Axes& axes) {
  int64_t n = 1;
  for (int a = 0; a < axes.rank; ++a) n *= axes.size[a];
  return n;
}

}  // namespace

ReducePlan plan_reduce(const ReduceLayout& layout, bool ordered) {
  ReducePlan plan;
  for (int a = 0; a < layout.kept_rank; ++a) add_axis(plan.kept, layout.kept[a], layout.kept_in[a], layout.kept_out[a]);
  for (int a = 0; a < layout.reduced_rank; ++a) add_axis(plan.reduced, layout.reduced[a], layout.reduced_in[a], 0);
  plan.outputs = product(plan.kept);
  plan.count = product(plan.reduced);
  if (plan.outputs > 0 && plan.count > 0) {
    flip_negative(plan.kept, plan.in_offset, plan.out_offset);
    sort_by_stride(plan.kept);
    if (!ordered) {
      int64_t none = 0;
      flip_negative(plan.reduced, plan.in_offset, none);
      sort_by_stride(plan.reduced);
    }
  }
  merge(plan.kept);
  merge(plan.reduced);
  at_least_one_axis(plan.kept, plan.outputs);
  at_least_one_axis(plan.reduced, plan.count);
  const int inner = plan.kept.rank - 1;
  plan.columns = plan.kept.in[inner] == 1 && plan.kept.size[inner] >= kNarrowestColumns && plan.row_stride() != 1;
  if (plan.outputs < kFewOutputs && plan.count >= 2 * kSegment) {
    plan.segments = std::min((plan.count + kSegment - 1) / kSegment, kMaxSegments);
    plan.segment = (plan.count + plan.segments - 1) / plan.segments;
    plan.segments = (plan.count + plan.segment - 1) / plan.segment;
  }
  return plan;
}

ReducePlan packed_outputs(const ReducePlan& plan) {
  ReducePlan packed = plan;
  packed.out_offset = 0;
  int64_t step = 1;
  for (int a = plan.kept.rank - 1; a >= 0; --a) {
    packed.kept.out[a] = step;
    step *= plan.kept.size[a];
  }
  return packed;
}

size_t reduce_scratch(const ReduceLayout& layout) {
  const ReducePlan plan = plan_reduce(layout, false);
  return plan.segments == 1 ? 0 : static_cast<size_t>(plan.segments * plan.outputs) * sizeof(double);
}

size_t centred_reduce_scratch(const ReduceLayout& layout) {
  return static_cast<size_t>(plan_reduce(layout, false).outputs) * sizeof(double) + reduce_scratch(layout);
}

size_t arg_reduce_scratch(const ReduceLayout& layout) {
  const ReducePlan plan = plan_reduce(layout, true);
  return plan.segments == 1 ? 0 : static_cast<size_t>(plan.segments * plan.outputs) * 2 * sizeof(int64_t);
}

}  // namespace ingot::kernels
