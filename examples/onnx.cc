// ONNX: a model that somebody trained is read, run, trained on and written again. (The file is made here, so that the
// example needs none.)
#include <ingot/exchange.h>
#include <ingot/ingot.h>

#include <cstdio>
#include <filesystem>
#include <string>

using namespace ingot;

int main() {
  nn::set_seed(1);
  nn::Sequential theirs{nn::Conv2d(1, 8, 3), nn::BatchNorm2d(8), nn::ReLU(), nn::GlobalAvgPool(), nn::Linear(8, 2)};
  theirs.eval();
  const std::string folder = std::filesystem::temp_directory_path().string();
  onnx::save(folder + "/theirs.onnx", theirs, {1, 1, 8, 8});

  onnx::Model model = onnx::load(folder + "/theirs.onnx");
  std::fputs(model.describe().c_str(), stdout);

  onnx::Session session(model);  // a frozen plan per input shape
  const Tensor x = normal({16, 1, 8, 8}, /*seed=*/2);
  std::printf("a batch of 16 gives %s\n", to_string(session(x).shape()).c_str());

  // Train on: pictures with a bright or a dark middle.
  const Tensor labels = to(greater(mean(slice(slice(x, 2, 2, 6), 3, 2, 6), {1, 2, 3}), 0.0), kI64);
  model.train();
  auto step = nn::train_step(model, nn::cross_entropy, optim::Adam{.lr = 1e-2f}, {{16, 1, 8, 8}, {16}});
  const float first = step(x, labels);
  float last = first;
  for (int i = 0; i < 200; i++) last = step(x, labels);
  model.eval();
  onnx::save(folder + "/ours.onnx", model, {16, 1, 8, 8});
  std::printf("loss %.3f at first, %.3f after 200 steps\n", first, last);
  return last < 0.5f * first ? 0 : 1;
}
