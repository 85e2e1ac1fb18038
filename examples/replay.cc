// Two networks and batches of named tensors, as reinforcement learning has them: Q-learning from a memory of
// transitions, with a target network that follows slowly and a plan for acting beside the step. The world is a corridor
// of eight cells; the walker starts anywhere, goes left or right, and earns 1 when it leaves on the right.
#include <ingot/ingot.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace ingot;

namespace {

constexpr int64_t kCells = 8, kTransitions = 2000, kBatch = 64;
constexpr double kDiscount = 0.9;

// Transitions of a walker that tosses coins.
data::TensorDataset memory() {
  const Tensor x = zeros({kTransitions, kCells}), next = zeros({kTransitions, kCells});
  const Tensor action = to(uniform({kTransitions, 1}, /*seed=*/1, 0, 2), kI64);
  const Tensor cell = to(uniform({kTransitions}, /*seed=*/2, 0, kCells), kI64);
  const Tensor reward = zeros({kTransitions}), goes_on = ones({kTransitions});
  for (int64_t i = 0; i < kTransitions; i++) {
    const int64_t here = cell.at<int64_t>({i}), there = here + (action.at<int64_t>({i, 0}) == 1 ? 1 : -1);
    x.at<float>({i, here}) = 1;
    if (there == kCells) reward.at<float>({i}) = 1;
    if (there < 0 || there == kCells)
      goes_on.at<float>({i}) = 0;
    else
      next.at<float>({i, there}) = 1;
  }
  return data::TensorDataset(
      std::vector<NamedTensor>{{"x", x}, {"action", action}, {"reward", reward}, {"next", next}, {"goes on", goes_on}});
}

}  // namespace

int main() {
  const data::TensorDataset transitions = memory();
  data::Loader replay(transitions, {.batch = kBatch, .shuffle = true, .drop_last = true, .seed = 3});

  nn::set_seed(1);
  nn::Sequential online{nn::Linear(kCells, 32), nn::ReLU(), nn::Linear(32, 2)};
  nn::Sequential target = nn::clone(online);

  const auto loss = [&](const data::Batch& b) {
    const Tensor value = b["reward"] + kDiscount * b["goes on"] * max(target(b["next"]), {1});
    const Tensor said = reshape(gather(online(b.x), b["action"], 1), {b.size()});
    return nn::huber_loss(said, stop_gradient(value));
  };
  nn::Trainer trainer(online, loss, optim::Adam{.lr = 3e-3f}, {.epochs = 40});
  uint64_t warm = 0, allocations = 0;
  trainer.on_batch = [&](const nn::BatchResult& b) {
    nn::copy_parameters(target, online, /*tau=*/0.05);
    if (b.epoch == 1) warm = memory_stats().allocations;
    if (b.epoch == 2) allocations = memory_stats().allocations - warm;
  };
  trainer.fit(replay);

  Plan act = compile([&](const Tensor& x) { return online(x); }, {{1, kCells}}, {.frozen = true});
  double worst = 0;
  for (int64_t cell = 0; cell < kCells; cell++) {  // from cell c, the way out takes 8 - c steps
    const Tensor x = zeros({1, kCells});
    x.at<float>({0, cell}) = 1;
    const Tensor& q = act.run(x)[0];
    double expected = 1;
    for (int64_t i = cell + 1; i < kCells; i++) expected *= kDiscount;
    worst = std::max(worst, std::abs(q.at<float>({0, 1}) - expected));
    std::printf("cell %d: left %.3f, right %.3f (exactly %.3f)\n", static_cast<int>(cell), q.at<float>({0, 0}),
                q.at<float>({0, 1}), expected);
  }
  std::printf("largest error %.3f; %s\n", worst, allocations == 0 ? "no allocation per batch" : "some batch allocated");
  return worst < 0.1 && allocations == 0 ? 0 : 1;
}
