#include "tests/recipe/recipe_allocations.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ingot/base/memory.h"
#include "ingot/recipe/job.h"
#include "tests/ops/harness.h"

namespace ingot::recipe {
namespace {

// Pictures and labels in MNIST's format, so that its recipe needs no download.
class FakeMnist {
 public:
  FakeMnist() : folder_(std::filesystem::temp_directory_path() / ("ingot_mnist_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    write("train", 2000);
    write("t10k", 300);
  }
  ~FakeMnist() { std::filesystem::remove_all(folder_); }
  std::string path() const { return folder_.string(); }

 private:
  static void number(std::string& out, uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xff);
  }
  void write(const std::string& name, uint32_t count) const {
    std::string images, labels;
    number(images, 0x803), number(images, count), number(images, 28), number(images, 28);
    number(labels, 0x801), number(labels, count);
    for (uint32_t i = 0; i < count * 784; i++) images += static_cast<char>(i * 2654435761U >> 24);
    for (uint32_t i = 0; i < count; i++) labels += static_cast<char>(i % 10);
    std::ofstream(folder_ / (name + "-images-idx3-ubyte"), std::ios::binary) << images;
    std::ofstream(folder_ / (name + "-labels-idx1-ubyte"), std::ios::binary) << labels;
  }
  std::filesystem::path folder_;
};

}  // namespace

void expect_no_allocations(const std::vector<std::string>& recipes, const Systems& systems,
                           const std::vector<std::string>& sets) {
  const FakeMnist mnist;
  const auto catalogue = std::make_shared<Catalogue>(systems);
  for (const std::string& name : recipes) {
    SCOPED_TRACE(name);
    std::vector<std::string> all = {"train.batches=10", "train.epochs=2"};
    all.insert(all.end(), sets.begin(), sets.end());
    if (name.ends_with("mnist")) all.push_back("data.folder=" + mnist.path());
    Job job(load_description(name, all, catalogue));
    std::vector<uint64_t> mallocs, tensors;
    mallocs.reserve(64), tensors.reserve(64);
    job.trainer->on_batch = [&](const nn::BatchResult& b) {
      if (b.epoch < 2) return;  // the first epoch makes plans
      mallocs.push_back(harness::malloc_calls());
      tensors.push_back(memory_stats().allocations);
    };
    job.trainer->fit(*job.train, nullptr);
    ASSERT_EQ(mallocs.size(), 10U);
    EXPECT_EQ(std::count(mallocs.begin(), mallocs.end(), mallocs[0]), 10)
        << mallocs.back() - mallocs[0] << " allocations";
    EXPECT_EQ(std::count(tensors.begin(), tensors.end(), tensors[0]), 10) << tensors.back() - tensors[0] << " tensors";
  }
}

}  // namespace ingot::recipe
