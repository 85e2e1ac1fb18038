#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "ingot/base/threads.h"
#include "logic/bits.h"

namespace ingot::logic {
namespace {

// Bits with rows wider than they need to be.
struct Matrix {
  int64_t rows, columns, stride;
  std::vector<uint64_t> words;
  Matrix(int64_t r, int64_t c, int64_t more = 0)
      : rows(r), columns(c), stride(bit_words(c) + more), words(static_cast<size_t>(rows * stride)) {}
  BitRows view() { return {words.data(), stride}; }
  bool get(int64_t i, int64_t j) const { return words[static_cast<size_t>(i * stride + j / 64)] >> j % 64 & 1; }
  void set(int64_t i, int64_t j) { words[static_cast<size_t>(i * stride + j / 64)] |= uint64_t{1} << j % 64; }
};

Matrix random_matrix(std::mt19937_64& random, int64_t rows, int64_t columns, double density) {
  Matrix m(rows, columns, static_cast<int64_t>(random() % 3));
  std::bernoulli_distribution bit(density);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < columns; j++)
      if (bit(random)) m.set(i, j);
  return m;
}

Matrix by_definition(const Matrix& a, const Matrix& b, const Matrix& c) {
  Matrix result = c;
  for (int64_t i = 0; i < a.rows; i++)
    for (int64_t k = 0; k < a.columns; k++)
      for (int64_t j = 0; a.get(i, k) && j < b.columns; j++)
        if (b.get(k, j)) result.set(i, j);
  return result;
}

TEST(TensorBits, ProductIsTheDefinitionAtEverySizeAndDensity) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 120; round++) {
    const auto size = [&] { return static_cast<int64_t>(random() % (round % 10 == 0 ? 600 : 150)); };
    const int64_t rows = size(), inner = size(), columns = size();
    const double densities[] = {0.003, 0.03, 0.2, 0.5, 1};
    const double density = densities[random() % 5];
    Matrix a = random_matrix(random, rows, inner, density), b = random_matrix(random, inner, columns, density);
    Matrix c = random_matrix(random, rows, columns, 0.01);
    const Matrix expected = by_definition(a, b, c);
    bit_matmul(a.view(), b.view(), c.view(), rows, inner, columns);
    ASSERT_EQ(c.words, expected.words) << rows << " " << inner << " " << columns << " " << density;
  }
}

TEST(TensorBits, BitsBehindTheInnerSizeDoNotCount) {
  Matrix a(3, 128), b(70, 9), c(3, 9);
  for (int64_t i = 0; i < 3; i++)
    for (int64_t k = 70; k < 128; k++) a.set(i, k);
  for (int64_t k = 0; k < 70; k++) b.set(k, 3);
  bit_matmul(a.view(), b.view(), c.view(), 3, 70, 9);
  for (const uint64_t word : c.words) EXPECT_EQ(word, 0u);
}

TEST(TensorBits, AnyTeamGivesTheSameBits) {
  std::mt19937_64 random(2);
  Matrix a = random_matrix(random, 301, 222, 0.1), b = random_matrix(random, 222, 530, 0.05);
  const Matrix expected = by_definition(a, b, Matrix(301, 530));
  const int before = threads();
  for (const int team_size : {1, 2, 3}) {
    set_threads(team_size);
    Matrix c(301, 530);
    parallel(true, [&](const Team& team) { bit_matmul(a.view(), b.view(), c.view(), 301, 222, 530, team); });
    EXPECT_EQ(c.words, expected.words);
  }
  set_threads(before);
}

}  // namespace
}  // namespace ingot::logic
