// Gates on words: every instruction against a loop over bits.
#include "gates/bits.h"

#include <vector>

#include "ingot/base/random.h"
#include "tests/kernels/on_target.h"

namespace ingot::gates {
namespace {

using kernels::target_name;
using kernels::targets_here;

class Bits : public kernels::OnTarget {};

uint64_t word(uint32_t index, uint32_t stream) {
  const auto drawn = philox({index, 0, 0, 0}, {stream, 1});
  return static_cast<uint64_t>(drawn[0]) << 32 | drawn[1];
}

bool part(int kind, bool a, bool b) {
  return kind == kBitLeaf         ? a
         : kind == kBitPartAnd    ? a && b
         : kind == kBitPartAndNot ? a && !b
         : kind == kBitPartOr     ? a || b
                                  : a != b;
}

bool single(int kind, bool a, bool b) {
  const bool table[] = {false, true, a, !a, a && b, a && !b, a || b, a != b, !(a && b), !(a && !b), !(a || b), a == b};
  return table[kind];
}

// Runs one instruction on four inputs of 24 words in blocks of 16.
std::vector<uint64_t> run_one(const std::vector<BitCode>& code, const std::vector<std::vector<uint64_t>>& in) {
  std::vector<uint64_t> out(24);
  std::vector<std::vector<uint64_t>> copies = in;
  std::vector<uint64_t*> operands;
  for (auto& each : copies) operands.push_back(each.data());
  operands.push_back(out.data());
  run_bits({code.data(), code.data() + code.size(), operands.data(), 5, 24, 16});
  EXPECT_EQ(copies, in);
  return out;
}

TEST_P(Bits, EveryInstruction) {
  std::vector<std::vector<uint64_t>> in(4, std::vector<uint64_t>(24));
  for (uint32_t i = 0; i < 4; i++)
    for (uint32_t w = 0; w < 24; w++) in[i][w] = word(w, i);
  const auto bit = [&](size_t i, int64_t at) { return (in[i][static_cast<size_t>(at / 64)] >> at % 64 & 1) != 0; };
  for (int kind = 0; kind < kBitTrees; kind++) {
    const auto out = run_one({static_cast<BitCode>(kind), 4, 0, 1}, in);
    for (int64_t at = 0; at < 24 * 64; at++)
      ASSERT_EQ(out[static_cast<size_t>(at / 64)] >> at % 64 & 1, single(kind, bit(0, at), bit(1, at))) << kind;
  }
  int trees = 0;
  for (int root = 1; root < kBitParts; root++)
    for (int left = 0; left < kBitParts; left++)
      for (int right = 0; right < kBitParts; right++) {
        const auto r = static_cast<BitPart>(root), x = static_cast<BitPart>(left), y = static_cast<BitPart>(right);
        if (!has_bit_tree(r, x, y)) continue;
        trees++;
        const auto out = run_one({bit_tree(r, x, y), 4, 0, 1, 2, 3}, in);
        for (int64_t at = 0; at < 24 * 64; at++)
          ASSERT_EQ(out[static_cast<size_t>(at / 64)] >> at % 64 & 1,
                    part(root, part(left, bit(0, at), bit(1, at)), part(right, bit(2, at), bit(3, at))))
              << root << " " << left << " " << right;
      }
  EXPECT_EQ(trees, 3 * 14 + 24);
}

TEST_P(Bits, Twins) {
  std::vector<uint64_t> a(8), b(8), x(8), y(8);
  for (uint32_t w = 0; w < 8; w++) a[w] = word(w, 1), b[w] = word(w, 2);
  int kinds = 0;
  for (int i = 1; i < kBitParts; i++)
    for (int j = 1; j < kBitParts; j++) {
      const auto first = static_cast<BitPart>(i), second = static_cast<BitPart>(j);
      if (!has_bit_twins(first, second)) continue;
      kinds++;
      for (const bool in_place : {false, true}) {  // results may take the operands' places
        std::vector<uint64_t> p = a, q = b;
        uint64_t* operands[] = {p.data(), q.data(), in_place ? q.data() : x.data(), in_place ? p.data() : y.data()};
        const BitCode code[] = {bit_twins(first, second), 2, 0, 1, 3};
        run_bits({code, code + 5, operands, 4, 8, 8});
        for (int64_t at = 0; at < 8 * 64; at++) {
          const auto get = [&](const std::vector<uint64_t>& v) {
            return (v[static_cast<size_t>(at / 64)] >> at % 64 & 1) != 0;
          };
          const bool u = get(a), v = get(b);
          ASSERT_EQ(get(in_place ? q : x), part(i, u, v)) << i << " " << j;
          ASSERT_EQ(get(in_place ? p : y), i == j ? v && !u : part(j, u, v)) << i << " " << j;
        }
      }
    }
  EXPECT_EQ(kinds, 7);
}

TEST_P(Bits, RowsMoveByOne) {
  for (const int64_t width : {1, 2, 63, 64, 65, 128, 200, 512, 1000})
    for (const bool wrap : {false, true}) {
      const int64_t row_words = (width + 63) / 64, rows = 3;
      std::vector<uint64_t> in(static_cast<size_t>(rows * row_words + 2)), left(in.size()), right(in.size());
      for (size_t i = 0; i < in.size(); i++) in[i] = word(static_cast<uint32_t>(i), 7);  // also behind the width
      shift_rows(in.data() + 1, left.data(), right.data(), rows, row_words, width, wrap);
      const auto get = [&](const uint64_t* words, int64_t r, int64_t x) {
        return (words[r * row_words + x / 64] >> x % 64 & 1) != 0;
      };
      for (int64_t r = 0; r < rows; r++)
        for (int64_t x = 0; x < width; x++) {
          const bool has_left = wrap || x > 0, has_right = wrap || x + 1 < width;
          ASSERT_EQ(get(left.data(), r, x), has_left && get(in.data() + 1, r, (x + width - 1) % width))
              << width << " " << x;
          ASSERT_EQ(get(right.data(), r, x), has_right && get(in.data() + 1, r, (x + 1) % width)) << width << " " << x;
        }
    }
}

INGOT_ON_TARGETS(Bits);

}  // namespace
}  // namespace ingot::gates
