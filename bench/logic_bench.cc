// Logic on tensors: connectives, quantifiers and their gradients as plans, boolean products, orders of contraction.
#include <torch/torch.h>

#include <algorithm>
#include <vector>

#include "harness.h"
#include "ingot/graph/grad.h"
#include "ingot/graph/plan.h"
#include "ingot/logic/addition.h"
#include "ingot/logic/algebra.h"
#include "ingot/logic/fixpoint.h"
#include "ingot/logic/theory.h"
#include "ingot/logic/truth.h"
#include "ingot/ops/contraction_order.h"
#include "ingot/ops/ops.h"
#include "logic/bits.h"

namespace ingot {
namespace {

using namespace logic;

// The same memory as a libtorch tensor.
at::Tensor torch_view(const Tensor& t) {
  std::vector<int64_t> sizes;
  for (int a = 0; a < t.rank(); a++) sizes.push_back(t.shape()[a]);
  return at::from_blob(t.raw(), sizes, at::kFloat);
}

void connectives(bench::Suite& s) {
  const Semantics product = semantics("product");
  const auto both = [&](const Tensor& a, const Tensor& b) { return conjunction(a, b, product); };
  const Tensor a = uniform({1000}, 1), b = uniform({1000}, 2), x = uniform({100, 100}, 3), y = uniform({100}, 4),
               z = uniform({100}, 5);
  const at::Tensor ta = torch_view(a), tb = torch_view(b), tx = torch_view(x);
  at::Tensor out = at::empty({1000}), rows = at::empty({100});

  Plan conjoin = compile(both, {{1000}, {1000}});
  s.compare("and-1000", [&] { conjoin.run(a, b); }, {{"libtorch", [&] { at::mul_out(out, ta, tb); }}});

  Plan greatest = compile([](const Tensor& t) { return exists(t, {1}, semantics("godel")); }, {{100, 100}});
  s.compare("exists-100x100", [&] { greatest.run(x); }, {{"libtorch", [&] { at::amax_out(rows, tx, {1}); }}});
  Plan ltn = compile([](const Tensor& t) { return exists(t, {1}); }, {{100, 100}});
  s.compare("exists-100x100-ltn", [&] { ltn.run(x); },
            {{"libtorch", [&] { tx.mul(1 - 1e-4).add(1e-4).square().mean(1).sqrt(); }}});

  Plan learn = compile(
      [&](const Tensor& p, const Tensor& q) {
        const Tensor truth = sum(both(p, q));
        const std::vector<Tensor> by = gradients(truth, {p, q});
        return std::vector<Tensor>{truth, by[0], by[1]};
      },
      {{100}, {100}});
  at::Tensor ty = torch_view(y).clone().set_requires_grad(true), tz = torch_view(z).clone().set_requires_grad(true);
  s.compare("and-100-grad", [&] { learn.run(y, z); }, {{"libtorch", [&] { at::mul(ty, tz).sum().backward(); }}});
}

void boolean_product(bench::Suite& s) {
  constexpr int64_t kSize = 1000, kWords = bit_words(kSize);
  const Tensor bits = bernoulli({2, kSize, kSize}, 1, 0.5);
  std::vector<uint64_t> words(3 * kSize * kWords);
  for (int64_t i = 0; i < 2 * kSize; i++)
    for (int64_t j = 0; j < kSize; j++)
      words[static_cast<size_t>(i * kWords + j / 64)] |= uint64_t{bits.data<bool>()[i * kSize + j]} << j % 64;
  const BitRows a{words.data(), kWords}, b{a.row(kSize), kWords}, c{b.row(kSize), kWords};
  const at::Tensor fa = at::rand({kSize, kSize}), fb = at::rand({kSize, kSize});
  at::Tensor fc = at::empty({kSize, kSize});
  s.compare("bool-1000",
            [&] {
              std::fill(c.words, c.words + kSize * kWords, uint64_t{0});
              parallel(true, [&](const Team& team) { bit_matmul(a, b, c, kSize, kSize, kSize, team); });
            },
            {{"libtorch", [&] { at::mm_out(fc, fa, fb); }}});
  Plan plan = compile(
      [](const Tensor& x, const Tensor& y) {
        return contract({x, y}, "ij,jk->ik", "boolean");
      },
      {{{kSize, kSize}, kBool}, {{kSize, kSize}, kBool}});
  const Tensor x = select(bits, 0, 0), y = select(bits, 0, 1);
  s.compare("bool-1000-bytes", [&] { plan.run(x, y); });
}

void orders(bench::Suite& s) {
  const auto network = [](int tensors, int indices) {  // every index in two tensors, by a fixed draw
    ContractionNetwork n;
    n.count = tensors;
    uint64_t state = 1;
    const auto draw = [&] {
      state = 6364136223846793005u * state + 1442695040888963407u;
      return static_cast<int>((state >> 31) % static_cast<uint64_t>(tensors));
    };
    for (int i = 0; i < indices; i++) {
      const int first = draw();
      int second = draw();
      while (second == first) second = draw();
      n.tensors[first].add(i);
      n.tensors[second].add(i);
      n.sizes[i] = 2;
    }
    return n;
  };
  const ContractionNetwork ten = network(10, 20), forty = network(40, 100);
  s.compare("contract-order", [&] { contraction_order(ten); });
  s.compare("contract-order-40", [&] { contraction_order(forty); });
}

void products(bench::Suite& s) {
  const Tensor a = uniform({256, 256}, 1), b = uniform({256, 256}, 2);
  for (const char* name : {"real", "max-min", "max-product", "min-plus", "log-sum-exp", "noisy-or"}) {
    Plan plan = compile(
        [&](const Tensor& x, const Tensor& y) {
          return contract({x, y}, "ij,jk->ik", name);
        },
        {{256, 256}, {256, 256}});
    s.compare(std::string("contract-256-") + name, [&] { plan.run(a, b); }, {}, {2.0 * 256 * 256 * 256, "operations"});
  }
}

// The rules of sums of written numbers, from what a network says of the digits to the gradients by that: batches of 64.
void sums(bench::Suite& s) {
  constexpr int64_t kBatch = 64;
  for (const int64_t digits : {1, 2, 4, 8}) {
    Theory theory = Theory::parse(addition_program(digits, 1, 10));
    theory.network("net", [](Tensors xs) { return xs[0]; });
    Tensor values = Tensor::empty({kBatch}, kI64);
    for (int64_t i = 0; i < kBatch; i++) values.at<int64_t>({i}) = i % 19;
    const Tensor logits = normal({kBatch, 2 * digits, 1, 10}, 1), written = written_digits(values, digits);
    Plan plan = compile(
        [&](const Tensor& x, const Tensor& w) {
          data::Batch batch;
          batch.set("pictures", x), batch.set("written", w);
          const Tensor loss = theory.results(batch)[0].tensor;
          return std::vector<Tensor>{loss, gradients(loss, {x})[0]};
        },
        {{kBatch, 2 * digits, 1, 10}, {kBatch, digits + 1, 10}});
    s.compare("sum-rules-" + std::to_string(digits), [&] { plan.run(logits, written); });
  }
}

// Who reaches whom among 200 by the best proof: a recursion as one step of a plan, and with its gradient.
void fixpoints(bench::Suite& s) {
  const Tensor edges = multiply(to(bernoulli({200, 200}, 1, 0.01), kF32), uniform({200, 200}, 2, 0.5, 0.95));
  const auto reach = [](const Tensor& e) {
    return fixpoint([&](const Tensor& x) { return contract({x, e}, "xy,yz->xz", "max-product"); }, e, "max-product");
  };
  Plan forward = compile(reach, {{200, 200}});
  Plan learn = compile([&](const Tensor& e) { return gradients(sum(reach(e)), {e})[0]; }, {{200, 200}});
  s.compare("fixpoint-200", [&] { forward.run(edges); });
  s.compare("fixpoint-200-grad", [&] { learn.run(edges); });
}

}  // namespace
}  // namespace ingot

int main(int argc, char** argv) {
  using namespace ingot;
  bench::use_tuned_allocator(argv);
  bench::Suite suite("logic", argc, argv);
  for (const int threads : suite.threads()) {
    suite.set_threads(threads);
    connectives(suite);
    boolean_product(suite);
    products(suite);
    sums(suite);
    fixpoints(suite);
    if (threads == 1) orders(suite);
  }
}
