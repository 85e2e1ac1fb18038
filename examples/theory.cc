// Rules that learn, with a network as a predicate: points are of two classes, and all that is said about most of them is
// whom they are near to.
#include <ingot/ingot.h>
#include <ingot/logic/theory.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

int main() {
  constexpr int64_t kPoints = 60;
  const Tensor x = normal({kPoints, 2}, /*seed=*/1, 0, 0.4), near = zeros({kPoints, kPoints});
  for (int64_t i = 0; i < kPoints; i++) x.at<float>({i, 0}) += i % 2 == 0 ? -1.5F : 1.5F;
  for (int64_t i = 0; i < kPoints; i++)
    for (int64_t j = 0; j < kPoints; j++)
      if (std::hypot(x.at<float>({i, 0}) - x.at<float>({j, 0}), x.at<float>({i, 1}) - x.at<float>({j, 1})) < 0.5)
        near.at<float>({i, j}) = 1;

  nn::set_seed(1);
  logic::Theory theory = logic::Theory::parse(R"(
    semantics ltn 2.
    domain point: 60.
    tensor where_it_is[point, k: 2].   rel near(point, point).
    neural right(point) = sigmoid(net(where_it_is)).
    assert one: not right(0).
    assert other: right(1).
    assert alike: forall x, y where near(x, y): right(x) <-> right(y).
  )");
  theory.set("where_it_is", x);
  theory.set("near", near);
  theory.network("net", std::make_shared<nn::Sequential>(nn::Linear(2, 16), nn::Tanh(), nn::Linear(16, 1)));

  TrainStep step = nn::train_step(theory, [&] { return theory.results(); }, optim::Adam{.lr = 1e-2F}, {});
  for (int i = 0; i < 500; i++) step();
  for (const NamedTensor& truth : theory.truths())
    std::printf("%-6s %.3f\n", truth.name.c_str(), truth.tensor.item<float>());
  const Tensor right = theory.ask("right(x)");
  int known = 0;
  for (int64_t i = 0; i < kPoints; i++) known += (right.at<float>({i}) > 0.5) == (i % 2 == 1) ? 1 : 0;
  std::printf("%d of %d points are where they belong; two were told\n", known, static_cast<int>(kPoints));
  return known >= kPoints - 1 ? 0 : 1;
}
