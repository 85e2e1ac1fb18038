// How probable boolean functions of independent coins are, and the gradients of that: what exact and kept proofs become in plans.
#include <vector>

#include "ingot/logic/ops.h"
#include "ingot/logic/plumbing.h"
#include "ingot/ops/checks.h"
#include "ingot/ops/decoded.h"
#include "ingot/ops/own_op.h"
#include "ingot/ops/plain.h"
#include "ingot/ops/samples.h"
#include "ingot/ops/staging.h"
#include "logic/tensor/diagram_kernels.h"

namespace ingot::logic {
namespace {

int64_t decode_outputs(const Call& call) { return call.integer("outputs"); }

// Inputs `i` and `i` + 1 are weights [batch, coins] and nodes [n, 3].
void require_diagram(const Call& call, int i, int64_t outputs) {
  require_rank(call, i, 2, "[batch, coins]");
  require_rank(call, i + 1, 2, "[n, 3]");
  const Tensor& nodes = call.in(i + 1);
  if (nodes.dtype() != kI32 || nodes.size(1) != 3)
    fail(call, "the nodes are " + describe(nodes), "give i32 [n, 3]: coin, low, high");
  if (outputs < 0 || outputs > nodes.size(0))
    fail_argument(call, std::to_string(outputs) + " outputs of " + std::to_string(nodes.size(0)) + " nodes",
                  "the last nodes are the outputs");
}

void check_nodes(const Call& call, int i) {
  const Tensor& nodes = call.in(i + 1);
  const int64_t coins = call.in(i).size(1), s0 = nodes.strides()[0], s1 = nodes.strides()[1];
  const auto* n = static_cast<const int32_t*>(nodes.raw());
  for (int64_t k = 0; k < nodes.size(0); k++) {
    const int64_t coin = n[k * s0], low = n[k * s0 + s1], high = n[k * s0 + 2 * s1];
    if (coin < 0 || coin >= coins)
      fail_argument(call, "node " + std::to_string(k) + " asks for coin " + std::to_string(coin),
                    "there are " + std::to_string(coins));
    if (low < 0 || high < 0 || low >= k + 2 || high >= k + 2)
      fail_argument(call,
                    "node " + std::to_string(k) + " leads to " + std::to_string(low) + " and " + std::to_string(high),
                    "0 is false, 1 true, 2 + j the node j before it");
  }
}

Diagram diagram_of(const Call& call, int i, int64_t outputs, const void* nodes = nullptr) {
  return {static_cast<const int32_t*>(nodes), call.in(i + 1).size(0), call.in(i).size(1), outputs};
}

// Plain loops, one number at a time.
struct PlainDiagram {
  PlainDiagram(const Call& call, int i)
      : coins(call.in(i).size(1)), weights(numbers(call.in(i))), nodes(numbers(call.in(i + 1))) {}
  static std::vector<double> numbers(const Tensor& t) {
    std::vector<double> all;
    for_each_index(t.shape(), [&](const Dims& at) { all.push_back(load_as_double(element_at(t, at), t.dtype())); });
    return all;
  }
  size_t node(size_t k, size_t part) const { return static_cast<size_t>(nodes[3 * k + part]); }
  double weight(size_t sample, size_t k) const { return weights[sample * static_cast<size_t>(coins) + node(k, 0)]; }
  std::vector<double> values(size_t sample) const {
    std::vector<double> v = {0, 1};
    for (size_t k = 0; 3 * k < nodes.size(); k++)
      v.push_back(weight(sample, k) * v[node(k, 2)] + (1 - weight(sample, k)) * v[node(k, 1)]);
    return v;
  }

  int64_t coins;
  std::vector<double> weights, nodes;
};

void store(const Tensor& t, const std::vector<double>& all) {
  size_t k = 0;
  for_each_index(t.shape(), [&](const Dims& i) { store_from_double(element_at(t, i), t.dtype(), all[k++]); });
}

void reference_values(const Call& call, const Tensor* out) {
  const PlainDiagram d(call, 0);
  std::vector<double> y;
  for (int64_t s = 0; s < out->size(0); s++) {
    const std::vector<double> v = d.values(static_cast<size_t>(s));
    y.insert(y.end(), v.end() - out->size(1), v.end());
  }
  store(*out, y);
}

void reference_grad(const Call& call, const Tensor* out) {
  const PlainDiagram d(call, 1);
  const std::vector<double> dy = PlainDiagram::numbers(call.in(0));
  const auto coins = static_cast<size_t>(d.coins), outputs = static_cast<size_t>(call.in(0).size(1));
  std::vector<double> dw(static_cast<size_t>(out->numel()));
  for (size_t s = 0; s < static_cast<size_t>(call.in(0).size(0)); s++) {
    const std::vector<double> v = d.values(s);
    std::vector<double> dv(v.size());
    for (size_t o = 0; o < outputs; o++) dv[v.size() - outputs + o] = dy[s * outputs + o];
    for (size_t k = v.size() - 2; k-- > 0;) {
      dw[s * coins + d.node(k, 0)] += dv[k + 2] * (v[d.node(k, 2)] - v[d.node(k, 1)]);
      dv[d.node(k, 1)] += dv[k + 2] * (1 - d.weight(s, k));
      dv[d.node(k, 2)] += dv[k + 2] * d.weight(s, k);
    }
  }
  store(*out, dw);
}

struct SampleSize {
  int64_t batch, coins, nodes, outputs;
};
constexpr SampleSize kSamples[] = {{1, 1, 1, 1}, {3, 4, 9, 2}, {17, 6, 30, 5},
                                   {0, 3, 4, 2}, {2, 5, 3, 0}, {40, 2, 5, 5}};

// A row reads what stands before it; its coin is one of as many, so that nodes stay right when a layout repeats them.
Tensor sample_nodes(Samples& s, const SampleSize& n) {
  const Tensor draws = s.indices({n.nodes, 3}, 0, 1 << 30);
  Tensor nodes = Tensor::empty({n.nodes, 3}, kI32);
  for (int64_t k = 0; k < n.nodes; k++)
    for (int64_t part = 0; part < 3; part++)
      nodes.data<int32_t>()[3 * k + part] =
          static_cast<int32_t>(draws.data<int64_t>()[3 * k + part] % (part == 0 ? std::min(n.coins, k + 2) : k + 2));
  return nodes;
}

double cost_of(const Call& call, int i, double each) {
  return static_cast<double>(call.in(i).size(0)) * static_cast<double>(call.in(i + 1).size(0)) * each + 50;
}

}  // namespace

INGOT_OP(decision_diagram) = {
    .name = "decision_diagram",
    .signature = "decision_diagram(weights, nodes, outputs:int)",
    .doc =
        "How probable boolean functions of independent coins are: weights [batch, coins] are the probabilities of the "
        "coins, and where coin nodes[k, 0] falls, node k has the value of nodes[k, 2], else of nodes[k, 1] (i32 [n, "
        "3]; 0 "
        "is false, 1 true, 2 + j the node j before it); to the values of the last `outputs` nodes, [batch, outputs].",
    .family = "diagram",
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_diagram(call, 0, call.integer("outputs"));
          out.add(call.in(0).dtype(), {call.in(0).size(0), call.integer("outputs")});
        },
    .prepare = prepared<decode_outputs>,
    .check = [](const Call& call) { check_nodes(call, 0); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            diagram_values(DiagramValues<T>{diagram_of(call, 0, out->size(1), in[1]), out->size(0), in[0], to[0]}, rest,
                           team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          return staged_bytes(call, out) +
                 diagram_scratch(diagram_of(call, 0, out->size(1)), false, size_of(out->dtype()), team);
        },
    .reference = reference_values,
    .cost = [](const Call& call) { return cost_of(call, 0, 0.5); },
    .gradient = [](Gradient& g) { g.set(0, decision_diagram_grad(g.dy(), g.in(0), g.in(1))); },
    .samples =
        [](Samples& s) {
          for (const SampleSize& n : kSamples)
            s.add({s.real({n.batch, n.coins}), sample_nodes(s, n)}, Attrs().set("outputs", n.outputs));
        },
    .low = 0,
    .high = 1,
    .rounding = {.ulps = 64, .scaled = 16},
};

INGOT_OP(decision_diagram_grad) = {
    .name = "decision_diagram_grad",
    .signature = "decision_diagram_grad(dy, weights, nodes)",
    .doc = "Gradient of decision_diagram by the weights.",
    .family = "diagram",
    .plumbing = true,
    .infer =
        [](const Call& call, Specs& out) {
          require_type(call, call.in(0).dtype());
          require_rank(call, 0, 2, "[batch, outputs]");
          require_same_type(call, 0, 1);
          require_diagram(call, 1, call.in(0).size(1));
          if (call.in(0).size(0) != call.in(1).size(0)) fail(call, "dy and the weights are of other batches", "");
          out.add(call.in(1).dtype(), call.in(1).shape());
        },
    .check = [](const Call& call) { check_nodes(call, 1); },
    .run =
        [](const Call& call, const Tensor* out, void* scratch, const Team& team) {
          with_staged(call, out, scratch, team, [&](auto** in, auto** to, void* rest) {
            using T = std::remove_reference_t<decltype(**to)>;
            diagram_grad(
                DiagramGrad<T>{diagram_of(call, 1, call.in(0).size(1), in[2]), out->size(0), in[0], in[1], to[0]}, rest,
                team);
          });
        },
    .scratch =
        [](const Call& call, const Tensor* out, int team) {
          return staged_bytes(call, out) +
                 diagram_scratch(diagram_of(call, 1, call.in(0).size(1)), true, size_of(out->dtype()), team);
        },
    .reference = reference_grad,
    .cost = [](const Call& call) { return cost_of(call, 1, 1.5); },
    .not_differentiable = "it computes the values again and keeps none of them; second derivatives are not there",
    .samples =
        [](Samples& s) {
          for (const SampleSize& n : kSamples)
            s.add({s.real({n.batch, n.outputs}), s.real({n.batch, n.coins}), sample_nodes(s, n)});
        },
    .low = 0,
    .high = 1,
    .rounding = {.ulps = 256, .scaled = 64},
};

}  // namespace ingot::logic
