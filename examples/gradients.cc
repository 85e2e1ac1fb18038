// What compile() and gradients can do, a few lines each. Every result is printed beside what it should be.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

int failures = 0;

void expect(const char* what, double value, double expected) {
  const bool right = std::abs(value - expected) <= 1e-5 * (1 + std::abs(expected));
  std::printf("%-58s %10.6g   %s\n", what, value, right ? "as it should be" : "WRONG");
  failures += !right;
}

double largest_difference(const Tensor& a, const Tensor& b) { return max(abs(a - b)).item(); }

// A function becomes a plan. `w` is bound by reference: the plan sees its elements of today, not those of the capture.
void plans() {
  const Tensor w = full({3, 4}, 0.5);
  Plan plan = compile([&](const Tensor& x) { return relu(linear(x, w) - 1.0); }, {{2, 4}});
  const Tensor x = ones({2, 4});
  expect("compile: relu(4 · 0.5 - 1)", plan(x).at<float>({0, 0}), 1);
  fill(w, 1);
  expect("compile: the same plan after w changed", plan(x).at<float>({0, 0}), 3);

  // Another shape is an error that says so.
  try {
    plan.run(ones({5, 4}));
    expect("another shape is refused", 0, 1);
  } catch (const Error& e) {
    std::printf("%s\n", e.what());
  }
}

// value_and_grad outside a capture compiles, runs once and forgets: for a look at one gradient. Inside, it records.
void first_derivatives() {
  const Tensor x = Tensor::from<float>({1, 2, 3});
  const ValueAndGrad now = value_and_grad([&] { return sum(x * x * x); }, {x});
  expect("value_and_grad: sum x³ of 1, 2, 3", now.value.item(), 36);
  expect("value_and_grad: its gradient 3x² at 3", now.gradients[0].at<float>({2}), 27);

  Plan plan = compile(
      [](const Tensor& t) {
        const auto [value, slopes] = value_and_grad([&] { return sum(t * t * t); }, {t});
        return std::vector<NamedTensor>{{"value", value}, {"slope", slopes[0]}};
      },
      {{3}});
  plan.run(x);
  expect("the same inside a plan", plan.output("slope").at<float>({2}), 27);
}

// Gradients are values: differentiate them again. Here a Hessian times a vector, without ever making the Hessian.
void second_derivatives() {
  Plan plan = compile(
      [](const Tensor& x, const Tensor& v) {
        const Tensor f = sum(exp(x) * sin(x));
        const Tensor slope = gradients(f, {x})[0];
        return gradients(sum(slope * v), {x})[0];  // v is a constant here: nothing depends on x through it
      },
      {{2}, {2}});
  const Tensor x = Tensor::from<float>({0.5f, 1}), v = Tensor::from<float>({1, 0});
  expect("second derivative of eˣ sin x at 0.5: 2eˣ cos x", plan.run(x, v)[0].at<float>({0}),
         2 * std::exp(0.5) * std::cos(0.5));
}

// checkpoint(): values inside are computed again in the backward pass instead of kept. Same gradients, less memory.
void less_memory() {
  const Tensor w = uniform({64, 64}, /*seed=*/1, -0.2, 0.2), x = uniform({256, 64}, /*seed=*/2);
  const auto block = [&](const Tensor& h) { return tanh(linear(sigmoid(linear(tanh(linear(h, w)), w)), w)); };
  const auto plan_of = [&](auto layer) {
    return compile(
        [&](const Tensor& in) {
          Tensor h = in;
          for (int i = 0; i < 8; i++) h = layer(h);
          return gradients(sum(h), {w})[0];
        },
        {{256, 64}});
  };
  Plan kept = plan_of(block), again = plan_of([&](const Tensor&h) { return checkpoint(block, h); });
  expect("checkpoint: difference of the gradients", largest_difference(kept.run(x)[0], again.run(x)[0]), 0);
  const size_t before = kept.bytes().arena, after = again.bytes().arena;
  std::printf("checkpoint: the arena shrinks from %zu KiB to %zu KiB\n", before / 1024, after / 1024);
  expect("checkpoint: it at least halves", after * 2 <= before, 1);
}

// A PlanCache compiles one plan per shape, when it meets it, and keeps the `most` used last.
void changing_batches() {
  const Tensor w = ones({1, 4});
  PlanCache cache([&](const Tensor& x) { return sum(linear(x, w)); }, /*inputs=*/1, {}, /*most=*/4);
  double total = 0;
  for (const int64_t batch : {32, 32, 7, 32, 7}) total += cache.run(ones({batch, 4}))[0].item();
  expect("plan cache: the sum over five batches", total, 4 * (32 + 32 + 7 + 32 + 7));
  expect("plan cache: plans compiled for two shapes", static_cast<double>(cache.compiles()), 2);
}

// The seed is an input: the same seed gives the same mask, forward and backward, at any thread count.
void randomness() {
  Plan plan = compile([](const Tensor& x, const Tensor& seed) { return dropout(x, 0.5, seed); },
                      {{1000}, {Dims(), kI64, "seed"}});
  const Tensor x = ones({1000}), one = full({}, 1, kI64), two = full({}, 2, kI64);
  const Tensor first = clone(plan.run(x, one)[0]), second = clone(plan.run(x, two)[0]);
  expect("dropout: another seed, another mask", largest_difference(first, second), 2);
  expect("dropout: the same seed, the same mask", largest_difference(first, plan.run(x, one)[0]), 0);
}

}  // namespace

int main() {
  plans();
  first_derivatives();
  second_derivatives();
  less_memory();
  changing_batches();
  randomness();
  return failures == 0 ? 0 : 1;
}
