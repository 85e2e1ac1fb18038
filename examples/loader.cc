// Training on batches from a loader: pictures of seven-segment digits, drawn here so that the example needs no file. A
// thread of the loader's moves them about and adds noise while the step before runs.
#include <ingot/ingot.h>

#include <cstdio>

using namespace ingot;

namespace {

constexpr int64_t kSize = 12, kCount = 4096;

// Digits as a calculator shows them, of 5 × 9 pixels, in the middle of a dark picture. Pixels and labels are bytes.
data::TensorDataset digits() {
  //                       top, upper left and right, middle, lower left and right, bottom
  constexpr uint8_t kLit[10] = {0b1110111, 0b0010010, 0b1011101, 0b1011011, 0b0111010,
                                0b1101011, 0b1101111, 0b1010010, 0b1111111, 0b1111011};
  const Tensor pictures = zeros({kCount, 1, kSize, kSize}, kU8), labels = zeros({kCount}, kU8);
  for (int64_t n = 0; n < kCount; n++) {
    const auto digit = static_cast<uint8_t>(n % 10);
    labels.at<uint8_t>({n}) = digit;
    const auto draw = [&](int segment, int64_t row, int64_t column, int64_t down, int64_t right) {
      if ((kLit[digit] >> (6 - segment) & 1) == 0) return;
      for (int64_t i = 0; i < 5; i++) pictures.at<uint8_t>({n, 0, 1 + row + down * i, 3 + column + right * i}) = 255;
    };
    draw(0, 0, 0, 0, 1), draw(3, 4, 0, 0, 1), draw(6, 8, 0, 0, 1);
    draw(1, 0, 0, 1, 0), draw(2, 0, 4, 1, 0), draw(4, 4, 0, 1, 0), draw(5, 4, 4, 1, 0);
  }
  return {pictures, labels};
}

}  // namespace

int main() {
  const data::TensorDataset all = digits();
  const auto [train, test] = data::split(all, 0.25, /*seed=*/1);
  const std::vector<data::TransformPtr> augment = {data::shift(1), data::noise(0.2f), data::normalize({0.2f}, {0.5f})};
  data::Loader loader(train, {.batch = 64, .shuffle = true, .drop_last = true, .transforms = augment});
  data::Loader tests(test, {.batch = 64, .drop_last = true, .transforms = augment});

  nn::set_seed(1);
  nn::Sequential net{nn::Flatten(), nn::Linear(kSize * kSize, 128), nn::ReLU(), nn::Linear(128, 10)};
  auto step = nn::train_step(net, nn::cross_entropy, optim::Adam{.lr = 3e-3f}, {loader.input(), loader.target()});

  uint64_t warm = 0;
  for (int epoch = 0; epoch < 10; epoch++) {
    double loss = 0;
    for (const data::Batch& batch : loader) {
      loss += step(batch.x, batch.y);  // zero allocations, in here and in the loader
      if (warm == 0) warm = memory_stats().allocations;
    }
    std::printf("epoch %2d  loss %.4f\n", epoch + 1, loss / static_cast<double>(loader.batches()));
  }
  const bool quiet = memory_stats().allocations == warm;

  Plan predict = compile([&](const Tensor& x) { return argmax(net(x), {1}); }, {tests.input()});
  double right = 0;
  for (const data::Batch& batch : tests) right += sum(to(equal(predict.run(batch.x)[0], batch.y), kF32)).item();
  const double accuracy = right / static_cast<double>(tests.samples());
  std::printf("%.1f %% of %lld new pictures are right; %s\n", 100 * accuracy, static_cast<long long>(tests.samples()),
              quiet ? "no allocation since the first step" : "some step allocated");
  std::printf("batches of %lld would suit this machine\n",
              static_cast<long long>(data::recommended_batch(step.plan(), loader)));
  return accuracy > 0.97 && quiet ? 0 : 1;
}
