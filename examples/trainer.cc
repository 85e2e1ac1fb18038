// A whole training run in a program of one's own: data, model, trainer, checkpoints, and going on from one.
#include <ingot/ingot.h>
#include <ingot/io.h>

#include <cmath>
#include <cstdio>
#include <filesystem>

using namespace ingot;

namespace {

// Two half moons that reach into each other: points [n, 2] and which moon each belongs to.
data::TensorDataset moons(int64_t n) {
  const Tensor x = normal({n, 2}, /*seed=*/1, 0, 0.1), label = Tensor::empty({n}, kI64);
  for (int64_t i = 0; i < n; i++) {
    const int64_t moon = i % 2;
    const double angle = 3.14159265 * static_cast<double>(i) / static_cast<double>(n);
    x.at<float>({i, 0}) += static_cast<float>(moon == 0 ? std::cos(angle) : 1 - std::cos(angle));
    x.at<float>({i, 1}) += static_cast<float>(moon == 0 ? std::sin(angle) : 0.5 - std::sin(angle));
    label.at<int64_t>({i}) = moon;
  }
  return {x, label};
}

nn::Sequential network() {
  nn::set_seed(1);
  return nn::Sequential{nn::Linear(2, 32), nn::ReLU(), nn::Dropout(0.1), nn::Linear(32, 2)};
}

}  // namespace

int main() {
  const data::TensorDataset all = moons(1000);
  const auto [train, test] = data::split(all, /*held_back=*/0.2, /*seed=*/1);
  data::Loader batches(train, {.batch = 64, .shuffle = true}), held_back(test, {.batch = 200});

  nn::TrainerOptions options;
  options.epochs = 20;
  options.schedule = schedule::cosine();
  options.metrics = {nn::accuracy_metric()};
  nn::Sequential net = network();
  nn::Trainer trainer(net, nn::cross_entropy, optim::AdamW{.lr = 1e-2f}, options);

  const std::string path = (std::filesystem::temp_directory_path() / "moons.safetensors").string();
  trainer.on_epoch = [&](const nn::EpochResult& e) {
    if (e.epoch % 5 == 0)
      std::printf("epoch %2d  loss %.4f  held back: loss %.4f, accuracy %.1f %%\n", static_cast<int>(e.epoch),
                  e.train.loss, e.test.loss, 100 * e.test.metrics[0]);
    if (e.epoch == 10) {  // atomic: the file is the old one or the new one, whenever the process dies
      const nn::TrainingState state = trainer.state();
      io::save_safetensors(path, state.tensors, state.values);
    }
  };
  trainer.fit(batches, &held_back);

  // Later, or in another process: the same bits as if it had never stopped.
  nn::Sequential again = network();
  nn::Trainer resumed(again, nn::cross_entropy, optim::AdamW{.lr = 1e-2f}, options);
  const io::SafeTensors file = io::load_safetensors(path);
  resumed.load_state({file.tensors, file.metadata});
  resumed.fit(batches, &held_back);

  bool same = true;
  for (size_t i = 0; i < trainer.weights().size(); i++)
    same &= trainer.weights()[i].tensor.to_vector<float>() == resumed.weights()[i].tensor.to_vector<float>();
  std::printf("resumed after epoch 10: %s\n", same ? "the same weights, to the bit" : "OTHER WEIGHTS");
  std::filesystem::remove(path);
  return same && trainer.history().back().test.metrics[0] > 0.95 ? 0 : 1;
}
