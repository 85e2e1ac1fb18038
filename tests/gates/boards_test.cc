// Boards and targets: against the rule itself, the published counts, and pictures that are none.
#include "ingot/gates/boards.h"
#include "ingot/data.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ingot/io/io.h"
#include "ingot/ops/ops.h"
#include "tests/error_of.h"

namespace ingot::gates {
namespace {

double total(const Tensor& t) {
  const std::vector<float> values = t.to_vector<float>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

TEST(Boards, LifeFollowsTheRule) {
  const LifeBoards boards = life_boards();
  ASSERT_EQ(boards.x.shape(), (Dims{512, 1, 3, 3}));
  for (int64_t k = 0; k < 512; k++)
    for (int64_t y = 0; y < 3; y++)
      for (int64_t x = 0; x < 3; x++) {
        int around = 0;
        for (int64_t dy = 2; dy < 5; dy++)
          for (int64_t dx = 2; dx < 5; dx++)
            if (dy != 3 || dx != 3) around += boards.x.at<float>({k, 0, (y + dy) % 3, (x + dx) % 3}) > 0.5F ? 1 : 0;
        const bool alive = boards.x.at<float>({k, 0, y, x}) > 0.5F;
        EXPECT_EQ(boards.y.at<float>({k, 0, y, x}) > 0.5F, around == 3 || (alive && around == 2)) << k;
      }
  EXPECT_EQ(total(boards.x), 512 * 9 / 2);
}

TEST(Boards, PublishedPictures) {  // the hard losses of a board that stays empty
  EXPECT_EQ(total(lizard()), 120);
  EXPECT_EQ(total(letter_g()), 109);
  EXPECT_EQ(lizard().at<float>({0, 1, 4}), 1);  // 0e000: columns 4 to 6
  EXPECT_EQ(lizard().at<float>({0, 1, 7}), 0);
}

TEST(Boards, CheckerboardOfTwos) {
  const Tensor board = checkerboard(16, 14);
  EXPECT_EQ(board.shape(), (Dims{1, 16, 14}));
  EXPECT_EQ(slice(slice(board, 1, 1, 3), 2, 0, 5).to_vector<float>(),
            (std::vector<float>{0, 0, 1, 1, 0, 1, 1, 0, 0, 1}));
}

TEST(Boards, SeedIsWhereThePaperPutsIt) {
  EXPECT_EQ(total(seed_board(128, 20, 20, Seed::kZeros)), 0);
  const Tensor seed = seed_board(128, 20, 20, Seed::kCentre);
  EXPECT_EQ(total(seed), 128);
  EXPECT_EQ(seed.at<float>({127, 10, 10}), 1);
  EXPECT_EQ(seed_grid(128, 20, 20, seed_of("centre")).to_tensor().to_vector<float>(), seed.to_vector<float>());
  EXPECT_EQ(seed_grid(1, 20, 20, seed_of("random"), {.seed = 1}, 1.0).count(0), 400);
  EXPECT_REFUSED(seed_of("cell"), "random, centre or zeros");
}

TEST(Boards, RandomBitsAreNewEveryTimeAndHalfOnes) {
  const Tensor zero = zeros({2, 8, 16, 16});
  const data::TensorDataset boards(zero, zeros({2, 1}));
  data::Loader loader(boards, {.batch = 2, .prefetch = 0, .transforms = {random_bits()}, .batches = 3});
  std::vector<std::vector<float>> seen;
  for (int epoch = 0; epoch < 2; epoch++)
    for (const data::Batch& batch : loader) {
      EXPECT_NEAR(total(batch.x), batch.x.numel() / 2.0, 4 * std::sqrt(static_cast<double>(batch.x.numel())) / 2);
      for (const float bit : batch.x.to_vector<float>()) ASSERT_TRUE(bit == 0 || bit == 1);
      for (const auto& other : seen) EXPECT_NE(other, batch.x.to_vector<float>());
      seen.push_back(batch.x.to_vector<float>());
    }
  EXPECT_EQ(seen.size(), 6U);
}

TEST(Boards, PicturesOfAnyKindGetASentence) {
  EXPECT_EQ(picture_target(full({4, 5}, 128.0, kU8)).to_vector<float>(), std::vector<float>(20, 1));
  EXPECT_EQ(picture_target(full({3, 4, 5}, 127.0, kU8)).to_vector<float>(), std::vector<float>(60, 0));
  EXPECT_REFUSED(picture_target(zeros({4, 4, 5}, kU8)), "transparency");
  EXPECT_REFUSED(picture_target(zeros({2, 4, 5}, kU8)), "transparency");
  EXPECT_REFUSED(picture_target(zeros({2, 5}, kU8)), "5 × 2 pixels");
  EXPECT_REFUSED(picture_target(zeros({300, 5}, kU8)), "3 to 256 pixels");
  EXPECT_REFUSED(picture_target(zeros({4, 4})), "a picture is u8");
}

}  // namespace
}  // namespace ingot::gates
