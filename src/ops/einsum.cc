// einsum: sums of products over named axes, for any number of operands, in the order of contraction that costs least
// (contraction_order.h). Axes of size 1 broadcast.
#include <algorithm>
#include <string>

#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/plain.h"
#include "ops/contraction.h"
#include "ops/define.h"

namespace ingot {
namespace {

ContractionNetwork network_of(const Call& call, const Equation& e) {
  ContractionNetwork n;
  n.count = call.count();
  for (int label = 0; label < kLabels; label++)  // a size of 0 makes everything free, and no order better than another
    n.sizes[label] = static_cast<double>(std::max<int64_t>(e.size[label], 1));
  for (int i = 0; i < n.count; i++)
    for (int a = 0; a < e.in[i].count; a++)
      if (call.in(i).shape()[a] != 1) n.tensors[i].add(e.in[i].of[a]);
  for (int a = 0; a < e.out.count; a++)
    if (e.size[e.out.of[a]] != 1) n.result.add(e.out.of[a]);
  return n;
}

// "operands 0, 2 and 3", those whose product is the largest intermediate result.
std::string largest_product(const ContractionNetwork& n, const ContractionSteps& steps) {
  uint64_t parts[kMaxInputs], largest = 1;
  for (int i = 0; i < n.count; i++) parts[i] = uint64_t{1} << i;
  double most = -1;
  for (int s = 0; s + 1 < steps.count; s++) {
    const uint64_t inside = parts[steps.left[s]] |= parts[steps.right[s]];
    IndexSet own, others = n.result;
    for (int i = 0; i < n.count; i++)
      (inside >> i & 1 ? own : others) = (inside >> i & 1 ? own : others) | n.tensors[i];
    double size = 1;
    (own & others).each([&](int label) { size *= n.sizes[label]; });
    if (size > most) most = size, largest = inside;
  }
  std::string text;
  for (int i = 0; i < n.count; i++)
    if (largest >> i & 1) text += (text.empty() ? "" : (largest >> (i + 1)) != 0 ? ", " : " and ") + std::to_string(i);
  return "operands " + text;
}

Labels labels_in(const IndexSet& set) {
  Labels labels;
  set.each([&](int label) { labels.add(label); });
  return labels;
}

// What the operands and results in scratch take, if the call's operands are contiguous.
size_t result_bytes(const Call& call, const Equation& e, const ContractionOrder& order) {
  Tensor whole[kMaxInputs];
  const Tensor* in[kMaxInputs];
  for (int i = 0; i < call.count(); i++) {
    const Tensor& t = call.in(i);
    whole[i] = t.view(nullptr, t.shape(), contiguous_strides(t.shape()));
    in[i] = &whole[i];
  }
  Dims shape;
  for (int a = 0; a < e.out.count; a++) shape.push_back(e.size[e.out.of[a]]);
  const Tensor out = whole[0].view(nullptr, shape, contiguous_strides(shape));
  const Call contiguous{call.op, {in, static_cast<size_t>(call.count())}, call.attrs};
  Contraction dry(contiguous, e, order.steps, labels_in(order.sliced), out, nullptr, 1, nullptr);
  dry.run();
  return dry.result_bytes();
}

// The order of contraction; refuses a call whose intermediate results cannot be kept within its limits.
ContractionOrder order_of(const Call& call, const Equation& e) {
  const ContractionNetwork n = network_of(call, e);
  OrderOptions options{.most_axes = kMaxRank};
  const ContractionOrder free = contraction_order(n, options);
  if (!free.found) fail_equation(call, "an intermediate result would have more than 8 axes; contract in steps");
  const int64_t limit = call.integer("most_bytes");
  if (limit < 0) fail_argument(call, "most_bytes is " + std::to_string(limit), "0 sets no limit");
  const size_t least = limit == 0 ? 0 : result_bytes(call, e, free);
  if (limit == 0 || least <= static_cast<size_t>(limit)) return free;
  // Operands that change their layout on the way need room as well: ask for less until all of it fits.
  options.most_elements = static_cast<double>(limit) / static_cast<double>(size_of(call.in(0).dtype()));
  for (int round = 0; round < 6 && options.most_elements >= 1; round++, options.most_elements /= 4) {
    const ContractionOrder order = contraction_order(n, options);
    if (!order.found || order.sliced.count() > 2 * kMaxRank) break;
    if (result_bytes(call, e, order) <= static_cast<size_t>(limit)) return order;
  }
  fail_argument(call,
                "intermediate results take " + std::to_string(least) + " bytes, most of them the product of " +
                    largest_product(n, free.steps) + ", and slices do not bring them down to " + std::to_string(limit),
                "raise most_bytes, or contract in steps");
}

EinsumParams decode(const Call& call) {
  const Equation e = parse_equation(call);
  const ContractionOrder order = order_of(call, e);
  return {names_of(call, e), order.steps, labels_in(order.sliced)};
}

// The gradient for operand i is an einsum again: dy times the other operands, with i's own names as the result. A name
// that nothing else has gets a vector of ones; a name that occurs twice in operand i gets an identity matrix.
Tensor operand_gradient(const Gradient& g, int i) {
  const Equation e = parse_equation(g.call());
  bool used[kLabels] = {};
  for (int label = 0; label < kLabels; label++) used[label] = e.times[label] > 0;
  char letter[kLabels];
  int next = 0;
  const auto fresh = [&] {
    while (next < kLetters && used[next]) next++;
    if (next == kLetters) throw Error("einsum: too many axis names for a gradient — use fewer letters");
    used[next] = true;
    return letter_of(next);
  };
  for (int label = 0; label < kLabels; label++)
    letter[label] = label < kLetters ? letter_of(label) : used[label] ? fresh() : '?';
  const auto spell = [&](const Labels& labels) {
    std::string text;
    for (int a = 0; a < labels.count; a++) text += letter[labels.of[a]];
    return text;
  };

  std::vector<Tensor> operands{g.dy()};
  std::string equation = spell(e.out);
  bool seen[kLabels] = {};
  for (int a = 0; a < e.out.count; a++) seen[e.out.of[a]] = true;
  for (int k = 0; k < g.count(); k++) {
    if (k == i) continue;
    operands.push_back(g.in(k));
    equation += ',';
    equation += spell(e.in[k]);
    for (int a = 0; a < e.in[k].count; a++) seen[e.in[k].of[a]] = true;
  }
  std::string result;
  bool placed[kLabels] = {};
  for (int a = 0; a < e.in[i].count; a++) {
    const int label = e.in[i].of[a];
    const DType type = g.in(i).dtype();
    if (placed[label]) {
      const char twin = fresh();
      operands.push_back(eye(e.size[label], -1, type));
      equation += std::string(",") + letter[label] + twin;
      result += twin;
      continue;
    }
    placed[label] = true;
    result += letter[label];
    if (!seen[label]) {
      operands.push_back(ones({e.size[label]}, type));
      equation += std::string(",") + letter[label];
    }
  }
  return einsum(operands, equation + "->" + result, g.call().integer("most_bytes"));
}

// As if every pair of operands in the order of contraction walked every name of both.
double einsum_cost(const Call& call) {
  const Equation e = equation_of(call);
  const EinsumParams& params = call.params<EinsumParams>();
  const ContractionNetwork n = network_of(call, e);
  IndexSet terms[kMaxInputs];
  std::copy_n(n.tensors, n.count, terms);
  double products = n.count == 1 ? static_cast<double>(call.in(0).numel()) : 0;
  for (int s = 0; s < params.steps.count; s++) {
    IndexSet& left = terms[params.steps.left[s]];
    IndexSet others = n.result;
    left = left | terms[params.steps.right[s]];
    terms[params.steps.right[s]] = {};
    double size = 1;
    left.each([&](int label) { size *= n.sizes[label]; });
    products += size;
    for (int i = 0; i < n.count; i++)
      if (&terms[i] != &left) others = others | terms[i];
    left = left & others;
  }
  return products / 20;
}

}  // namespace

INGOT_OP(einsum) = {
    .name = "einsum",
    .signature = "einsum(xs..., equation:text, most_bytes:int=0)",
    .doc =
        "Sum of products over named axes: \\\"ij,jk->ik\\\" multiplies matrices, \\\"ii->i\\\" takes a diagonal, "
        "\\\"...ij->...ji\\\" transposes. Operands are contracted in the order that costs least; with most_bytes, "
        "intermediate results (of contiguous operands) stay within so many bytes, if need be slice by slice.",
    .family = "einsum",
    .infer =
        [](const Call& call, Specs& out) {
          if (call.count() == 0) fail_argument(call, "no operands", "give at least one tensor");
          require_type(call, call.in(0).dtype());
          for (int i = 1; i < call.count(); i++) require_same_type(call, 0, i);
          const Equation e = parse_equation(call);
          names_of(call, e);
          order_of(call, e);
          Dims shape;
          for (int a = 0; a < e.out.count; a++) shape.push_back(e.size[e.out.of[a]]);
          out.add(call.in(0).dtype(), shape);
        },
    .prepare = prepared<decode>,
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          const Equation e = equation_of(call);
          const auto& params = call.params<EinsumParams>();
          Contraction(call, e, params.steps, params.sliced, out[0], scratch, team.size(), &team).run();
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team_size) {
          const Equation e = equation_of(call);
          const auto& params = call.params<EinsumParams>();
          Contraction dry(call, e, params.steps, params.sliced, out[0], nullptr, team_size, nullptr);
          dry.run();
          return dry.bytes();
        },
    .reference =
        [](const Call& call, const Tensor* out) {
          const Equation e = parse_equation(call);
          int64_t index[kLabels] = {};
          const Tensor sums = zeros(out[0].shape(), kF64);
          int64_t count = 1;
          for (int label = 0; label < kLabels; label++)
            if (e.times[label] > 0) count *= e.size[label];
          for (int64_t step = 0; step < count; step++) {
            double product = 1;
            for (int i = 0; i < call.count(); i++) {
              Dims at;
              for (int a = 0; a < e.in[i].count; a++)
                at.push_back(call.in(i).shape()[a] == 1 ? 0 : index[e.in[i].of[a]]);
              product *= load_as_double(element_at(call.in(i), at), call.in(i).dtype());
            }
            Dims to;
            for (int a = 0; a < e.out.count; a++) to.push_back(index[e.out.of[a]]);
            sums.at<double>(to) += product;
            for (int label = 0; label < kLabels; label++) {
              if (e.times[label] == 0) continue;
              if (++index[label] < e.size[label]) break;
              index[label] = 0;
            }
          }
          for_each_index(out[0].shape(), [&](const Dims& i) {
            store_from_double(element_at(out[0], i), out[0].dtype(), sums.at<double>(i));
          });
        },
    .cost = einsum_cost,
    .gradient =
        [](Gradient& g) {
          for (int i = 0; i < g.count(); i++)
            if (g.wants(i)) g.set(i, operand_gradient(g, i));
        },
    .samples =
        [](Samples& s) {
          const auto add = [&](const char* equation, std::vector<Dims> shapes, int64_t most_bytes = 0) {
            std::vector<Tensor> operands;
            operands.reserve(shapes.size());
            for (const Dims& shape : shapes) operands.push_back(s.real(shape));
            s.add(std::move(operands), Attrs().set("equation", equation).set("most_bytes", most_bytes));
          };
          add("ij,jk->ik", {{3, 4}, {4, 5}});
          add("ij,jk", {{3, 4}, {4, 5}});
          add("ij,kj->ik", {{3, 4}, {5, 4}});
          add("ij,jk->ki", {{3, 4}, {4, 5}});
          add("bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}});
          add("bhid,bhjd->bhij", {{2, 2, 3, 4}, {2, 2, 5, 4}});
          add("ibd,jbd->bij", {{3, 2, 4}, {5, 2, 4}});
          add("i,i->", {{7}, {7}});
          add("i,j->ij", {{3}, {4}});
          add("i,i->i", {{5}, {5}});
          add("ii->i", {{4, 4}});
          add("ii->", {{4, 4}});
          add("ij->ji", {{3, 4}});
          add("ij->", {{3, 4}});
          add("ijk->j", {{2, 3, 4}});
          add("...ij,...jk->...ik", {{2, 1, 3, 4}, {3, 4, 2}});
          add("...i->...", {{2, 3, 4}});
          add("i...,i...", {{3, 2}, {3, 2}});
          add("ij,jk,kl->il", {{2, 3}, {3, 4}, {4, 5}});
          add("i,j,k,ijk->", {{2}, {3}, {4}, {2, 3, 4}});
          add("iij,jk->ik", {{3, 3, 2}, {2, 4}});
          add("ab,ab,ab->a", {{3, 4}, {3, 4}, {3, 4}});
          add("ij,k->i", {{2, 3}, {4}});
          add("ij,jk->ik", {{0, 4}, {4, 5}});
          add("ij,jk->ik", {{3, 0}, {0, 5}});
          add("->", {{}});
          add("i->i", {{1}});
          add("bchw,oc->bohw", {{2, 3, 2, 2}, {4, 3}});
          add("ab,bc,cd,de->ae", {{5, 4}, {4, 30}, {30, 4}, {4, 6}});
          add("ab,bc,cd,da->", {{6, 5}, {5, 7}, {7, 4}, {4, 6}}, 128);
          add("ab,ac,ad->bcd", {{4, 3}, {4, 5}, {4, 6}}, 256);
        },
    .rounding = {128, 128},  // sums on the way may be much larger than operands and results
    .reorders_sums = true,
};

}  // namespace ingot
