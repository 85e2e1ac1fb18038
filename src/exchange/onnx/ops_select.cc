// Ops whose results' shapes follow from elements: they need them beforehand.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "exchange/onnx/use.h"
#include "ingot/base/error.h"

namespace ingot::onnx {
namespace {

void non_zero_op(Use& u) {
  const std::vector<double> x = u.known_reals(0);
  const Dims shape = u.in().shape();
  std::vector<std::vector<int64_t>> places(static_cast<size_t>(shape.size()));
  for (size_t i = 0; i < x.size(); i++) {
    if (x[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (int a = shape.size() - 1; a >= 0; a--)
      places[static_cast<size_t>(a)].push_back(rest % shape[a]), rest /= shape[a];
  }
  std::vector<int64_t> all;
  for (const auto& axis : places) all.insert(all.end(), axis.begin(), axis.end());
  const int64_t count = places.empty() ? 0 : static_cast<int64_t>(places[0].size());
  u.out(Tensor::from(all, {shape.size(), count}), Type::kInt64);
}

void compress_op(Use& u) {
  const std::vector<int64_t> keep = u.known_integers(1);
  Tensor x = u.in();
  int axis = 0;
  if (u.given("axis"))
    axis = u.axis("axis", 0, x.rank());
  else
    x = reshaped(x, {x.numel()});
  std::vector<int64_t> places;
  for (size_t i = 0; i < keep.size() && static_cast<int64_t>(i) < x.shape()[axis]; i++)
    if (keep[i] != 0) places.push_back(static_cast<int64_t>(i));
  u.out(index_select(x, Tensor::from(places), axis));
}

// An order of all numbers: what is none comes last, and is the same as another one.
struct Before {
  bool operator()(const std::vector<double>& a, const std::vector<double>& b) const {
    const auto before = [](double x, double y) { return std::isnan(y) ? !std::isnan(x) : x < y; };
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), before);
  }
};

// Slices along an axis that occur once or more: each once, with where it was first, which every slice is, and how many.
void unique_op(Use& u) {
  const bool whole = !u.given("axis"), sorted = u.integer("sorted", 1) != 0;
  const Tensor x = whole ? reshaped(u.known(0), {u.in().numel()}) : u.known(0);
  const int axis = whole ? 0 : u.axis("axis", 0, x.rank());
  const int64_t n = x.shape()[axis];
  Dims order{axis};
  for (int a = 0; a < x.rank(); a++)
    if (a != axis) order.push_back(a);
  const std::vector<double> elements = to_reals(permute(x, order));
  const size_t width = n == 0 ? 0 : elements.size() / static_cast<size_t>(n);
  std::map<std::vector<double>, size_t, Before> known;
  std::vector<std::vector<double>> slices;
  std::vector<int64_t> first, inverse, counts;
  for (size_t i = 0; i < static_cast<size_t>(n); i++) {
    std::vector<double> each(elements.begin() + static_cast<int64_t>(i * width),
                             elements.begin() + static_cast<int64_t>((i + 1) * width));
    const auto [found, is_new] = known.emplace(each, slices.size());
    if (is_new) slices.push_back(std::move(each)), first.push_back(static_cast<int64_t>(i)), counts.push_back(0);
    inverse.push_back(static_cast<int64_t>(found->second));
    counts[found->second]++;
  }
  std::vector<size_t> rank(slices.size());
  std::iota(rank.begin(), rank.end(), size_t{0});
  if (sorted) std::sort(rank.begin(), rank.end(), [&](size_t a, size_t b) { return Before()(slices[a], slices[b]); });
  std::vector<int64_t> place(slices.size()), places, times;
  for (size_t i = 0; i < rank.size(); i++) {
    place[rank[i]] = static_cast<int64_t>(i);
    places.push_back(first[rank[i]]), times.push_back(counts[rank[i]]);
  }
  for (int64_t& i : inverse) i = place[static_cast<size_t>(i)];
  u.out(index_select(x, Tensor::from(places), axis));
  for (const auto* list : {&places, &inverse, &times}) u.out(Tensor::from(*list), Type::kInt64);
}

struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};
double overlap(const Box& a, const Box& b) {
  const double h = std::min(a.bottom, b.bottom) - std::max(a.top, b.top),
               w = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (h <= 0 || w <= 0) return 0;
  return h * w / (a.area() + b.area() - h * w);
}

// The best boxes of every class, without those that overlap a better one.
void non_max_suppression_op(Use& u) {
  const std::vector<double> boxes = u.known_reals(0), scores = u.known_reals(1);
  const Dims b = u.in(0).shape(), s = u.in(1).shape();
  if (b.size() != 3 || s.size() != 3 || b[2] != 4 || b[1] != s[2] || b[0] != s[0])
    u.fail("the shapes do not fit", "boxes are [batch, n, 4], scores [batch, classes, n]");
  const int64_t most = u.has(2) ? saturate<int64_t>(u.known_real(2)) : 0;
  const double limit = u.has(3) ? u.known_real(3) : 0, least = u.has(4) ? u.known_real(4) : -HUGE_VAL;
  const bool centre = u.integer("center_point_box", 0) != 0;
  const auto box = [&](int64_t batch, int64_t i) {
    const double* p = boxes.data() + (batch * b[1] + i) * 4;
    if (centre) return Box{p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2};
    return Box{std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])};
  };
  std::vector<int64_t> chosen;
  for (int64_t batch = 0; batch < s[0]; batch++)
    for (int64_t c = 0; c < s[1]; c++) {
      const double* score = scores.data() + (batch * s[1] + c) * s[2];
      std::vector<int64_t> order, kept;
      for (int64_t i = 0; i < s[2]; i++)
        if (score[i] > least) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return score[i] > score[j]; });
      for (const int64_t i : order) {
        if (static_cast<int64_t>(kept.size()) >= most) break;
        if (std::any_of(kept.begin(), kept.end(),
                        [&](int64_t k) { return overlap(box(batch, i), box(batch, k)) > limit; }))
          continue;
        kept.push_back(i);
        chosen.insert(chosen.end(), {batch, c, i});
      }
    }
  u.out(Tensor::from(chosen, {static_cast<int64_t>(chosen.size() / 3), 3}), Type::kInt64);
}

}  // namespace

std::span<const Row> select_rows() {
  static constexpr Row kRows[] = {
      {"NonZero", 9, non_zero_op},
      {"Compress", 9, compress_op},
      {"Unique", 11, unique_op},
      {"NonMaxSuppression", 10, non_max_suppression_op},
  };
  return kRows;
}

}  // namespace ingot::onnx
