// A training step as C: for a microcontroller that goes on learning where no library fits. Here it is written and counted;
// examples of its use are in the header that it comes with.
#include <ingot/exchange.h>
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

int main() {
  nn::Sequential net{nn::Linear(6, 16), nn::Tanh(), nn::Linear(16, 3)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Sgd{.lr = 0.1f}, {{8, 6}, {8}});
  const exchange::CSource training = exchange::to_c(step.plan(), {.name = "gesture_step", .math = false});

  net.eval();
  const Plan act = compile([&](const Tensor& x) { return softmax(net(x)); }, {{{1, 6}, kF32, "x"}}, {.frozen = true});
  const exchange::CSource acting = exchange::to_c(act, {.name = "gesture"});

  // training.write("firmware") and acting.write("firmware") would make four files of these.
  std::printf("%s\n%s\n", training.header.c_str(), acting.source.c_str());
  std::printf("training: %zu bytes that last, %zu of temporaries; acting: %zu of constants\n", training.state,
              training.arena, acting.constants);
  return acting.constants == 4 * (6 * 16 + 16 + 16 * 3 + 3) ? 0 : 1;
}
