// Two networks in one step, each with an optimiser and a loss of its own: a generator learns to make numbers that a judge
// cannot tell from those of a normal distribution around 3.
#include <ingot/ingot.h>

#include <cmath>
#include <cstdio>

using namespace ingot;

int main() {
  nn::set_seed(1);
  nn::Sequential generator{nn::Linear(4, 16), nn::Tanh(), nn::Linear(16, 1)};
  nn::Sequential judge{nn::Linear(1, 16), nn::LeakyReLU(0.2), nn::Linear(16, 1)};
  const ParameterSlab made_by(generator.trainable_parameters()), judged_by(judge.trainable_parameters());
  Updates make(made_by, optim::Adam{.lr = 2e-3f, .beta1 = 0.5f}),
      tell(judged_by, optim::Adam{.lr = 4e-3f, .beta1 = 0.5f});

  // A loss for each, both of the weights as they are now. A judge's own loss does not move the generator.
  TrainStep step(
      [&](const Tensor& noise, const Tensor& real) {
        const Tensor fake = generator(noise), yes = ones({64, 1}), no = zeros({64, 1});
        const Tensor fools = nn::bce_with_logits_loss(judge(fake), yes);
        const Tensor tells =
            nn::bce_with_logits_loss(judge(real), yes) + nn::bce_with_logits_loss(judge(stop_gradient(fake)), no);
        return std::vector<Tensor>{fools, tells};
      },
      {&make, &tell}, {{64, 4}, {64, 1}});
  Plan generate =
      compile([&](const Tensor& noise) { return generator(noise); }, {{1000, 4}});  // after the slab was made

  double middle = 0;
  for (int64_t i = 0; i < 3000; i++) {
    step(normal({64, 4}, i), normal({64, 1}, i, 3, 0.5, /*stream=*/1));
    if (i >= 2000 && i % 100 == 0) middle += mean(generate.run(normal({1000, 4}, -1 - i))[0]).item() / 10;
  }
  std::printf("the generator's numbers lie around %.2f (3)\n", middle);
  return std::abs(middle - 3) < 0.5 ? 0 : 1;
}
