// Products over booleans, packed into bits where that pays, and over whole numbers.
#include <algorithm>
#include <cstring>

#include "logic/bits.h"
#include "logic/tensor/algebra_kernels.h"

namespace ingot::logic {
namespace {

// Below, packing costs more than it saves.
bool worth_packing(const MatrixSizes& s) { return s.m >= 16 && s.n >= 64 && s.k >= 64; }

// Eight bytes of 0 and 1 as the bits of one byte, the first as the lowest, and back.
uint64_t gathered(uint64_t bytes) { return bytes * 0x0102040810204080 >> 56; }
uint64_t spread(uint64_t bits) {
  const uint64_t places = bits * 0x0101010101010101 & 0x8040201008040201;
  return (places + 0x7F7F7F7F7F7F7F7F) >> 7 & 0x0101010101010101;
}

void pack_row(const uint8_t* from, int64_t bits, uint64_t* to) {
  std::fill(to, to + bit_words(bits), uint64_t{0});
  for (int64_t i = 0; i < bits; i += 8) {
    uint64_t bytes = 0;
    std::memcpy(&bytes, from + i, static_cast<size_t>(std::min<int64_t>(8, bits - i)));
    to[i / 64] |= gathered(bytes) << i % 64;
  }
}
void unpack_row(const uint64_t* from, int64_t bits, uint8_t* to) {
  for (int64_t i = 0; i < bits; i += 8) {
    const uint64_t bytes = spread(from[i / 64] >> i % 64 & 255);
    std::memcpy(to + i, &bytes, static_cast<size_t>(std::min<int64_t>(8, bits - i)));
  }
}

void unpacked_rows(const MatrixSizes& s, const uint8_t* a, const uint8_t* b, uint8_t* c, int64_t first, int64_t last) {
  for (int64_t r = first; r < last; r++) {
    uint8_t* row = c + r * s.n;
    std::fill(row, row + s.n, uint8_t{0});
    for (int64_t q = 0; q < s.k; q++) {
      if (a[r * s.k + q] == 0) continue;
      const uint8_t* other = b + (r / s.m * s.k + q) * s.n;
      for (int64_t j = 0; j < s.n; j++) row[j] |= other[j];
    }
  }
}

}  // namespace

size_t boolean_matmul_scratch(const MatrixSizes& s) {
  if (!worth_packing(s)) return 0;
  const int64_t inner = bit_words(s.k), across = bit_words(s.n);
  return sizeof(uint64_t) * static_cast<size_t>(s.batch * (s.m * inner + s.k * across + s.m * across));
}

void boolean_matmul(const MatrixSizes& s, const uint8_t* a, const uint8_t* b, uint8_t* c, void* scratch,
                    const Team& team) {
  const int64_t rows = s.batch * s.m;
  const auto [first, last] = team.share(rows);
  if (!worth_packing(s)) return unpacked_rows(s, a, b, c, first, last);
  const int64_t inner = bit_words(s.k), across = bit_words(s.n);
  const BitRows pa{static_cast<uint64_t*>(scratch), inner}, pb{pa.words + rows * inner, across},
      pc{pb.words + s.batch * s.k * across, across};
  const auto [b_first, b_last] = team.share(s.batch * s.k);
  for (int64_t r = b_first; r < b_last; r++) pack_row(b + r * s.n, s.n, pb.row(r));
  for (int64_t r = first; r < last; r++) {
    pack_row(a + r * s.k, s.k, pa.row(r));
    std::fill(pc.row(r), pc.row(r) + across, uint64_t{0});
  }
  team.barrier();
  for (int64_t r = first; r < last;) {  // the member's rows, batch by batch
    const int64_t t = r / s.m, count = std::min(last, (t + 1) * s.m) - r;
    bit_matmul({pa.row(r), inner}, {pb.row(t * s.k), across}, {pc.row(r), across}, count, s.k, s.n);
    for (const int64_t end = r + count; r < end; r++) unpack_row(pc.row(r), s.n, c + r * s.n);
  }
}

void counting_matmul(const MatrixSizes& s, const int64_t* a, const int64_t* b, int64_t* c, const Team& team) {
  const auto [first, last] = team.share(s.batch * s.m);
  const auto* ua = reinterpret_cast<const uint64_t*>(a);  // whose overflow is defined
  const auto* ub = reinterpret_cast<const uint64_t*>(b);
  auto* uc = reinterpret_cast<uint64_t*>(c);
  for (int64_t r = first; r < last; r++) {
    uint64_t* row = uc + r * s.n;
    std::fill(row, row + s.n, uint64_t{0});
    for (int64_t q = 0; q < s.k; q++) {
      const uint64_t count = ua[r * s.k + q];
      const uint64_t* other = ub + (r / s.m * s.k + q) * s.n;
      for (int64_t j = 0; j < s.n; j++) row[j] += count * other[j];
    }
  }
}

}  // namespace ingot::logic
