// Recipes from C++: train one, watch it, load what it wrote and ask it.
#include <ingot/ingot.h>
#include <ingot/recipe.h>

#include <cstdio>
#include <filesystem>

// What a run tells: override what you want to hear.
struct Lines : ingot::recipe::Progress {
  void epoch(const ingot::nn::EpochResult& e) override {
    std::printf("epoch %d: %.1f %%\n", static_cast<int>(e.epoch), 100 * e.test.metrics[0]);
  }
};

int main() {
  const std::string folder = (std::filesystem::temp_directory_path() / "ingot_example_recipe").string();
  std::filesystem::remove_all(folder);

  Lines progress;
  const auto run = ingot::Recipe::load("digits").set("train.epochs=3").run(folder, progress);
  std::printf("best: epoch %d\n", static_cast<int>(run.best()->epoch));

  auto model = ingot::load_model(folder);  // weights, normalisation, class names
  const ingot::Tensor picture = ingot::full({8, 8}, 0, ingot::kU8);
  for (int y = 1; y < 7; y++) picture.at<uint8_t>({y, 4}) = 255;  // a stroke
  const auto answer = model.predict(picture);
  std::printf("a stroke is a %s, %.1f %%\n", answer.name.c_str(), 100 * answer.probability);
  std::printf("accuracy on what was held back: %.1f %%\n", 100 * model.evaluate().scores.metrics[0]);
  std::filesystem::remove_all(folder);
  return run.best()->test.metrics[0] > 0.8 && answer.probabilities.size() == 10 ? 0 : 1;
}
