// The work of compiling grows with the function, not with its square: what is counted for n steps and for 4 n.
#include <gtest/gtest.h>

#include <functional>

#include "graph/capture.h"
#include "graph/fuse.h"
#include "graph/passes.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/ops/ops.h"

namespace ingot::graph {
namespace {

struct Work {
  int64_t waits = 0;     // edges between nodes that share memory
  int64_t searched = 0;  // steps that fusion looks at
  double per_node = 0;   // both
};

using Function = std::function<std::vector<NamedTensor>(int)>;

Work work_of(const Function& fn, int n) {
  Graph graph;
  {
    Capture capture({}, true);
    capture.finish(fn(n));
    graph = std::move(capture.graph());
  }
  PassRun({}).run(graph);
  Work work;
  for (const Node& node : graph.nodes) work.waits += static_cast<int64_t>(node.after.size());
  make_groups(graph, {.searched = &work.searched});
  work.per_node = static_cast<double>(work.waits + work.searched) / static_cast<double>(graph.nodes.size());
  return work;
}

void expect_linear(const char* what, const Function& fn) {
  const Work few = work_of(fn, 200), many = work_of(fn, 800);
  EXPECT_LE(many.per_node, 1.5 * few.per_node + 1) << what << ": " << few.waits << " waits, then " << many.waits << "; "
                                                   << few.searched << " steps looked at, then " << many.searched;
}

TEST(Growth, FusionOfStepsThatReadBackwards) {
  const Tensor w = uniform({8, 8}, 1), u = uniform({8, 8}, 2), x = uniform({4, 8}, 3);
  expect_linear("recurrent", [&](int n) {
    Tensor h = x;
    for (int i = 0; i < n; i++) h = tanh(matmul(h, w) + x);
    return std::vector<NamedTensor>{{"dw", gradients(sum(h), {w})[0]}};
  });
  expect_linear("two recurrent layers", [&](int n) {
    Tensor h = x, g = x;
    for (int i = 0; i < n; i++) {
      h = tanh(matmul(h, w) + x);
      g = tanh(matmul(g, w) + matmul(h, u));
    }
    const std::vector<Tensor> slopes = gradients(sum(g), {w, u});
    return std::vector<NamedTensor>{{"dw", slopes[0]}, {"du", slopes[1]}};
  });
  expect_linear("shortcuts from the first", [&](int n) {
    const Tensor first = exp(x);
    Tensor h = first;
    for (int i = 0; i < n; i++) h = tanh(matmul(h, w)) + first + h;
    return std::vector<NamedTensor>{{"dw", gradients(sum(h), {w})[0]}};
  });
  expect_linear("ladder", [&](int n) {
    std::vector<Tensor> down = {exp(x)};
    for (int i = 0; i < n; i++) down.push_back(tanh(matmul(down.back(), w)));
    Tensor up = down.back();
    for (int i = n; i-- > 0;) up = tanh(matmul(up, u) + down[static_cast<size_t>(i)]);
    return std::vector<NamedTensor>{{"up", up}};
  });
}

TEST(Growth, OrderOfMemory) {
  const Tensor a = uniform({16}, 1), table = uniform({4, 8}, 2);
  expect_linear("one tensor written again and again", [&](int n) {
    for (int i = 0; i < n; i++) add_into(a, a * 0.5, a);
    return std::vector<NamedTensor>{};
  });
  expect_linear("one tensor read by all, then written", [&](int n) {
    Tensor s = a;
    for (int i = 0; i < n; i++) s = tanh(s) * a;
    copy_into(a, s);
    return std::vector<NamedTensor>{};
  });
  std::vector<Tensor> rows;
  for (int i = 0; i < 800; i++) rows.push_back(zeros({4}));
  expect_linear("stores and checks", [&](int n) {
    for (int i = 0; i < n; i++) {
      const Tensor best = argmax(table * (1.0 + i), {1}, true);
      copy_into(rows[static_cast<size_t>(i)], sum(gather(table, best, 1), {1}));
    }
    return std::vector<NamedTensor>{};
  });
}

// As many views of views as a function likes: none of them is walked through by recursion.
TEST(Growth, ALongRowOfViews) {
  const int n = 20000;
  const Tensor x = uniform({n + 1, 2}, 1);
  Plan plan = compile(
      [&] {
        Tensor rest = exp(x);
        for (int i = 0; i < n; i++) rest = slice(rest, 0, 1, rest.shape()[0]);
        return rest * 2.0;
      },
      {});
  const Tensor last = exp(slice(x, 0, n, n + 1)) * 2.0;
  EXPECT_EQ(plan.run()[0].to_vector<float>(), last.to_vector<float>());
}

}  // namespace
}  // namespace ingot::graph
