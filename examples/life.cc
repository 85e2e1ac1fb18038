// Learns Conway's Game of Life as a circuit of logic gates, from the 512 boards of 3 x 3 cells, and proves it right.
#include <ingot/gates.h>
#include <ingot/nn.h>

#include <cstdio>

using namespace ingot;

int main() {
  const gates::LifeBoards boards = gates::life_boards();
  const data::TensorDataset all(boards.x, boards.y);
  data::Loader batches(all, {.batch = 20, .shuffle = true, .drop_last = true, .seed = 1});

  nn::set_seed(1);  // of the wires
  gates::Automaton rule({.channels = 1,
                         .perception = {8, 4, 2, 1},
                         .update = gates::widths(17, 128, {64, 32, 16, 8, 4, 2, 1}),
                         .steps = 1,
                         .border = gates::Border::kWrap,
                         .gates = {.pass = 5, .hardening = {.most = 0.5}}});
  nn::Trainer trainer(rule, gates::squared_error_sum(), optim::AdamW{.lr = 0.1F, .beta2 = 0.99, .clip_value = 100},
                      {.epochs = 120});
  // The circuit of the likeliest functions, on all neighbourhoods.
  const auto right = [&] { return gates::examine_life(rule.circuit()).items[0].right; };
  trainer.on_epoch = [&](const nn::EpochResult& epoch) {
    if (epoch.epoch % 10 == 0)
      std::printf("epoch %3ld  loss %7.3f  %3ld of 512 right\n", epoch.epoch, epoch.train.loss, right());
    if (right() == 512) trainer.stop();
  };
  trainer.fit(batches);
  std::printf("%ld of 512 neighbourhoods right, %ld active gates\n", right(), gates::active_gates(rule.circuit()));
  return right() == 512 ? 0 : 1;
}
