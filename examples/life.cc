// Learns Conway's Game of Life as a circuit of logic gates, from the 512 boards of 3 x 3 cells, and proves it right.
#include <ingot/gates.h>
#include <ingot/nn.h>

#include <cstdio>

using namespace ingot;

int main() {
  // All boards of a 3 x 3 torus, and what the rule makes of them: every cell sees all others.
  const Tensor boards = Tensor::empty({512, 1, 3, 3}), next = Tensor::empty({512, 1, 3, 3});
  for (int64_t board = 0; board < 512; board++) {
    const int alive = __builtin_popcountll(static_cast<uint64_t>(board));
    for (int64_t cell = 0; cell < 9; cell++) {
      const bool lives = (board >> cell & 1) != 0;
      const int neighbours = alive - lives;
      boards.data<float>()[board * 9 + cell] = lives;
      next.data<float>()[board * 9 + cell] = neighbours == 3 || (lives && neighbours == 2);
    }
  }
  const data::TensorDataset all(boards, next);
  data::Loader loader(all, {.batch = 20, .shuffle = true, .drop_last = true, .seed = 1});

  nn::set_seed(1);
  gates::Automaton rule({.channels = 1,
                         .perception = {8, 4, 2, 1},
                         .update = gates::widths(17, 128, {64, 32, 16, 8, 4, 2, 1}),
                         .steps = 1,
                         .border = gates::Border::kWrap,
                         .gates = {.pass = 5, .hardening = {.most = 0.5}}});
  nn::Trainer trainer(rule, gates::squared_error_sum(), optim::AdamW{.lr = 0.1F, .beta2 = 0.99, .clip_value = 100},
                      {.epochs = 120});
  const auto wrong = [&] {  // neighbourhoods for which the circuit of the likeliest functions differs from the rule
    const gates::Circuit circuit = rule.circuit();
    int count = 0;
    for (int board = 0; board < 512; board++) {
      std::vector<bool> inputs;
      for (int cell = 0; cell < 9; cell++) inputs.push_back((board >> cell & 1) != 0);
      count += gates::evaluate(circuit, inputs)[0] != (next.data<float>()[board * 9 + 4] != 0);
    }
    return count;
  };
  trainer.on_epoch = [&](const nn::EpochResult& epoch) {
    if (epoch.epoch % 10 == 0)
      std::printf("epoch %3ld  loss %7.3f  wrong %3d\n", epoch.epoch, epoch.train.loss, wrong());
    if (wrong() == 0) trainer.stop();
  };
  trainer.fit(loader);
  std::printf("%d of 512 neighbourhoods wrong, %ld active gates\n", wrong(), gates::active_gates(rule.circuit()));
  return wrong() == 0 ? 0 : 1;
}
