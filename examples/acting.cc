// A plan for acting beside a training step, and a target network: Q-learning while walking. The world is a corridor of
// eight cells; the walker starts in the middle and earns 1 when it leaves on the right, nothing on the left.
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

namespace {

constexpr int64_t kCells = 8, kBatch = 32, kSize = 512;

// Transitions, the oldest overwritten.
struct Memory {
  Tensor here = zeros({kSize, kCells}), next = zeros({kSize, kCells}), action = zeros({kSize, 1}, kI64);
  Tensor reward = zeros({kSize}), goes_on = zeros({kSize});
  int64_t count = 0;
  void add(int64_t from, int64_t went, int64_t to) {
    const int64_t i = count++ % kSize;
    const bool ends = to < 0 || to == kCells;
    fill(select(here, 0, i), 0), fill(select(next, 0, i), 0);
    here.at<float>({i, from}) = 1;
    if (!ends) next.at<float>({i, to}) = 1;
    action.at<int64_t>({i, 0}) = went;
    reward.at<float>({i}) = to == kCells;
    goes_on.at<float>({i}) = !ends;
  }
};

}  // namespace

int main() {
  nn::set_seed(1);
  nn::Sequential online{nn::Linear(kCells, 32), nn::ReLU(), nn::Linear(32, 2)};
  nn::Sequential target = nn::clone(online);
  target.freeze();

  auto step = nn::train_step(
      online,
      [&](const Tensor& here, const Tensor& action, const Tensor& reward, const Tensor& next, const Tensor& goes_on) {
        const Tensor value = reward + 0.9 * goes_on * max(target(next), {1});
        return nn::huber_loss(reshape(gather(online(here), action, 1), {kBatch}), stop_gradient(value));
      },
      optim::Adam{.lr = 3e-3f}, {{kBatch, kCells}, {{kBatch, 1}, kI64}, {kBatch}, {kBatch, kCells}, {kBatch}});
  // Compiled after the step, which moved the parameters: it sees every update.
  Plan act = compile([&](const Tensor& x) { return argmax(online(x), {1}); }, {{1, kCells}}, {.name = "act"});

  Memory memory;
  const Tensor x = zeros({1, kCells});
  int64_t cell = kCells / 2, arrived = 0;
  for (int64_t i = 0; i < 6000; i++) {
    fill(x, 0);
    x.at<float>({0, cell}) = 1;
    const bool tries = uniform({}, i).item() < (i < 5000 ? 0.3 : 0);  // at last it only does what it has learned
    const int64_t went = tries ? i % 2 : act.run(x)[0].item<int64_t>();
    const int64_t to = cell + (went == 1 ? 1 : -1);
    memory.add(cell, went, to);
    if (i >= 5000) arrived += to == kCells;
    cell = to < 0 || to == kCells ? kCells / 2 : to;
    if (memory.count < kSize) continue;
    const Tensor rows = ingot::to(uniform({kBatch}, i, 0, kSize, /*stream=*/1), kI64);
    const auto drawn = [&](const Tensor& all) { return index_select(all, rows, 0); };
    step(drawn(memory.here), drawn(memory.action), drawn(memory.reward), drawn(memory.next), drawn(memory.goes_on));
    nn::copy_parameters(target, online, /*tau=*/0.02);
  }
  std::printf("arrived %d times in the last 1000 steps (250 at best)\n", static_cast<int>(arrived));
  return arrived == 250 ? 0 : 1;
}
